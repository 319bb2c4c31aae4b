"""Evidence of a design's errors: the bit-true model at fresh states against the golden model, beside single precision.

Unlike an error that a simulation measured, this is over as many states as one likes, and names the worst.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from rbdgen.compiler import Design
from rbdgen.errors import ConfigError
from rbdgen.functions import registry
from rbdgen.functions.quantities import labels
from rbdgen.functions.states import States
from rbdgen.layout.execute import float_passes
from rbdgen.layout.torques import MOTION, TORQUE
from rbdgen.protocol.tasks import Flag
from rbdgen.trials import (
    TaskSet,
    by_vector,
    dense_results,
    free_torques,
    make_tasks,
    task_states,
)
from rbdgen.wordlength.experiment import scale_of
from rbdgen.wordlength.targets import resolve_targets
from rbdgen.wordlength.verdict import FLAGGED

NOTICED = 1e-3
"""An error relative to the largest output that is worth a warning, unless a larger one was asked for."""
SEED = 7919
"""Seed of the fresh states, added to the design's own: ranges and word lengths were found at others."""
CHUNK = 10_000
"""States evaluated at once."""


def formats(design: Design) -> dict[str, Any]:
    """How a design's formats were found, and what they are made of."""
    fixed, options = design.fixed, design.options
    widths = []
    factors: Counter[int] = Counter()
    for i, node in fixed.graph:
        if node.op != "const":
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


class _Errors:
    """Collects the errors of one vector over chunks of states of one kind."""

    def __init__(self) -> None:
        self.largest = 0.0
        self.worst = 0.0
        self.square = 0.0
        self.count = 0
        self.worst_at: dict[str, Any] = {}

    def add(self, error: np.ndarray, truth: np.ndarray, good: np.ndarray, states: States) -> None:
        """``error`` and ``truth`` (n, …) of ``states``; those that are not ``good`` (n,) don't count."""
        largest = float(np.max(np.abs(truth)))
        self.largest = max(self.largest, largest)
        counted = _beside(good, error)
        size = np.abs(error) * counted
        number, *entry = np.unravel_index(int(np.argmax(size)), size.shape)
        worst = float(size[number, *entry])
        if worst >= self.worst:
            self.worst = worst
            self.worst_at = {"entry": [int(k) for k in entry]}
            for name in ("q", "v", "a", "tau"):
                state = getattr(states, name)[number]
                self.worst_at[name] = [round(float(x), 6) for x in state]
        entries = int(np.prod(error.shape[1:]))
        self.square += float(np.sum(size**2))
        self.count += int(np.sum(good)) * entries

    def row(self) -> dict[str, float]:
        """Largest error as it is and relative, and the rms, relative to the largest magnitude."""
        scale = scale_of(self.largest)
        rms = (self.square / max(self.count, 1)) ** 0.5
        return {"max": self.worst, "max_relative": self.worst / scale, "rms_relative": rms / scale}


def _beside(x: np.ndarray, entries: np.ndarray) -> np.ndarray:
    """Values (n,) as an array that goes with others of shape (n, …)."""
    return x.reshape(-1, *[1] * (entries.ndim - 1))


class _Kinds:
    """Collects the errors of one vector by kinds of states: those of motions, and those of free torques."""

    def __init__(self) -> None:
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
        kinds = {MOTION: np.ones(len(good), bool)}
        if free is not None:
            kinds = {MOTION: ~free, TORQUE: free}
        for name, chosen in kinds.items():
            if chosen.any():
                kind = self.kinds.setdefault(name, _Errors())
                kind.add(error[chosen], truth[chosen], good[chosen], states.part(chosen))

    def row(self) -> dict[str, Any]:
        """The figures of the kind with the largest relative error, and of each where there are two."""
        rows = {name: kind.row() for name, kind in self.kinds.items()}
        name = max(rows, key=lambda k: rows[k]["max_relative"])
        row: dict[str, Any] = dict(rows[name])
        if len(rows) > 1:
            row["by_states"] = rows
        return row

    def worst_at(self) -> dict[str, Any]:
        """State and entry of the error of :meth:`row`."""
        worst = max(self.kinds.values(), key=lambda kind: kind.row()["max_relative"])
        return worst.worst_at


def single_precision(design: Design, tasks: TaskSet) -> dict[str, np.ndarray]:
    """The function's results by vector, computed in single precision by the text that the hardware was traced from."""
    network, states = design.network, tasks.states
    words = network.operand_words(tasks.function)
    given: dict[str, np.ndarray] = {}
    for word in words:
        values = states.vector(word.vector, word.index)
        given[word.name] = values.astype(np.float32)
    for p in network.parameters:
        given[p.word.name] = np.full(tasks.count, p.nominal, np.float32)
    passes = float_passes(network, network.graph, tasks.function, given, np.float32, kept=())
    last = passes[-1]
    results = []
    for word in network.result_words(tasks.function):
        node = network.graph.outputs[word.name]
        results.append(np.broadcast_to(last[node], (tasks.count,)))
    return by_vector(design, tasks.function, tasks.count, results)


