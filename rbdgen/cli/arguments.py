"""Arguments that several commands have: those of a design, made from the descriptions of the options."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from rbdgen.cli import slips
from rbdgen.errors import ConfigError, nearest, short
from rbdgen.explore import AXES, NAMES, RATES
from rbdgen.machines.pipeline.budget import DEMANDS
from rbdgen.model.setup import ROBOT
from rbdgen.options import Options
from rbdgen.options.options import VERIFIED_TASKS
from rbdgen.setting import GROUPS, INTEGER, NUMBER, SWITCH, WORDS, Setting, settings

ROBOT_HELP = "a built-in robot (see 'rbdgen robots') or the path of a URDF, MJCF or xacro file"
LARGEST_INTEGER = 2**31 - 1
"""Seeds, counts and jobs: what every tool behind them takes."""
MOST_STATES = 1_000_000
"""States or tasks that are in memory at once; for more, run again with another seed."""
VERIFICATIONS = ("netlist",)
"""Values of ``--verify``."""
OPTION_ARGUMENTS = tuple(name for name, s in settings(Options).items() if s.on_command_line)
"""Arguments of the command line that are options of the compiler, by the same names."""


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, and whose ``--help`` shows the few options that most people need: those
    that are added by :meth:`add_argument`, while :meth:`add_more` adds what only ``--help-all`` shows."""

    everything = False
    """Whether help shows all options."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.hides = False
        self.commands: Mapping[str, argparse.ArgumentParser] = {}
        """The parsers of the commands, of the parser that has them."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message} (see '{self.prog} --help')\n")

    def parse_args(  # type: ignore[override]
        self, args: Iterable[str] | None = None, namespace: Any = None
    ) -> Any:
        """As of argparse, with a hint at what was meant by what no argument takes."""
        words = list(sys.argv[1:] if args is None else args)
        # else what follows would be taken for the command
        slip = words[:1] and words[0] not in slips.options_of(self)
        if slip and words[0].startswith("-") and words[0].lstrip("-") in self.commands:
            self.error(f"{words[0]}: unknown; {slips.of_command(words[0], self.commands)}")
        found, rest = self.parse_known_args(words, namespace)
        if rest:
            own = self.commands.get(getattr(found, "command", None) or "", self)
            word = next((word for word in rest if word.startswith("-")), rest[0])
            before = dict(itertools.pairwise(reversed(words))).get(word)
            own.error(
                f"{short(word)}: unknown; {slips.of_argument(own, self.commands, word, before)}"
            )
        return found

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """As of argparse, with a hint at which of the choices was meant."""
        if action.choices is None or value in action.choices:
            return
        choices = list(map(str, action.choices))
        commands = action.choices is self.commands
        hint = slips.of_command(value, choices) if commands else nearest(str(value), choices)
        raise argparse.ArgumentError(action, f"invalid choice: {short(value)}; {hint}")

    def add_more(self, to: Any, *flags: str, **named: Any) -> None:
        """An argument of this parser or its group ``to`` that only ``--help-all`` shows."""
        if not self.hides:
            self.hides = True
            self.add_argument("--help-all", action="help", help="show all options, and exit")
        if not self.everything:
            named["help"] = argparse.SUPPRESS
        to.add_argument(*flags, **named)


def reader(name: str, setting: Setting) -> Callable[[str], Any]:
    """A reader of an option's value from text. ConfigError names the option."""
    return lambda text: setting.check(name, setting.kind.read(name, text))


def integer(
    name: str, least: int = 0, why: str = "", most: int = LARGEST_INTEGER
) -> Callable[[str], int]:
    """Reader of the whole number of an argument. ConfigError for one below ``least``, ``why`` that is so, and for one
    above ``most``."""

    def read(text: str) -> int:
        value = INTEGER.read(name, text)
        if value < least:
            raise ConfigError(f"{name}: must be at least {least}{why}, not {short(value)}")
        if value > most:
            raise ConfigError(f"{name}: must be at most {most}, not {short(value)}")
        return value

    return read


def simulated_tasks(text: str) -> int:
    """The number of tasks of a simulation."""
    return integer("tasks", 2, " to measure an interval", MOST_STATES)(text)


def integers(name: str) -> Callable[[str], list[int]]:
    """A reader of whole numbers between commas."""
    return lambda text: [INTEGER.read(name, part) for part in text.split(",")]


def help_of(setting: Setting) -> str:
    """A line of help: what an option is, what it may be, and what it is where nothing is said."""
    known = setting.choices or setting.listed
    choices = f": {', '.join(known())}" if known else ""
    otherwise = f" ({setting.otherwise})" if setting.otherwise else ""
    # argparse formats help, where a percent sign begins a field
    return f"{setting.summary}{choices}{otherwise}".replace("%", "%%")


