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
from rbdgen.host.tasks import Flag
from rbdgen.layout.execute import float_passes
from rbdgen.layout.functions import SYMMETRIC
from rbdgen.layout.samples import Samples
from rbdgen.layout.words import INVERSE
from rbdgen.passes.error_target import resolve_targets
from rbdgen.trials import TaskSet, dense_results, make_tasks, result_vectors, task_states

SEED = 7919
"""Seed of the fresh states, added to the design's own: ranges and word lengths were found at others."""
CHUNK = 10_000
"""States evaluated at once."""


def formats(design: Design) -> dict[str, Any]:
    """How a design's formats were found, and what they are made of."""
    fixed, options = design.fixed, design.options
    widths = [f.width for f, (_, n) in zip(fixed.formats, fixed.graph, strict=True) if n.op != "const"]
    factors = Counter(max(fixed.formats[a].width for a in n.args) for _, n in fixed.graph if n.op == "mul")
    extra = design.signal_ranges.extra_bits()
    return {
        "error": dict(options.error) or None,
        "search": options.formats if options.error else "word",
        "ranges": "sound" if options.sound else "sampled",
        "sound_beside_sampled_bits": {"mean": round(float(np.mean(extra)), 2), "most": round(float(np.max(extra)), 2)},
        "unbounded": {"signals": design.signal_ranges.open, "reciprocals": len(design.signal_ranges.unbounded)},
        "rounding": options.rounding,
        "overflow": options.overflow,
        "signal_bits": {"least": min(widths), "mean": round(float(np.mean(widths)), 2), "most": max(widths)},
        "products_by_longer_factor": {str(w): factors[w] for w in sorted(factors)},
        "truncated": len(fixed.truncated),
    }


class _Errors:
    """Collects the errors of one vector over chunks of states."""

    def __init__(self) -> None:
        self.largest, self.worst, self.square, self.count = 0.0, 0.0, 0.0, 0
        self.place: dict[str, Any] = {}

    def add(self, error: np.ndarray, truth: np.ndarray, good: np.ndarray, states: Samples) -> None:
        """``error`` and ``truth`` (n, …) of ``states``; those that are not ``good`` (n,) don't count."""
        self.largest = max(self.largest, float(np.max(np.abs(truth))))
        size = np.abs(error) * good.reshape(-1, *[1] * (error.ndim - 1))
        where = np.unravel_index(int(np.argmax(size)), size.shape)
        if float(size[where]) >= self.worst:
            self.worst = float(size[where])
            at = {
                name: [round(float(x), 6) for x in getattr(states, name)[where[0]]] for name in ("q", "v", "a", "tau")
            }
            self.place = {"entry": [int(k) for k in where[1:]]} | at
        self.square += float(np.sum(size**2))
        self.count += int(np.sum(good)) * int(np.prod(error.shape[1:]))

    def row(self) -> dict[str, float]:
        """Largest error as it is and relative, and the rms, relative to the largest magnitude."""
        scale = self.largest or 1.0
        rms = (self.square / max(self.count, 1)) ** 0.5
        return {"max": self.worst, "max_relative": self.worst / scale, "rms_relative": rms / scale}


def single_precision(design: Design, tasks: TaskSet) -> dict[str, np.ndarray]:
    """The function's results by vector, computed in single precision by the text that the hardware was traced from."""
    network, nv = design.network, design.robot.nv
    words, states = network.operand_words(tasks.function), tasks.states
    given = {w.name: states.vector(w.vector, w.index).astype(np.float32) for w in words}
    given |= {p.word.name: np.full(tasks.count, p.nominal, np.float32) for p in network.parameters}
    values = float_passes(network, network.graph, tasks.function, given, np.float32)[-1]
    dense = {v: np.zeros((tasks.count, *(nv,) * (1 if v in ("tau", "a") else 2))) for v in tasks.reference}
    for word in network.result_words(tasks.function):
        x = values[network.graph.outputs[word.name]]
        dense[word.vector][(slice(None), *word.index)] = x
        if word.vector in SYMMETRIC:
            dense[word.vector][(slice(None), *reversed(word.index))] = x
    return dense


def evidence(
    design: Design, count: int, seed: int | None = None, progress: Callable[[str], None] = lambda stage: None
) -> dict[str, Any]:
    """Errors of every function at ``count`` fresh states inside the declared ranges.

    By function: the numbers of tasks flagged for overflow and for an operand outside its range, which count in no
    error, and by vector the largest and rms error, the target if there is one, the same in single precision, and
    the state and entry of the largest error. ConfigError for a count below 1.
    """
    if count < 1:
        raise ConfigError(f"evidence: must be at least 1 state, not {count}")
    seed = design.options.seed + SEED if seed is None else seed
    targets = resolve_targets(design.options.error, design.network) if design.options.error else {}
    functions: dict[str, Any] = {}
    for function in design.network.functions:
        progress(f"evidence of {function}")
        fixed: dict[str, _Errors] = {}
        single: dict[str, _Errors] = {}
        flags: Counter[str] = Counter()
        for number, first in enumerate(range(0, count, CHUNK)):
            tasks = make_tasks(design, function, task_states(design, min(CHUNK, count - first), seed + number))
            good = tasks.flags == 0
            flags["overflow"] += int(np.count_nonzero(tasks.flags & Flag.OVERFLOW))
            flags["range"] += int(np.count_nonzero(tasks.flags & Flag.RANGE))
            got, float32 = dense_results(design, function, tasks.expected), single_precision(design, tasks)
            for vector in result_vectors(design, function):
                truth = tasks.reference[vector]
                for found, values in ((fixed, got), (single, float32)):
                    found.setdefault(vector, _Errors()).add(values[vector] - truth, truth, good, tasks.states)
        vectors = {}
        for vector, errors in fixed.items():
            group = INVERSE if function == "dfd" and vector == "minv" else vector
            vectors[vector] = errors.row() | {
                "target": targets.get((function, group)),
                "single_precision": single[vector].row(),
                "worst": errors.place,
            }
        flagged = {k: flags[k] for k in ("overflow", "range")}
        functions[function] = {"tasks": count, "flagged": flagged, "outputs": vectors}
    return {"states": count, "seed": seed, "functions": functions}
