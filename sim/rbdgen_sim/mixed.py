"""Tasks of all functions in a random order, each answer compared with the bit-true model's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rbdgen import Design, golden
from rbdgen.emulation import manifest_of
from rbdgen.functions.registry import function as known_function
from rbdgen.host.driver import Tasks
from rbdgen.host.manifest import Manifest
from rbdgen.model.ranges import random_states
from rbdgen.protocol.tasks import Flag


class Solver(Protocol):
    """What answers requests, as :class:`rbdgen.host.driver.Driver` does."""

    def solve(self, requests: list[Tasks], order: np.ndarray) -> list[Any]:
        """Answers of all requests, their tasks sent in ``order``."""
        ...


def random_operands(
    design: Design, *batch: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """q, v, a and τ with leading shape ``batch``, inside the declared ranges."""
    count = int(np.prod(batch, dtype=int))
    q, v, a = random_states(design.robot, design.ranges, count, 3)
    q, v, a = (x.reshape(*batch, -1) for x in (q, v, a))
    return q, v, a, golden.rnea(design.robot, q, v, a)


def golden_requests(design: Design, count: int) -> list[Tasks]:
    """``count`` tasks of each of the design's functions, at the same states."""
    q, v, a, tau = random_operands(design, count)
    given = {"q": q, "v": v, "a": a, "tau": tau, "minv": golden.minverse(design.robot, q)}
    found = []
    for name in design.network.functions:
        operands = {q.name: given[q.name] for q in known_function(name).operands}
        found.append(Tasks(name, operands))
    return found


def check_mixed(design: Design, device: Solver, count: int, seed: int) -> None:
    """``count`` tasks of random functions: AssertionError unless every answer has the model's bits."""
    functions = len(design.network.functions)
    order = np.random.default_rng(seed).integers(0, functions, count)
    counts = np.bincount(order, minlength=functions)
    requests = []
    for request, number in zip(golden_requests(design, int(counts.max())), counts, strict=True):
        operands = {vector: values[:number] for vector, values in request.operands.items()}
        requests.append(Tasks(request.function, operands))
    answers = device.solve(requests, order)
    for request, answer in zip(requests, answers, strict=True):
        _check_answer(design, request, answer)


@dataclass(frozen=True)
class Differences:
    """Which tasks of a request were answered otherwise than the bit-true model does: with other ``flags``, or by name
    of the result words with other values (``words``)."""

    flags: np.ndarray
    words: Mapping[str, np.ndarray]

    @property
    def any(self) -> np.ndarray:
        """Tasks in which anything differs."""
        return np.logical_or.reduce([self.flags, *self.words.values()])


def differences(design: Design, known: Manifest, request: Tasks, answer: Any) -> Differences:
    """How the answer of one function's tasks differs from the model's."""
    name = request.function
    function = known.tasks.functions[name]
    columns = []
    for entry in known.operands[name]:
        columns.append(request.operands[entry.vector][(slice(None), *entry.index)])
    expected = design.run(name, function.quantise(columns))
    flags = (answer.flags & Flag.OVERFLOW != 0) != expected.overflow
    words = {}
    for entry, word, raw in zip(
        known.results[name], function.results, expected.values, strict=True
    ):
        got = answer.values[entry.vector][(slice(None), *entry.index)]
        words[word.name] = got != word.format.real(raw)
    return Differences(flags, words)


def _check_answer(design: Design, request: Tasks, answer: Any) -> None:
    """AssertionError unless the answer of one function's tasks has the model's bits."""
    name = request.function
    assert not answer.lost.any(), f"{name}: tasks were lost"
    found = differences(design, manifest_of(design), request, answer)
    assert not found.flags.any(), f"{name}: flags differ"
    for word, differs in found.words.items():
        assert not differs.any(), f"{name}: {word} differs"
