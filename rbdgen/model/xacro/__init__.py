"""Expands xacro into URDF, for files that end in .xacro and for nothing else.

Properties, macros, conditions, blocks and includes are expanded here, texts and names in
:mod:`rbdgen.model.xacro.substitution`, expressions evaluated in :mod:`rbdgen.model.xacro.expressions`. A file may come
from anywhere. No expression is handed to Python, what a file defines ends with it, and what it takes has a bound
(:class:`rbdgen.model.xacro.values.Budget`). Left to it is to read files that the user can read, and variables of the
environment.

A file's tree is never changed: each element is expanded into the tree that is being made. Methods that may nest are
generators, which :class:`Expander` drives, so that a chain of macros may be longer than Python's stack.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from rbdgen.errors import UrdfError, short
from rbdgen.model.robot import Robot
from rbdgen.model.urdf import check_base, name_of, read_bytes, robot_of_document
from rbdgen.model.xacro.functions import global_names, yaml_values
from rbdgen.model.xacro.substitution import (
    Macro,
    Macros,
    Packages,
    Scope,
    Substitution,
    literal,
    macro_of,
)
from rbdgen.model.xacro.values import Budget, XacroError
from rbdgen.model.xml_text import Document, read_xml

PREFIX = "xacro:"
MOST_NESTED = 4000
"""Elements and calls within each other; a call of a macro is about four."""
LARGEST_FILE = 2_000_000
"""Bytes of a file that is included or loaded."""
LONGEST_PATH = 300
"""Characters of a path in a message."""
_ELEMENT = 20
"""Steps of an element, beside its texts."""

Work = Generator[Any, None, None]
"""Work on an element; what it yields is to be done before it goes on."""


class Expander:
    """The expansion of one file. ``remarks`` are what the file says to its user, and what is odd about its XML."""

    def __init__(self, path: Path, arguments: Mapping[str, str], budget: Budget) -> None:
        self.files = [path]
        self.budget = budget
        self.remarks: list[str] = []
        self.texts = Substitution(budget, dict(arguments), Packages(path), self.folder)
        self.globals = global_names(budget, self)
        self.texts.global_name = self._global
        self.handlers: dict[str, Callable[[Element, Element, Scope, Macros], Work]] = {
            "include": self._include,
            "property": self._property,
            "macro": self._macro,
            "arg": self._argument,
            "if": self._condition,
            "unless": self._condition,
            "insert_block": self._insert,
            "element": self._named_element,
            "attribute": self._attribute,
            "call": self._dynamic_call,
        }

    def expanded(self, root: Element) -> Element:
        """The tree that a file's tree expands to."""
        # a root that is a condition or a call may expand to nothing, or to several elements
        top = Element("top")
        self._run(self._element(root, top, Scope(self.value), Macros()))
        if len(top) != 1:
            raise XacroError("has no root element once it is expanded")
        return top[0]

    def folder(self) -> Path:
        """Where the file is that is being read."""
        return Path(os.path.abspath(self.files[-1])).parent  # noqa: PTH100 (links stay)

    # what functions ask for

    def load_yaml(self, path: str) -> Any:
        """The values of a YAML file."""
        file = Path(self.absolute(path))
        # some editors begin files with a byte order mark
        text = _content(file, self.budget).decode("utf-8-sig", "replace")
        self.files.append(file)
        found = yaml_values(
            text, self.budget, lambda measure: self.texts.expressions.value(measure, self._global)
        )
        self.files.pop()
        return found

    def absolute(self, path: str) -> str:
        """A path, relative to the file that is read."""
        return os.path.join(self.files[-1].parent, path)  # noqa: PTH118 (keeps what is absolute)

    def argument(self, name: str) -> str:
        """An argument's value."""
        return self.texts.argument(name)

    def remark(self, text: str) -> None:
        """Take note of what the file says to its user."""
        self.remarks.append(f"the file says: {short(text)[1:-1]}")

    # texts

    def value(self, text: str, scope: Scope) -> Any:
        """The value of a text in a scope."""

        def named(name: str) -> Any:
            return scope.get(name) if scope.holder(name) else self._global(name)

        return self.texts.value(text, named)

    def _text(self, text: str, scope: Scope) -> str:
        """The same as text."""
        value = self.value(text, scope)
        return value if isinstance(value, str) else self.budget.text(value)

    def _global(self, name: str) -> Any:
        """The value of a name that the file does not define."""
        if name not in self.globals:
            raise XacroError(f"name {short(name)} is not defined")
        return self.globals[name]

    def _truth(self, text: str, scope: Scope) -> bool:
        """Whether a condition holds."""
        value = literal(self.value(text, scope))
        if isinstance(value, str):
            raise XacroError(f"{short(text)} is {short(value)}, not true or false")
        return bool(value)

    # elements

    def _run(self, work: Work) -> None:
        """Do ``work`` and what it yields, one after the other."""
        stack = [work]
        while stack:
            inner = next(stack[-1], None)
            if inner is None:
                stack.pop()
            elif len(stack) >= MOST_NESTED:
                raise XacroError("its macros or properties call themselves")
            else:
                stack.append(inner)

    def _children(self, source: Element, target: Element, scope: Scope, macros: Macros) -> Work:
        """Expand what is in an element."""
        self._said(source.text, scope)
        for child in source:
            yield self._element(child, target, scope, macros)
            self._said(child.tail, scope)

    def _said(self, text: str | None, scope: Scope) -> None:
        """Evaluate a text between elements. It means nothing to a robot, but files check their arguments in it."""
        if text and "$" in text:
            self.value(text, scope)

    def _element(self, source: Element, target: Element, scope: Scope, macros: Macros) -> Work:
        """Expand an element."""
        self.budget.spend(_ELEMENT)
        tag = str(source.tag)
        if tag.startswith(PREFIX):
            name = tag[len(PREFIX) :]
            handler = self.handlers.get(name)
            if handler:
                yield handler(source, target, scope, macros)
            else:
                yield self._call(name, source, target, scope, macros)
            return
        made = Element(tag)
        for key, text in source.attrib.items():
            if not key.startswith(PREFIX) and key != "xmlns:xacro":
                made.set(key, self._text(text, scope))
        target.append(made)
        yield self._children(source, made, scope, macros)

    def _condition(self, source: Element, target: Element, scope: Scope, macros: Macros) -> Work:
        wanted = source.tag == f"{PREFIX}if"
        if self._truth(_given(source, "value"), scope) is wanted:
            yield self._children(source, target, scope, macros)

    def _named_element(
        self, source: Element, target: Element, scope: Scope, macros: Macros
    ) -> Work:
        key = f"{PREFIX}name"
        name = self._text(_given(source, key), scope)
        if not name:
            raise XacroError("<xacro:element> has an empty name")
        attributes = {k: v for k, v in source.attrib.items() if k != key}
        yield self._element(_copied(source, name, attributes), target, scope, macros)

    def _attribute(self, source: Element, target: Element, scope: Scope, macros: Macros) -> Work:
        name = self._text(_given(source, "name"), scope)
        if not name:
            raise XacroError("<xacro:attribute> has an empty name")
        target.set(name, self._text(_given(source, "value"), scope))
        # handlers are generators, those that have nothing to wait for too
        yield from ()

    def _argument(self, source: Element, target: Element, scope: Scope, macros: Macros) -> Work:
        name = _given(source, "name")
        if name not in self.texts.arguments:
            self.texts.arguments[name] = self._text(_given(source, "default"), scope)
        yield from ()

    def _property(self, source: Element, target: Element, scope: Scope, macros: Macros) -> Work:
        yield from ()
        name = self._text(_given(source, "name"), scope)
        if not name.isidentifier() or name.startswith("__"):
            raise XacroError(f"property {short(name)} must be called as a variable is")
        value, default = source.get("value"), source.get("default")
        remove = self._truth(source.get("remove", "false"), scope)
        if (value is not None) + (default is not None) + remove > 1:
            raise XacroError(f"property {short(name)} has two of value, default and remove")
        if remove:
            scope.remove(name)
            return
        if default is not None:
            if scope.holder(name):
                return
            value = default
        where = source.get("scope", "")
        into = {"global": scope.file, "parent": scope.caller}.get(where, lambda: scope)()
        if value is None:
            # as a macro's parameter for an element's content is called
            into.blocks[f"**{name}"] = source
            return
        # for another scope it is evaluated here, by the names that it is written with
        lazily = not where and self._truth(source.get("lazy_eval", "true"), scope)
        into.set(name, value if lazily else self.value(value, scope), lazily)

    # includes

    def _include(self, source: Element, target: Element, scope: Scope, macros: Macros) -> Work:
        space = source.get("ns")
        if space:
            name = self._text(space, scope)
            within, known = Scope(self.value, scope, is_namespace=True), Macros()
            scope.values[name] = within
            macros.known[name] = known
            scope, macros = within, known
        optional = self._truth(source.get("optional", "false"), scope)
        for file in self._included(self._text(_given(source, "filename"), scope)):
            if optional and not file.is_file():
                continue
            document = read_xml(_content(file, self.budget), str(file))
            self.remarks += [f"{file.name}: {remark}" for remark in document.remarks]
            # an error leaves it there, so that the message can name it
            self.files.append(file)
            _declare(document.root, target)
            yield self._children(document.root, target, scope, macros)
            self.files.pop()

    def _included(self, name: str) -> list[Path]:
        """The files that an include names; a pattern may name several, or none."""
        file = Path(self.absolute(name))
        if file.exists() or not any(sign in name for sign in "*[?"):
            return [file]
        # the folder's own name is no pattern, which pathlib has no way to say
        folder = glob.escape(str(self.files[-1].parent))
        return [Path(found) for found in sorted(glob.glob(os.path.join(folder, name)))]  # noqa: PTH118, PTH207

    # macros

    def _macro(self, source: Element, target: Element, scope: Scope, macros: Macros) -> Work:
        yield from ()
        name = _given(source, "name").removeprefix(PREFIX)
        if name == "call" or "." in name:
            raise XacroError(f"no macro can be called {short(name)}")
        macros.known[name] = macro_of(source, source.get("params", ""))

    def _dynamic_call(self, source: Element, target: Element, scope: Scope, macros: Macros) -> Work:
        name = self._text(_given(source, "macro"), scope)
        attributes = {k: v for k, v in source.attrib.items() if k != "macro"}
        yield self._call(name, _copied(source, PREFIX + name, attributes), target, scope, macros)

    def _call(
        self, name: str, source: Element, target: Element, scope: Scope, macros: Macros
    ) -> Work:
        """Expand a call of a macro."""
        macro, around, known = _resolved(name, scope, macros)
        inner = Scope(self.value, around)
        for key, text in source.attrib.items():
            if key.startswith("xmlns"):
                continue
            if key not in macro.parameters:
                raise XacroError(f"macro {short(name)} has no parameter {short(key)}")
            # arguments mean what they mean where the macro is called
            inner.set(key, self.value(text, scope), lazily=False)
        # what stands in a call is expanded there, before the macro has it
        given = Element("blocks")
        yield self._children(source, given, scope, macros)
        blocks = list(given)
        for parameter in macro.parameters:
            if parameter.startswith("*"):
                if not blocks:
                    raise XacroError(f"macro {short(name)} is given too few elements")
                inner.blocks[parameter] = blocks.pop(0)
            elif parameter not in inner.values:
                self._default(name, macro, parameter, inner, scope)
        if blocks:
            raise XacroError(f"macro {short(name)} does not use <{short(blocks[0].tag)[1:-1]}>")
        _declare(macro.body, target)
        # macros that a macro defines end with its call
        yield self._children(macro.body, target, inner, Macros(known))

    def _default(self, name: str, macro: Macro, parameter: str, inner: Scope, scope: Scope) -> None:
        """Give a parameter its default value."""
        forward, text = macro.defaults.get(parameter, (False, None))
        if forward and scope.holder(parameter):
            value = scope.get(parameter)
        elif text is not None:
            value = self.value(text, scope)
        else:
            raise XacroError(f"macro {short(name)} is not given {short(parameter)}")
        inner.set(parameter, value, lazily=False)

    def _insert(self, source: Element, target: Element, scope: Scope, macros: Macros) -> Work:
        name = self._text(_given(source, "name"), scope)
        content, whole = scope.block(f"**{name}"), scope.block(f"*{name}")
        if content is not None:
            yield self._children(content, target, scope, macros)
        elif whole is not None:
            yield self._element(whole, target, scope, macros)
        else:
            raise XacroError(f"there is no block {short(name)}")


