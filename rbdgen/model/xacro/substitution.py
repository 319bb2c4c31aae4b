"""Texts of xacro files: ``${expression}`` and ``$(command argument)`` in them are replaced by what they come to."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rbdgen.errors import short
from rbdgen.model.xacro.budget import Budget, XacroError
from rbdgen.model.xacro.expressions import Expressions
from rbdgen.model.xacro.packages import Packages
from rbdgen.model.xacro.scopes import literal
from rbdgen.model.xacro.values import Function

_OPENING = re.compile(r"\$+[{(]")
_FIND = re.compile(r"\$\(find ([^()$]*)\)")
_CLOSED_BY = {"{": "}", "(": ")"}
_EVAL = "eval "
COMMANDS = ("arg", "find", "env", "optenv", "dirname", "cwd", "eval")

Names = Callable[[str], Any]


class Substitution:
    """The texts of one file with all that it includes. ``folder`` says where the file is that is being read."""

    def __init__(
        self,
        budget: Budget,
        arguments: dict[str, str],
        packages: Packages,
        folder: Callable[[], Path],
    ) -> None:
        self.budget = budget
        self.arguments = arguments
        self.packages = packages
        self.folder = folder
        self.expressions = Expressions(budget)

    def value(self, text: str, names: Names) -> Any:
        """What a text comes to: a value of any type if it is one expression and nothing else."""
        if "$" not in text:
            self.budget.spend(1 + len(text) // 100)
            return text
        self.budget.read(text)
        parts = list(self._parts(text, names))
        if len(parts) == 1:
            return parts[0]
        return self.budget.read("".join(map(self.budget.text, parts)))

    def _parts(self, text: str, names: Names) -> Iterator[Any]:
        """The parts of a text, evaluated."""
        at = 0
        while at < len(text):
            match = _OPENING.search(text, at)
            if match is None:
                yield text[at:]
                return
            if match.start() > at:
                yield text[at : match.start()]
            at = match.end()
            if len(match.group()) > 2:  # $${ stands for ${
                yield match.group()[1:]
                continue
            end = self._end(text, at)
            inside = text[at:end]
            at = end + 1
            if match.group() == "${":
                yield self.expressions.value(str(self.value(inside, names)), names)
            else:
                yield self._command(str(self.value(inside, names)))

    def _end(self, text: str, start: int) -> int:
        """Where what begins at ``start`` is closed: at the first bracket, as in xacro, or a later one if it is no
        expression yet (a dictionary's bracket, a call's)."""
        opened = text[start - 1]
        closing = _CLOSED_BY[opened]
        first = text.find(closing, start)
        if first < 0:
            raise XacroError(f"{short(text[start - 2 :])} is not closed")
        prefix = ""
        if opened == "(":
            prefix = _EVAL
            if not text.startswith(_EVAL, start):
                return first
        end = first
        for _ in range(20):
            inside = text[start + len(prefix) : end]
            self.budget.spend(1 + len(inside))
            if "$" in inside or _is_expression(inside):
                return end
            end = text.find(closing, end + 1)
            if end < 0:
                break
        return first

    def _command(self, command: str) -> str:
        """What a ``$(command)`` stands for."""
        name, *words = command.split() or [""]
        if name == "eval":
            return self.budget.text(self._evaluated(command.strip()[len(_EVAL) :]))
        if name in ("dirname", "cwd") and not words:
            return str(self.folder() if name == "dirname" else Path.cwd())
        if name == "optenv" and words:
            found = os.environ.get(words[0], " ".join(words[1:]))
        elif name in ("arg", "find", "env") and len(words) == 1:
            found = {"arg": self.argument, "find": self.packages.path, "env": _environment}[name](
                words[0]
            )
        elif name in COMMANDS:
            raise XacroError(f"$({short(command)[1:-1]}) has not the arguments that {name} takes")
        else:
            raise XacroError(
                f"$({short(command)[1:-1]}) is not known; xacro has {', '.join(COMMANDS)}"
            )
        if name != "find":
            found = _FIND.sub(lambda match: self.packages.path(match.group(1).strip()), found)
        return self.budget.read(found)

    def argument(self, name: str) -> str:
        """The value of an argument of the file's."""
        if name not in self.arguments:
            raise XacroError(
                f"argument {short(name)} has no value",
                f"give it one: rbdgen.load(path, arguments={{{name!r}: ...}}), or a default in the file",
            )
        return self.arguments[name]

    def _evaluated(self, expression: str) -> Any:
        """What roslaunch's ``eval`` makes of an expression: names are arguments."""
        calls: Mapping[str, Callable[..., Any]] = {
            "arg": lambda name: literal(self.argument(name)),
            "find": self.packages.path,
            "env": _environment,
            "optenv": lambda name, default="": os.environ.get(name, default),
            "dirname": lambda: str(self.folder()),
        }
        own: dict[str, Any] = {name: Function(name, call) for name, call in calls.items()}
        own |= {"true": True, "false": False}

        def named(name: str) -> Any:
            if name in own:
                return own[name]
            if name in self.arguments:
                return literal(self.arguments[name])
            return self.global_name(name)

        return self.expressions.value(expression, named)

    def global_name(self, name: str) -> Any:
        """What a name stands for that a file does not define."""
        raise XacroError(f"name {short(name)} is not defined")


def _environment(name: str) -> str:
    """A variable of the environment."""
    if name not in os.environ:
        raise XacroError(f"environment variable {short(name)} is not set", "set it")
    return os.environ[name]


def _is_expression(text: str) -> bool:
    """Whether a text is a whole expression."""
    if len(text) > 1000:
        return True
    try:
        ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True
