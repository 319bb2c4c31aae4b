"""The parser of the command line: commands, their arguments, and examples."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from rbdgen.cli.arguments import (
    MOST_STATES,
    ROBOT_HELP,
    Parser,
    add_design,
    add_evidence,
    add_figures,
    add_functions,
    add_lists,
    add_setting,
    add_strict,
    add_verification,
    integer,
    integers,
    simulated_tasks,
)
from rbdgen.explore import ROOT
from rbdgen.host.spi import DEFAULT_HERTZ
from rbdgen.host.transport import DEFAULT_BAUD
from rbdgen.installation import version
from rbdgen.model.setup import ROBOT
from rbdgen.options import Options
from rbdgen.options.options import BENCH_TASKS
from rbdgen.protocol.links import DEFAULT_ADDRESS
from rbdgen.protocol.task_registers import REGISTER_BUSES
from rbdgen.setting import names

TARGETS = {
    "c": "a library in C99",
    "cuda": "kernels for a GPU",
    "host": "a library for boards, of what 'rbdgen generate' wrote in DIR",
    "bare": "a driver for firmware, of the same or of a program in DIR",
}
"""Texts that ``rbdgen emit`` writes, by the argument of ``--target``."""


Verb = Callable[[str, str, str], Parser]
"""Adds a command: its name, what it does in a line, and examples."""


SHELLS = ("bash", "zsh", "fish")
"""Shells whose words can be completed."""


def command(module: str, function: str) -> Callable[[argparse.Namespace], None]:
    """Runner of a command: a function of a module in this folder, which is imported when it runs, as others are not
    needed then."""
    return lambda args: getattr(import_module(f"rbdgen.cli.{module}"), function)(args)


def make_parser(everything: bool = False) -> Parser:
    """The parser of the command line; ``everything``: its help shows all options."""
    # of the class: argparse makes the parsers of commands, and hands nothing on to them
    Parser.everything = everything
    parser = Parser(
        prog="rbdgen",
        description="Compile a robot into hardware that computes its rigid-body dynamics.",
        epilog="Every command takes -q, for results, warnings and errors only, and -v, which adds times.",
    )
    parser.add_argument("--version", action="version", version=f"rbdgen {version()}")
    verbs = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    # without a command, what one does first is shown
    parser.set_defaults(run=command("helping", "first"))
    parser.commands = verbs.choices

    def verb(name: str, summary: str, examples: str) -> Parser:
        own = verbs.add_parser(
            name,
            help=summary,
            description=summary,
            epilog=f"examples:\n{examples}",
            # examples keep their lines
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add_talk(own)
        return own

    add_robots(verb)
    add_boards(verb)
    add_layout(verb)
    add_generate(verb)
    add_emit(verb)
    add_simulate(verb)
    add_compare(verb)
    add_benchmark(verb)
    add_report(verb)
    add_explore(verb)
    add_build(verb)
    add_flash(verb)
    add_load(verb)
    add_synth(verb)
    add_help(verb, parser)
    add_completion(verb)
    return parser


def add_talk(parser: Parser) -> None:
    """How much is said beside results: the same of all commands, so that the help of one need not say it."""
    told = {"-q": ("--quiet", "only results, warnings and errors")}
    told["-v"] = "--verbose", "say also how many seconds have passed at each stage"
    for letter, (flag, text) in told.items():
        text = text if parser.everything else argparse.SUPPRESS
        word = flag.removeprefix("--")
        parser.add_argument(letter, flag, action="store_const", const=word, dest="talk", help=text)


def add_help(verb: Verb, whole: Parser) -> None:
    """``rbdgen help``, of all commands of the ``whole`` parser."""
    parser = verb(
        "help",
        "Explain a command, an option or a function.",
        "  rbdgen help layout\n  rbdgen help ii\n  rbdgen help difd",
    )
    parser.add_argument(
        "word", metavar="WORD", nargs="?", help="a command, an option or a function"
    )
    parser.set_defaults(run=command("helping", "explain"), parser=whole)


def add_completion(verb: Verb) -> None:
    """``rbdgen completion``."""
    parser = verb(
        "completion",
        "Print what a shell runs to complete commands, options, robots and functions.",
        '  eval "$(rbdgen completion bash)"\n  rbdgen completion fish | source',
    )
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.set_defaults(run=command("helping", "completion"))


def add_robots(verb: Verb) -> None:
    """``rbdgen robots``."""
    parser = verb("robots", "List the built-in robots.", "  rbdgen robots\n  rbdgen robots --json")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object instead of a table"
    )
    parser.set_defaults(run=command("commands", "robots"))


def add_boards(verb: Verb) -> None:
    """``rbdgen boards``."""
    parser = verb(
        "boards",
        "List the boards: what they have, their link, and whether an engine is made for them.",
        "  rbdgen boards\n  rbdgen boards --json\n  rbdgen boards --robot iiwa14\n  rbdgen boards --new my_board",
    )
    parser.add_argument(
        "--robot", metavar="ROBOT", help="what of its functions each board's engine has room for"
    )
    parser.add_argument(
        "--new", metavar="NAME", help="write NAME.toml, a board's file with all keys explained"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object instead of a table"
    )
    parser.set_defaults(run=command("loading", "boards"))


def add_layout(verb: Verb) -> None:
    """``rbdgen layout``."""
    parser = verb(
        "layout",
        "Show the pipeline that a robot would get: tree, submodules, multipliers, cycles.",
        "  rbdgen layout iiwa14\n  rbdgen layout my_arm.urdf --ii 4 --word 24\n"
        "  rbdgen layout iiwa14 --functions all --ii 12 --families\n"
        "  rbdgen layout hyq --ii 4 --svg layout.svg --chart timing.svg --trace timing.json",
    )
    add_design(parser)
    add_figures(parser)
    parser.add_argument(
        "--svg", type=Path, metavar="FILE", help="draw the robot's tree and the pipeline"
    )
    parser.add_argument(
        "--chart",
        type=Path,
        metavar="FILE",
        help="draw a timing chart of tasks through units, as SVG",
    )
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="write the same as a trace for Perfetto or chrome://tracing (JSON)",
    )
    parser.set_defaults(run=command("commands", "layout"))


def add_generate(verb: Verb) -> None:
    """``rbdgen generate``."""
    parser = verb(
        "generate",
        "Write the accelerator: Verilog, manifest, report, resolved configuration.",
        "  rbdgen generate iiwa14\n  rbdgen generate my_arm.urdf --functions id,dfd --ii 4 -o build/arm\n"
        "  rbdgen generate --config build/arm/config.toml -o build/again\n"
        "  rbdgen generate ur5 --ii 4 --testbench -o build/ur5",
    )
    add_design(parser)
    add_figures(parser)
    parser.add_argument(
        "--ip",
        action="store_true",
        help="also the IP core with AXI ports: IP-XACT, FuseSoC, LiteX, SystemRDL, C header, Vivado's Tcl, testbench",
    )
    parser.add_argument(
        "--part",
        metavar="P",
        help="the part for which Vivado packages the IP core (the board's, or one of the device)",
    )
    parser.add_more(
        parser,
        "--bus",
        choices=REGISTER_BUSES,
        help="of --ip: tasks by registers on such a bus of a processor's, not by AXI streams; with a driver in C",
    )
    parser.add_argument(
        "--testbench",
        nargs="?",
        const=BENCH_TASKS,
        type=integer("testbench", 1, most=MOST_STATES),
        metavar="N",
        help=f"also a self-checking testbench in SystemVerilog, with vectors of N mixed tasks ({BENCH_TASKS})",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="where to write (build/NAME)"
    )
    parser.set_defaults(run=command("commands", "generate"))


def add_emit(verb: Verb) -> None:
    """``rbdgen emit``."""
    parser = verb(
        "emit",
        "Write the same functions as programs for processors.",
        "  rbdgen emit iiwa14 --functions all -o build/iiwa14_c\n"
        "  rbdgen emit my_quadruped.urdf --base floating --functions dfd\n"
        "  rbdgen emit iiwa14 --functions id --fixed --word 18\n"
        "  rbdgen emit iiwa14 --functions did,dfd --target cuda --architecture sm_90\n"
        "  rbdgen emit build/arm --target host",
    )
    add_design(parser)
    parser.add_argument(
        # options of hardware are taken for --fixed; without it the command refuses them
        "--target",
        choices=tuple(TARGETS),
        default="c",
        help=f"what to write: {'; '.join(f'{name}, {what}' for name, what in TARGETS.items())} (c)",
    )
    parser.add_argument(
        "--architecture",
        metavar="A",
        help="of --target cuda: also compile for it, such as sm_90, and say what kernels take",
    )
    parser.add_argument(
        "--fixed",
        action="store_true",
        help="also the arithmetic of the accelerator with these options, bit for bit",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="where to write (build/NAME_TARGET)"
    )
    parser.set_defaults(run=command("emitting", "emit"))


def add_simulate(verb: Verb) -> None:
    """``rbdgen simulate``."""
    parser = verb(
        "simulate",
        "Simulate the accelerator's RTL, compare every bit, count cycles.",
        "  rbdgen simulate iiwa14 --tasks 10000\n"
        "  rbdgen simulate iiwa14 --functions all --ii 12 --tasks 1000\n"
        "  rbdgen simulate ur5 --ii 8 --simulator icarus --tasks 100 --waves",
    )
    add_design(parser)
    add_evidence(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="where to build (build/NAME)"
    )
    parser.add_argument(
        "--tasks",
        type=simulated_tasks,
        default=1000,
        metavar="N",
        help="random tasks per run (1000)",
    )
    parser.add_more(
        parser,
        "--seed",
        type=integer("seed"),
        default=0,
        metavar="S",
        help="seed of the tasks and stalls (0)",
    )
    parser.add_argument(
        "--simulator",
        default="verilator",
        metavar="NAME",
        help="verilator, icarus or amaranth (verilator)",
    )
    parser.add_argument(
        "--waves", action="store_true", help="write the first run's waveform into DIR"
    )
    parser.add_more(
        parser,
        "--wave-format",
        metavar="KIND",
        help="fst or vcd (fst; of amaranth, which writes no other, vcd)",
    )
    parser.set_defaults(run=command("commands", "simulate"))


def add_compare(verb: Verb) -> None:
    """``rbdgen compare``."""
    parser = verb(
        "compare",
        "Compare accelerators with what others published and with what this machine does today.",
        "  rbdgen compare iiwa14 hyq my_arm.urdf\n"
        "  rbdgen compare iiwa14 --functions difd --measure\n"
        "  rbdgen compare iiwa14 --functions all --ii 4,12 --plot arm.svg\n"
        "  rbdgen compare iiwa14 hyq --functions did,dfd --multipliers 100\n"
        "  rbdgen compare iiwa14 --json",
    )
    parser.add_argument("robots", metavar="ROBOT", nargs="+", help=ROBOT_HELP)
    add_strict(parser)
    add_functions(parser, default=Options().functions)
    add_lists(parser)
    parser.add_argument(
        "--measure",
        action="store_true",
        help="simulate the accelerators and time this machine; else cycles are the schedule's promises",
    )
    parser.add_argument(
        # no defaults here and below: what is given without --measure is refused
        "--tasks",
        type=simulated_tasks,
        metavar="N",
        help="random tasks per run (200)",
    )
    parser.add_argument(
        "--seed",
        type=integer("seed"),
        metavar="S",
        help="seed of the tasks and stalls (0)",
    )
    parser.add_argument(
        "--simulator",
        metavar="NAME",
        help="as of 'rbdgen simulate' (verilator)",
    )
    parser.add_argument(
        *("-o", "--output"),
        type=Path,
        metavar="DIR",
        default=Path("build/compare"),
        help="where to build (build/compare)",
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw it: .svg, .png or .pdf")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument(
        "--json", action="store_true", help="print one JSON object instead of tables"
    )
    shape.add_argument("--csv", action="store_true", help="print rows as CSV instead of tables")
    shape.add_argument(
        "--latex", action="store_true", help="print rows as a table of LaTeX's instead"
    )
    parser.set_defaults(run=command("comparing", "compare"))


def add_benchmark(verb: Verb) -> None:
    """``rbdgen benchmark``."""
    parser = verb(
        "benchmark",
        "Measure the same functions by every library, program and device that is here.",
        "  rbdgen benchmark\n  rbdgen benchmark iiwa14 hyq --functions id,fd\n"
        "  rbdgen benchmark iiwa14 --only pinocchio,c,rtl\n"
        "  rbdgen benchmark iiwa14 --built build/arm --port /dev/ttyUSB0\n"
        "  rbdgen benchmark iiwa14 --add theirs/benchmark.json",
    )
    parser.add_argument("robots", metavar="ROBOT", nargs="*", help=f"{ROBOT_HELP} (iiwa14)")
    add_strict(parser)
    add_functions(parser, default=("id", "fd", "m", "minv", "did", "dfd"))
    add_setting(parser, parser, "base", ROBOT["base"])
    parser.add_argument(
        "--only",
        type=names,
        metavar="A,A",
        help="these implementations; a wrong name lists them all",
    )
    parser.add_argument(
        "--add",
        action="append",
        type=Path,
        metavar="FILE",
        help="show the results in another benchmark.json as well; may be repeated",
    )
    parser.add_argument(
        "--states",
        type=integer("states", 1, most=MOST_STATES),
        default=256,
        metavar="N",
        help="states that are compared (256, or the largest batch)",
    )
    parser.add_argument(
        "--batches",
        type=integers("batches"),
        default=[16, 256],
        metavar="N,N",
        help="states per call (16,256)",
    )
    parser.add_argument(
        "--seed", type=integer("seed"), default=1, metavar="S", help="seed of the states (1)"
    )
    parser.add_argument(
        "--ii",
        type=integer("ii", 1),
        default=12,
        metavar="N",
        help="cycles between tasks of the accelerator (12)",
    )
    parser.add_argument(
        "--tasks",
        type=simulated_tasks,
        default=200,
        metavar="N",
        help="random tasks of the RTL simulation (200)",
    )
    parser.add_argument(
        "--simulator",
        default="verilator",
        metavar="NAME",
        help="as of 'rbdgen simulate' (verilator)",
    )
    parser.add_argument(
        "--built",
        type=Path,
        metavar="DIR",
        help="what 'rbdgen build' wrote for a board that is there",
    )
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--port", metavar="PORT", help="the board's serial port")
    way.add_argument("--udp", metavar="ADDRESS", help="its IP address, HOST or HOST:PORT")
    way.add_argument("--spi", metavar="DEVICE", help="its file on an SPI bus of this computer")
    parser.add_argument(
        *("-o", "--output"),
        type=Path,
        metavar="DIR",
        default=Path("build/benchmark"),
        help="where to write (build/benchmark)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object instead of tables"
    )
    parser.set_defaults(run=command("benchmarking", "benchmark"))


def add_report(verb: Verb) -> None:
    """``rbdgen report``."""
    parser = verb(
        "report",
        "Make a page of a build: one HTML file with pictures, figures, and how they came about.",
        "  rbdgen report build/arm\n  rbdgen report build/arm -o arm.html",
    )
    parser.add_argument(
        "directory",
        type=Path,
        metavar="DIR",
        help="what 'rbdgen generate' or 'rbdgen simulate' wrote",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="where to write (DIR/report.html)"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object instead of a line"
    )
    parser.set_defaults(run=command("build", "report"))


def add_explore(verb: Verb) -> None:
    """``rbdgen explore``."""
    parser = verb(
        "explore",
        "Sweep over design choices: what each costs, how exact it is, and which no other beats.",
        "  rbdgen explore iiwa14 --ii 1,2,4,8 --word 16,18,24\n"
        "  rbdgen explore my_arm.urdf --functions id --functions all --ii 12,24 --device ecp5,xcup -o build/sweep\n"
        "  rbdgen explore iiwa14 --ii 1,2,4,8 --dask tcp://scheduler:8786",
    )
    parser.add_argument("robot", metavar="ROBOT", help=ROBOT_HELP)
    add_strict(parser)
    # commas part the functions of one design; several designs are several options
    add_functions(parser, action="append")
    add_lists(parser)
    parser.add_argument(f"--{ROOT.name}", type=names, metavar="LINK,LINK", help=ROOT.summary)
    parser.add_argument(
        "--tasks",
        type=integer("tasks", 1, most=MOST_STATES),
        default=1000,
        metavar="N",
        help="states for the errors (1000)",
    )
    parser.add_argument(
        "--seed", type=integer("seed"), default=0, metavar="S", help="seed of these states (0)"
    )
    parser.add_argument(
        "--jobs",
        type=integer("jobs", 1),
        metavar="N",
        help="processes on this machine (one per core)",
    )
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="compute on the cluster of this Dask scheduler instead"
    )
    parser.add_argument(
        *("-o", "--output"),
        type=Path,
        metavar="DIR",
        default=Path("build/explore"),
        help="where points are kept, and taken from (build/explore)",
    )
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="the plot: .svg, .png or .pdf (DIR/pareto.svg)"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object instead of tables"
    )
    parser.set_defaults(run=command("exploring", "explore"))


def add_build(verb: Verb) -> None:
    """``rbdgen build``."""
    parser = verb(
        "build",
        "Build a board's bitstream: synthesis, place and route, and what clock and resources came out.",
        "  rbdgen build iiwa14 --board ulx3s_85f\n"
        "  rbdgen build pendulum2 --board tang_mega_138k_pro --functions id,fd --verify netlist\n"
        "  rbdgen build iiwa14 --board ulx3s_85f --functions did --clock 80 --load",
    )
    add_design(parser, needs_board=True)
    parser.add_argument(
        "--seed", type=integer("seed"), default=1, metavar="S", help="seed of place and route (1)"
    )
    add_verification(parser)
    parser.add_argument("--load", action="store_true", help="program the board afterwards")
    parser.add_argument(
        "--ip",
        metavar="ADDRESS",
        help=f"IPv4 address of a board with Ethernet ({DEFAULT_ADDRESS})",
    )
    parser.add_argument(
        "--mac",
        metavar="ADDRESS",
        help="its MAC address (a locally administered one that follows from the design)",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="where to write (build/NAME)"
    )
    parser.set_defaults(run=command("build", "build"))


def add_flash(verb: Verb) -> None:
    """``rbdgen flash``."""
    parser = verb(
        "flash",
        "Put an engine on a board, once for all robots; 'rbdgen load' loads them.",
        "  rbdgen flash --board ulx3s_85f\n  rbdgen flash --board ulx3s_85f --keep -o build/engine",
    )
    parser.add_argument(
        "--board", metavar="B", required=True, help="the board; a wrong name lists them all"
    )
    parser.add_argument(
        "--keep", action="store_true", help="write the bitstream, and leave the board alone"
    )
    add_verification(parser)
    parser.add_argument(
        "--seed", type=integer("seed"), default=1, metavar="S", help="seed of place and route (1)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="where to write (build/engine_BOARD)"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object instead of tables"
    )
    parser.set_defaults(run=command("loading", "flash"))


def add_load(verb: Verb) -> None:
    """``rbdgen load``."""
    parser = verb(
        "load",
        "Load a robot into an engine that is on a board: no synthesis, no place and route.",
        "  rbdgen load my_arm.urdf --functions all --port /dev/ttyUSB0\n"
        "  rbdgen load ur5 --functions id,fd --port /dev/ttyUSB0 -o build/ur5_program\n"
        "  rbdgen load build/ur5_program --port /dev/ttyUSB0",
    )
    add_design(parser)
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--port", metavar="PORT", help="the board's serial port")
    way.add_argument("--udp", metavar="ADDRESS", help="its IP address, HOST or HOST:PORT")
    way.add_argument(
        "--spi", metavar="DEVICE", help="its file on an SPI bus of this computer, as /dev/spidev0.0"
    )
    parser.add_argument(
        # no default: the option is refused without --port
        "--baud",
        type=integer("baud", 1),
        metavar="N",
        help=f"bits per second of its line ({DEFAULT_BAUD})",
    )
    parser.add_argument(
        # likewise
        "--hertz",
        type=integer("hertz", 1),
        metavar="N",
        help=f"the bus's clock, a quarter of the board's at most ({DEFAULT_HERTZ})",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="also write the program there"
    )
    parser.set_defaults(run=command("loading", "load"))


def add_synth(verb: Verb) -> None:
    """``rbdgen synth``."""
    parser = verb(
        "synth",
        "Synthesise one unit alone, to see what it costs on a device family.",
        "  rbdgen synth iiwa14 --unit Rf_3 --device ecp5\n  rbdgen synth iiwa14 --functions did --ii 8 --unit Db_link4",
    )
    add_design(parser)
    parser.add_argument(
        "--unit",
        metavar="U",
        required=True,
        help="its name, or kind and joint number; a wrong one lists them all",
    )
    parser.set_defaults(run=command("build", "synth"))
