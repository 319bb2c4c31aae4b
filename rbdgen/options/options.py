"""What to build: every option with its description, and what is chosen of a robot and asked of a design beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

from rbdgen.algo.frames import LOCAL, REFERENCES
from rbdgen.algo.step import COEFFICIENTS
from rbdgen.devices.device import FASTEST, SLOWEST
from rbdgen.devices.registry import DEFAULT_DEVICE, DEVICES
from rbdgen.functions import registry
from rbdgen.functions.algorithms import KINDS, OPEN, known, listed, usual
from rbdgen.functions.record import Function
from rbdgen.layout.torques import BOTH, RANGES
from rbdgen.layout.words import FORCE_LIMIT, MOMENT_LIMIT
from rbdgen.model.robot import FRICTIONS, VISCOUS
from rbdgen.model.urdf import BASES
from rbdgen.options.setting import (
    BY_JOINT,
    FRAMES,
    INTEGER,
    LIMITS,
    METADATA,
    NUMBER,
    PAYLOADS,
    SWITCH,
    TARGETS,
    VECTOR,
    WORD,
    WORDS,
    Setting,
    setting,
)
from rbdgen.options.together import check_together, outputs
from rbdgen.passes.formats import MAX_WORD, MIN_WORD
from rbdgen.schedule.scheduler import MAX_II
from rbdgen.wordlength.targets import finest, for_all

MAX_REPLICAS = 64
"""More accelerators behind one stream than any device has room for."""
DEFAULT_ERROR = 1e-3
"""The largest error of any entry, relative to its own largest magnitude, where neither a word length nor an error is
asked for."""
GOALS = {
    "throughput": "as many tasks a second as possible, and of what is as fast the smallest",
    "area": "the smallest",
    "latency": "the fastest answer to a lone task, and of what is as fast the smallest",
    "host": "as many tasks a second as the board's link brings, and of what is as fast there the smallest",
}
"""What the tool chooses by, where it chooses; the first where nothing is said."""


def _function_names() -> Iterator[str]:
    yield from registry.known()
    yield "all"


def algorithm(kind: str) -> str:
    """The option that chooses among algorithms of a kind."""
    what = f"algorithm of {KINDS[kind].summary}"
    chains = [a.name for a in known(kind).values() if a.serial and not a.comparison]
    if chains:
        what += f"; for serial chains only: {', '.join(chains)}"
    default = listed(kind)[0]
    otherwise = usual(kind).name
    return setting(
        default,
        WORD,
        "what",
        what,
        otherwise=f"{otherwise}, or for latency what answers first"
        if default == OPEN
        else otherwise,
        choices=lambda: listed(kind),
        unlisted=lambda: known(kind),
        metavar="A",
    )


@dataclass(frozen=True)
class Options:
    """What to build: what is computed, with what arithmetic, at what rate, how hardware is shared, on what device.

    Every field has a description (:func:`rbdgen.options.setting.settings`) that the command line and the reference
    show. ``functions`` are in the order of their codes, each once; ``all`` among them stands for the common ones.
    ``limits`` override joints' declared ranges (see :func:`rbdgen.model.ranges.declared_ranges`). ConfigError for a
    value that an option does not take, and for options that do not go together."""

    functions: tuple[str, ...] = setting(
        ("id",),
        WORDS,
        "what",
        "what it computes, separated by commas",
        otherwise=f"id; all is {', '.join(registry.common())}",
        listed=_function_names,
        metavar="F,F",
        basic=True,
    )
    ii: int = setting(
        1,
        INTEGER,
        "rate",
        "initiation interval: cycles between tasks",
        otherwise="1, or what a budget allows",
        least=1,
        most=MAX_II,
        metavar="CYCLES",
        basic=True,
    )
    replicas: int | None = setting(
        None,
        INTEGER,
        "rate",
        "accelerators side by side behind one stream, for so many times the tasks",
        otherwise="1, or what a board has room for and its link can feed",
        least=1,
        most=MAX_REPLICAS,
        metavar="N",
    )
    word: int | None = setting(
        None,
        INTEGER,
        "arithmetic",
        "instead of an error: words of one length, in bits",
        otherwise="none",
        least=MIN_WORD,
        most=MAX_WORD,
        metavar="BITS",
        basic=True,
    )
    device: str = setting(
        DEFAULT_DEVICE,
        WORD,
        "target",
        "device family that it is timed for",
        otherwise=f"{DEFAULT_DEVICE}, or the board's",
        choices=lambda: DEVICES,
        metavar="D",
    )
    derivative: str = algorithm("derivative")
    mass_matrix: str = algorithm("mass_matrix")
    inverse_dynamics: str = algorithm("inverse_dynamics")
    forward_dynamics: str = algorithm("forward_dynamics")
    operational_space: str = algorithm("operational_space")
    forces: bool = setting(
        False,
        SWITCH,
        "what",
        "external forces on all bodies are operands of a task",
        otherwise="no",
    )
    force_limit: float = setting(
        FORCE_LIMIT,
        NUMBER,
        "what",
        "the largest component of an external force, N",
        otherwise=f"{FORCE_LIMIT:g}",
        least=0,
        most=1e6,
        open=True,
        metavar="N",
    )
    moment_limit: float = setting(
        MOMENT_LIMIT,
        NUMBER,
        "what",
        "the largest component of an external moment, N·m",
        otherwise=f"{MOMENT_LIMIT:g}",
        least=0,
        most=1e6,
        open=True,
        metavar="M",
    )
    moving_base: bool = setting(
        False, SWITCH, "what", "the base's motion is an operand of a task", otherwise="no"
    )
    with_inverse: bool = setting(
        False, SWITCH, "what", "dfd returns the inverse of M as well", otherwise="no"
    )
    calibratable: bool = setting(
        False, SWITCH, "what", "inertial parameters are loaded over the stream", otherwise="no"
    )
    integrator: str = setting(
        "euler",
        WORD,
        "what",
        "how roll-outs and steps are integrated",
        otherwise="euler",
        choices=lambda: COEFFICIENTS,
        metavar="I",
    )
    time_step: float = setting(
        1e-3,
        NUMBER,
        "what",
        "seconds of a step, of roll-outs too",
        otherwise="0.001",
        least=0,
        most=1,
        open=True,
        metavar="S",
    )
    reference: str = setting(
        LOCAL,
        WORD,
        "what",
        "what frames' motions are given in, as Pinocchio's",
        otherwise=LOCAL,
        choices=lambda: REFERENCES,
        metavar="R",
    )
    constraint_damping: float = setting(
        0.0,
        NUMBER,
        "what",
        "added to the diagonal of the inverse inertia that frames and contacts have, 1/kg and 1/(kg·m²)",
        otherwise="0",
        least=0,
        most=1e6,
        metavar="D",
    )
    contact_rate: float = setting(
        0.0,
        NUMBER,
        "what",
        "how fast velocities of contacts decay, 1/s: Baumgarte's term",
        otherwise="0",
        least=0,
        most=1e4,
        metavar="R",
    )
    goal: str | None = setting(
        None,
        WORD,
        "sharing",
        "what it is chosen for",
        otherwise="throughput, where a board has too little",
        choices=lambda: GOALS,
        flag="for",
        metavar="GOAL",
        basic=True,
    )
    fold: bool = setting(
        True,
        SWITCH,
        "sharing",
        "branches that are alike share hardware in turn, where their number divides the interval",
        otherwise="yes",
    )
    share: bool = setting(True, SWITCH, "sharing", "submodules share multipliers", otherwise="yes")
    error: Mapping[str, float | str] = setting(
        {},
        TARGETS,
        "arithmetic",
        "the largest error allowed of each entry, relative to its own largest magnitude; largest:E: to the largest of "
        "its output, abs:E: in its unit; or NAME=E,NAME=E by function (did), output (dtau_dq), both (did.dtau_dq), or "
        "an entry of these (tau.wrist_3)",
        otherwise=f"{DEFAULT_ERROR:g}",
        metavar="E",
        basic=True,
    )
    formats: str = setting(
        "signal",
        WORD,
        "arithmetic",
        "with an error: a format for each signal, or one word for all",
        otherwise="signal",
        choices=lambda: ("signal", "uniform"),
        metavar="F",
    )
    ranges: str = setting(
        BOTH,
        WORD,
        "arithmetic",
        "states that ranges of functions with torques are found at: motions, torques up to the declared effort, or "
        "half of them by each way",
        otherwise="both",
        choices=lambda: RANGES,
        metavar="R",
    )
    sound: bool = setting(
        False,
        SWITCH,
        "arithmetic",
        "ranges of signals by bounds that hold, not by sampling",
        otherwise="no",
    )
    rounding: str = setting(
        "auto",
        WORD,
        "arithmetic",
        "how bits are dropped; auto is by cost, signal by signal",
        otherwise="auto",
        choices=lambda: ("auto", "nearest", "truncate"),
        metavar="R",
    )
    overflow: str = setting(
        "flag",
        WORD,
        "arithmetic",
        "a task in which something does not fit is flagged; saturate: and that value is the nearest that fits",
        otherwise="flag",
        choices=lambda: ("flag", "saturate"),
        metavar="O",
    )
    constants: str = setting(
        OPEN,
        WORD,
        "sharing",
        "constant factors as shifts and adds in logic, or in slots of multipliers",
        otherwise="auto",
        choices=lambda: (OPEN, "logic", "multipliers"),
        metavar="C",
    )
    programs: str = setting(
        OPEN,
        WORD,
        "sharing",
        "derivatives are a program of their own, beside which other tasks run, or parts of the only one, which is "
        "smaller and which dfd passes twice",
        otherwise="auto",
        choices=lambda: (OPEN, "two", "one"),
        metavar="P",
    )
    spread: str = setting(
        OPEN,
        WORD,
        "sharing",
        "as few multipliers as there can be, or about twice as many, for narrower choices before them",
        otherwise="auto",
        choices=lambda: (OPEN, "fewest", "twice"),
        metavar="S",
    )
    clock: float | None = setting(
        None,
        NUMBER,
        "target",
        "clock in MHz that the pipeline is made for",
        otherwise="the device's",
        least=SLOWEST,
        most=FASTEST,
        metavar="MHZ",
    )
    seed: int = setting(
        1,
        INTEGER,
        "arithmetic",
        "chooses the states that ranges are sampled at",
        otherwise="1",
        least=0,
        on_command_line=False,
    )
    limits: Mapping[str, Mapping[str, float]] = field(
        default_factory=dict,
        metadata={METADATA: Setting(LIMITS, "what", "joints' ranges", on_command_line=False)},
    )

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if value is not None or f.default is not None:
                object.__setattr__(self, f.name, f.metadata[METADATA].check(f.name, value))
        object.__setattr__(self, "functions", _resolved(self.functions))
        check_together(self)

    @property
    def records(self) -> tuple[Function, ...]:
        """The functions' records."""
        return registry.made(self.functions, self)

    @property
    def targets(self) -> Mapping[str, float | str]:
        """The errors allowed, by name, those that nothing is said of included; none where there is a word length
        instead."""
        if self.word is not None:
            return {}
        return for_all(self.error, outputs(self), DEFAULT_ERROR)

    @property
    def precision_label(self) -> str:
        """The same as :attr:`precision_text`, as short as can be."""
        if self.word is not None:
            return f"{self.word} bits"
        return f"error {finest(self.targets)}"

    @property
    def precision_text(self) -> str:
        """The word length or the error that was asked for, in a few words."""
        if self.word is not None:
            return f"{self.word}-bit words"
        return f"formats for an error of {finest(self.targets)}"


