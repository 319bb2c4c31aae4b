"""The options of tracing: which functions by which algorithms, with which operands, over which states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rbdgen.algo.frames import LOCAL, REFERENCES
from rbdgen.algo.step import COEFFICIENTS
from rbdgen.functions import registry
from rbdgen.functions.algorithms import KINDS, check_combination, known, listed, usual
from rbdgen.functions.quantities import BASE, F_EXT, Quantity
from rbdgen.functions.record import Function
from rbdgen.setting import (
    INTEGER,
    LIMITS,
    NUMBER,
    OPEN,
    SWITCH,
    WORD,
    WORDS,
    StageOptions,
    setting,
)
from rbdgen.tracing.torques import BOTH, RANGES

FORCE_LIMIT, MOMENT_LIMIT = 100.0, 20.0
"""Declared range of each component of an external force, N and N·m, where no other is asked for."""


def _function_names() -> Iterator[str]:
    yield from registry.known()
    yield "all"


def _algorithm(kind: str) -> str:
    """The option that chooses among algorithms of a kind."""
    what = f"algorithm of {KINDS[kind].summary}"
    # those that are for comparison are taken, but not offered
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
class TraceOptions(StageOptions):
    """Choice of what to trace. ``functions`` are in the order of their codes, each once; ``all`` among them stands for
    the common ones. What is left open is the usual algorithm, and two programs. ``limits`` override joints' declared
    ranges (see :func:`rbdgen.model.ranges.declared_ranges`). ConfigError for functions and algorithms that do not go
    together."""

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
    derivative: str = _algorithm("derivative")
    mass_matrix: str = _algorithm("mass_matrix")
    inverse_dynamics: str = _algorithm("inverse_dynamics")
    forward_dynamics: str = _algorithm("forward_dynamics")
    operational_space: str = _algorithm("operational_space")
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
    movable_frames: bool = setting(
        False,
        SWITCH,
        "what",
        "where frames are on their links is loaded over the stream",
        otherwise="no",
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
        "added to the diagonal of the inverse inertia that frames and contacts have, 1/kg and 1/(kg·m²); of ik "
        "to that of J Jᵀ, m² and 1",
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
    seed: int = setting(
        1,
        INTEGER,
        "arithmetic",
        "chooses the states that ranges are sampled at",
        otherwise="1",
        least=0,
        on_command_line=False,
    )
    # a table by joint, which a file can hold and an argument cannot
    limits: Mapping[str, Mapping[str, float]] = setting(
        {}, LIMITS, "what", "joints' ranges", on_command_line=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # records are those of functions in order, so that this comes first
        object.__setattr__(self, "functions", _resolved(self.functions))
        registry.check_together(self.records)
        check_combination(self)

    @property
    def records(self) -> tuple[Function, ...]:
        """The functions' records."""
        # as they are made beside each other: step, say, by derivatives that are there anyway
        return registry.made(self.functions, self)

    @property
    def quantities(self) -> dict[str, Quantity]:
        """The vectors and matrices of the functions' tasks and results, by name."""
        quantities: list[Quantity] = []
        for f in self.records:
            quantities += [*f.operands, *f.results]
            if f.extra and getattr(self, f.extra.option):
                quantities.append(f.extra.quantity)
            if self.forces and f.forced:
                quantities.append(F_EXT)
            if self.moving_base and f.based:
                quantities.append(BASE)
        return {q.name: q for q in quantities}

    @property
    def takes_inverse(self) -> bool:
        """Whether a function computes M⁻¹, or takes it."""
        return any(f.takes_inverse for f in self.records)

    @property
    def repeated(self) -> Function | None:
        """The function whose tasks go through their program again and again, where there is one."""
        return next((f for f in self.records if f.repeat), None)

    @property
    def two_passes(self) -> tuple[str, ...]:
        """The functions that have a first pass, which is the same of all of them."""
        return tuple(f.name for f in self.records if f.first_pass)

    @property
    def weights(self) -> tuple[tuple[float, float], ...]:
        """c and b of each evaluation of a step of the function that repeats; none where there is no such function."""
        repeated = self.repeated
        if repeated is None or repeated.repeat is None:
            return ()
        return repeated.repeat.weights(self)

    @property
    def weighted(self) -> bool:
        """Whether a step has several evaluations."""
        return len(self.weights) > 1

    def operand_vectors(self, function: str) -> tuple[str, ...]:
        """The operands of a function in the order of the words; external forces and the base's motion follow the
        joints' vectors, matrices come last."""
        record = registry.function(function)
        vectors = [q.name for q in record.operands if len(q.shape) == 1]
        matrices = [q.name for q in record.operands if len(q.shape) > 1]
        if self.forces and record.forced:
            vectors.append(F_EXT.name)
        if self.moving_base and record.based:
            vectors.append(BASE.name)
        return (*vectors, *matrices)

    def result_vectors(self, function: str) -> tuple[str, ...]:
        """The groups of result words of a function, in their order: its results, and the further one that an option
        asks for."""
        record = registry.function(function)
        groups = tuple(q.name for q in record.results)
        extra = self.extra_of(function)
        return (*groups, extra) if extra else groups

    def returned(self, function: str) -> tuple[str, ...]:
        """The vectors and matrices that a function returns, also those that are zero for a robot and have no words."""
        record = registry.function(function)
        names = [q.name for q in record.results]
        if record.extra and self.extra_of(function):
            names.append(record.extra.quantity.name)
        return tuple(names)

    def extra_of(self, function: str) -> str | None:
        """The group of words that a function returns beyond its results; None where no option asks for one."""
        extra = registry.function(function).extra
        return extra.group if extra and getattr(self, extra.option) else None


def _resolved(names: tuple[str, ...]) -> tuple[str, ...]:
    """Functions in the order of their codes, each once."""
    given: list[str] = []
    for name in names:
        given += registry.common() if name == "all" else (name,)
    return registry.check_functions(given)
