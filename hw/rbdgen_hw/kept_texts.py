"""Texts of the modules that any design may have, kept in the user's cache: adders, roundings, multipliers, tables.

They are about a fifth of what conversion takes, and most of another design's are the same.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from functools import cache
from importlib.metadata import version

from rbdgen.caching import cached, code_digest, keep

CACHE, SUFFIX = "modules", ".json.gz"
"""Where they are kept (:mod:`rbdgen.caching`), and how the file's name ends."""
MOST_TEXTS = 10_000
"""Modules that are kept; more than that, and all are dropped."""


class KeptTexts:
    """RTLIL by module name, without the prefix that a design puts before it."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.texts: dict[str, str] = {}
        kept = cached(CACHE, key, SUFFIX)
        if kept is not None:
            self.texts = json.loads(gzip.decompress(kept.content))
        self.saved = len(self.texts)

    def text(self, name: str, full_name: str) -> str | None:
        """The module ``name`` under its ``full_name``; None where it is not known."""
        text = self.texts.get(name)
        return None if text is None else text.replace(_header(""), _header(full_name), 1)

    def add(self, name: str, full_name: str, text: str) -> None:
        """Keep a module's text."""
        self.texts[name] = text.replace(_header(full_name), _header(""), 1)

    def save(self) -> None:
        """Write what is new."""
        if len(self.texts) == self.saved:
            return
        if len(self.texts) > MOST_TEXTS:
            self.texts.clear()
        content = json.dumps(self.texts).encode()
        keep(CACHE, self.key, SUFFIX, gzip.compress(content, 1, mtime=0))
        self.saved = len(self.texts)


def _header(name: str) -> str:
    """The line of RTLIL with which a module begins."""
    return f"module \\{name}\n"


def kept_texts() -> KeptTexts:
    """Those that this version of the sources and of Amaranth made; read once in a process."""
    versions = [code_digest("rbdgen"), code_digest("rbdgen_hw"), version("amaranth")]
    return _read(hashlib.sha256("\n".join(versions).encode()).hexdigest()[:32])


@cache
def _read(key: str) -> KeptTexts:
    return KeptTexts(key)
