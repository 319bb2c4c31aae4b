"""Operands and results of a function as arrays and as words of packets: checked, gathered, spread as matrices.

Flagged tasks are told in one line: which operands were outside their declared ranges, how often and how far.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.host.manifest import Entry, Manifest
from rbdgen.operands import number_array, unit_error, unit_fault
from rbdgen.protocol.entries import mirrored
from rbdgen.protocol.identifiers import plain_name
from rbdgen.protocol.packets import result_matrix, task_packets
from rbdgen.protocol.tasks import Flag


@dataclass(frozen=True)
class Answers:
    """Results of tasks of one function, with their leading shape: ``values`` by vector, ``flags``
    (bits of :class:`rbdgen.protocol.tasks.Flag`), and which tasks were ``lost`` for good; their values are NaN."""

    values: dict[str, np.ndarray]
    flags: np.ndarray
    lost: np.ndarray


class FunctionArrays:
    """The arrays of one ``function`` of an accelerator. Where its words are in them is found once, here."""

    def __init__(self, manifest: Manifest, function: str) -> None:
        self.manifest, self.function = manifest, function
        self.format = manifest.tasks.functions[function]
        self.takes = {v: manifest.shapes[v].size for v in manifest.operand_vectors[function]}
        self.gives = {v: manifest.shapes[v].size for v in manifest.result_vectors[function]}
        self.begins = self._begins()
        """Where each vector begins among the entries of all in a row."""
        self.columns = self._operand_columns(manifest.operands[function])
        """The entry of each operand word, among those of all vectors in a row."""
        self.sources = self._result_sources(manifest.results[function])
        """By vector the result word of each entry; the number behind the last word for those that have none."""
        self.result_bytes = manifest.tasks.result_bytes(function)
        self.whole = self._whole_columns()
        """The operand words that must be whole numbers."""
        self.ends = self._ends()
        """The lowest and highest values (2, k) that are sent of each operand word; infinite where any is."""
        self.ended = np.flatnonzero(np.isfinite(self.ends).any(axis=0))
        """The operand words that have such an end."""

    def _operand_columns(self, entries: Sequence[Entry]) -> np.ndarray:
        columns = [
            self.begins[e.vector] + entry_number(e.index, self.takes[e.vector]) for e in entries
        ]
        return np.array(columns, np.intp)

    def _begins(self) -> dict[str, int]:
        begins, begin = {}, 0
        for vector, size in self.takes.items():
            begins[vector] = begin
            begin += math.prod(size)
        return begins

    def _whole_columns(self) -> np.ndarray:
        entries = self.manifest.operands[self.function]
        whole = [self.manifest.shapes[e.vector].whole for e in entries]
        return np.flatnonzero(whole)

    def _ends(self) -> np.ndarray:
        """The lowest and highest values (2, k) that are sent of words whose declared range goes to the end of their
        format: what is beyond could not be told from that end by the accelerator. A rounding beyond is none."""
        ends = np.full((2, len(self.format.operands)), [[-np.inf], [np.inf]])
        for k, word in enumerate(self.format.operands):
            low, high = word.codes
            # what rounds to the last value is inside; a whole number does not round
            exact = k in self.whole and word.format.frac <= 0
            beyond = 0.0 if exact else 1.0
            if low == word.format.minimum:
                ends[0, k] = (low - beyond) * word.format.resolution
            if high == word.format.maximum:
                ends[1, k] = (high + beyond) * word.format.resolution
        return ends

    def _result_sources(self, entries: Sequence[Entry]) -> dict[str, np.ndarray]:
        found = {v: np.full(math.prod(size), len(entries)) for v, size in self.gives.items()}
        for number, entry in enumerate(entries):
            source, size = found[entry.vector], self.gives[entry.vector]
            source[entry_number(entry.index, size)] = number
            # only the lower triangle was sent
            if self.manifest.shapes[entry.vector].symmetric:
                source[entry_number(mirrored(entry.index), size)] = number
        return found

    def raw(self, operands: Mapping[str, np.ndarray]) -> tuple[tuple[int, ...], np.ndarray]:
        """The leading shape of operands by vector, and their raw words (n, k).

        ConfigError for an operand that is missing, too many or of a wrong shape, values that are not finite, parts that
        are not of unit length or not whole as they must be, and what no word holds.
        """
        batch, entries = self._entries(operands)
        values = entries.take(self.columns, axis=1)
        raw = self.format.quantise_rows(values)
        self._check_units(entries)
        self._check_whole(values)
        self._check_ends(values)
        return batch, raw

    def values(self, operands: Mapping[str, np.ndarray]) -> tuple[tuple[int, ...], np.ndarray]:
        """The leading shape of operands by vector, and what their words (n, k) stand for. Errors as of :meth:`raw`, but
        for values."""
        batch, entries = self._entries(operands)
        return batch, entries.take(self.columns, axis=1)

    def _entries(self, operands: Mapping[str, np.ndarray]) -> tuple[tuple[int, ...], np.ndarray]:
        """The leading shape of operands by vector, and the entries (n, k) of all vectors in a row."""
        for vector in operands:
            if vector not in self.takes:
                raise ConfigError(
                    f"{vector}: {self.function} of this accelerator takes none, but {', '.join(self.takes)}"
                )
        batch, flat = None, []
        for vector, size in self.takes.items():
            if vector not in operands:
                raise ConfigError(
                    f"{vector}: missing; {self.function} needs {', '.join(self.takes)}"
                )
            x = number_array(vector, operands[vector])
            # the leading shape, whatever is wrong with the rest: the message shows the whole one
            own = x.shape[: max(x.ndim - len(size), 0)]
            if x.shape[len(own) :] != size:
                wanted = f"(..., {', '.join(map(str, size))})"
                raise ConfigError(f"{vector}: must have shape {wanted}, not {x.shape}")
            if batch is not None and own != batch:
                raise ConfigError(
                    f"{vector}: must have the leading shape {batch} of the others, not {x.shape}"
                )
            batch = own
            flat.append(x.reshape(math.prod(own), math.prod(size)))
        assert batch is not None
        return batch, np.concatenate(flat, axis=1)

    def _check_units(self, entries: np.ndarray) -> None:
        """That parts of vectors that must be are of unit length, of entries (n, k) of all vectors in a row."""
        for vector, begin in self.begins.items():
            for part in self.manifest.shapes[vector].unit_vectors:
                first = begin + part.first
                fault = unit_fault(entries[:, first : first + part.size])
                if fault is not None:
                    raise unit_error(vector, part.joint, fault)

    def _check_whole(self, values: np.ndarray) -> None:
        """That values (n, k) of operand words that must be are whole numbers."""
        counts = values[:, self.whole]
        wrong = np.argwhere(counts != np.rint(counts))
        if wrong.size:
            row, column = wrong[0]
            raise ConfigError(
                f"{self.manifest.operands[self.function][self.whole[column]].vector}: must be whole numbers, not "
                f"{counts[row, column]:g}"
            )

    def _check_ends(self, values: np.ndarray) -> None:
        """That no value (n, k) of operand words is beyond its word's format where nothing would flag it."""
        own = values[:, self.ended]
        low, high = self.ends[:, self.ended]
        wrong = np.argwhere((own < low) | (own > high))
        if wrong.size:
            row, column = wrong[0]
            word = self.format.operands[self.ended[column]]
            least, most = (float(word.format.real(np.array(code))) for code in word.codes)
            raise ConfigError(
                f"operand {word.name}: must be {least:.9g} to {most:.9g}, which is all that its word of "
                f"{word.format.width} bits holds, not {own[row, column]:.9g}; use several tasks or a "
                "design of longer words"
            )

    def packets(self, raw: np.ndarray) -> list[bytes]:
        """Task packets of raw words (n, k)."""
        return task_packets(self.manifest.tasks, self.function, raw)

    def answers(self, packets: Sequence[bytes | None], shape: tuple[int, ...]) -> Answers:
        """The results of as many packets as there are tasks in the leading ``shape``. None, and a packet that has not
        the length of this function's results, is a task that was lost."""
        length = self.result_bytes
        blank = bytes(length)
        whole = [p if p is not None and len(p) == length else blank for p in packets]
        gone = [packet is blank for packet in whole]
        rows = np.frombuffer(b"".join(whole), np.uint8).reshape(len(packets), length)
        _, flags, raw = result_matrix(self.manifest.tasks, self.function, rows)
        lost = np.array(gone, bool)
        # entries without a word are zero
        words = np.zeros((len(packets), raw.shape[1] + 1))
        self.format.result_columns.real(raw, words[:, :-1])
        if lost.any():
            # no zero: that could be a result
            words[lost] = np.nan
        values = {}
        for vector, source in self.sources.items():
            values[vector] = words.take(source, axis=1).reshape(*shape, *self.gives[vector])
        return Answers(values, flags.reshape(shape), lost.reshape(shape))


