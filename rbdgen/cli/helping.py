"""Help beyond ``--help``: what one does first, a word explained, and what completes words in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from rbdgen.cli.arguments import Parser, help_of
from rbdgen.cli.process import put
from rbdgen.cli.slips import options_of
from rbdgen.errors import ConfigError, nearest
from rbdgen.functions import registry
from rbdgen.installation import optional_module
from rbdgen.machines.pipeline.budget import DEMANDS
from rbdgen.model import builtin_robots
from rbdgen.model.setup import ROBOT
from rbdgen.options import Options
from rbdgen.setting import settings

EXTRA = "completion"
"""The extra with what completes words."""
FIRST = """\
rbdgen compiles a robot into hardware that computes its rigid-body dynamics.

  rbdgen layout iiwa14                  what an arm's hardware takes, its cycles
  rbdgen layout my_arm.urdf --for area  the same of your robot, made small
  rbdgen simulate iiwa14 --tasks 1000   it is simulated, every bit compared
  rbdgen emit my_arm.urdf               the same functions in C
  rbdgen build my_arm.urdf --board B    a bitstream ('rbdgen boards': for what)

'rbdgen --help' lists all commands, 'rbdgen help WORD' explains a command, an
option or a function."""
"""What one does first."""


def first(_: argparse.Namespace) -> None:
    """``rbdgen`` alone."""
    put(FIRST)


def explain(args: argparse.Namespace) -> None:
    """``rbdgen help``. ConfigError for a word that there is nothing of."""
    parser: Parser = args.parser
    if args.word is None:
        put(parser.format_help().rstrip())
    elif args.word in parser.commands:
        put(parser.commands[args.word].format_help().rstrip())
    else:
        put(_explained(args.word, parser))


def _explained(word: str, parser: Parser) -> str:
    """A line on an option or a function."""
    name = word.lstrip("-").replace("-", "_")
    described = settings(Options) | DEMANDS | ROBOT
    by_flag = {setting.flag: key for key, setting in described.items() if setting.flag}
    setting = described.get(by_flag.get(name, name))
    if setting is not None:
        flag = f"--{(setting.flag or name).replace('_', '-')}"
        value = f" {setting.metavar}" if setting.metavar else ""
        # formatted as argparse does, which takes percent signs twice
        return f"{flag}{value}: {help_of(setting).replace('%%', '%')}"
    function = registry.known().get(word)
    if function is not None:
        return f"{word}: {function.summary}; ask for it with --functions {word}"
    owners = [own for own, other in parser.commands.items() if f"--{word}" in options_of(other)]
    if owners:
        return f"--{word}: an option of {', '.join(owners)}; see 'rbdgen help {owners[0]}'"
    known = [*parser.commands, *described, *registry.known()]
    hint = nearest(name, known, otherwise="'rbdgen --help' lists the commands")
    raise ConfigError(f"help: nothing is known of {word!r}; {hint}")


def completion(args: argparse.Namespace) -> None:
    """``rbdgen completion``."""
    put(optional_module("argcomplete", EXTRA).shellcode(["rbdgen"], shell=args.shell).rstrip())


def complete(parser: Parser) -> None:
    """Answer a shell that asks for completions, and end."""
    for command in parser.commands.values():
        for action in command._actions:
            known = _names(action)
            if known:
                action.completer = lambda prefix, known=known, **_: _listed(prefix, known)  # type: ignore[attr-defined]
    optional_module("argcomplete", EXTRA).autocomplete(parser)


def _names(action: argparse.Action) -> tuple[str, ...]:
    """The names that an argument takes, as far as they are known."""
    if action.dest in ("robot", "robots"):
        return tuple(builtin_robots())
    if action.dest == "functions":
        return ("all", *registry.known())
    described = settings(Options).get(action.dest)
    return tuple(described.choices()) if described is not None and described.choices else ()


def _listed(prefix: str, known: Iterable[str]) -> list[str]:
    """Completions of the last of several names between commas."""
    before, comma, last = prefix.rpartition(",")
    return [f"{before}{comma}{name}" for name in known if name.startswith(last)]