def _given(source: Element, key: str) -> str:
    """An attribute that an element must have."""
    text = source.get(key)
    if text is None:
        raise XacroError(f"<{short(source.tag)[1:-1]}> has no {key}")
    return text


def _copied(source: Element, tag: str, attributes: dict[str, str]) -> Element:
    """An element with the children of another."""
    made = Element(tag, attributes)
    made.text = source.text
    made.extend(source)
    return made


def _declare(source: Element, target: Element) -> None:
    """Take over the addresses of prefixes, for the elements that come with them."""
    for key, address in source.attrib.items():
        if key.startswith("xmlns:") and key != "xmlns:xacro":
            target.attrib.setdefault(key, address)


def _resolved(name: str, scope: Scope, macros: Macros) -> tuple[Macro, Scope, Macros]:
    """A macro by its name, with the scopes that it is expanded in: those of its namespace, if it has one."""
    found = macros.get(name)
    if not isinstance(found, Macro):
        *spaces, own = name.split(".")
        for space in spaces:
            inner = macros.get(space)
            if not isinstance(inner, Macros):
                raise XacroError(f"there is no macro {short(name)}")
            macros = inner
            scope = scope.get(space)
        found = macros.get(own)
    if not isinstance(found, Macro):
        raise XacroError(f"there is no macro {short(name)}")
    return found, scope, macros


