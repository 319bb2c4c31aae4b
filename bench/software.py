"""Measures the C of robots' functions beside Pinocchio's C++, in one run, on one core and on all.

Pinocchio's headers and libraries, and Eigen's, are those of PyPI's packages (``pip install -e '.[bench]'``); its
generated code is timed too where CppADCodeGen is given (``--cppadcg``). Each function of each robot is timed one call
at a time over 1024 states, and all of them in one call, as double and as float, on one thread and on all. ``--write``
stores the tables, and makes docs/measurements.md of them.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from figures import Targets, arguments, parse, section

from rbdgen import golden, native
from rbdgen.functions.registry import common
from rbdgen.model import Setup, builtin_path, builtin_robots
from rbdgen.processes import cores
from rbdgen.software.calls import TYPES, Calls
from rbdgen.software.composition import make_program
from rbdgen.software.library import FLAGS, LIBRARIES, PARALLEL, c_header, c_sources, name_of
from rbdgen.software.program import Program
from rbdgen.tracing.trace_options import TraceOptions

STATES, MORE_STATES = 1024, 4096
"""States of a batch; and of one that is spread over cores, since waking them takes as long as some hundred states."""
NATIVE = Path(__file__).parent / "native"
"""C++ of this bench."""
ASKED_ONE = {"iiwa14": 3.0}
"""Least ratio of Pinocchio's time of a call to ours; of other robots :data:`ASKED_OTHERS`."""
ASKED_OTHERS, ASKED_BATCH, ASKED_SCALING = 2.0, 6.0, 0.8
ASKED_SECONDS = {"iiwa14": 30.0}
ASKED_LONGEST, ASKED_GIB = 300.0, 1.0
FURTHER = (
    *("com", "cmm", "dcmm", "dcent", "energy", "coriolis", "regressor", "eregressor", "d2id"),
    *("djac", "dcfd", "impulse", "lfd"),
)
"""Functions beside the seven that Pinocchio's C++ has."""
HELD = {"djac": "contacts", "dcfd": "contacts", "impulse": "contacts", "lfd": "loop"}
"""Those of robots with frames, and what these hold."""
FRAMES = {
    "iiwa14": ("link7:0,0,0.1",),
    "hyq": ("lf_lowerleg:0,0,-0.33", "rh_lowerleg:0,0,-0.33"),
}
"""What contacts are at; of an arm with a damping, as it may be stretched out."""
TIED = {"iiwa14": FRAMES["iiwa14"], "hyq": ("lf_lowerleg:0.35,0,0", "rf_lowerleg:0.35,0,0.414")}
"""What a loop ties together: an arm's tip and the base, or two legs as by a bar."""
DAMPING = {"iiwa14": 0.1, "hyq": 0.0}
GIVEN = {"closed": 1.0, "wanted": 0.0, "restitution": 0.5}
"""Operands that are the same in all states."""
LISTS = (
    *("-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30"),
    *("-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "-DBOOST_FUSION_INVOKE_MAX_ARITY=12"),
)
"""Boost's lists are as long as there are kinds of joints."""
OPTIMISED = ("-O3", "-DNDEBUG", "-DPINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION", *LISTS)
"""Compiler flags of what calls Pinocchio: its algorithms come from its package's libraries."""
GENERATING = ("-O1", *LISTS)
"""Compiler flags of what makes Pinocchio generate code, which is not timed."""


def prefix() -> Path:
    """Where Pinocchio's headers and libraries are; SystemExit where they are not."""
    found = importlib.util.find_spec("cmeel_pinocchio") or importlib.util.find_spec("pinocchio")
    if found is None or found.origin is None:
        raise SystemExit("Pinocchio: not installed; pip install -e '.[bench]'")
    for folder in Path(found.origin).parents:
        if folder.name == "cmeel.prefix":
            return folder
    raise SystemExit("Pinocchio: not of PyPI, whose headers this needs; pip install -e '.[bench]'")


def calls_of(programs: Sequence[Program], name: str) -> str:
    """C++ that times each function of the library."""
    lines = []
    for program in programs:
        function = program.function.name
        calls = Calls(program, function, f"{name}_{function}")
        arrays = [*calls.operands, *calls.results]
        for kind in TYPES:
            lines.append("{")
            for x in calls.operands:
                if x.name in GIVEN:
                    lines.append(f"const Numbers {x.name}({x.size} * count, {GIVEN[x.name]});")
                lines.append(
                    f"std::vector<{kind.name}> {x.name}_rows({x.name}.begin(), {x.name}.end());"
                )
                lines.append(f"std::vector<{kind.name}> {x.name}_side({x.name}_rows.size());")
                lines.append(
                    f"for (size_t k = 0; k < count; k++) for (size_t i = 0; i < {x.size}; i++) "
                    f"{x.name}_side[i * count + k] = {x.name}_rows[k * {x.size} + i];"
                )
            for x in calls.results:
                for layout in ("rows", "side"):
                    lines.append(f"std::vector<{kind.name}> {x.name}_{layout}({x.size} * count);")
            # as Pinocchio's data, results are in the same place each time
            one = ", ".join(
                [f"&{x.name}_rows[k * {x.size}]" for x in calls.operands]
                + [f"{x.name}_rows.data()" for x in calls.results]
            )
            batch = ", ".join(f"{x.name}_side.data()" for x in arrays)
            rows = ", ".join(f"{x.name}_rows.data()" for x in arrays)
            own = f"{name}_{function}"
            for what, code in (
                ("one", f"for (size_t k = 0; k < count; k++) {own}{kind.suffix}({one});"),
                ("batch", f"{own}_batch{kind.suffix}(count, {batch});"),
                ("rows", f"{own}_rows{kind.suffix}(count, {rows});"),
            ):
                label = f"{kind.name}_{what}"
                lines.append(f'print("{function}", "{label}", best(count, [&]() {{ {code} }}));')
            lines.append("}")
    return "\n".join(lines)


def included() -> list[str]:
    """Where the compiler finds Pinocchio's headers, and those that they include."""
    own = prefix() / "include"
    folders = [own, *(own / part for part in ("eigen3", "urdfdom_headers", "urdfdom"))]
    return [f"-I{folder}" for folder in folders]


def linked() -> list[str]:
    """Libraries of a program that reads URDFs by Pinocchio."""
    libraries = prefix() / "lib"
    found = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lpinocchio_parsers"]
    return [*found, "-lpinocchio_default", "-lurdfdom_model"]


class PinocchioParts:
    """The parts that time Pinocchio, compiled into ``folder`` when they are first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def part(self, name: str) -> Path:
        """That of ``name``.cpp."""
        made = self.folder / f"{name}.o"
        if not made.exists():
            line = ["g++", "-std=c++17", *OPTIMISED, *included(), f"-I{NATIVE}"]
            # Pinocchio says of all its constraints that they will change
            line += ["-Wno-deprecated-declarations"]
            line += ["-c", str(NATIVE / f"{name}.cpp"), "-o", str(made)]
            subprocess.run(line, check=True)
        return made


@dataclass(frozen=True)
class Case:
    """``functions`` of a robot's ``file``, whose ``frames`` are ``held`` by contacts or a loop where there are some,
    with a ``damping``."""

    file: Path
    base: str
    functions: tuple[str, ...]
    held: str = ""
    frames: tuple[str, ...] = ()
    damping: float = 0.0

    @property
    def setup(self) -> Setup:
        """The robot's."""
        named = [f"held{k}" for k in range(len(self.frames))]
        places = (frame.partition(":") for frame in self.frames)
        frames = {
            f"{name}={link}": tuple(map(float, numbers.split(",")))
            for name, (link, _, numbers) in zip(named, places, strict=True)
        }
        loop = (":".join([*named, "base"][:2]),) if self.held == "loop" else None
        return Setup(self.base, frame=frames, contact=() if loop else tuple(named), loop=loop)

    @property
    def program(self) -> str:
        """Of the part that times Pinocchio."""
        return "held_bench" if self.held else "pinocchio_bench"

    @property
    def arguments(self) -> list[str]:
        """Those of that part behind the states."""
        if not self.held:
            return []
        numbers = [part for frame in self.frames for part in frame.replace(":", ",").split(",")]
        return [str(self.damping), self.held, *numbers]


def cases_of(file: Path, base: str, functions: Sequence[str]) -> list[Case]:
    """A robot's cases. SystemExit for functions of frames of a robot of which none are known."""
    plain = tuple(f for f in functions if f not in HELD)
    cases = [Case(file, base, plain)] if plain else []
    for held, frames in (("contacts", FRAMES), ("loop", TIED)):
        own = tuple(f for f in functions if HELD.get(f) == held)
        if own and file.stem not in frames:
            raise SystemExit(f"{', '.join(own)}: frames are known of {', '.join(frames)}")
        if own:
            cases.append(Case(file, base, own, held, frames[file.stem], DAMPING[file.stem]))
    return cases


class Generated:
    """Pinocchio's own generated code, where CppAD and CppADCodeGen are installed in ``root``."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.program = folder / "generated_bench"
        self.folder = folder
        line = ["g++", "-std=c++17", *GENERATING, f'-DCOMPILER="{native.required_compiler()}"']
        line += [f"-I{root / 'include'}", *included(), f"-I{NATIVE}"]
        line += [str(NATIVE / "generated_bench.cpp"), "-o", str(self.program), *linked()]
        line += [f"-L{root / 'lib'}", f"-Wl,-rpath,{root / 'lib'}", "-lcppad_lib", "-ldl"]
        subprocess.run(line, check=True)

    def run(self, path: Path, base: str) -> dict[str, float]:
        """Nanoseconds of a call by function."""
        line = [str(self.program), str(path), base]
        done = subprocess.run(line, cwd=self.folder, check=True, capture_output=True, text=True)
        words = [text.split() for text in done.stdout.splitlines()]
        return {function: float(nanoseconds) for function, _, nanoseconds in words}


class Bench:
    """A case's program in a folder."""

    def __init__(self, work: Path, case: Case) -> None:
        self.work, self.case = work, case
        self.robot = case.setup.load(case.file)
        self.name = name_of(self.robot)
        settings = TraceOptions(constraint_damping=case.damping)
        self.programs = [make_program(self.robot, settings, f) for f in case.functions]

    def compile(self) -> tuple[float, float]:
        """Seconds of the library's compilation on one core, and the most memory in GiB that the compiler took."""
        texts = c_sources(self.name, self.programs) | c_header(self.robot, self.programs)
        for name, text in texts.items():
            (self.work / name).write_text(text, encoding="utf-8")
        compiler = native.required_compiler()
        begin, most = time.monotonic(), 0.0
        for source in sorted(self.work.glob("*.c")):
            line = [compiler, *FLAGS, *PARALLEL, "-c", source.name, "-o", f"{source.stem}.o"]
            process = subprocess.Popen(line, cwd=self.work)
            _, status, usage = os.wait4(process.pid, 0)
            if status:
                raise SystemExit(f"{source.name}: not compiled")
            most = max(most, usage.ru_maxrss / 2**20)
        return time.monotonic() - begin, most

    def link(self, pinocchio: Path) -> None:
        """The program that times both, with Pinocchio's part of it."""
        text = "\n".join(
            [
                f'#include "{self.name}.h"',
                '#include "timing.hpp"',
                "void time_library(size_t count, const Numbers &q, const Numbers &v, const Numbers &a,",
                "                  const Numbers &tau, const Numbers &minv)",
                "{",
                calls_of(self.programs, self.name),
                "}\n",
            ]
        )
        (self.work / "calls.cpp").write_text(text, encoding="utf-8")
        line = ["g++", "-std=c++17", "-O2", f"-I{NATIVE}", "calls.cpp", str(pinocchio)]
        line += [*map(str, sorted(self.work.glob("*.o"))), "-o", "bench"]
        line += [*linked(), *PARALLEL, *LIBRARIES]
        subprocess.run(line, cwd=self.work, check=True)

    def run(self, threads: int, count: int = STATES) -> dict[tuple[str, str], float]:
        """Nanoseconds per state by function and what was timed."""
        q, v, a = golden.random_states(
            self.robot, golden.declared_ranges(self.robot), count, seed=1
        )
        tau, minv = golden.rnea(self.robot, q, v, a), golden.minverse(self.robot, q)
        data = self.work / "states"
        data.write_bytes(b"".join(x.tobytes() for x in (q, v, a, tau, minv)))
        line = [str(self.work / "bench"), str(self.case.file), self.case.base, str(count)]
        line += [str(data), *self.case.arguments]
        env = os.environ | {"OMP_NUM_THREADS": str(threads)}
        done = subprocess.run(line, env=env, check=True, capture_output=True, text=True)
        found = {}
        for text in done.stdout.splitlines():
            function, who, nanoseconds = text.split()
            found[function, who] = float(nanoseconds)
        return found


def robot_of(text: str) -> tuple[Path, str]:
    """A robot's file and its base, from ``FILE:BASE``."""
    name, _, base = text.rpartition(":")
    if name in builtin_robots():
        return builtin_path(name), base
    return Path(name).resolve(), base


def main() -> int:
    """Print the tables; 1 where something is slower than asked."""
    parser = arguments(__doc__)
    parser.add_argument(
        "robots",
        nargs="*",
        metavar="FILE:BASE",
        default=["iiwa14:fixed"],
        help="robots, such as iiwa14:fixed or atlas.urdf:floating",
    )
    parser.add_argument(
        "--cppadcg",
        type=Path,
        metavar="DIR",
        help="also Pinocchio's generated code: where CppAD and CppADCodeGen are installed",
    )
    parser.add_argument(
        "--functions",
        metavar="F,…",
        help=f"others than the seven, which Pinocchio has too: {', '.join(FURTHER)}, or further for all",
    )
    args: argparse.Namespace = parse(parser)
    targets = Targets()
    functions, beside = common(), ""
    if args.functions:
        functions, beside = tuple(args.functions.split(",")), " of functions beside the seven"
    if functions == ("further",):
        functions = FURTHER
    one_rows, many_rows, compiled_rows, generated_rows = [], [], [], []
    shared = tempfile.TemporaryDirectory()
    parts = PinocchioParts(Path(shared.name))
    generated = Generated(args.cppadcg, Path(shared.name)) if args.cppadcg else None
    for text in args.robots:
        path, base = robot_of(text)
        single: dict[tuple[str, str], float] = {}
        alone, together = dict(single), dict(single)
        seconds = gib = 0.0
        for case in cases_of(path, base, functions):
            with tempfile.TemporaryDirectory() as work:
                bench = Bench(Path(work), case)
                taken, most = bench.compile()
                seconds, gib = seconds + taken, max(gib, most)
                bench.link(parts.part(case.program))
                single |= bench.run(1)
                alone |= bench.run(1, MORE_STATES)
                together |= bench.run(cores(), MORE_STATES)
        limit = ASKED_SECONDS.get(path.stem, ASKED_LONGEST)
        compiled_rows.append(
            [
                *(path.stem, base, f"{seconds:.1f} s", targets.at_most(seconds, limit)),
                *(f"{gib:.2f} GiB", targets.at_most(gib, ASKED_GIB)),
            ]
        )
        for function, theirs in (generated.run(path, base) if generated else {}).items():
            ratio = theirs / single[function, "double_one"]
            generated_rows.append(
                [
                    *(path.stem, base, function, f"{theirs:.0f}"),
                    *(f"{single[function, 'double_one']:.0f}", f"{ratio:.1f}"),
                    targets.at_least(ratio, 1.0),
                ]
            )
        asked = ASKED_ONE.get(path.stem, ASKED_OTHERS)
        for function in functions:
            theirs = single[function, "pinocchio"]
            ours = single[function, "double_one"]
            one_rows.append(
                [
                    *(path.stem, base, function, f"{theirs:.0f}", f"{ours:.0f}"),
                    *(f"{theirs / ours:.1f}", targets.at_least(theirs / ours, asked)),
                ]
            )
            row = [path.stem, base, function]
            for what in ("double_batch", "double_rows", "float_batch", "float_rows"):
                row.append(f"{single[function, what]:.1f}")
            ratio = theirs / single[function, "float_batch"]
            row += [f"{ratio:.0f}", targets.at_least(ratio, ASKED_BATCH)]
            best = together[function, "float_batch"]
            scaling = alone[function, "float_batch"] / best / cores()
            row += [f"{best:.1f}", f"{scaling:.2f}", targets.at_least(scaling, ASKED_SCALING)]
            many_rows.append(row)
    section(
        f"One call{beside}, nanoseconds, double, one thread",
        ["robot", "base", "function", "Pinocchio's C++", "this C", "ratio", "as asked"],
        one_rows,
        keys=3,
    )
    if generated_rows:
        section(
            "One call, nanoseconds, double: Pinocchio's generated code, compiled with -Ofast",
            ["robot", "base", "function", "generated", "this C", "ratio", "as asked"],
            generated_rows,
            keys=3,
        )
    section(
        f"Nanoseconds per state{beside}, batches of {STATES} on one thread; of {MORE_STATES} on all {cores()}",
        [
            *("robot", "base", "function", "double, side by side", "double, rows"),
            *("float, side by side", "float, rows", "Pinocchio's double loop over float"),
            *("as asked", f"float, {cores()} threads", "of a core each", "as asked"),
        ],
        many_rows,
        keys=3,
    )
    section(
        f"Compiling all {'seven functions' if not beside else 'those beside the seven'}, one core",
        ["robot", "base", "time", "as asked", "compiler's memory", "as asked"],
        compiled_rows,
        keys=2,
    )
    return targets.finish()


if __name__ == "__main__":
    sys.exit(main())