def entry_number(index: Sequence[int], size: Sequence[int]) -> int:
    """An entry's number among those of its vector, row by row."""
    return int(np.ravel_multi_index(tuple(index), tuple(size)))


REACTIONS = ("warn", "raise", "ignore")
"""Reactions of a driver to flagged tasks."""
LISTED = 3
"""Operands that are named; of the others only how many there are."""


def checked_reaction(flags: str) -> str:
    """``flags``, if it is one of :data:`REACTIONS`; else a ConfigError."""
    if flags not in REACTIONS:
        raise ConfigError(f"flags: must be {', '.join(REACTIONS)}, not {flags!r}")
    return flags


@dataclass(frozen=True)
class Outside:
    """An operand word that was outside its declared range: its ``number``, the count of ``tasks``, and the value that
    was farthest outside."""

    number: int
    tasks: int
    farthest: float


def outside(arrays: FunctionArrays, values: np.ndarray) -> list[Outside]:
    """The operands of tasks (n, k) that are outside their declared ranges, those with most tasks first."""
    raw = arrays.format.quantise_rows(values)
    beyond = arrays.format.outside(raw)
    lower, upper = arrays.format.operand_columns.real(arrays.format.limits)
    found = []
    for number in np.flatnonzero(beyond.any(axis=0)).tolist():
        own = values[beyond[:, number], number]
        distance = np.maximum(lower[number] - own, own - upper[number])
        found.append(Outside(number, len(own), float(own[np.argmax(distance)])))
    return sorted(found, key=lambda operand: -operand.tasks)


