"""Texts of xacro files: ``${expression}`` and ``$(command argument)`` are replaced by what they come to.

Names mean properties and blocks of a scope; each macro's call has one of its own within its caller's. ROS packages are
found above a file, and in the folders that ROS_PACKAGE_PATH and AMENT_PREFIX_PATH name.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from rbdgen.errors import RbdgenError, short
from rbdgen.model.xacro.expressions import Expressions
from rbdgen.model.xacro.values import Budget, Function, Namespace, XacroError
from rbdgen.model.xml_text import read_xml

LONGEST_LITERAL = 100
"""Characters of a text that is tried as a number."""
# atomic: a text that does not match is not tried in every other way (not possessive, see rbdgen.model.xml_text)
_PARAMETER = re.compile(
    r"\s*([^\s:=]+)\s*:?=\s*(\^\|?)?((?>(?:\$\{.*?\}|\$\(.*?\)|'.*?'|\".*?\"|[^\s'\"])*))(?:\s+|$)",
    re.DOTALL,
)
_BARE = re.compile(r"\s*(\S+)\s*")


def literal(value: Any) -> Any:
    """A property's value: a number or a truth value where a text is one, a text without its quotes."""
    if not isinstance(value, str):
        return value
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1]
    # Python reads 1_0 as ten
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
            # in the scope that has it, whoever asks
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


DESCRIPTION = "package.xml"
OLD_DESCRIPTION = "manifest.xml"
"""... of packages that are called as their folders are."""
IGNORED = ("CATKIN_IGNORE", "AMENT_IGNORE", "COLCON_IGNORE", "rospack_nosubdirs")
"""Files that say that nothing is to be looked for in a folder."""


class Packages:
    """The packages that ``file`` may name; folders are looked through once."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.found: dict[str, Path] | None = None

    def path(self, name: str) -> str:
        """The folder of a package."""
        for folder in self.file.resolve().parents:
            if _package(folder) == name:
                return str(folder)
        if self.found is None:
            self.found = {}
            for package, folder in _in_environment():
                # the first that is found counts, as in ROS
                self.found.setdefault(package, folder)
        if name not in self.found:
            raise XacroError(
                f"package {short(name)} is neither above the file nor in a folder of ROS_PACKAGE_PATH or "
                "AMENT_PREFIX_PATH",
                "put the folder that has the package into ROS_PACKAGE_PATH",
            )
        return str(self.found[name])


def _package(folder: Path) -> str:
    """The name of the package that a folder is; empty if it is none."""
    try:
        if (folder / DESCRIPTION).is_file():
            text = (folder / DESCRIPTION).read_bytes()
            return (read_xml(text, DESCRIPTION).root.findtext("name") or "").strip()
        return folder.name if (folder / OLD_DESCRIPTION).is_file() else ""
    except (OSError, RbdgenError):
        return ""


def _in_environment() -> Iterator[tuple[str, Path]]:
    """Packages of the folders that the environment names."""
    for folder in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep):
        if folder:
            yield from _below(Path(folder))
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        share = Path(prefix) / "share"
        if prefix and share.is_dir():
            for folder in sorted(share.iterdir()):
                name = _package(folder)
                if name:
                    yield name, folder


def _below(top: Path) -> Iterator[tuple[str, Path]]:
    """Packages in a folder and those in it; there are none within a package."""
    seen = set()
    for name, folders, files in os.walk(top, followlinks=True):
        folder = Path(name)
        # links may lead in a circle
        real = os.path.realpath(name)
        package = "" if real in seen else _package(folder)
        stop = bool(package) or real in seen or any(file in IGNORED for file in files)
        seen.add(real)
        if package:
            yield package, folder
        # in place: os.walk goes on with what is left
        folders[:] = [] if stop else sorted(f for f in folders if not f.startswith("."))


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
        """The value of a text, of any type if it is one expression and nothing else."""
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
        # a bound, since each try reads the text anew
        for _ in range(20):
            inside = text[start + len(prefix) : end]
            self.budget.spend(1 + len(inside))
            # what has a $ in it is an expression only when that is replaced
            if "$" in inside or _is_expression(inside):
                return end
            end = text.find(closing, end + 1)
            if end < 0:
                break
        return first

    def _command(self, command: str) -> str:
        """The text that a ``$(command)`` stands for."""
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
        # arguments and variables may name packages in turn
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
        """The value of an expression as roslaunch's ``eval`` has it: names are arguments."""
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
        """The value of a name that a file does not define."""
        raise XacroError(f"name {short(name)} is not defined")


def _environment(name: str) -> str:
    """A variable of the environment."""
    if name not in os.environ:
        raise XacroError(f"environment variable {short(name)} is not set", "set it")
    return os.environ[name]


def _is_expression(text: str) -> bool:
    """Whether a text is a whole expression."""
    # a long one would be read again and again
    if len(text) > 1000:
        return True
    try:
        ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True
