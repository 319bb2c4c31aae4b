"""From elaborated modules to RTLIL: many modules by several processes, as each is converted alone."""

from __future__ import annotations

import gc
import multiprocessing
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from amaranth.back import rtlil
from amaranth.hdl import Fragment, Value
from amaranth.hdl._ir import PortDirection

from rbdgen.timing.machine import cores

WORTHWHILE = 100
"""Modules from which on it is worth starting processes."""
MOST_PROCESSES = 8
"""More than the largest modules keep at work."""


@dataclass(frozen=True)
class ElaboratedModule:
    """A module whose instances are known by name only: its ``fragment`` and ``ports`` by name."""

    fragment: Fragment
    ports: Mapping[str, tuple[Value, PortDirection]]

    def text(self, name: str) -> str:
        """Its RTLIL under a name."""
        return rtlil.convert(self.fragment, name=name, ports=self.ports, emit_src=False)

    @property
    def size(self) -> int:
        """About how much there is to convert."""
        return sum(len(stmts) for stmts in self.fragment.statements.values())


@contextmanager
def without_collections() -> Iterator[None]:
    """No search for cycles among the millions of objects of a netlist, of which none is garbage before its end."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def rtlil_texts(modules: Mapping[str, ElaboratedModule]) -> dict[str, str]:
    """The RTLIL of each module by its name, in their order. Processes must see this one's memory as it is, which only
    Linux does safely."""
    processes = min(cores(), MOST_PROCESSES)
    if sys.platform != "linux" or processes < 2 or len(modules) < WORTHWHILE:
        return {name: module.text(name) for name, module in modules.items()}
    # the largest first, so that none is left for the end
    order = sorted(modules, key=lambda name: -modules[name].size)
    found: dict[str, str] = {}
    _shared.update(modules)
    try:
        with warnings.catch_warnings():
            # a thread that draws progress takes no part in what the processes do
            warnings.filterwarnings(
                "ignore", "This process .* is multi-threaded", DeprecationWarning
            )
            pool = multiprocessing.get_context("fork").Pool(processes)
        with pool:
            for name, text in pool.imap_unordered(_text, order, chunksize=4):
                found[name] = text
    finally:
        _shared.clear()
    return {name: found[name] for name in modules}


_shared: dict[str, ElaboratedModule] = {}
"""What processes that are started see of this one."""


def _text(name: str) -> tuple[str, str]:
    return name, _shared[name].text(name)
