"""Manners of the process: no interrupt is lost, a request to end is one, what is printed arrives or is an error."""

from __future__ import annotations

import _thread
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rbdgen.errors import ToolError

AGAIN = 0.01
"""Seconds after which an interrupt that was lost comes again."""


class Terminated(KeyboardInterrupt):
    """Somebody asked this process to end; it cleans up as after Ctrl-C."""


def status_of(interrupt: KeyboardInterrupt) -> int:
    """The exit status that says which signal ended a process."""
    ended_by = signal.SIGTERM if isinstance(interrupt, Terminated) else signal.SIGINT
    return 128 + ended_by


@contextmanager
def signals() -> Iterator[None]:
    """A request to end is raised as :class:`Terminated`, and an interrupt that Python drops, as it does with those that
    arrive in a destructor, comes again."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    hook = sys.unraisablehook
    before = signal.signal(signal.SIGTERM, _terminate)
    sys.unraisablehook = _interrupt_again(hook)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: object) -> None:
    raise Terminated


def _interrupt_again(hook: Any) -> Any:
    """What is told of exceptions that Python drops: interrupts come again, others go on to ``hook``."""

    def told(dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            hook(dropped)
            return
        number = status_of(dropped.exc_type()) - 128
        threading.Timer(AGAIN, _thread.interrupt_main, (number,)).start()

    return told


def prepare_output() -> None:
    """Text that the terminal's character set lacks is written by its code; without standard error, progress is written
    nowhere. ToolError without standard output."""
    if sys.stderr is None:
        # no context manager: it stays open as long as the process is there
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        raise ToolError("standard output: is closed; send it to a file, or to /dev/null")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def put(text: str) -> None:
    """Write a text and a line's end to standard output. ToolError where it does not arrive, BrokenPipeError where
    nobody reads."""
    try:
        print(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_output()
        raise ToolError(
            f"standard output: {error.strerror}; the results are not all there, send them elsewhere"
        ) from None


def discard_output() -> None:
    """Throw away what cannot be written, so that the interpreter does not complain about it as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