def add_setting(parser: Parser, to: Any, name: str, setting: Setting) -> None:
    """The argument of an option."""
    flag = f"--{(setting.flag or name).replace('_', '-')}"
    # no default here: what is not given is left to a file, then to the option itself
    named: dict[str, Any] = {"dest": name, "default": None, "help": help_of(setting)}
    if setting.kind is SWITCH:
        named["action"] = argparse.BooleanOptionalAction
    else:
        named["type"] = reader(name, setting)
        named["metavar"] = setting.metavar
    if setting.basic:
        to.add_argument(flag, **named)
    else:
        parser.add_more(to, flag, **named)


def add_design(parser: Parser, needs_board: bool = False) -> None:
    """The robot, all options of a design, and what it is fitted to."""
    parser.add_argument("robot", metavar="ROBOT", nargs="?", help=ROBOT_HELP)
    add_strict(parser)
    groups = {name: parser.add_argument_group(title) for name, title in GROUPS.items()}
    for name, setting in ROBOT.items():
        add_setting(parser, groups[setting.group], name, setting)
    described = settings(Options)
    for name in OPTION_ARGUMENTS:
        add_setting(parser, groups[described[name].group], name, described[name])
    for name, setting in DEMANDS.items():
        if name == "board" and needs_board:
            groups[setting.group].add_argument(
                "--board", metavar="B", required=True, help="the board; a wrong name lists them all"
            )
        else:
            add_setting(parser, groups[setting.group], name, setting)
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="options and joint ranges, as in generate's config.toml",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object instead of tables"
    )


def add_strict(parser: Parser) -> None:
    """Whether remarks on a robot's description are errors."""
    parser.add_more(
        parser,
        "--strict",
        action="store_true",
        help="what is odd about the robot's file is an error",
    )


def given_setup(args: argparse.Namespace, varied: Collection[str] = ()) -> dict[str, Any]:
    """The robot's set-up, as far as the arguments say; what is ``varied`` is not of one robot."""
    given = {name: getattr(args, name) for name in ROBOT if name not in varied}
    return {name: value for name, value in given.items() if value is not None}


def add_evidence(parser: Parser) -> None:
    """At how many states errors are measured."""
    parser.add_more(
        parser,
        "--evidence",
        type=integer("evidence", most=MOST_STATES),
        metavar="N",
        help="measure errors at N fresh states, beside single precision (2000; 0: not at all)",
    )


def add_figures(parser: Parser) -> None:
    """Options for what a report has beyond a design's promises."""
    add_evidence(parser)
    parser.add_more(
        parser,
        "--families",
        action="store_true",
        help="count the multiplications of all algorithms, side by side",
    )


def add_lists(parser: Parser) -> None:
    """Options of which several values may be given, separated by commas; every combination becomes a design."""
    for name, setting in ROBOT.items():
        # roots are a list as well
        if name not in NAMES:
            add_setting(parser, parser, name, setting)
    for axis in (*RATES, *AXES):
        flag = f"--{(axis.flag or axis.name).replace('_', '-')}"
        shown = {INTEGER: "N,N", NUMBER: "X,X"}.get(axis.kind, "A,A")
        parser.add_argument(flag, dest=axis.name, type=axis.read, metavar=shown, help=axis.summary)


def add_functions(parser: Parser, **more: Any) -> None:
    """The functions, of a command that has a list of them only."""
    setting = settings(Options)["functions"]
    parser.add_argument(
        "--functions",
        # names are checked by the options, which know what goes together
        type=lambda text: WORDS.read("functions", text),
        metavar=setting.metavar,
        help=help_of(setting),
        **more,
    )


def add_verification(parser: Parser) -> None:
    """Options of a verification of netlists."""
    parser.add_argument(
        "--verify",
        choices=VERIFICATIONS,
        metavar="KIND",
        help="netlist: simulate the netlists after synthesis and after place and route, and compare every bit",
    )
    parser.add_argument(
        # no default: the option is refused without --verify
        "--tasks",
        type=integer("tasks", 1, most=MOST_STATES),
        metavar="N",
        help=f"of --verify: mixed tasks that each netlist runs ({VERIFIED_TASKS})",
    )


def verified_tasks(args: argparse.Namespace) -> int:
    """The tasks of a verification. ConfigError where they are given without one."""
    if args.tasks and not args.verify:
        raise ConfigError("tasks: only with --verify, which runs them")
    return args.tasks or VERIFIED_TASKS
