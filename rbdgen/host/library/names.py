"""Names and texts of a manifest as parts of C and C++: nothing that stands there becomes code."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST = 60
"""Characters of a name that are kept."""
LONGEST_COMMENT = 90
"""Characters of a text that a comment shows."""

_KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class
    co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default
    delete do double dynamic_cast else enum explicit export extern false final float for friend goto if import inline
    int long module mutable namespace new noexcept not not_eq nullptr operator or or_eq override private protected
    public register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast
    struct switch template this thread_local throw true try typedef typeid typename union unsigned using virtual void
    volatile wchar_t while xor xor_eq
"""
_MACROS = """
    assert complex cpu32 emit EOF errno far i386 I imaginary INFINITY linux max min NAN near NULL signals slots stderr
    stdin stdout unix
"""

RESERVED = frozenset(f"{_KEYWORDS} {_MACROS}".split())
"""Keywords of C and C++, and what common headers or compilers define as macros."""

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 _-.,:;()+=/")


def legal(name: str) -> str:
    """``name`` as an identifier's part: letters and digits, single underscores between them, not too many."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    plain = plain[:LONGEST].rstrip("_") or "unnamed"
    return f"n{plain}" if plain[0].isdigit() else plain


class Scope:
    """Identifiers that stand beside each other, each of them once; those that are ``taken`` or reserved never."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = {*RESERVED, *taken}

    def take(self, *parts: str) -> str:
        """An identifier of these parts, with a number behind it where there is one like it."""
        plain = "_".join(map(legal, parts))
        candidate, number = plain, 2
        while candidate in self.taken:
            candidate = f"{plain}_{number}"
            number += 1
        self.taken.add(candidate)
        return candidate


def identifiers(text: str) -> set[str]:
    """All identifiers in a file."""
    return set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text))


def literal(text: str) -> str:
    """A string of C with these characters, in UTF-8."""
    shown = []
    for byte in text.encode("utf-8", "replace"):
        plain = chr(byte) in _PLAIN
        shown.append(chr(byte) if plain else f"\\{byte:03o}")
    return '"' + "".join(shown) + '"'


def comment(text: str) -> str:
    """What of a text may stand in a comment, in one line."""
    kept = "".join(c if c in _PLAIN - {"/"} else " " for c in text)
    return " ".join(kept.split())[:LONGEST_COMMENT]
