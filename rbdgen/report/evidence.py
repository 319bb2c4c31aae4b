"""Evidence of a design's errors: the bit-true model at fresh states against the golden model, beside single precision;
and a note where torques inside their limits take joints far beyond the accelerations that are declared, which costs
bits.

Unlike an error that a simulation measured, this is over as many states as one likes, and names the worst.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbdgen import golden
from rbdgen.compiler import Design
from rbdgen.errors import ConfigError
from rbdgen.functions.quantities import States
from rbdgen.model.robot import dof_names
from rbdgen.protocol.entries import mirrored
from rbdgen.protocol.tasks import Flag
from rbdgen.tracing.execute import float_passes
from rbdgen.trials import (
    TaskSet,
    by_vector,
    dense_results,
    free_torques,
    given_values,
    make_tasks,
    task_states,
)
from rbdgen.wordlength.experiment import (
    FLAGGED,
    entry_scales,
    kinds_of,
    lost_definiteness,
    nothing_masks,
)
from rbdgen.wordlength.targets import (
    ABSOLUTE,
    ENTRY,
    LARGEST,
    Target,
    entry_label,
    resolve_targets,
)

ACCELERATED = 8.0
"""Multiple of its declared acceleration that a joint may reach before that is worth a note."""
REACHING = 512
"""States by which accelerations are found."""


def reached_accelerations(design: Design) -> np.ndarray:
    """The largest acceleration of each degree of freedom (nv) that torques inside their limits cause, among some
    states; zeros where no function takes torques."""
    largest = np.zeros(design.robot.nv)
    if any(f.takes_torques for f in design.network.options.records):
        s = task_states(design, REACHING, design.options.seed)
        reached = golden.forward_dynamics(design.robot, s.q, s.v, s.tau, s.f_ext, root=s.root)
        largest = np.max(np.abs(reached), axis=0)
    return largest


def acceleration_note(design: Design) -> str | None:
    """A line on the joint whose torques take it farthest beyond its declared acceleration; None where none goes far."""
    declared = np.array(design.ranges.a_max)
    reached = reached_accelerations(design)
    k = int(np.argmax(reached / declared))
    times = reached[k] / declared[k]
    if times < ACCELERATED:
        return None
    joint = dof_names(design.robot, list(design.robot.joint_names))[k]
    effort = design.network.torque_limits[k]
    return (
        f"torques up to {effort:.4g} accelerate {joint} to {reached[k]:.3g}, {declared[k]:g} is declared: that takes "
        f"{np.log2(times):.1f} bits of every acceleration; a smaller effort under [joints] in a config bounds "
        f"it, or --ranges motion with an acceleration of as much as you need (here {reached[k]:.2g})"
    )


NOTICED = 1e-3
"""An error of an entry relative to its own largest magnitude that is worth a warning, unless a larger one was asked
for."""
SEED = 7919
"""Seed of the fresh states, added to the design's own: ranges and word lengths were found at others."""
CHUNK = 10_000
"""States evaluated at once."""
STATE = ("q", "v", "a", "tau")
"""Vectors of the state of an error that are told."""


def formats(design: Design) -> dict[str, Any]:
    """The search by which a design's formats were found, and what they are made of."""
    fixed, options = design.fixed, design.options
    widths = []
    factors: Counter[int] = Counter()
    for i, node in fixed.graph:
        if not node.is_const:
            widths.append(fixed.formats[i].width)
        for _, one, other in node.products:
            longer = max(fixed.formats[one].width, fixed.formats[other].width)
            factors[longer] += 1
    extra = design.signal_ranges.extra_bits()
    return {
        "error": dict(options.targets) or None,
        "search": options.formats if options.targets else "word",
        "ranges": "sound" if options.sound else "sampled",
        "sound_beside_sampled_bits": {
            "mean": round(float(np.mean(extra)), 2),
            "most": round(float(np.max(extra)), 2),
        },
        "unbounded": {
            "signals": design.signal_ranges.open,
            "reciprocals": len(design.signal_ranges.unbounded),
        },
        "rounding": options.rounding,
        "overflow": options.overflow,
        "signal_bits": {
            "least": min(widths),
            "mean": round(float(np.mean(widths)), 2),
            "most": max(widths),
        },
        "products_by_longer_factor": {str(w): factors[w] for w in sorted(factors)},
        "truncated": len(fixed.truncated),
    }


