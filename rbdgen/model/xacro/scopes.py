"""What names mean at a place of a xacro file: properties and blocks, and macros. Each macro's call has a scope of its
own within its caller's."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element

from rbdgen.errors import short
from rbdgen.model.xacro.budget import XacroError
from rbdgen.model.xacro.values import Namespace

LONGEST_LITERAL = 100
"""Characters of a text that is tried as a number."""
_PARAMETER = re.compile(
    r"\s*([^\s:=]+)\s*:?=\s*(\^\|?)?((?:\$\{.*?\}|\$\(.*?\)|'.*?'|\".*?\"|[^\s'\"])*+)(?:\s+|$)",
    re.DOTALL,
)
_BARE = re.compile(r"\s*(\S+)\s*")


def literal(value: Any) -> Any:
    """What a property's value is: a number or a truth value where a text is one, a text without its quotes."""
    if not isinstance(value, str):
        return value
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1]
    if "_" in value or len(value) > LONGEST_LITERAL:
        return value
    truth = {"true": True, "True": True, "false": False, "False": False}
    if value in truth:
        return truth[value]
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            pass
    return value


class Scope(Namespace):
    """Properties and blocks: a macro's, a namespace's or a file's. ``read`` evaluates a text in a scope, when a
    property is first asked for."""

    def __init__(
        self,
        read: Callable[[str, Scope], Any],
        parent: Scope | None = None,
        is_namespace: bool = False,
    ) -> None:
        super().__init__("the namespace", {})
        self.read = read
        self.parent = parent
        self.is_namespace = is_namespace
        self.values: dict[str, Any] = {}
        self.blocks: dict[str, Element] = {}
        self.waiting: dict[str, str] = {}
        """Properties that nobody has asked for, as they stand in the file."""

    def set(self, name: str, value: Any, lazily: bool) -> None:
        """Give a property its value."""
        value = literal(value)
        self.waiting.pop(name, None)
        if lazily and isinstance(value, str):
            self.waiting[name] = value
        self.values[name] = value

    def holder(self, name: str) -> Scope | None:
        """The innermost scope that has a property."""
        scope: Scope | None = self
        while scope is not None and name not in scope.values:
            scope = scope.parent
        return scope

    def get(self, name: str) -> Any:
        """A property's value."""
        scope = self.holder(name)
        if scope is None:
            raise XacroError(f"name {short(name)} is not defined")
        if name in scope.waiting:
            text = scope.waiting.pop(name)
            if text is _ASKED:
                raise XacroError(f"property {short(name)} is made of itself")
            scope.waiting[name] = _ASKED
            value = literal(self.read(text, scope))
            scope.values[name] = value
            del scope.waiting[name]
        return scope.values[name]

    def block(self, name: str) -> Element | None:
        """The innermost block of a name."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.blocks:
                return scope.blocks[name]
            scope = scope.parent
        return None

    def remove(self, name: str) -> None:
        """Forget a property wherever it is visible."""
        scope: Scope | None = self
        while scope is not None:
            for known in (scope.values, scope.waiting, scope.blocks):
                known.pop(name, None)
            scope = scope.parent

    def file(self) -> Scope:
        """The outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def caller(self) -> Scope:
        """The scope around: of a macro, its caller's, behind namespaces."""
        scope = self.parent or self
        while not self.is_namespace and scope.is_namespace and scope.parent is not None:
            scope = scope.parent
        return scope


_ASKED = "\0"
"""Stands for a property that is being evaluated; no XML has that character."""


@dataclass(frozen=True)
class Macro:
    """A macro: its elements, its parameters in order, and the defaults of some: whether the caller's property of that
    name comes first, and a text to be evaluated."""

    body: Element
    parameters: tuple[str, ...]
    defaults: dict[str, tuple[bool, str | None]]


def macro_of(body: Element, parameters: str) -> Macro:
    """A macro whose parameters are listed in a text."""
    names: list[str] = []
    defaults: dict[str, tuple[bool, str | None]] = {}
    at = 0
    while parameters[at:].strip():
        match = _PARAMETER.match(parameters, at)
        if match:
            name, forward, default = match.groups()
            if forward or default:
                defaults[name] = bool(forward), default or None
        else:
            match = _BARE.match(parameters, at)
            assert match is not None
            name = match.group(1)
        names.append(name)
        at = match.end()
    return Macro(body, tuple(names), defaults)


@dataclass
class Macros:
    """Macros and namespaces of macros by name, within those around."""

    parent: Macros | None = None
    known: dict[str, Macro | Macros] = field(default_factory=dict)

    def get(self, name: str) -> Macro | Macros | None:
        """A macro or a namespace; None where there is none."""
        macros: Macros | None = self
        while macros is not None:
            if name in macros.known:
                return macros.known[name]
            macros = macros.parent
        return None
