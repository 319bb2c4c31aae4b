"""Mixed tasks of all functions of a design, sent by the host's driver to a device: each answer against the bit-true
model's, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rbdgen import golden
from rbdgen.compiler import Design
from rbdgen.emulation import manifest_of
from rbdgen.errors import LinkError
from rbdgen.functions.registry import function as known_function
from rbdgen.host.arrays import FunctionArrays
from rbdgen.host.driver import Driver, Tasks
from rbdgen.host.manifest import Manifest
from rbdgen.host.programs import Program
from rbdgen.host.transport import Transport
from rbdgen.model.ranges import random_states
from rbdgen.protocol.packets import result_matrix
from rbdgen.protocol.tasks import Flag
from rbdgen.trials import TaskSet, make_tasks, task_states


class Solver(Protocol):
    """Something that answers requests, as :class:`rbdgen.host.driver.Driver` does."""

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


def mixed_requests(design: Design, count: int, seed: int) -> tuple[list[Tasks], np.ndarray]:
    """``count`` tasks of random functions, and the order in which they are sent."""
    functions = len(design.network.functions)
    order = mixed_order(functions, count, seed)
    # minlength: functions that no task is of are counted as well
    counts = np.bincount(order, minlength=functions)
    requests = []
    for request, number in zip(golden_requests(design, int(counts.max())), counts, strict=True):
        operands = {vector: values[:number] for vector, values in request.operands.items()}
        requests.append(Tasks(request.function, operands))
    return requests, order


def check_mixed(design: Design, device: Solver, count: int, seed: int) -> None:
    """``count`` tasks of random functions: AssertionError unless every answer has the model's bits."""
    requests, order = mixed_requests(design, count, seed)
    answers = device.solve(requests, order)
    for request, answer in zip(requests, answers, strict=True):
        _check_answer(design, request, answer)


@dataclass(frozen=True)
class Differences:
    """Tasks of a request that were answered otherwise than the bit-true model does: with other ``flags``, or by name of
    the result words with other values (``words``)."""

    flags: np.ndarray
    words: Mapping[str, np.ndarray]

    @property
    def any(self) -> np.ndarray:
        """Tasks in which anything differs."""
        return np.logical_or.reduce([self.flags, *self.words.values()])


def differences(design: Design, known: Manifest, request: Tasks, answer: Any) -> Differences:
    """Differences of the answer of one function's tasks from the model's."""
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


PATIENCE = 3
"""Hellos without an answer after which a device counts as dead: the line damages nothing."""
ATTEMPTS = 2
"""Times that a task is sent before it counts as lost."""
SECONDS = 1e6
"""Without progress before a device is given up: it is a simulation's own time that counts."""
FLAGS = "flags"
"""Name in the place of the word's where flags differ."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Mismatch:
    """A result that differs: its ``function``, the number of its ``task`` among all as they were sent, the result
    ``word`` by name, and the raw values; None: no answer."""

    function: str
    task: int
    word: str
    expected: int
    got: int | None

    def __str__(self) -> str:
        if self.got is None:
            return f"{self.function}, task {self.task}: no answer"
        return (
            f"{self.function}, task {self.task}, {self.word}: {self.got} instead of {self.expected}"
        )


@dataclass(frozen=True)
class Comparison:
    """So many ``tasks`` were sent, and so many answers differ (``mismatches``), the ``first`` as they were sent;
    ``silence``: why there were none any more."""

    tasks: int
    mismatches: int
    first: Mismatch | None = None
    silence: str = ""

    def __str__(self) -> str:
        if self.silence:
            return self.silence
        return f"{self.mismatches} of {self.tasks} results differ; the first: {self.first}"

    def __add__(self, other: Comparison) -> Comparison:
        """Of the tasks of both, the first before the others'."""
        return Comparison(
            self.tasks + other.tasks,
            self.mismatches + other.mismatches,
            self.first or other.first,
            self.silence or other.silence,
        )

    def report(self) -> dict[str, Any]:
        """Its entry in a report."""
        found: dict[str, Any] = {"tasks": self.tasks, "mismatches": self.mismatches}
        if self.mismatches:
            found["first"] = str(self.first or self.silence)
        return found


Opener = Callable[[Manifest | Program, Progress], Driver]
"""Opens a device."""


def behind(transport: Transport) -> Opener:
    """A device behind a link of bytes, which is asked twice and soon given up: simulations lose nothing."""
    return lambda source, progress: Driver.open(
        source, transport, ATTEMPTS, PATIENCE, progress, SECONDS
    )


def mixed_order(functions: int, count: int, seed: int) -> np.ndarray:
    """The function of each of ``count`` tasks, at random."""
    return np.random.default_rng(seed).integers(0, functions, count)


def compare(
    design: Design,
    source: Manifest | Program,
    opened: Opener,
    count: int,
    seed: int,
    progress: Progress,
) -> Comparison:
    """Send ``count`` tasks of random functions at random states within the declared ranges to the design's hardware, or
    to an engine into which its program is loaded first, as it is ``opened``. A device that falls silent has answered
    none of them."""
    manifest = source.manifest if isinstance(source, Program) else source
    order = mixed_order(len(design.network.functions), count, seed)
    states = task_states(design, count, seed)
    sets = [make_tasks(design, function, states) for function in design.network.functions]
    line: list[bytes] = [b""] * count
    for k, tasks in enumerate(sets):
        places = np.flatnonzero(order == k)
        raw = np.stack([word[: len(places)] for word in tasks.raw], axis=-1)
        packets = FunctionArrays(manifest, tasks.function).packets(raw)
        for place, packet in zip(places.tolist(), packets, strict=True):
            line[place] = packet
    try:
        device = opened(source, progress)
        results = device.held.exchange(line, progress)
    except LinkError as error:
        return Comparison(count, count, silence=str(error))
    found = []
    for k, tasks in enumerate(sets):
        places = np.flatnonzero(order == k)
        found += _differing(manifest, tasks, places, [results[place] for place in places])
    # the first is the first that was sent, of whatever function
    found.sort(key=lambda mismatch: mismatch.task)
    return Comparison(count, len(found), found[0] if found else None)


def _differing(
    manifest: Manifest, tasks: TaskSet, places: np.ndarray, packets: Sequence[bytes | None]
) -> list[Mismatch]:
    """The first difference of each answer of a function that has any. ``places``: of its tasks among all."""
    function = manifest.tasks.functions[tasks.function]
    names = [FLAGS, *(word.name for word in function.results)]
    length = manifest.tasks.result_bytes(tasks.function)
    # columns in the order of the names, as those that are received
    expected = np.stack([tasks.flags, *tasks.expected], axis=-1)
    found = []
    for number, (place, packet) in enumerate(zip(places.tolist(), packets, strict=True)):
        wanted = expected[number]
        # lost, or answered by a header only
        if packet is None or len(packet) != length:
            found.append(Mismatch(tasks.function, place, FLAGS, int(wanted[0]), None))
            continue
        row = np.frombuffer(packet, np.uint8).reshape(1, length)
        _, flags, raw = result_matrix(manifest.tasks, tasks.function, row)
        got = np.concatenate([flags, raw[0]])
        wrong = np.flatnonzero(got != wanted)
        if wrong.size:
            k = int(wrong[0])
            found.append(Mismatch(tasks.function, place, names[k], int(wanted[k]), int(got[k])))
    return found
