"""What libraries are called: a robot's name as an identifier that no header of C has, and no operand a kernel's own."""

from __future__ import annotations

from collections.abc import Iterable

from rbdgen.errors import UnsupportedError
from rbdgen.model.names import sanitize

HEADERS = frozenset(
    [
        "assert",
        "complex",
        "ctype",
        "errno",
        "fenv",
        "float",
        "inttypes",
        "iso646",
        "limits",
        "locale",
        "math",
        "omp",
        "setjmp",
        "signal",
        "stdalign",
        "stdarg",
        "stdatomic",
        "stdbool",
        "stddef",
        "stdint",
        "stdio",
        "stdlib",
        "stdnoreturn",
        "string",
        "tgmath",
        "threads",
        "time",
        "uchar",
        "wchar",
        "wctype",
    ]
)
"""Names of C's own headers."""
SYSTEM = frozenset(
    [
        "alloca",
        "byteswap",
        "dirent",
        "dlfcn",
        "elf",
        "endian",
        "err",
        "execinfo",
        "fcntl",
        "features",
        "fmtmsg",
        "gconv",
        "getopt",
        "glob",
        "grp",
        "iconv",
        "ieee754",
        "langinfo",
        "libgen",
        "link",
        "malloc",
        "memory",
        "netdb",
        "poll",
        "pthread",
        "pwd",
        "regex",
        "sched",
        "search",
        "semaphore",
        "spawn",
        "stab",
        "strings",
        "syslog",
        "termios",
        "ucontext",
        "unistd",
        "utime",
        "values",
        "wait",
        "windows",
        "winsock",
        "x86intrin",
        "immintrin",
        "stdbit",
        "stdckdint",
        "asan",
        "c",
        "dl",
        "gcc",
        "gcc_s",
        "gomp",
        "m",
        "omp5",
        "rt",
        "stdc",
        "supc",
        "tsan",
        "ubsan",
        "util",
        "all",
        "clean",
        "codegen",
        "depend",
        "edit_cache",
        "help",
        "install",
        "list_install_components",
        "package",
        "package_source",
        "preinstall",
        "rebuild_cache",
        "run_tests",
        "test",
        "all_build",
        "zero_check",
    ]
)
"""Names of headers that headers of systems include, of libraries that programs are linked with, and of CMake's own
targets."""
OWN = frozenset(["rbd", "table"])
"""What sources of all libraries have before names of their own."""
BESIDE = "_robot"
"""Behind the name of a robot that is called like one of them."""
LOCAL = frozenset(
    [
        "block",
        "blocks",
        "call",
        "checks",
        "count",
        "first",
        "flags",
        "found",
        "here",
        "i",
        "k",
        "lane",
        "lanes",
        "lost",
        "most",
        "near",
        "number",
        "own_count",
        "positive",
        "rows",
        "singular",
        "slots",
        "stride",
    ]
)
"""Names that the text of functions has for itself."""


def library_name(robot: str) -> str:
    """The name of the library of a robot of this name."""
    plain = sanitize([robot])[robot]
    low = plain.lower()
    own = low in OWN or low.startswith("rbd_")
    return f"{plain}{BESIDE}" if own or low in HEADERS | SYSTEM else plain


def check_names(function: str, arrays: Iterable[str]) -> None:
    """UnsupportedError for an operand or result of ``function`` that is called like what its text has for itself."""
    for name in arrays:
        if name in LOCAL:
            raise UnsupportedError(
                f"function {function!r}: {name!r} is a name that programs have for themselves; rename the quantity"
            )
