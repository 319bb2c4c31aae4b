"""Writing files: all of them or none, into a directory that was seen to be writable before the work began."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rbdgen.errors import ConfigError


def check_writable(directory: Path, option: str = "-o") -> None:
    """ConfigError if files could not be written into a directory, which need not be there. ``option`` is what chooses
    another one."""
    there = directory.absolute()
    while not there.exists() and there != there.parent:
        there = there.parent
    reason = None
    if not there.is_dir():
        reason = f"{there} is no directory"
    elif not os.access(there, os.W_OK | os.X_OK):
        reason = (
            f"{there} is not yours to write" if there != directory else "it is not yours to write"
        )
    if reason:
        raise ConfigError(
            f"{directory}: cannot be written: {reason}; choose another directory with {option}"
        )


@contextmanager
def occupied(directory: Path) -> Iterator[None]:
    """Have a directory, made if it is absent, for this process alone among those that do the same. ConfigError where
    another has it, or it cannot be made. A lock ends with its process, so that none is ever left behind."""
    import fcntl  # not on every system

    try:
        directory.mkdir(parents=True, exist_ok=True)
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise _unwritable(directory, error, "-o") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            # some network file systems have no locks
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise ConfigError(
                    f"{directory}: is in use: another rbdgen writes into it; wait until it is done, or choose another "
                    "directory with -o"
                ) from None
        yield
    finally:
        os.close(handle)


def _unwritable(directory: Path, error: OSError, option: str) -> ConfigError:
    return ConfigError(
        f"{directory}: cannot be written: {error.strerror}; choose another directory with {option}"
    )


def write_files(files: Mapping[str, str], directory: Path, option: str = "-o") -> list[Path]:
    """Write ``files`` (name to text) into ``directory`` all at once; ConfigError if it cannot be written. ``option`` is
    what chooses another directory."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".writing-", dir=directory))
        try:
            for name, text in files.items():
                for folder in (staging, directory):
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (staging / name).write_text(text, encoding="utf-8")
            for name in files:
                (staging / name).replace(directory / name)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        raise _unwritable(directory, error, option) from None
    return [directory / name for name in files]
