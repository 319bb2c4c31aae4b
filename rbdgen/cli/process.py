"""Manners of the process: no interrupt is lost, a request to end is one, what is printed arrives or is an error."""

from __future__ import annotations

import _thread
import errno
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rbdgen.errors import ToolError

REMEDIES = {
    errno.ENOSPC: "free some, or choose another disk with TMPDIR, RBDGEN_CACHE or -o",
    errno.EDQUOT: "free some, or choose another disk with TMPDIR, RBDGEN_CACHE or -o",
    errno.EMFILE: "allow more with: ulimit -n",
    errno.ENOMEM: "use a larger machine, or ask for less at a time",
    errno.EACCES: "give yourself access to it, or choose another with TMPDIR, RBDGEN_CACHE or -o",
    errno.EROFS: "choose another disk with TMPDIR, RBDGEN_CACHE or -o",
    errno.ENOENT: "run again, and let nothing remove it meanwhile",
}
"""Remedies for errors of the system, by number."""
AGAIN = 0.01
"""Seconds after which an interrupt that was lost comes again."""
SAFE_PATH = "PYTHONSAFEPATH"
"""The variable by which Python takes no module from its working folder."""


class Terminated(KeyboardInterrupt):
    """Somebody asked this process to end; it cleans up as after Ctrl-C."""


def signal_of(interrupt: KeyboardInterrupt) -> signal.Signals:
    """The signal that an interrupt comes of."""
    return signal.SIGTERM if isinstance(interrupt, Terminated) else signal.SIGINT


def status_of(interrupt: KeyboardInterrupt) -> int:
    """The exit status that says which signal ended a process."""
    return 128 + signal_of(interrupt)


@contextmanager
def signals() -> Iterator[None]:
    """A request to end is raised as :class:`Terminated`, and an interrupt that Python drops, as it does with those that
    arrive in a destructor, comes again."""
    # Python lets the main thread alone handle signals
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupts = _Interrupts(sys.unraisablehook)
    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is to be ignored
        numbers.append(signal.SIGINT)
    before = {number: signal.signal(number, interrupts.arrive) for number in numbers}
    sys.unraisablehook = interrupts.tell
    try:
        yield
    finally:
        interrupts.raised = True  # what comes later is the shell's
        sys.unraisablehook = interrupts.hook
        for number, handler in before.items():
            signal.signal(number, handler)


class _Interrupts:
    """Raises interrupts, and those again that are dropped; ``hook`` is told of other exceptions that are dropped.

    A signal may arrive between any two steps of this, so that nothing here takes a lock."""

    def __init__(self, hook: Any) -> None:
        self.hook = hook
        self.telling = False
        """Whether one that was dropped is told: what is raised meanwhile would be dropped without a word."""
        self.raised = True
        """Whether the last one was raised and not dropped."""
        self.insisted = False
        """Whether what arrives next may be one that was raised meanwhile."""

    def arrive(self, number: int, frame: object) -> None:
        """A signal arrives."""
        late = self.insisted and self.raised
        self.insisted = False
        if self.telling or late:
            return
        self.raised = True
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt

    def tell(self, dropped: Any) -> None:
        """An exception is dropped."""
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            self.hook(dropped)
            return
        self.telling = True
        try:
            self.raised = False
            number = signal_of(dropped.exc_type())
            # from another thread: what is raised in this hook would be dropped as well
            threading.Thread(target=self._insist, args=(number,), daemon=True).start()
        finally:
            self.telling = False

    def _insist(self, number: signal.Signals) -> None:
        """Let a signal arrive until it is raised."""
        while not self.raised:
            self.insisted = True
            _thread.interrupt_main(number)
            time.sleep(AGAIN)


@contextmanager
def own_modules() -> Iterator[None]:
    """No process that this one starts takes a module that lies in its working folder for one of Python's."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = before or "1"
    try:
        yield
    finally:
        os.environ.pop(SAFE_PATH)
        if before is not None:
            os.environ[SAFE_PATH] = before


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
        # else a full disk would be found as the interpreter ends
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_output()
        raise ToolError(
            f"standard output: {error.strerror}; the results are not all there, send them elsewhere"
        ) from None


def complaint_of(error: OSError) -> str:
    """One line for an error of the system that nothing expected: the file, what is wrong, what helps."""
    try:
        # without a working folder any relative path fails, and none of them is to blame
        Path.cwd()
    except OSError:
        return "working folder: it is not there any more; change to one that is"
    about = "system" if error.filename is None else os.fsdecode(error.filename)
    said = error.strerror or str(error) or type(error).__name__
    remedy = REMEDIES.get(error.errno or 0, "mend that, and run again")
    return " ".join(f"{about}: {said}; {remedy}".split())


def discard_output() -> None:
    """Throw away what cannot be written, so that the interpreter does not complain about it as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
