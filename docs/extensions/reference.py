"""Directives of the reference pages: made from the parser and from packages' public names while the pages are built."""

from __future__ import annotations

import argparse
import importlib
import inspect
import math
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from rbdgen.cli.parser import make_parser
from rbdgen.functions import registry
from rbdgen.functions.quantities import BASE, F_EXT, Quantity
from rbdgen.machines.pipeline.budget import DEMANDS
from rbdgen.model.setup import ROBOT
from rbdgen.options import Options
from rbdgen.setting import GROUPS, Setting, settings

WIDTH = 84
"""Columns of a usage."""


class Generated(SphinxDirective, ABC):
    """A directive whose content is text that is made when the page is read."""

    required_arguments = 0
    optional_arguments = 1

    @abstractmethod
    def lines(self) -> Iterable[str]:
        """The text, in reStructuredText."""

    def run(self) -> list[nodes.Node]:
        """The text's nodes."""
        return self.parse_text_to_nodes("\n".join(self.lines()), allow_section_headings=True)


class CommandLine(Generated):
    """Every command with its arguments, as ``--help-all`` says them."""

    def lines(self) -> Iterator[str]:
        """A section for each command."""
        parser = make_parser(everything=True)
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, command in action.choices.items():
                    yield from _command(name, command)


def _command(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """One command: what it does, its usage, its arguments by group, its examples."""
    yield from ("", name, "-" * len(name), "", parser.description or "", "")
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=WIDTH)
    yield from _block(parser.format_usage())
    for group in parser._action_groups:
        actions = [action for action in group._group_actions if _is_told(action)]
        if actions and group.title:
            yield from ("", f".. rubric:: {group.title}", "")
            yield from (_escaped(group.description or ""), "")
        for action in actions:
            yield from _argument(action)
    if parser.epilog:
        yield from _block(parser.epilog)


def _is_told(action: argparse.Action) -> bool:
    """Whether an argument is one of the command's own, and shown."""
    asks_for_help = {"--help", "--help-all"} & set(action.option_strings)
    return action.help != argparse.SUPPRESS and not asks_for_help


def _block(text: str) -> Iterator[str]:
    """A literal block."""
    yield from ("", ".. code-block:: text", "")
    for line in text.rstrip().splitlines():
        yield f"   {line}"
    yield ""


def _argument(action: argparse.Action) -> Iterator[str]:
    """An argument and what it is."""
    value = action.metavar or (action.dest.upper() if action.nargs != 0 else "")
    if isinstance(value, tuple):
        value = " ".join(value)
    if action.choices and action.option_strings:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    names = [f"``{option} {value}``".replace(" ``", "``") for option in action.option_strings]
    text = (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")
    yield ", ".join(names) or f"``{value}``"
    yield f"   {_escaped(text)}"
    yield ""


def _escaped(text: str) -> str:
    """A text without what reStructuredText takes for markup."""
    for sign in ("\\", "*", "`", "|", "_"):
        text = text.replace(sign, f"\\{sign}")
    return text


class PublicNames(Generated):
    """Names that a package says are public in its ``__all__``, each with its docstring."""

    required_arguments = 1
    optional_arguments = 0

    def lines(self) -> Iterator[str]:
        """An entry for each name."""
        package = importlib.import_module(self.arguments[0])
        for name in package.__all__:
            value = getattr(package, name)
            if not isinstance(value, ModuleType) and not name.startswith("_"):
                yield from _entry(f"{package.__name__}.{name}", value)


class PublicModules(Generated):
    """The modules of a package, each with its public classes and functions."""

    required_arguments = 1
    optional_arguments = 0

    def lines(self) -> Iterator[str]:
        """A section for each module."""
        package = importlib.import_module(self.arguments[0])
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            yield from ("", found.name, "~" * len(found.name), "")
            yield from (inspect.getdoc(module) or "").splitlines()
            yield ""
            for name, value in vars(module).items():
                own = getattr(value, "__module__", "") == found.name
                if own and not name.startswith("_") and callable(value):
                    yield from _entry(f"{found.name}.{name}", value)


class Functions(Generated):
    """A table of all functions, from their records."""

    def lines(self) -> Iterator[str]:
        """Name, code, meaning, operands, results, the Python call and Pinocchio's."""
        yield from (".. list-table::", "   :header-rows: 1", "")
        head = ("name", "code", "computes", "operands", "results", "rbdgen.golden", "Pinocchio")
        yield from _row(head)
        for f in registry.known().values():
            yield from _row(
                (
                    f"``{f.name}``",
                    str(f.code),
                    f.summary,
                    ", ".join(q.name for q in f.operands),
                    ", ".join(q.name for q in f.results),
                    f"``{f.method}``",
                    f"``{f.pinocchio.name}``" if f.pinocchio else "–",
                )
            )


class Quantities(Generated):
    """A table of the vectors and matrices of tasks and results."""

    def lines(self) -> Iterator[str]:
        """Name, meaning, shape, unit."""
        found: dict[str, Quantity] = {}
        for f in registry.known().values():
            found |= {q.name: q for q in (*f.operands, *f.results)}
        found |= {q.name: q for q in (F_EXT, BASE)}
        yield from (".. list-table::", "   :header-rows: 1", "")
        yield from _row(("name", "what", "shape", "unit"))
        for q in found.values():
            shape = ", ".join(map(str, q.shape)) + (", symmetric" if q.symmetric else "")
            yield from _row((f"``{q.name}``", q.text, shape, q.unit))


class OptionTables(Generated):
    """A table of options for each of their groups, from their descriptions."""

    def lines(self) -> Iterator[str]:
        """Name in Python and ``config.toml``, on the command line, meaning, values, default."""
        described = ROBOT | settings(Options) | DEMANDS
        for group, title in GROUPS.items():
            yield from ("", title.capitalize(), "-" * len(title), "")
            yield from (".. list-table::", "   :header-rows: 1", "")
            yield from _row(("option", "command line", "what", "values", "otherwise"))
            for name, setting in described.items():
                if setting.group == group:
                    yield from _row(_option(name, setting))


def _option(name: str, setting: Setting) -> tuple[str, ...]:
    """The cells of an option's row."""
    flag = f"``--{(setting.flag or name).replace('_', '-')}``" if setting.on_command_line else "–"
    known = setting.choices or setting.listed
    values = ", ".join(known()) if known else setting.kind.name
    if not known and math.isfinite(setting.least):
        values += f", {setting.least:g} to {setting.most:g}" if math.isfinite(setting.most) else ""
    return f"``{name}``", flag, setting.summary, values, setting.otherwise or "–"


def _row(cells: Iterable[str]) -> Iterator[str]:
    """A row of a list table."""
    for k, cell in enumerate(cells):
        yield f"   {'* -' if k == 0 else '  -'} {cell}"


def _entry(path: str, value: Any) -> Iterator[str]:
    """The directive that describes one public name."""
    kind = "data"
    options: tuple[str, ...] = ()
    if inspect.isclass(value):
        kind = "exception" if issubclass(value, BaseException) else "class"
        options = () if kind == "exception" else ("   :members:",)
    elif callable(value):
        kind = "function"
    yield from (f".. auto{kind}:: {path}", *options, "")


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's way in."""
    app.add_directive("command-line", CommandLine)
    app.add_directive("public-names", PublicNames)
    app.add_directive("functions", Functions)
    app.add_directive("quantities", Quantities)
    app.add_directive("option-tables", OptionTables)
    app.add_directive("public-modules", PublicModules)
    return {"parallel_read_safe": True}