@dataclass(frozen=True)
class _Asked:
    """Error target of one vector: the errors allowed by entry and what they are of, shapes as the vector; the finest of
    them, and how ``many`` different ones there are."""

    values: np.ndarray
    of: np.ndarray
    finest: Target
    many: int


class _Errors:
    """Collects the errors of one vector's entries over chunks of states of one kind; ``nothing``: a mask of the entries
    that are only rounding."""

    def __init__(self, nothing: np.ndarray) -> None:
        shape = nothing.shape
        self.nothing = nothing
        self.largest = np.zeros(shape)
        self.worst = np.zeros(shape)
        self.square = np.zeros(shape)
        self.count = 0
        self.at: dict[str, np.ndarray] = {}

    def add(self, error: np.ndarray, truth: np.ndarray, good: np.ndarray, states: States) -> None:
        """``error`` and ``truth`` (n, …) of ``states``; those that are not ``good`` (n,) don't count."""
        np.maximum(self.largest, np.max(np.abs(truth), axis=0), out=self.largest)
        size = np.abs(error)
        size[~good] = 0.0
        self.square += np.einsum("n...,n...->...", size, size)
        self.count += int(np.sum(good))
        number = np.argmax(size, axis=0)
        worst = np.max(size, axis=0)
        for name in STATE:
            values = getattr(states, name)[number]
            if name not in self.at:
                self.at[name] = values
            self.at[name] = np.where((worst > self.worst)[..., None], values, self.at[name])
        np.maximum(self.worst, worst, out=self.worst)

    def scales(self, of: np.ndarray | str = ENTRY) -> np.ndarray:
        """Scales that errors are relative to, by entry."""
        return entry_scales(self.largest, of, self.nothing)

    def relative(self) -> np.ndarray:
        """The largest errors by entry over the entry's own largest magnitude."""
        return self.worst / self.scales()

    def share(self, asked: _Asked | None) -> float:
        """The largest error in units of what was asked for; 0 where nothing was."""
        if asked is None:
            return 0.0
        return float(np.max(self.worst / (asked.values * self.scales(asked.of))))

    def row(self) -> dict[str, Any]:
        """Of the entry with the largest error relative to its own largest magnitude that error, as it is too, and the
        rms; the same error as a share of the vector's largest; and both by entry."""
        relative = self.relative()
        place = np.unravel_index(int(np.argmax(relative)), relative.shape)
        scales = self.scales()
        rms = np.sqrt(self.square / max(self.count, 1)) / scales
        of_largest = self.worst / self.scales(LARGEST)
        return {
            "max": float(self.worst[place]),
            "max_relative": float(relative[place]),
            "rms_relative": float(np.sqrt(np.mean(rms**2))),
            "max_of_largest": float(np.max(of_largest)),
            "entries": {"max_relative": _figures(relative), "largest": _figures(self.largest)},
        }

    def worst_at(self) -> dict[str, Any]:
        """State and entry of the largest error relative to an entry's own largest magnitude."""
        relative = self.relative()
        place = np.unravel_index(int(np.argmax(relative)), relative.shape)
        found: dict[str, Any] = {"entry": [int(k) for k in place]}
        for name, values in self.at.items():
            found[name] = [round(float(x), 6) for x in values[place]]
        return found


def _figures(values: np.ndarray) -> list[Any]:
    """Numbers in a report, to four digits."""
    rounded = [float(f"{x:.3e}") for x in values.ravel()]
    return np.array(rounded).reshape(values.shape).tolist()


