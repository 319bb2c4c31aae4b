"""Slips of the keyboard on the command line, and what was probably meant: a command or an option misspelt, an option of
another command, names parted by spaces. Hints only; what is wrong is said by the parser.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path

from rbdgen.errors import nearest

LISTS = ("functions",)
"""Options whose names are parted by commas."""
SUFFIXES = (".urdf", ".xml", ".mjcf", ".xacro")
"""Ends of names by which a word is taken for a robot."""
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212"
"""What word processors make of the hyphens of an option."""
MEANT = {
    "list": "robots",
    "run": "simulate",
    "sim": "simulate",
    "verilog": "generate",
    "compile": "generate",
    "bitstream": "build",
    "program": "flash",
    "sweep": "explore",
    "functions": "help",
}
"""Commands of other tools, or of other words, and ours."""


def of_command(word: str, commands: Iterable[str]) -> str:
    """A hint at what was meant by a ``word`` that is no command."""
    known = list(commands)
    plain = word.lstrip("-").lower()
    if plain in known:
        return f"did you mean {plain!r}?"
    if plain in MEANT:
        return f"did you mean {MEANT[plain]!r}?"
    if _is_robot(word):
        return f"commands come first: rbdgen layout {word}"
    return nearest(plain, known)


def _is_robot(word: str) -> bool:
    """Whether a word names a robot."""
    from rbdgen.model import builtin_robots  # loads much, and only a slip needs it

    return word in builtin_robots() or Path(word).suffix.lower() in SUFFIXES


def of_argument(
    parser: argparse.ArgumentParser,
    others: Mapping[str, argparse.ArgumentParser],
    word: str,
    before: str | None,
) -> str:
    """A hint at what was meant by a ``word`` that no argument of a command's ``parser`` takes; ``others``: the commands
    and their parsers; ``before``: the word in front of it."""
    if word[:1] in DASHES:
        return f"options begin with hyphens: did you mean '--{word.lstrip(DASHES + '-')}'?"
    if word.startswith("-"):
        return _of_option(parser, others, word)
    if before is not None and _takes_list(before):
        return "names are parted by commas without spaces, as in --functions id,did"
    name, equals, _ = word.partition("=")
    if equals and f"--{name}" in options_of(parser):
        return f"did you mean '--{word}'?"
    if _is_functions(word):
        return f"did you mean '--functions {word}'?"
    if _is_robot(word):
        return "one robot at a time; 'rbdgen compare' takes several"
    return "what an option takes stands right behind it"


def _of_option(
    parser: argparse.ArgumentParser, others: Mapping[str, argparse.ArgumentParser], word: str
) -> str:
    """The same of a word that begins as options do."""
    flag = word.partition("=")[0]
    # one hyphen for two, underscores for hyphens, capitals
    spelled = f"--{flag.lstrip('-').replace('_', '-').lower()}"
    known = options_of(parser)
    if spelled in known:
        return f"did you mean {spelled!r}?"
    if spelled == "--robot":
        return "a robot has no option: give its name or path alone"
    for given in (spelled, flag):
        elsewhere = [name for name, other in others.items() if given in options_of(other)]
        if elsewhere:
            return f"{given} is an option of {', '.join(elsewhere)}"
    # a letter alone is what others have as a short option
    begun = [name for name in known if name.startswith(spelled)]
    if begun:
        return f"did you mean {begun[0]!r}?"
    return nearest(spelled, known, otherwise="see --help-all")


def options_of(parser: argparse.ArgumentParser) -> list[str]:
    """The options of a parser."""
    return [flag for action in parser._actions for flag in action.option_strings]


def _takes_list(word: str) -> bool:
    """Whether a word is part of a list of names: its option, or names of functions."""
    flag = word.partition("=")[0].removeprefix("--")
    return flag in LISTS or _is_functions(word)


def _is_functions(word: str) -> bool:
    """Whether a word names functions."""
    from rbdgen.functions import registry  # loads much, and only a slip needs it

    parts = [part for part in word.split(",") if part]
    return bool(parts) and all(part in registry.known() or part == "all" for part in parts)
