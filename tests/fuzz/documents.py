"""Mutants of XML and TOML texts: parts dropped, doubled, moved or renamed, values changed, bytes flipped, by a seed."""

from __future__ import annotations

import copy
import re
from xml.etree import ElementTree

import numpy as np

VALUES = (
    "",
    " ",
    "0",
    "-1",
    "1e-320",
    "1e308",
    "-1e40",
    "nan",
    "inf",
    "0x10",
    "1_0",
    "1,5",
    "0 0 0",
    "1 0",
    "1 0 0 0",
    "0 0 1e-9",
    "x" * 3000,
    "é\n\t~",
    'a"b',
    "${pi}",
    "package://a/b",
    "base_link",
    "root_joint",
    "revolute",
    "floating",
    "planar",
    "mimic",
)
"""What stands where others are expected."""
TAGS = ("robot", "link", "joint", "inertial", "inertia", "mass", "origin", "axis", "limit", "mimic")
LITERALS = (
    "",
    "0",
    "-1",
    "1e400",
    "nan",
    "-inf",
    "3.5",
    "true",
    '""',
    '"x"',
    '"\\u0000"',
    "[]",
    "{}",
    "[1, 2]",
    '{ a = { b = "c" } }',
    "10" * 200,
    '"' + "y" * 5000 + '"',
    "1979-05-27",
    "'''",
    "[" * 3000,
)
"""The same in TOML."""


def flipped(text: str, random: np.random.Generator) -> str:
    """``text`` with a few of its bits inverted, bytes lost, or its end cut off."""
    data = bytearray(text.encode())
    for place in random.integers(len(data), size=int(random.integers(1, 5))).tolist():
        match int(random.integers(3)):
            case 0:
                data[place % len(data)] ^= 1 << int(random.integers(8))
            case 1:
                del data[place % len(data)]
            case _:
                data = data[: max(place, 1)]
    return data.decode("latin-1")


def xml_mutant(text: str, random: np.random.Generator) -> str:
    """A mutant of an XML document."""
    if random.integers(6) == 0:
        return flipped(text, random)
    root = ElementTree.fromstring(text)
    for _ in range(int(random.choice([1, 1, 2, 3, 8]))):
        _change(root, random)
    return ElementTree.tostring(root, encoding="unicode")


def _change(root: ElementTree.Element, random: np.random.Generator) -> None:
    """One change somewhere below ``root``."""
    parents = [element for element in root.iter() if len(element)]
    if not parents:
        return
    parent = parents[int(random.integers(len(parents)))]
    place = int(random.integers(len(parent)))
    child = parent[place]
    other = parents[int(random.integers(len(parents)))]
    match int(random.integers(7)):
        case 0:
            parent.remove(child)
        case 1:
            parent.insert(place, copy.deepcopy(child))
        case 2:
            other.append(copy.deepcopy(child))
        case 3:
            child.tag = str(random.choice(TAGS))
        case 4:
            child.text = str(random.choice(VALUES))
        case _:
            _change_attribute(child, other, random)


def _change_attribute(
    element: ElementTree.Element, other: ElementTree.Element, random: np.random.Generator
) -> None:
    """An attribute lost, renamed, taken from elsewhere, or with another value."""
    names = list(element.attrib)
    if not names:
        element.set("xyz", str(random.choice(VALUES)))
        return
    name = names[int(random.integers(len(names)))]
    match int(random.integers(5)):
        case 0:
            del element.attrib[name]
        case 1:
            element.set(f"{name}_", element.attrib.pop(name))
        case 2:
            given = list(other.attrib.values()) or ["1"]
            element.set(name, given[int(random.integers(len(given)))])
        case 3:
            element.set(name, _other_number(element.get(name, ""), random))
        case _:
            element.set(name, str(random.choice(VALUES)))


def _other_number(text: str, random: np.random.Generator) -> str:
    """A text with one of its numbers scaled far up or down."""
    numbers = list(re.finditer(r"[-+]?\d+\.?\d*(e[-+]?\d+)?", text))
    if not numbers:
        return text + "1"
    at = numbers[int(random.integers(len(numbers)))]
    scale = float(random.choice([-1.0, 0.0, 0.3, 0.9, 1.5, 4.0, 1e-12, 1e-3, 1e4, 1e20]))
    return f"{text[: at.start()]}{float(at.group()) * scale:g}{text[at.end() :]}"


def toml_mutant(text: str, random: np.random.Generator) -> str:
    """A mutant of a TOML document, line by line."""
    if random.integers(6) == 0:
        return flipped(text, random)
    lines = text.splitlines()
    for _ in range(int(random.choice([1, 1, 2, 3]))):
        place = int(random.integers(len(lines)))
        key, equals, value = lines[place].partition("=")
        match int(random.integers(8)):
            case 0:
                del lines[place]
            case 1:
                lines.insert(int(random.integers(len(lines) + 1)), lines[place])
            case 2:
                lines[place] = f"{key.strip()}_{equals}{value}"
            case 3 | 4 | 5:
                lines[place] = f"{key}{equals}{_other_number(value, random)}"
            case 6:
                lines[place] = f"[{key.strip()}]"
            case _:
                lines[place] = f"{key} = {random.choice(LITERALS)}"
        if not lines:
            return ""
    return "\n".join(lines) + "\n"
