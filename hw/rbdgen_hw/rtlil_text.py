"""From elaborated modules to RTLIL: each by itself, many by several processes while others are still elaborated."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import Fragment, Value
from amaranth.hdl._ir import PortDirection

from rbdgen.processes import cores, forked

BATCH = 600
"""Statements of the modules that a process converts: enough to be worth its start."""
MOST_PROCESSES = 8
"""More than the largest modules keep at work."""
POLL_SECONDS = 0.005


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
        return 1 + sum(len(stmts) for stmts in self.fragment.statements.values())


def rtlil_texts(modules: Iterable[tuple[str, ElaboratedModule]]) -> dict[str, str]:
    """The RTLIL of each module by its name, in their order, converted while they come. Processes must see this one's
    memory as it is, which only Linux does safely."""
    processes = min(cores(), MOST_PROCESSES)
    if sys.platform != "linux" or processes < 2:
        return {name: module.text(name) for name, module in modules}
    with tempfile.TemporaryDirectory() as folder, _Converters(Path(folder)) as converters:
        names = []
        batch = _Batch()
        for name, module in modules:
            names.append(name)
            batch.add(name, module)
            if batch.size >= BATCH:
                # one core elaborates
                converters.convert(batch, processes - 1)
                batch = _Batch()
        # all of it is less than what is worth a process
        if not converters.started:
            return batch.texts()
        converters.convert(batch, processes)
        found = converters.finish(processes)
    return {name: found[name] for name in names}


class _Batch:
    """Modules that a process converts, and about how much there is to convert."""

    def __init__(self) -> None:
        self.modules: dict[str, ElaboratedModule] = {}
        self.size = 0

    def add(self, name: str, module: ElaboratedModule) -> None:
        """Put a module in."""
        self.modules[name] = module
        self.size += module.size

    def write(self, path: Path) -> None:
        """Write the texts of the modules to a file; what a process does."""
        path.write_text(json.dumps(self.texts()), encoding="utf-8")

    def texts(self) -> dict[str, str]:
        """The RTLIL of each module by its name."""
        return {name: module.text(name) for name, module in self.modules.items()}


class _Converters:
    """Processes that convert, and the batches that wait for one; texts come through files in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.waiting: list[_Batch] = []
        self.running: list[tuple[BaseProcess, _Batch, Path]] = []
        self.found: dict[str, str] = {}
        self.started = 0

    def __enter__(self) -> _Converters:
        return self

    def __exit__(self, *error: object) -> None:
        for process, _, _ in self.running:
            process.kill()
            process.join()

    def convert(self, batch: _Batch, most: int) -> None:
        """Convert a batch as soon as fewer than ``most`` processes run."""
        self.waiting.append(batch)
        self._start(most)

    def finish(self, most: int) -> dict[str, str]:
        """The texts of all modules, when ``most`` processes have converted what is left."""
        while self.waiting or self.running:
            self._start(most)
            time.sleep(POLL_SECONDS)
        return self.found

    def _start(self, most: int) -> None:
        """Take what is done, and let up to ``most`` processes run, the largest batches first."""
        for job in [job for job in self.running if not job[0].is_alive()]:
            self.running.remove(job)
            self._take(*job)
        self.waiting.sort(key=lambda batch: batch.size)
        while self.waiting and len(self.running) < most:
            batch = self.waiting.pop()
            path = self.folder / f"{self.started}.json"
            self.started += 1
            process = forked(partial(batch.write, path))
            self.running.append((process, batch, path))

    def _take(self, process: BaseProcess, batch: _Batch, path: Path) -> None:
        process.join()
        if process.exitcode == 0:
            self.found |= json.loads(path.read_text(encoding="utf-8"))
        else:
            # where a process has no room, or an error, this one says so
            self.found |= batch.texts()
