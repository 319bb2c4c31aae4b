"""All options of the compiler: those of its stages, and the goal of the whole; and those that do not go together, which
are refused in one line with the remedy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from rbdgen.errors import ConfigError
from rbdgen.functions import registry
from rbdgen.functions.algorithms import KINDS, usual
from rbdgen.machines.engine.core import WIDTHS
from rbdgen.machines.options import ENGINE, PIPELINE, MachineOptions
from rbdgen.machines.pipeline.layout import SharingOptions
from rbdgen.passes.formats import MAX_WORD, MIN_WORD
from rbdgen.setting import INTEGER, OPEN, WORD, setting
from rbdgen.tracing.trace_options import FORCE_LIMIT, MOMENT_LIMIT, TraceOptions
from rbdgen.wordlength.request import FormatOptions
from rbdgen.wordlength.targets import DEFAULT_ERROR, Key, check_names, finest, for_all


def check_together(options: Options) -> None:
    """ConfigError for the first of all that does not go together."""
    _check_machine(options)
    _check_precision(options)
    _check_operands(options)
    _check_extras(options)
    _check_uses(options)
    _check_targets(options)


PIPELINES_ALONE = (
    *("ii", "fold", "share", "spread", "constants", "rounding", "overflow", "formats", "sound"),
    *("programs", "replicas"),
)
"""Options that an engine has no use for."""
ENGINES_ALONE = ("lanes", "cores")
"""Options that a pipeline has no use for."""


def _check_machine(options: Options) -> None:
    """ConfigError for an option of another machine."""
    own = [name for name in ENGINES_ALONE if getattr(options, name) is not None]
    others = [f.name for f in fields(options) if f.name in PIPELINES_ALONE]
    others = [name for name in others if getattr(options, name) != _default(name)]
    if options.machine == PIPELINE and own:
        raise ConfigError(
            f"{own[0]} and machine: {own[0]} are an engine's, and the machine is a pipeline; use machine engine, or "
            f"leave {own[0]} out"
        )
    if options.machine == ENGINE and others:
        raise ConfigError(
            f"{others[0]} and machine: {others[0]} is a pipeline's, and the machine is an engine; use lanes and cores, "
            f"or leave {others[0]} out"
        )
    if own and others:
        raise ConfigError(
            f"{own[0]} and {others[0]}: {own[0]} are an engine's, {others[0]} is a pipeline's; leave one of them out"
        )
    if options.word is None:
        return
    if options.machine == ENGINE and options.word not in WIDTHS:
        raise ConfigError(
            f"word: an engine's words have {WIDTHS[0]} to {WIDTHS[-1]} bits, not {options.word}"
        )
    if options.machine == PIPELINE and options.word > MAX_WORD:
        raise ConfigError(
            f"word: must be {MIN_WORD} to {MAX_WORD} bits of a pipeline, not {options.word}"
        )


def _default(name: str) -> object:
    """The default of an option."""
    return next(f.default for f in fields(Options) if f.name == name)


def _check_precision(options: Options) -> None:
    if options.word is not None and options.error:
        raise ConfigError(
            "word and error: give one of them; an error target finds its own word lengths"
        )
    if options.formats != "signal" and options.word is not None:
        raise ConfigError(
            f"formats and word: formats {options.formats} is a search for an error target; give error instead of word"
        )


def _check_targets(options: Options) -> None:
    """ConfigError for an error target of what the functions do not return."""
    if options.error:
        check_names(options.error, outputs(options))


def outputs(options: Options) -> list[Key]:
    """All that the functions return, each by function and name."""
    keys: list[Key] = []
    for f in options.records:
        keys += [(f.name, quantity.name) for quantity in f.results]
        if f.extra and getattr(options, f.extra.option):
            keys.append((f.name, f.extra.group))
    return keys


def _check_operands(options: Options) -> None:
    """ConfigError for operands that no function takes."""
    taken = {
        "forces": any(f.forced for f in options.records),
        "moving_base": any(f.based for f in options.records),
    }
    for name, is_taken in taken.items():
        if getattr(options, name) and not is_taken:
            raise ConfigError(
                f"{name} and functions: {name} acts on none of {', '.join(options.functions)}; add a function such as "
                f"id, or leave {name} out"
            )
    limits = {"force_limit": FORCE_LIMIT, "moment_limit": MOMENT_LIMIT}
    for name, default in limits.items():
        # a limit that equals the default cannot be told from one that was not given
        if getattr(options, name) != default and not options.forces:
            raise ConfigError(
                f"{name} and forces: {name} is of external forces, which are no operands; add forces, or leave "
                f"{name} out"
            )


def _check_extras(options: Options) -> None:
    """ConfigError for a further result of a function that is not there."""
    for f in registry.known().values():
        if f.extra and getattr(options, f.extra.option) and f not in options.records:
            raise ConfigError(
                f"{f.extra.option} and functions: {f.extra.option} needs {f.name} among the functions, which are "
                f"{', '.join(options.functions)}; add it, or leave {f.extra.option} out"
            )


def _check_uses(options: Options) -> None:
    """ConfigError for an option that none of the functions has a use for."""
    users: dict[str, list[str]] = {}
    for f in registry.known().values():
        for name in sorted(f.uses):
            users.setdefault(name, []).append(f.name)
    for f in fields(options):
        # what is left open becomes the usual algorithm
        defaults = (f.default, usual(f.name).name) if f.name in KINDS else (f.default,)
        if f.name not in users or getattr(options, f.name) in defaults:
            continue
        known = users[f.name]
        if not set(known) & set(options.functions):
            raise ConfigError(
                f"{f.name} and functions: {f.name} is for {' or '.join(known)}, and functions are "
                f"{', '.join(options.functions)}; add {'it' if len(known) == 1 else 'one'}, or leave {f.name} out"
            )


MAX_REPLICAS = 64
"""More accelerators behind one stream than any device has room for."""
BENCH_TASKS = 500
"""Mixed tasks of a testbench, unless another number is asked for."""
VERIFIED_TASKS = 1000
"""Mixed tasks that each netlist of a verified build runs, unless another number is asked for."""
GOALS = {
    "throughput": "as many tasks a second as possible, and of what is as fast the smallest",
    "area": "the smallest",
    "latency": "the fastest answer to a lone task, and of what is as fast the smallest",
    "host": "as many tasks a second as the board's link brings, and of what is as fast there the smallest",
}
"""Goals by which the tool chooses, where it chooses; the first where nothing is said."""


@dataclass(frozen=True)
class Options(MachineOptions, SharingOptions, FormatOptions, TraceOptions):
    """A design as it is asked for: what is computed, with what arithmetic, at what rate, how hardware is shared, on
    what device.

    Each stage declares its own; every field has a description (:func:`rbdgen.setting.settings`) that the command line
    and the reference show. ConfigError for a value that an option does not take, and for options that do not go
    together."""

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
    goal: str | None = setting(
        None,
        WORD,
        "sharing",
        "optimisation goal",
        otherwise="throughput, where a board has too little",
        choices=lambda: GOALS,
        flag="for",
        metavar="GOAL",
        basic=True,
    )

    def __post_init__(self) -> None:
        # each option alone first: what goes together is asked of values in their own types
        super().__post_init__()
        check_together(self)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of machines that may be: that which is asked for, or which the options are of."""
        if self.machine != OPEN:
            return (self.machine,)
        if any(getattr(self, name) is not None for name in ENGINES_ALONE):
            return (ENGINE,)
        if any(getattr(self, name) != _default(name) for name in PIPELINES_ALONE):
            return (PIPELINE,)
        if self.word is None:
            return PIPELINE, ENGINE
        widths = {PIPELINE: range(MIN_WORD, MAX_WORD + 1), ENGINE: WIDTHS}
        return tuple(kind for kind, own in widths.items() if self.word in own)

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