class _Kinds:
    """Collects the errors of one vector by kinds of states: those of motions, and those of free torques."""

    def __init__(self, nothing: np.ndarray) -> None:
        self.nothing = nothing
        self.kinds: dict[str, _Errors] = {}

    def add(
        self,
        error: np.ndarray,
        truth: np.ndarray,
        good: np.ndarray,
        states: States,
        free: np.ndarray | None,
    ) -> None:
        """As :meth:`_Errors.add`; ``free`` (n,): the states with free torques, or None where there are no kinds."""
        for name, chosen in kinds_of(len(good), free).items():
            kind = self.kinds.setdefault(name, _Errors(self.nothing))
            kind.add(error[chosen], truth[chosen], good[chosen], states.part(chosen))

    def row(self, asked: _Asked | None = None) -> dict[str, Any]:
        """The figures of the kind with the largest relative error, and of each where there are two."""
        rows = {name: kind.row() for name, kind in self.kinds.items()}
        name = max(rows, key=lambda k: rows[k]["max_relative"])
        row: dict[str, Any] = dict(rows[name])
        # the largest error need not be the one that is nearest to its target
        row["target_share"] = max(kind.share(asked) for kind in self.kinds.values())
        if len(rows) > 1:
            row["by_states"] = rows
        return row

    def worst_at(self) -> dict[str, Any]:
        """State and entry of the error of :meth:`row`."""
        worst = max(self.kinds.values(), key=lambda kind: float(np.max(kind.relative())))
        return worst.worst_at()


def single_precision(design: Design, tasks: TaskSet) -> dict[str, np.ndarray]:
    """The function's results by vector, computed in single precision by the text that the hardware was traced from."""
    network = design.network
    given: dict[str, np.ndarray] = {}
    for name, values in given_values(design, tasks.function, tasks.states).items():
        given[name] = values.astype(np.float32)
    # only results are read: all other values can go on the way
    passes = float_passes(network, network.graph, tasks.function, given, np.float32, kept=())
    last = passes[-1]
    results = []
    for word in network.result_words(tasks.function):
        node = network.graph.outputs[word.name]
        # a result that depends on no operand has a single value
        results.append(np.broadcast_to(last[node], (tasks.count,)))
    return by_vector(design, tasks.function, tasks.count, results)


def evidence(
    design: Design,
    count: int,
    seed: int | None = None,
    progress: Callable[[str], None] = lambda stage: None,
) -> dict[str, Any]:
    """Errors of every function at ``count`` fresh states inside the declared ranges, and as many with free torques.

    By function: the numbers of tasks flagged for overflow and for an operand outside its range, which count in no
    error, and by vector the largest and rms error of its entries, each over its own largest magnitude at states of
    the same kind; the target if there is one, the finest of several, and the largest share of its own that an entry
    reaches; the same in single precision; how many matrices are not positive definite that should be; and the state
    and entry of the largest error. ConfigError for a count below 1.
    """
    if count < 1:
        raise ConfigError(f"evidence: must be at least 1 state, not {count}")
    seed = design.options.seed + SEED if seed is None else seed
    functions: dict[str, Any] = {}
    for function in design.network.functions:
        progress(f"evidence of {function}")
        asked = _asked(design, function)
        found = _Found(design, function)
        for number, first in enumerate(range(0, count, CHUNK)):
            states = task_states(design, min(CHUNK, count - first), seed + number)
            found.add(make_tasks(design, function, states))
        vectors = {}
        for vector, errors in found.fixed.items():
            own = asked.get(vector)
            vectors[vector] = errors.row(own) | {
                "target": own.finest.plain if own else None,
                "targets": own.many if own else 0,
                "indefinite": found.indefinite[vector],
                "single_precision": found.single[vector].row(),
                "worst": _named(design, vector, errors.worst_at()),
            }
        functions[function] = {"tasks": count, "flagged": found.flagged, "outputs": vectors}
    return {"states": count, "seed": seed, "functions": functions}


def _asked(design: Design, function: str) -> dict[str, _Asked]:
    """Error targets of the vectors of a function; empty where nothing was."""
    network = design.network
    if not design.options.targets:
        return {}
    targets = resolve_targets(design.options.targets, network)
    quantities = network.options.quantities
    found: dict[str, _Asked] = {}
    for vector in network.options.returned(function):
        words = [w for w in network.result_words(function) if w.vector == vector]
        if not words:
            continue
        size = quantities[vector].size(design.robot)
        values, of = np.ones(size), np.full(size, ENTRY, dtype=object)
        own = []
        for word in words:
            target = targets[function, word.name]
            own.append(target)
            places = {word.index}
            # words are of the lower triangle, errors of the whole matrix
            if quantities[vector].symmetric:
                places.add(mirrored(word.index))
            for place in places:
                values[place], of[place] = target.value, target.of
        # absolute errors and relative ones cannot be compared: relative ones come first
        finest = min(own, key=lambda target: (target.of == ABSOLUTE, target.value))
        found[vector] = _Asked(values, of, finest, len(set(own)))
    return found


