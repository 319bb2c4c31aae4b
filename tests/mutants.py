"""Mutants of JSON files: values changed, keys dropped, types swapped, bytes flipped in the text; all by a seed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1,
    3.5,
    4.0,
    63,
    10**6,
    -(10**400),
    1e300,
    "",
    "x",
    "é\n~",
    "\ud800",
    "f" * 5000,
    [],
    {},
    [[[[1]]]],
    {"a": {"b": 1}},
)
"""Values that stand where others are expected."""


def _places(content: Any) -> list[tuple[Any, Any]]:
    """Every container in ``content`` with each of its keys."""
    found, left = [], [content]
    while left:
        value = left.pop()
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        for key in keys:
            found.append((value, key))
            if isinstance(value[key], dict | list):
                left.append(value[key])
    return found


def _changed(value: Any, random: np.random.Generator) -> Any:
    """A value of the same type."""
    step = int(random.choice([-1, 1, 2, 7, -1000]))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + step
    if isinstance(value, float):
        return value * float(random.choice([-1.0, 0.5, 2.0, 1e10])) + 0.1
    if isinstance(value, str):
        return value[:-1] + "z" if value else "z"
    if isinstance(value, list):
        return [*value[1:], *value[:1]] if random.integers(2) else value + value[:1]
    return {f"{key}_": inner for key, inner in value.items()} if value else {}


def mutant(content: Any, random: np.random.Generator) -> str:
    """The text of a mutant of ``content``."""
    if random.integers(5) == 0:
        return _flipped(json.dumps(content), random)
    made = copy.deepcopy(content)
    for _ in range(int(random.choice([1, 1, 1, 2, 5]))):
        places = _places(made)
        container, key = places[int(random.integers(len(places)))]
        match int(random.integers(4)):
            case 0:
                del container[key]
            case 1:
                container[key] = copy.deepcopy(ODD[int(random.integers(len(ODD)))])
            case 2:
                container[key] = _changed(container[key], random)
            case _:
                other, there = places[int(random.integers(len(places)))]
                container[key] = copy.deepcopy(other[there])
    return json.dumps(made)


def _flipped(text: str, random: np.random.Generator) -> str:
    """``text`` with a few bits of it inverted."""
    data = bytearray(text.encode())
    for place in random.integers(len(data), size=int(random.integers(1, 4))):
        data[place] ^= 1 << int(random.integers(8))
    return data.decode("latin-1")


def mutants(content: Any, count: int, seed: int) -> Iterator[str]:
    """The texts of ``count`` mutants."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        yield mutant(content, random)