ROBOT = {
    "base": Setting(
        WORD,
        "what",
        "how the root link is carried",
        otherwise="fixed",
        choices=lambda: BASES,
        metavar="B",
        basic=True,
    ),
    "root": Setting(
        WORD,
        "what",
        "the link that a mobile base carries; the base's coordinates are that link's",
        otherwise="the file's",
        metavar="LINK",
    ),
    "gravity": Setting(
        VECTOR,
        "what",
        "gravity in the base's frame, m/s²; write --gravity=X,Y,Z where it begins with a minus",
        otherwise="the file's, else 0,0,-9.81",
        metavar="X,Y,Z",
    ),
    "armature": Setting(
        BY_JOINT,
        "what",
        "inertia of joints' rotors times the square of their gear ratio, kg·m² (kg of prismatic ones)",
        otherwise="none",
        metavar="JOINT=V,JOINT=V",
    ),
    "friction": Setting(
        WORD,
        "what",
        "what of the joints' friction in the robot's file counts",
        otherwise=VISCOUS,
        choices=lambda: FRICTIONS,
        metavar="F",
    ),
    "lock": Setting(
        BY_JOINT,
        "what",
        "joints that are fixed, at rad or m; their links become parts of those that carry them",
        otherwise="none",
        metavar="JOINT=V,JOINT=V",
    ),
    "payload": Setting(
        PAYLOADS,
        "what",
        "what links carry: mass in kg, centre of mass in the link's frame in m, moments about it in kg·m² "
        "(xx, yy, zz, xy, xz, yz); the last two may be left out; several with semicolons",
        otherwise="none",
        metavar="LINK:M,X,Y,Z,…",
    ),
    "tip": Setting(
        WORD,
        "what",
        "only the links from the base to this one",
        otherwise="all",
        metavar="LINK",
    ),
    "frame": Setting(
        FRAMES,
        "what",
        "frames that fk, jac, acc, lam and the like are of: a link, or also where in it (m; roll, pitch, yaw, rad), or "
        "NAME=LINK:…; several with semicolons",
        otherwise="none",
        metavar="LINK:X,Y,Z,…",
    ),
    "contact": Setting(
        WORDS,
        "what",
        "contacts of cfd and the like: frames or links, separated by commas; :3d holds a point, :6d also its "
        "directions, letters of xyzabc some linear (x, y, z) and angular ones (a, b, c)",
        otherwise="none; 3d",
        metavar="FRAME:KIND,…",
    ),
}
"""What of a robot is chosen as it is read."""
DEMANDS = {
    "multipliers": Setting(
        INTEGER,
        "rate",
        "instead of an interval: as many tasks per second as so many multipliers allow",
        least=1,
        metavar="N",
    ),
    "rate": Setting(
        NUMBER,
        "rate",
        "instead of an interval: so many tasks per second at the clock",
        least=0,
        open=True,
        metavar="R",
    ),
    "board": Setting(
        WORD,
        "target",
        "for what this board has; without an interval as fast as that allows",
        metavar="B",
        basic=True,
    ),
}
"""What a design is fitted to, beside the options: settings of :class:`rbdgen.schedule.budget.Budget`, and a board."""


def _resolved(names: tuple[str, ...]) -> tuple[str, ...]:
    """Functions in the order of their codes, each once."""
    given: list[str] = []
    for name in names:
        given += registry.common() if name == "all" else (name,)
    return registry.check_functions(given)