class _Found:
    """Collects what is found of one function over chunks of states."""

    def __init__(self, design: Design, function: str) -> None:
        self.design = design
        self.function = function
        self.fixed: dict[str, _Kinds] = {}
        self.single: dict[str, _Kinds] = {}
        self.indefinite: dict[str, int] = {}
        self.nothing: dict[str, np.ndarray] = {}
        self.flagged = {"overflow": 0, "range": 0}

    def _begin(self, tasks: TaskSet) -> None:
        """Find out which entries are nothing, at the first tasks."""
        given = given_values(self.design, self.function, tasks.states)
        self.nothing = nothing_masks(self.design.network, self.function, given)
        for vector, mask in self.nothing.items():
            self.fixed[vector] = _Kinds(mask)
            self.single[vector] = _Kinds(mask)
            self.indefinite[vector] = 0

    def add(self, tasks: TaskSet) -> None:
        """Tasks with the model's answers."""
        design = self.design
        if not self.nothing:
            self._begin(tasks)
        self.flagged["overflow"] += int(np.count_nonzero(tasks.flags & Flag.OVERFLOW))
        self.flagged["range"] += int(np.count_nonzero(tasks.flags & Flag.RANGE))
        good = tasks.flags == 0
        fixed = dense_results(design, self.function, tasks.count, tasks.expected)
        single = single_precision(design, tasks)
        free = free_torques(tasks)
        for vector, truth in tasks.reference.items():
            if design.network.options.quantities[vector].definite:
                lost = lost_definiteness(fixed[vector][good], truth[good])
                self.indefinite[vector] += lost
            self.fixed[vector].add(fixed[vector] - truth, truth, good, tasks.states, free)
            self.single[vector].add(single[vector] - truth, truth, good, tasks.states, free)


def warnings_of(design: Design, found: dict[str, Any]) -> list[str]:
    """A line for each function whose largest error of an entry in ``found`` (:func:`evidence`) is above what was asked
    for, or above :data:`NOTICED` where nothing was; for matrices that are not positive definite; and for functions of
    whose tasks more than :data:`FLAGGED` overflow."""
    lines = []
    for function, f in found["functions"].items():
        overflowing = f["flagged"]["overflow"] / f["tasks"]
        if overflowing > FLAGGED:
            lines.append(
                f"{function}: {overflowing:.1%} of its tasks inside their ranges overflow; use a longer --word, or "
                "--error in its place"
            )
        outputs = f["outputs"]
        for vector, e in outputs.items():
            if e["indefinite"]:
                lines.append(
                    f"{function}: {vector} is not positive definite at {e['indefinite']} of {f['tasks']} states; use "
                    f"--error {vector}={NOTICED / 10:g}"
                )
        if not outputs:
            continue
        vector = max(outputs, key=lambda name: _excess(outputs[name]))
        if _excess(outputs[vector]) > 1:
            e = outputs[vector]
            lines.append(
                f"{function}: the largest error of {vector} is {e['max_relative']:.2g} of its entry's largest value, "
                f"at {_place(design, vector, e['worst']['entry'])}; use --error {NOTICED:g}"
            )
    return lines


def _excess(e: Mapping[str, Any]) -> float:
    """An output's largest error in units of what was asked for, or of what is noticed."""
    if e["target"] is None:
        return e["max_relative"] / NOTICED
    return e["target_share"]


def _named(design: Design, vector: str, at: dict[str, Any]) -> dict[str, Any]:
    """A state of an error with the name of its entry."""
    return at | {"label": _place(design, vector, at["entry"])}


def _place(design: Design, vector: str, entry: list[int]) -> str:
    """Things that an entry belongs to: joints, frames, directions."""
    quantity = design.network.options.quantities[vector]
    return entry_label(design.robot, quantity, entry)
