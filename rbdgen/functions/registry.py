"""All functions that an accelerator can compute, by name: the records of this folder's files, in the order of codes.

Every module of this folder that has ``RECORDS`` adds to it; :func:`register` adds a function from elsewhere. So do
those that have ``ALGORITHMS`` to what functions are traced by (:mod:`rbdgen.functions.algorithms`).
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Sequence
from typing import Any

from rbdgen import functions
from rbdgen.errors import ConfigError
from rbdgen.functions import algorithms
from rbdgen.functions.record import Function, Settings
from rbdgen.protocol.tasks import CALIBRATE, CODES, LOAD

BEYOND = range(LOAD + 1, 256)
"""Codes of functions for which headers of tasks have no code of their own (:func:`header_codes`)."""

_known: dict[str, Function] = {}


def register(function: Function) -> None:
    """Add a function. ConfigError where its name or code is taken, the code is none, or it says no needs."""
    for other in _known.values():
        if function.name == other.name:
            raise ConfigError(f"function {function.name!r}: the name is taken; choose another")
        if function.code == other.code:
            taken = {f.code for f in _known.values()}
            free = ", ".join(str(code) for code in CODES if code not in taken)
            raise ConfigError(
                f"function {function.name!r}: code {function.code} is that of {other.name!r}; free codes are {free}"
            )
    if function.code not in CODES and function.code not in BEYOND:
        raise ConfigError(
            f"function {function.name!r}: code must be {CODES[0]} to {CODES[-1]} and not {CALIBRATE}, which loads "
            f"parameters, or {BEYOND[0]} to {BEYOND[-1]}, not {function.code}"
        )
    if not function.needs:
        raise ConfigError(
            f"function {function.name!r}: needs: must name what it takes of its program; Need.PLACEMENT if nothing else"
        )
    if function.name == "all" or not function.name.isidentifier():
        raise ConfigError(f"function {function.name!r}: the name must be an identifier, not 'all'")
    _known[function.name] = function
    # codes decide the order everywhere: of ports, reports and documentation
    ordered = sorted(_known.values(), key=lambda f: f.code)
    _known.clear()
    _known.update({f.name: f for f in ordered})


def unregister(name: str) -> None:
    """Take out a function that was added."""
    del _known[name]


def known() -> dict[str, Function]:
    """All functions by name, in the order of their codes."""
    return dict(_known)


def common() -> tuple[str, ...]:
    """The functions that ``all`` means."""
    return tuple(f.name for f in _known.values() if f.common)


def function(name: str) -> Function:
    """The function of this name; ConfigError where there is none."""
    if name not in _known:
        hint = _meant(name)
        raise ConfigError(
            f"function {name!r}: unknown; {hint}functions are: {', '.join(_known)}, or all"
        )
    return _known[name]


def _meant(name: str) -> str:
    """A hint at which function was meant by a name that is none, with a space behind it; empty where none is near."""
    parts = name.split()
    if len(parts) > 1 and all(part in _known for part in parts):
        return f"names are parted by commas: {','.join(parts)}; "
    near = difflib.get_close_matches(name, _known, 1, cutoff=0.5)
    return f"did you mean {near[0]}? " if near else ""


def made(names: Sequence[str], settings: Settings) -> tuple[Function, ...]:
    """The functions of these names, as they are made with these settings beside each other."""
    records = [function(name) for name in names]
    found = []
    for record in records:
        others = [other for other in records if other is not record]
        # how step is made depends on whether derivatives are there anyway
        found.append(record.beside(record, settings, others) if record.beside else record)
    return tuple(found)


def check_functions(names: Sequence[str]) -> tuple[str, ...]:
    """The functions in the order of their codes, each once; ConfigError naming one that is unknown."""
    for name in names:
        function(name)
    if not names:
        raise ConfigError(f"functions: none given; choose from {', '.join(_known)}, or all")
    return tuple(name for name in _known if name in names)


def header_codes(names: Sequence[str]) -> dict[str, int]:
    """What headers of tasks hold for each of an accelerator's functions: its code, or, where that is beyond a header,
    one that is free, those that are no function's own first. ConfigError for more functions than there are codes."""
    codes = {name: function(name).code for name in names}
    given = {name: code for name, code in codes.items() if code in CODES}
    owned = {f.code for f in _known.values()}
    free = [code for code in CODES if code not in given.values()]
    free.sort(key=lambda code: (code in owned, code))
    late = sorted((name for name in codes if name not in given), key=lambda name: codes[name])
    if len(late) > len(free):
        raise ConfigError(
            f"functions: {len(codes)} are more than a task's header has codes for, {len(CODES)}; build several "
            "accelerators"
        )
    return given | dict(zip(late, free, strict=False))


def check_together(functions: Sequence[Function]) -> None:
    """ConfigError for functions that one accelerator cannot have together."""
    several = [f.name for f in functions if f.repeat]
    if len(several) > 1:
        raise ConfigError(
            f"functions: {' and '.join(several)} repeat, which only one function of an accelerator can; build an "
            "accelerator for each"
        )
    # equal first passes are one, which functions can share
    first_passes = {f.first_pass: f.name for f in functions if f.first_pass}
    if len(first_passes) > 1:
        raise ConfigError(
            f"functions: {' and '.join(first_passes.values())} have first passes that differ, which those of one "
            "accelerator cannot; build an accelerator for each"
        )


def golden_functions() -> dict[str, Callable[..., Any]]:
    """The public functions of :mod:`rbdgen.golden`, by name."""
    found = {}
    for f in _known.values():
        public = (f.golden, *f.parts) if f.golden else f.parts
        found |= {one.__name__: one for one in public}
    return found


for _module in sorted(m.name for m in pkgutil.iter_modules(functions.__path__)):
    if _module != "registry":
        _content = importlib.import_module(f"{functions.__name__}.{_module}")
        for _record in getattr(_content, "RECORDS", ()):
            register(_record)
        for _algorithm in getattr(_content, "ALGORITHMS", ()):
            algorithms.register(_algorithm)