def _shown(file: Path) -> str:
    """A path for a message: its end, if it is long."""
    text = str(file)
    return repr(text if len(text) <= LONGEST_PATH else f"…{text[-LONGEST_PATH:]}")


def _content(file: Path, budget: Budget) -> bytes:
    """The content of a file; a device or a pipe may have no end."""
    try:
        known = file.stat()
        if not stat.S_ISREG(known.st_mode):
            raise XacroError(f"{_shown(file)} is no file")
        if known.st_size > LARGEST_FILE:
            raise XacroError(f"{_shown(file)} has more than {LARGEST_FILE:,} bytes")
        budget.spend(1 + known.st_size // 4)
        return file.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise XacroError(f"{_shown(file)} cannot be read: {reason}") from None


def expand(
    root: Element, path: Path, arguments: Mapping[str, str], budget: Budget | None = None
) -> tuple[Element, list[str]]:
    """The tree that the ``root`` of the file at ``path`` expands to, and remarks. XacroError where it does not, which
    says in which file that is."""
    expander = Expander(path, arguments, budget or Budget())
    try:
        return expander.expanded(root), expander.remarks
    except XacroError as error:
        # a message is one line
        reason = " ".join(str(error).split())
        if len(expander.files) > 1 and str(expander.files[-1]) not in reason:
            reason = f"{reason}, in {_shown(expander.files[-1])}"
        raise XacroError(reason, error.remedy) from None
    except (RecursionError, MemoryError):
        raise XacroError("its macros or properties call themselves") from None


SUFFIX = ".xacro"


def load_xacro(
    path: str | Path, base: str = "fixed", arguments: Mapping[str, Any] | None = None
) -> Robot:
    """The robot of a xacro file, expanded with ``arguments`` (those that the command line of xacro takes as
    ``name:=value``).

    UrdfError for what cannot be expanded, ToolError without PyYAML where a file loads YAML; else errors and warnings
    are those of :func:`rbdgen.load_urdf`."""
    path = Path(path)
    check_base(str(path), base)
    # files are often called name.urdf.xacro
    name = name_of(path).partition(".")[0]
    return robot_of_document(expanded(path, arguments), str(path), name, base)


def expanded(path: Path, arguments: Mapping[str, Any] | None = None) -> Document:
    """The URDF that a xacro file expands to."""
    given = {str(name): str(value) for name, value in (arguments or {}).items()}
    try:
        document = read_xml(read_bytes(path), str(path))
        root, remarks = expand(document.root, path, given)
    except XacroError as error:
        raise UrdfError(f"{path}: xacro does not expand it: {error}; {error.remedy}") from None
    return Document(root, (*document.remarks, *remarks))
