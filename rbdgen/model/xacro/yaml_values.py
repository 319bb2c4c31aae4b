"""Values of YAML files: numbers, texts, lists and dictionaries, and numbers with a unit. No tag makes any other object,
and what an alias repeats is paid for each time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rbdgen.errors import short
from rbdgen.extras import optional_module
from rbdgen.model.xacro.budget import Budget, XacroError

UNITS = {
    "!radians": 1.0,
    "!degrees": math.pi / 180.0,
    "!meters": 1.0,
    "!millimeters": 0.001,
    "!foot": 0.3048,
    "!inches": 0.0254,
}
"""xacro's units, in radians and metres."""
DEEPEST = 60
"""Of lists within lists; an alias of what it is in has no end."""
_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"
_COLLECTIONS = "seq map omap pairs set"
_SCALARS = "str null bool int float timestamp binary value merge"
_KNOWN = frozenset(f"{_TAG}{kind}" for kind in f"{_COLLECTIONS} {_SCALARS}".split())
_LONGEST_NUMBER = 100
"""Characters of a number."""


def yaml_values(text: str, budget: Budget, measured: Callable[[str], Any]) -> Any:
    """What a YAML ``text`` holds; ``measured`` evaluates what has a unit."""
    yaml = optional_module("yaml", "xacro")
    budget.spend(len(text))
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        node = yaml.compose(text, Loader=loader)
        return None if node is None else _Reader(yaml, budget, measured).value(node, 0)
    except yaml.YAMLError as error:
        raise XacroError(f"no YAML: {error}") from None
    except RecursionError:
        raise XacroError("YAML that is nested too deeply") from None


class _Reader:
    """The nodes of one file."""

    def __init__(self, yaml: Any, budget: Budget, measured: Callable[[str], Any]) -> None:
        self.yaml = yaml
        self.budget = budget
        self.measured = measured
        known = yaml.constructor.SafeConstructor()
        self.numbers: dict[str, Callable[[Any], Any]] = {
            f"{_TAG}null": lambda node: None,
            f"{_TAG}bool": known.construct_yaml_bool,
            f"{_TAG}int": known.construct_yaml_int,
            f"{_TAG}float": known.construct_yaml_float,
        }

    def value(self, node: Any, depth: int) -> Any:
        """What a node stands for."""
        self.budget.spend(1)
        if depth > DEEPEST:
            raise XacroError("YAML that is nested too deeply")
        if node.tag not in UNITS and node.tag not in _KNOWN:
            raise XacroError(f"YAML has tag {short(node.tag)}, which is not read")
        if isinstance(node, self.yaml.SequenceNode):
            return [self.value(part, depth + 1) for part in node.value]
        if isinstance(node, self.yaml.MappingNode):
            return self._mapping(node, depth)
        if node.tag in UNITS:
            self.budget.spend(len(node.value))
            return float(self.measured(node.value)) * UNITS[node.tag]
        if node.tag in self.numbers and len(node.value) <= _LONGEST_NUMBER:
            return self.numbers[node.tag](node)
        return self.budget.read(node.value)

    def _mapping(self, node: Any, depth: int) -> dict[Any, Any]:
        """Values by key; those that are merged in come before the mapping's own."""
        merged: dict[Any, Any] = {}
        own: dict[Any, Any] = {}
        for key, value in node.value:
            if key.tag == _MERGE:
                merged = {**self._merged(value, depth), **merged}
            elif isinstance(key, self.yaml.ScalarNode):
                own[self.value(key, depth + 1)] = self.value(value, depth + 1)
            else:
                raise XacroError("YAML has a key that is no number or text")
        return {**merged, **own}

    def _merged(self, node: Any, depth: int) -> dict[Any, Any]:
        """What one mapping, or several, bring into another; the first of them counts."""
        given = self.value(node, depth + 1)
        found: dict[Any, Any] = {}
        for part in given if isinstance(given, list) else [given]:
            if not isinstance(part, dict):
                raise XacroError("YAML merges what is no mapping")
            self.budget.spend(len(part))
            found = {**part, **found}
        return found
