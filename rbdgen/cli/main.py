"""``rbdgen``: the parser, and the one place where errors become a line and exit status 2."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from rbdgen import __version__
from rbdgen.cli import commands
from rbdgen.errors import RbdgenError, RbdgenWarning
from rbdgen.layout.functions import DERIVATIVES, FUNCTIONS, MASS_MATRICES
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
    return tuple(FUNCTIONS) if names == ("all",) else names


def _design_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", metavar="ROBOT", nargs="?", help=ROBOT_HELP)
    parser.add_argument(
        "--base", choices=["fixed", "floating", "planar"], default="fixed", help="how the root is carried"
    )
    parser.add_argument(
        "--functions", type=_codes, metavar="F,F", help=f"what it computes: {', '.join(FUNCTIONS)}, or all (id)"
    )
    parser.add_argument("--ii", type=_integer, metavar="N", help="initiation interval: cycles between tasks (1)")
    parser.add_argument("--word", type=_integer, metavar="W", help="word length in bits, 8 to 32 (18)")
    parser.add_argument(
        "--derivative", choices=list(DERIVATIVES), help="algorithm of the derivatives of inverse dynamics (composite)"
    )
    parser.add_argument(
        "--mass-matrix", choices=list(MASS_MATRICES), help="algorithm of the mass matrix and its inverse (ldl)"
    )
    parser.add_argument(
        "--forces", action="store_const", const=True, help="external forces on all bodies are operands of a task"
    )
    parser.add_argument("--device", metavar="D", help=f"timing model: {', '.join(DEVICES)} ({DEFAULT_DEVICE})")
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="options and joint ranges, as in generate's config.toml"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")


def _families_option(parser: argparse.ArgumentParser) -> None:
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
        "  rbdgen layout iiwa14 --functions all --ii 12 --families",
    )
    _design_options(layout)
    _families_option(layout)
    layout.set_defaults(run=commands.layout)

    generate = verb(
        "generate",
        "Write the accelerator: Verilog, manifest, report, resolved configuration.",
        "  rbdgen generate iiwa14\n  rbdgen generate my_arm.urdf --functions id,dfd --ii 4 -o build/arm\n"
        "  rbdgen generate --config build/arm/config.toml -o build/again",
    )
    _design_options(generate)
    _families_option(generate)
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
