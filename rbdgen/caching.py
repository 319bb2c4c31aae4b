"""The user's cache: files that can be made again, taken from it only if no other user can have written them.

A file is written whole or not at all, and has a hash of its content in its name, so that one that was cut short or
damaged is not taken. Where the folder belongs to somebody else there is no cache. The folder may have other files in
it: only files with names that are made here are ever removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import stat
import tempfile
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rbdgen.errors import RbdgenWarning

OTHERS = stat.S_IWGRP | stat.S_IWOTH
"""Permissions by which others write."""
SOURCES = (".py", ".c", ".cpp")
"""Endings of sources' names."""
MOST_FILES = 200
"""Files of one kind that are kept; more than that, and those not used for longest are dropped."""
MOST_BYTES = 2 << 30
"""Size of all files of one kind; beyond, again those not used for longest are dropped."""
DIGITS = 32
"""Hexadecimal digits of a content's hash in a name."""
WRITING = ".writing-"
"""The begin of the name of a file that is not written whole yet."""
KEY = re.compile(r"[0-9a-f]{32,64}")
"""The key of a file that is kept: digits of a hash of all that it depends on."""
OWN_NAME = re.compile(
    rf"{KEY.pattern}-[0-9a-f]{{{DIGITS}}}(\.[a-z]+)+|{re.escape(WRITING)}[a-z0-9_]{{8}}"
)
"""The names of files that are made here; all others are somebody else's."""


def cache_folder() -> Path:
    """Where the cache is: ``$RBDGEN_CACHE``, else ``rbdgen`` in the user's folder for caches."""
    chosen = os.environ.get("RBDGEN_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "rbdgen"


@dataclass(frozen=True)
class Kept:
    """A file in the cache, and what is in it."""

    path: Path
    content: bytes


def cached(kind: str, key: str, suffix: str) -> Kept | None:
    """The file that was kept under ``key``; None where there is none, or none that is to be trusted. ``kind`` is the
    folder that it is in."""
    folder = _folder(kind)
    if folder is None:
        return None
    for path in _kept_under(folder, key, suffix):
        # another process may drop it at any time
        with contextlib.suppress(OSError):
            if _is_own(path):
                content = path.read_bytes()
                if path.name == _name(key, suffix, content):
                    path.touch()  # used now
                    return Kept(path, content)
            path.unlink()
    return None


def keep(kind: str, key: str, suffix: str, content: bytes) -> Path | None:
    """Keep a file under ``key``; where it is then, or None where there is no cache."""
    folder = _folder(kind)
    if folder is None:
        return None
    path = folder / _name(key, suffix, content)
    try:
        # beside its place: only within a file system renaming is all or nothing
        handle, name = tempfile.mkstemp(prefix=WRITING, dir=folder)
    except OSError:
        return None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
        for other in _kept_under(folder, key, suffix):
            if other != path:
                other.unlink(missing_ok=True)
    except OSError:  # the disk is full: a cache is no loss
        path = None
    finally:
        with contextlib.suppress(OSError):
            Path(name).unlink(missing_ok=True)
    _tidy(folder)
    return path


def drop(kind: str, key: str, suffix: str) -> None:
    """Let go of what is kept under ``key``, if anything is."""
    folder = _folder(kind)
    if folder is not None:
        for path in _kept_under(folder, key, suffix):
            path.unlink(missing_ok=True)


def _kept_under(folder: Path, key: str, suffix: str) -> list[Path]:
    """The files in ``folder`` that were made here under ``key``."""
    if not KEY.fullmatch(key):
        raise ValueError(f"key must be 32 to 64 hexadecimal digits, not {key!r}")
    return sorted(p for p in folder.glob(f"{key}-*{suffix}") if OWN_NAME.fullmatch(p.name))


def _tidy(folder: Path) -> None:
    """Drop the files made here that were not used for longest, where there are too many or they are too large."""
    states = []
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if OWN_NAME.fullmatch(path.name) and _is_own(path):
                states.append((path.lstat(), path))
    states.sort(key=lambda entry: entry[0].st_mtime_ns, reverse=True)
    total = 0
    for number, (state, path) in enumerate(states):
        total += state.st_size
        if number >= MOST_FILES or total > MOST_BYTES:
            with contextlib.suppress(OSError):
                path.unlink()


@cache
def code_digest(package: str) -> str:
    """SHA-256 of a package's own sources: what another version of it made is not taken for this one's."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.suffix in SOURCES:
            name = path.relative_to(root).as_posix()
            # zeros between, so that no name can run into a content
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _name(key: str, suffix: str, content: bytes) -> str:
    """A file's name in the cache."""
    return f"{key}-{hashlib.sha256(content).hexdigest()[:DIGITS]}{suffix}"


def _folder(kind: str) -> Path | None:
    """The folder of one kind of files, there and this user's alone; None where that cannot be."""
    top = cache_folder()
    folder = top / kind
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # who can write the folder above could put another in this one's place
        for part in (top, folder):
            if not _made_own(part):
                _complain(part)
                return None
    except OSError:
        return None
    return folder


def _made_own(folder: Path) -> bool:
    """Whether a folder is this user's alone; one that is the user's and open to others is closed to them."""
    state = folder.stat()
    if state.st_uid != _user(state):
        return False
    if state.st_mode & OTHERS:
        folder.chmod(stat.S_IMODE(state.st_mode) & ~OTHERS)
    return True


def _is_own(path: Path) -> bool:
    """Whether a file is one of this user's that no other can write."""
    try:
        # of a link itself, which may lead to a file of somebody else
        state = path.lstat()
    except OSError:
        return False
    regular = stat.S_ISREG(state.st_mode)
    return regular and state.st_uid == _user(state) and not state.st_mode & OTHERS


def _user(state: os.stat_result) -> int:
    """The number of the user; where the system has none, that of any file."""
    if hasattr(os, "getuid"):
        return os.getuid()
    return state.st_uid


@cache
def _complain(folder: Path) -> None:
    """Say once that a cache is not used."""
    warnings.warn(
        f"cache: {folder} belongs to another user and is not used; set RBDGEN_CACHE to a folder of your own",
        RbdgenWarning,
        stacklevel=2,
    )
