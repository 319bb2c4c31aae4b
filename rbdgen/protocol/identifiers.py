"""Names and texts as parts of Verilog, C and C++: nothing that stands in a file of the user's becomes code.

The words that no name may be are here for all that write sources: the driver's library, and the functions in C.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence

MAX_LENGTH = 40
"""Longest part given, so that a prefix and a suffix still make a readable identifier."""
LONGEST = 60
"""Characters of a manifest's name that C keeps."""
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

_HEADERS = """
    assert complex ctype errno fenv float inttypes iso646 limits locale math omp setjmp signal
    stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath
    threads time uchar wchar wctype
"""
_SYSTEM = """
    alloca byteswap dirent dlfcn elf endian err execinfo fcntl features fmtmsg gconv getopt
    glob grp iconv ieee754 langinfo libgen link malloc memory netdb poll pthread pwd regex
    sched search semaphore spawn stab strings syslog termios ucontext unistd utime values wait
    windows winsock x86intrin immintrin stdbit stdckdint asan c dl gcc gcc_s gomp m omp5 rt
    stdc supc tsan ubsan util all clean codegen depend edit_cache help install
    list_install_components package package_source preinstall rebuild_cache run_tests test
    all_build zero_check
"""
FILES = frozenset(f"{_HEADERS} {_SYSTEM}".split())
"""Names that no library may have: those of C's own headers, of headers that headers of systems include, of libraries
that programs are linked with, and of CMake's own targets."""

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 _-.,:;()+=/")


def plain_name(name: str, longest: int = MAX_LENGTH) -> str:
    """``name`` with underscores for all but letters and digits, at most ``longest`` characters. Different names may
    give the same."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    plain = plain[:longest].rstrip("_") or "unnamed"
    # no identifier begins with a digit
    return f"n{plain}"[:longest] if plain[0].isdigit() else plain


def sanitize(names: Sequence[str]) -> dict[str, str]:
    """A unique identifier part for each name: letters, digits and underscores only, at most 40 of them.

    What is not allowed becomes an underscore; names that would then be equal get a number. The result depends on the
    names and their order alone.
    """
    result: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        if name in result:
            continue
        plain = plain_name(name)
        candidate, number = plain, 2
        # Verilog is case-sensitive, file systems and VHDL around it often are not
        while candidate.lower() in taken:
            tail = f"_{number}"
            candidate, number = plain[: MAX_LENGTH - len(tail)] + tail, number + 1
        taken.add(candidate.lower())
        result[name] = candidate
    return result


def unused(name: str, taken: set[str]) -> str:
    """``name``, with underscores behind it as long as it is ``taken``; taken from now on."""
    name = free(name, taken)
    taken.add(name)
    return name


def free(name: str, taken: Container[str]) -> str:
    """``name``, with underscores behind it as long as it is ``taken``."""
    while name in taken:
        name += "_"
    return name


class Scope:
    """Identifiers that stand beside each other, each of them once; those that are ``taken`` or reserved never."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = {*RESERVED, *taken}

    def take(self, *parts: str) -> str:
        """An identifier of these parts, with a number behind it where there is one like it."""
        plain = "_".join(plain_name(part, LONGEST) for part in parts)
        candidate, number = plain, 2
        while candidate in self.taken:
            candidate = f"{plain}_{number}"
            number += 1
        self.taken.add(candidate)
        return candidate


def identifiers(text: str) -> set[str]:
    """All identifiers in a file."""
    return set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text))


def c_literal(text: str) -> str:
    """A string of C with these characters, in UTF-8."""
    shown = []
    for byte in text.encode("utf-8", "replace"):
        plain = chr(byte) in _PLAIN
        # octal escapes end after three digits, hexadecimal ones where no digit follows
        shown.append(chr(byte) if plain else f"\\{byte:03o}")
    return '"' + "".join(shown) + '"'


def c_comment(text: str) -> str:
    """A text in one line, without what may not stand in a comment."""
    kept = "".join(c if c in _PLAIN - {"/"} else " " for c in text)
    return " ".join(kept.split())[:LONGEST_COMMENT]
