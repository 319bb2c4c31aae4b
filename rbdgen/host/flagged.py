"""The line on flagged tasks: which operands were outside their declared ranges, how often and how far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.host.arrays import FunctionArrays
from rbdgen.host.manifest import Entry, Manifest
from rbdgen.protocol.identifiers import plain_name
from rbdgen.protocol.tasks import Flag

REACTIONS = ("warn", "raise", "ignore")
"""What a driver may do about flagged tasks."""
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
    """What a user should know of tasks with these ``flags`` (any shape) and operands by vector, in one line."""
    _, values = arrays.values(operands)
    flat = flags.ravel()
    parts = []
    ranged = flat & Flag.RANGE != 0
    if ranged.any():
        named = _listed(arrays, outside(arrays, values[ranged]))
        parts.append(f"{np.count_nonzero(ranged)} with operands outside the declared ranges{named}")
    saturated = np.count_nonzero(flat & Flag.OVERFLOW)
    if saturated:
        parts.append(f"{saturated} with values that saturated inside")
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
    """What an operand word is to those who know the robot: its vector and joint; where it belongs to no joint, the
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
    joint = max(fitting, key=len)
    return (
        f"{entry.vector} of joint {joint}" if alone else f"{entry.vector}[{index}] of joint {joint}"
    )


def _is_of(part: str, joint: str) -> bool:
    """Whether a word's part is a joint's name, alone or with one of its coordinates behind it."""
    return part == joint or part.startswith(f"{joint}_")
