"""Writing files: all of them or none, into a directory that was seen to be writable before the work began."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
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
        raise ConfigError(
            f"{directory}: cannot be written: {error.strerror}; choose another directory with {option}"
        ) from None
    return [directory / name for name in files]
