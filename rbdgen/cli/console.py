"""Progress and results on a terminal, as all commands show them, and packages that commands need beside the project's,
looked for before any work is done.

Not here: simulators and boards' tools, which say themselves what is missing.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from rbdgen.cli.process import put
from rbdgen.installation import require

if TYPE_CHECKING:
    from rich.progress import Progress


class Talk(IntEnum):
    """How much of what is no result is said on standard error; errors and warnings always are."""

    QUIET = 0
    """Neither progress nor notes."""
    USUAL = 1
    VERBOSE = 2
    """With the seconds that have passed, in plain lines that stay."""


_talk = ContextVar("talk", default=Talk.USUAL)
"""That of the command that runs."""


@contextmanager
def talking(talk: Talk) -> Iterator[None]:
    """Within, so much is said."""
    before = _talk.set(talk)
    try:
        yield
    finally:
        _talk.reset(before)


def say(text: str) -> None:
    """A line on standard error that is no result, unless nothing is to be said."""
    if _talk.get() > Talk.QUIET:
        print(f"rbdgen: {text}", file=sys.stderr, flush=True)


class Reporter:
    """Progress on standard error: a live bar on a terminal, plain lines elsewhere."""

    def __init__(self, live: Progress | None) -> None:
        self.live = live
        self.began = time.monotonic()
        self.tasks: dict[str, Any] = {}
        self.told: dict[str, float] = {}

    def stage(self, name: str) -> None:
        """A stage without a count begins."""
        if self.live is None:
            say(f"{self._passed()}{name}")
        else:
            for task in self.tasks.values():
                self.live.update(task, total=1, completed=1)
            self.tasks = {name: self.live.add_task(name, total=None)}

    def count(self, name: str, done: int, total: int) -> None:
        """``done`` of ``total`` steps of a stage; plain lines come at most every five seconds."""
        if self.live is not None:
            if name not in self.tasks:
                self.stage(name)
            self.live.update(self.tasks[name], total=total, completed=done)
        elif time.monotonic() - self.told.get(name, 0.0) > 5.0 or done == total:
            self.told[name] = time.monotonic()
            say(f"{self._passed()}{name}: {done} of {total}")

    def _passed(self) -> str:
        """The seconds since it began, where they are wanted."""
        if _talk.get() < Talk.VERBOSE:
            return ""
        return f"{time.monotonic() - self.began:.1f} s: "


@contextmanager
def reporter() -> Iterator[Reporter]:
    """A reporter for standard error as it is."""
    if not sys.stderr.isatty() or _talk.get() != Talk.USUAL:
        yield Reporter(None)
        return
    # takes a while to load, and only a terminal shows it
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as live:
        yield Reporter(live)


def print_result(args: argparse.Namespace, content: dict[str, Any], text: str) -> None:
    """Standard output: the object with ``--json``, else the text."""
    put(json.dumps(content, indent=2) if args.json else text)


def need_plots() -> None:
    """ToolError without what draws plots with axes."""
    require("report", "matplotlib")


def need_page() -> None:
    """ToolError without what makes a page of a build."""
    require("report", "jinja2", "matplotlib")


def need_cluster() -> None:
    """ToolError without what spreads a sweep over machines."""
    require("dask", "distributed")