def flag_text(arrays: FunctionArrays, flags: np.ndarray, operands: Mapping[str, np.ndarray]) -> str:
    """A line for the user on tasks with these ``flags`` (any shape) and operands by vector, in one line."""
    _, values = arrays.values(operands)
    flat = flags.ravel()
    parts = []
    ranged = flat & Flag.RANGE != 0
    if ranged.any():
        named = _listed(arrays, outside(arrays, values[ranged]))
        parts.append(f"{np.count_nonzero(ranged)} with operands outside the declared ranges{named}")
    overflowed = np.count_nonzero(flat & Flag.OVERFLOW)
    if overflowed:
        parts.append(f"{overflowed} with values that overflowed inside")
    # one number to look at, as a batch may have thousands
    first = int(np.flatnonzero(flat)[0])
    return (
        f"{arrays.function}: of {flat.size} tasks {' and '.join(parts)}; the first is number {first}, see "
        "Driver.flags"
    )


def _listed(arrays: FunctionArrays, found: list[Outside]) -> str:
    """Some of the operands that were outside, and how many others were."""
    texts = [_described(arrays, operand) for operand in found[:LISTED]]
    if len(found) > LISTED:
        texts.append(f"and {len(found) - LISTED} more")
    return f": {', '.join(texts)}" if texts else ""


def _described(arrays: FunctionArrays, operand: Outside) -> str:
    """An operand, how often and how far it was outside, and what is declared."""
    word = arrays.format.operands[operand.number]
    entry = arrays.manifest.operands[arrays.function][operand.number]
    low, high = (float(word.format.real(np.array(code))) for code in word.codes)
    times = "once" if operand.tasks == 1 else f"{operand.tasks} times"
    way = "up to" if operand.farthest > high else "down to"
    unit = _unit(arrays.manifest.shapes[entry.vector].unit)
    return (
        f"{operand_name(arrays.manifest, entry, word.name)} ({times}, {way} {operand.farthest:.4g}{unit}; declared "
        f"{low:.4g} to {high:.4g})"
    )


def _unit(unit: str) -> str:
    """A vector's unit behind a number, where all entries have the same one."""
    return "" if unit in ("", "1") or "," in unit else f" {unit}"


def operand_name(manifest: Manifest, entry: Entry, word: str) -> str:
    """An operand word's name for those who know the robot: its vector and joint; where it belongs to no joint, the
    word's own name, which has the link, frame or axis."""
    if len(entry.index) != 1:
        return word
    (index,) = entry.index
    joints = manifest.joint_names
    known = dict(enumerate(joints[: index + 1]))
    alone = manifest.shapes[entry.vector].size == (len(joints),)
    if alone:
        known = {index: joints[index]}
    part = word.removeprefix(f"{entry.vector}_")
    fitting = [name for name in known.values() if _is_of(part, plain_name(name))]
    if not fitting:
        return word
    # of arm and arm_2 the longer one is meant
    joint = max(fitting, key=len)
    return (
        f"{entry.vector} of joint {joint}" if alone else f"{entry.vector}[{index}] of joint {joint}"
    )


def _is_of(part: str, joint: str) -> bool:
    """Whether a word's part is a joint's name, alone or with one of its coordinates behind it."""
    return part == joint or part.startswith(f"{joint}_")