def evidence(
    design: Design,
    count: int,
    seed: int | None = None,
    progress: Callable[[str], None] = lambda stage: None,
) -> dict[str, Any]:
    """Errors of every function at ``count`` fresh states inside the declared ranges.

    By function: the numbers of tasks flagged for overflow and for an operand outside its range, which count in no
    error, and by vector the largest and rms error, the target if there is one, the same in single precision, and
    the state and entry of the largest error. ConfigError for a count below 1.
    """
    if count < 1:
        raise ConfigError(f"evidence: must be at least 1 state, not {count}")
    seed = design.options.seed + SEED if seed is None else seed
    asked = design.options.targets
    targets = resolve_targets(asked, design.network) if asked else {}
    functions: dict[str, Any] = {}
    for function in design.network.functions:
        progress(f"evidence of {function}")
        found = _Found(design, function)
        for number, first in enumerate(range(0, count, CHUNK)):
            states = task_states(design, min(CHUNK, count - first), seed + number)
            found.add(make_tasks(design, function, states))
        vectors = {}
        for vector, errors in found.fixed.items():
            group = _group(design, function, vector)
            vectors[vector] = errors.row() | {
                "target": targets.get((function, group)),
                "single_precision": found.single[vector].row(),
                "worst": errors.worst_at(),
            }
        functions[function] = {"tasks": count, "flagged": found.flagged, "outputs": vectors}
    return {"states": count, "seed": seed, "functions": functions}


class _Found:
    """Collects what is found of one function over chunks of states."""

    def __init__(self, design: Design, function: str) -> None:
        self.design = design
        self.function = function
        self.fixed: dict[str, _Kinds] = {}
        self.single: dict[str, _Kinds] = {}
        self.flagged = {"overflow": 0, "range": 0}
        for vector in design.network.options.returned(function):
            self.fixed[vector] = _Kinds()
            self.single[vector] = _Kinds()

    def add(self, tasks: TaskSet) -> None:
        """Tasks with the model's answers."""
        self.flagged["overflow"] += int(np.count_nonzero(tasks.flags & Flag.OVERFLOW))
        self.flagged["range"] += int(np.count_nonzero(tasks.flags & Flag.RANGE))
        good = tasks.flags == 0
        fixed = dense_results(self.design, self.function, tasks.count, tasks.expected)
        single = single_precision(self.design, tasks)
        free = free_torques(tasks)
        for vector, truth in tasks.reference.items():
            self.fixed[vector].add(fixed[vector] - truth, truth, good, tasks.states, free)
            self.single[vector].add(single[vector] - truth, truth, good, tasks.states, free)


def warnings_of(design: Design, found: dict[str, Any]) -> list[str]:
    """A line for each function whose largest error in ``found`` (:func:`evidence`) is above :data:`NOTICED` and above
    what was asked for, and for each of whose tasks more than :data:`FLAGGED` overflow."""
    lines = []
    for function, f in found["functions"].items():
        overflowing = f["flagged"]["overflow"] / f["tasks"]
        if overflowing > FLAGGED:
            lines.append(
                f"{function}: {overflowing:.1%} of its tasks inside their ranges overflow; use a longer --word, or "
                "--error in its place"
            )
        outputs = f["outputs"]
        vector = max(outputs, key=lambda name: outputs[name]["max_relative"])
        reached = outputs[vector]["max_relative"]
        if reached > max(NOTICED, outputs[vector]["target"] or 0.0):
            lines.append(
                f"{function}: the largest error of {vector} is {reached:.2g} of its largest value, at "
                f"{_place(design, vector, outputs[vector]['worst']['entry'])}; use --error {NOTICED:g}"
            )
    return lines


def _place(design: Design, vector: str, entry: list[int]) -> str:
    """What an entry belongs to: joints, frames, directions."""
    shape = design.network.options.quantities[vector].shape
    names = [labels(design.robot, dimension, design.robot.joint_names) for dimension in shape]
    return ", ".join(known[k] for k, known in zip(entry, names, strict=True))


def _group(design: Design, function: str, vector: str) -> str:
    """The name by which an error target calls a result vector."""
    extra = registry.function(function).extra
    group = design.network.options.extra_of(function)
    return group if extra and group and vector == extra.quantity.name else vector
