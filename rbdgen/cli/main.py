"""``rbdgen``: the parser, and the one place where errors become a line and exit status 2."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from rbdgen import __version__
from rbdgen.cli import build, commands, comparing, exploring, reporting, synth
from rbdgen.compiler import CHOICES
from rbdgen.errors import RbdgenError, RbdgenWarning
from rbdgen.explore import AXES, RATES, ROOT
from rbdgen.layout.functions import DERIVATIVES, FUNCTIONS, KNOWN, MASS_MATRICES
from rbdgen.layout.rollout import COEFFICIENTS
from rbdgen.schedule.device import DEFAULT_DEVICE, DEVICES

ROBOT_HELP = "a built-in robot (see 'rbdgen robots') or the path of a URDF"


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(2, f"{self.prog}: error: {message} (see '{self.prog} --help')\n")


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}") from None


def _codes(text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    return tuple(n for name in names for n in (FUNCTIONS if name == "all" else (name,)))


def _integers(text: str) -> list[int]:
    return [_integer(part) for part in text.split(",")]


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _design_lists(parser: argparse.ArgumentParser) -> None:
    """Options of which several values may be given, separated by commas; every combination becomes a design."""
    parser.add_argument(
        "--base", choices=["fixed", "floating", "planar"], default="fixed", help="how roots are carried"
    )
    for axis in (*RATES, *AXES):
        name, kind = f"--{axis.name.replace('_', '-')}", _integers if axis.integers else _names
        parser.add_argument(name, type=kind, metavar="N,N" if axis.integers else "A,A", help=axis.summary)


def _design_options(parser: argparse.ArgumentParser, needs_board: bool = False) -> None:
    parser.add_argument("robot", metavar="ROBOT", nargs="?", help=ROBOT_HELP)
    parser.add_argument("--base", choices=["fixed", "floating", "planar"], help="how the root link is carried (fixed)")
    parser.add_argument(
        "--functions", type=_codes, metavar="F,F", help=f"what it computes: {', '.join(KNOWN)}, or all but roll (id)"
    )
    parser.add_argument(
        "--root", metavar="LINK", help="the link that a mobile base carries; the base's coordinates are that link's"
    )
    parser.add_argument("--integrator", choices=list(COEFFICIENTS), help="of the function roll (euler)")
    parser.add_argument("--time-step", type=float, metavar="S", help="seconds of a step of the function roll (0.001)")
    rate = parser.add_mutually_exclusive_group()
    rate.add_argument("--ii", type=_integer, metavar="N", help="initiation interval: cycles between tasks (1)")
    rate.add_argument(
        "--multipliers", type=_integer, metavar="N", help="instead: as many tasks per second as N multipliers allow"
    )
    rate.add_argument("--rate", type=float, metavar="R", help="instead: R tasks per second at the device's clock")
    if not needs_board:
        rate.add_argument("--board", metavar="B", help="instead: as fast as the multipliers of a board allow")
    parser.add_argument(
        "--fold", action=argparse.BooleanOptionalAction, help="let branches that are alike share hardware in turn (on)"
    )
    parser.add_argument("--share", action=argparse.BooleanOptionalAction, help="let submodules share multipliers (on)")
    parser.add_argument(
        "--constants",
        choices=CHOICES["constants"],
        help="constant factors as shifts and adds in logic, or in slots of multipliers (auto: by a board's resources, "
        "else logic)",
    )
    parser.add_argument(
        "--columns",
        choices=CHOICES["columns"],
        help="parts of a submodule that are alike share hardware in turn, which costs latency, or are apart (auto: by "
        "a board's resources, else apart)",
    )
    parser.add_argument(
        "--programs",
        choices=CHOICES["programs"],
        help="derivatives are a program of their own, beside which other tasks run, or parts of the only one, which "
        "is smaller and which dfd takes two turns of (two)",
    )
    parser.add_argument(
        "--spread",
        choices=CHOICES["spread"],
        help="as few multipliers as there can be, or about twice as many, for narrower choices before them and "
        "submodules that stay apart (auto: by a board's resources, else fewest)",
    )
    parser.add_argument("--clock", type=float, metavar="MHZ", help="clock that the pipeline is made for (the device's)")
    parser.add_argument("--word", type=_integer, metavar="W", help="word length in bits, 8 to 32 (18)")
    _format_options(parser)
    parser.add_argument(
        "--derivative", choices=list(DERIVATIVES), help="algorithm of the derivatives of inverse dynamics (composite)"
    )
    parser.add_argument(
        "--mass-matrix", choices=list(MASS_MATRICES), help="algorithm of the mass matrix and its inverse (ldl)"
    )
    parser.add_argument(
        "--forces", action="store_const", const=True, help="external forces on all bodies are operands of a task"
    )
    parser.add_argument(
        "--moving-base", action="store_const", const=True, help="the base's motion is an operand of a task"
    )
    parser.add_argument("--with-inverse", action="store_const", const=True, help="dfd returns the inverse of M as well")
    parser.add_argument(
        "--calibratable", action="store_const", const=True, help="inertial parameters are loaded over the stream"
    )
    parser.add_argument("--device", metavar="D", help=f"timing model: {', '.join(DEVICES)} ({DEFAULT_DEVICE})")
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="options and joint ranges, as in generate's config.toml"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")


def _targets(text: str) -> dict[str, float]:
    targets = {}
    for part in _names(text):
        name, separator, value = part.rpartition("=")
        try:
            targets[name.strip() if separator else "all"] = float(value)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a number, or NAME=NUMBER,..., not {text!r}") from None
    return targets


def _format_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--error",
        type=_targets,
        metavar="E",
        help="instead of --word: the largest error allowed, relative to the largest output; or NAME=E,NAME=E by "
        "function (did), output (dtau_dq), or both (did.dtau_dq)",
    )
    parser.add_argument(
        "--formats", choices=CHOICES["formats"], help="with --error: a format for each signal, or one word (signal)"
    )
    parser.add_argument(
        "--sound", action="store_const", const=True, help="ranges of signals by bounds that hold, not by sampling"
    )
    parser.add_argument("--rounding", choices=CHOICES["rounding"], help="how bits are dropped: auto is by cost (auto)")
    parser.add_argument(
        "--overflow", choices=CHOICES["overflow"], help="flag what does not fit, and saturate it or not (saturate)"
    )


def _families_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--evidence",
        type=_integer,
        metavar="N",
        help="measure errors at N fresh states, beside single precision (10000 with --error, else 0)",
    )
    parser.add_argument(
        "--families", action="store_true", help="count the multiplications of all algorithms, side by side"
    )


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="rbdgen", description="Compile a robot into hardware that computes its rigid-body dynamics.")
    parser.add_argument("--version", action="version", version=f"rbdgen {__version__}")
    verbs = parser.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")

    def verb(name: str, summary: str, examples: str) -> argparse.ArgumentParser:
        return verbs.add_parser(
            name,
            help=summary,
            description=summary,
            epilog=f"examples:\n{examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    robots = verb("robots", "List the built-in robots.", "  rbdgen robots\n  rbdgen robots --json")
    robots.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    robots.set_defaults(run=commands.robots)

    layout = verb(
        "layout",
        "Show the pipeline that a robot would get: tree, submodules, multipliers, cycles.",
        "  rbdgen layout iiwa14\n  rbdgen layout my_arm.urdf --ii 4 --word 24\n"
        "  rbdgen layout iiwa14 --functions all --ii 12 --families\n"
        "  rbdgen layout hyq --ii 4 --svg layout.svg --chart timing.svg --trace timing.json",
    )
    _design_options(layout)
    _families_option(layout)
    layout.add_argument("--svg", type=Path, metavar="FILE", help="draw the robot's tree and the pipeline")
    layout.add_argument("--chart", type=Path, metavar="FILE", help="draw a timing chart of tasks through units, as SVG")
    layout.add_argument(
        "--trace", type=Path, metavar="FILE", help="write the same as a trace for Perfetto or chrome://tracing (JSON)"
    )
    layout.set_defaults(run=commands.layout)

    generate = verb(
        "generate",
        "Write the accelerator: Verilog, manifest, report, resolved configuration.",
        "  rbdgen generate iiwa14\n  rbdgen generate my_arm.urdf --functions id,dfd --ii 4 -o build/arm\n"
        "  rbdgen generate --config build/arm/config.toml -o build/again",
    )
    _design_options(generate)
    _families_option(generate)
    generate.add_argument(
        "--ip", action="store_true", help="also the IP core with AXI ports: IP-XACT, FuseSoC, LiteX, Vivado's Tcl"
    )
    generate.add_argument("-o", "--output", type=Path, metavar="DIR", help="where to write (build/NAME)")
    generate.set_defaults(run=commands.generate)

    simulate = verb(
        "simulate",
        "Simulate the accelerator's RTL, compare every bit, count cycles.",
        "  rbdgen simulate iiwa14 --tasks 10000\n"
        "  rbdgen simulate iiwa14 --functions all --ii 12 --tasks 1000\n"
        "  rbdgen simulate ur5 --ii 8 --simulator icarus --tasks 100 --waves",
    )
    _design_options(simulate)
    simulate.add_argument("-o", "--output", type=Path, metavar="DIR", help="where to build (build/NAME)")
    simulate.add_argument("--tasks", type=_integer, default=1000, metavar="N", help="random tasks per run (1000)")
    simulate.add_argument("--seed", type=_integer, default=0, metavar="S", help="seed of the tasks and stalls (0)")
    simulate.add_argument(
        "--simulator", default="verilator", metavar="NAME", help="verilator, icarus or amaranth (verilator)"
    )
    simulate.add_argument("--waves", action="store_true", help="write the first run's waveform into DIR")
    simulate.set_defaults(run=commands.simulate)

    compare = verb(
        "compare",
        "Compare accelerators with what others published and with what this machine does today.",
        "  rbdgen compare iiwa14 hyq my_arm.urdf\n  rbdgen compare iiwa14 --functions all --ii 4,12 --plot arm.svg\n"
        "  rbdgen compare iiwa14 hyq --functions did,dfd --multipliers 100\n"
        "  rbdgen compare iiwa14 --json",
    )
    compare.add_argument("robots", metavar="ROBOT", nargs="+", help=ROBOT_HELP)
    compare.add_argument(
        "--functions", type=_codes, metavar="F,F", default=("id",), help=f"{', '.join(FUNCTIONS)}, or all (id)"
    )
    _design_lists(compare)
    compare.add_argument("--tasks", type=_integer, default=200, metavar="N", help="random tasks per run (200)")
    compare.add_argument("--seed", type=_integer, default=0, metavar="S", help="seed of the tasks and stalls (0)")
    compare.add_argument("--simulator", default="verilator", metavar="NAME", help="as of 'rbdgen simulate' (verilator)")
    compare.add_argument(
        *("-o", "--output"),
        type=Path,
        metavar="DIR",
        default=Path("build/compare"),
        help="where to build (build/compare)",
    )
    compare.add_argument("--plot", type=Path, metavar="FILE", help="draw it: .svg, .png or .pdf")
    shape = compare.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    shape.add_argument("--csv", action="store_true", help="print rows as CSV instead of tables")
    compare.set_defaults(run=comparing.compare)

    report = verb(
        "report",
        "Make a page of a build: one HTML file with pictures, figures, and how they came about.",
        "  rbdgen report build/arm\n  rbdgen report build/arm -o arm.html",
    )
    report.add_argument("directory", type=Path, metavar="DIR", help="what 'rbdgen generate' or 'rbdgen simulate' wrote")
    report.add_argument("-o", "--output", type=Path, metavar="FILE", help="where to write (DIR/report.html)")
    report.add_argument("--json", action="store_true", help="print one JSON object instead of a line")
    report.set_defaults(run=reporting.report)

    explore = verb(
        "explore",
        "Sweep over design choices: what each costs, how exact it is, and which no other beats.",
        "  rbdgen explore iiwa14 --ii 1,2,4,8 --word 16,18,24\n"
        "  rbdgen explore my_arm.urdf --functions id --functions all --ii 12,24 --device ecp5,xcup -o build/sweep\n"
        "  rbdgen explore iiwa14 --ii 1,2,4,8 --dask tcp://scheduler:8786",
    )
    explore.add_argument("robot", metavar="ROBOT", help=ROBOT_HELP)
    explore.add_argument(
        "--functions", type=_codes, metavar="F,F", action="append", help="a set of functions; may be repeated (id)"
    )
    _design_lists(explore)
    explore.add_argument(f"--{ROOT.name}", type=_names, metavar="LINK,LINK", help=ROOT.summary)
    explore.add_argument("--tasks", type=_integer, default=1000, metavar="N", help="states for the errors (1000)")
    explore.add_argument("--seed", type=_integer, default=0, metavar="S", help="seed of these states (0)")
    explore.add_argument("--jobs", type=_integer, metavar="N", help="processes on this machine (one per core)")
    explore.add_argument("--dask", metavar="ADDRESS", help="compute on the cluster of this Dask scheduler instead")
    explore.add_argument(
        *("-o", "--output"),
        type=Path,
        metavar="DIR",
        default=Path("build/explore"),
        help="where points are kept, and taken from (build/explore)",
    )
    explore.add_argument("--plot", type=Path, metavar="FILE", help="the plot: .svg, .png or .pdf (DIR/pareto.svg)")
    explore.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    explore.set_defaults(run=exploring.explore)

    board = verb(
        "build",
        "Build a board's bitstream: synthesis, place and route, and what clock and resources came out.",
        "  rbdgen build iiwa14 --board ulx3s_85f\n"
        "  rbdgen build iiwa14 --board ulx3s_85f --functions did --clock 80 --load",
    )
    _design_options(board, needs_board=True)
    board.add_argument("--board", metavar="B", required=True, help="the board; a wrong name lists them all")
    board.add_argument("--seed", type=_integer, default=1, metavar="S", help="seed of place and route (1)")
    board.add_argument("--load", action="store_true", help="program the board afterwards")
    board.add_argument("-o", "--output", type=Path, metavar="DIR", help="where to write (build/NAME)")
    board.set_defaults(run=build.build)

    unit = verb(
        "synth",
        "Synthesise one unit alone, to see what it costs on a device family.",
        "  rbdgen synth iiwa14 --unit Rf_3 --device ecp5\n  rbdgen synth iiwa14 --functions did --ii 8 --unit Db_link4",
    )
    _design_options(unit)
    unit.add_argument(
        "--unit", metavar="U", required=True, help="its name, or kind and joint number; a wrong one lists them all"
    )
    unit.set_defaults(run=synth.synth)
    return parser


def _show_warning(message: Warning | str, category: type[Warning], *rest: object) -> None:
    print(f"rbdgen: warning: {message}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0, or 2 for anything the user can mend."""
    args = _parser().parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("always", RbdgenWarning)
        warnings.showwarning = _show_warning
        try:
            args.run(args)
            sys.stdout.flush()
        except RbdgenError as error:
            print(f"rbdgen: error: {' '.join(str(error).split())}", file=sys.stderr)
            return 2
        except BrokenPipeError:
            # whoever read the output has closed it; keep the interpreter from complaining at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except KeyboardInterrupt:
            print("rbdgen: stopped", file=sys.stderr)
            return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
