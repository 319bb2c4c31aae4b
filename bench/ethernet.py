"""A board on Ethernet: tasks per second over a simulated gigabit wire, beside what the wire allows.

The RTL with its MAC runs in Verilator, its clock beside the wire's; the host's end of the link runs in simulated time
and takes none itself. Every answer is compared with the bit-true model. The bound counts all bytes of the wire's time
in full datagrams: preambles, headers, check sums and gaps, in whichever direction takes longer.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from figures import Targets, arguments, parse, section

from rbdgen import Design, Options, compile_robot, load_robot
from rbdgen.functions.registry import common
from rbdgen.host.driver import Driver
from rbdgen.host.udp import connect
from rbdgen.protocol.links import GIGABIT, Addresses, wire_bytes
from rbdgen.protocol.tasks import TaskFormat
from rbdgen_hw.emit import write_station
from rbdgen_sim.comparison import check_mixed
from rbdgen_sim.device import SteppedPort, build_station

CLOCK = 100e6
"""Hz of the board's clock."""
SHARE = 0.9
"""Of the wire's bound that is asked for."""
HEAD = (
    "functions",
    "II",
    "bytes there",
    "bytes back",
    "wire's bound, tasks/s",
    "reached, tasks/s",
    "share",
    "asked",
)


@dataclass(frozen=True)
class Case:
    """A measurement: so many ``tasks`` of ``functions`` at an initiation interval; the wire's bound must be at least
    ``bound`` tasks a second."""

    functions: tuple[str, ...]
    interval: int
    tasks: int
    bound: float = 0.0

    @property
    def title(self) -> str:
        """Name in the table."""
        return self.functions[0] if len(self.functions) == 1 else "all seven, mixed"


CASES = {
    "id": Case(("id",), 16, 5000, 1.5e6),
    "dfd": Case(("dfd",), 32, 2500, 0.4e6),
    "mixed": Case(tuple(common()), 32, 2500),
}


def bytes_each_way(tasks: TaskFormat, functions: tuple[str, ...]) -> tuple[float, float]:
    """Bytes of the wire's time for a task and for a result, on average over the functions."""
    there = [wire_bytes(tasks.task_bytes(name)) for name in functions]
    back = [wire_bytes(tasks.result_bytes(name)) for name in functions]
    return sum(there) / len(there), sum(back) / len(back)


def simulated(design: Design, count: int, work: Path) -> float:
    """Seconds of the wire in which ``count`` tasks of any of the design's functions are answered."""
    written, station = write_station(design, CLOCK, Addresses(), work)
    known = written.manifest
    board = build_station(known, station, written.sources, written.top, work)
    port = SteppedPort(board, CLOCK)
    try:
        device = Driver(known, connect(port, known))
        # the board learns the host's MAC address
        check_mixed(design, device, len(design.network.functions), 1)
        begun = port.now()
        check_mixed(design, device, count, 2)
        return port.now() - begun
    finally:
        port.close()


def measured(case: Case, robot: str, count: int, targets: Targets) -> tuple[object, ...]:
    """A row of the table."""
    options = Options(functions=case.functions, ii=case.interval, word=18, device="ecp5")
    design = compile_robot(load_robot(robot), options)
    there, back = bytes_each_way(design.tasks, case.functions)
    bound = GIGABIT / max(there, back)
    with tempfile.TemporaryDirectory(prefix="rbdgen-ethernet-") as folder:
        reached = count / simulated(design, count, Path(folder))
    verdict = targets.at_least(reached / bound, SHARE)
    if case.bound:
        verdict += f", bound {targets.at_least(bound, case.bound)}"
    return (
        case.title,
        case.interval,
        f"{there:.1f}",
        f"{back:.1f}",
        round(bound),
        round(reached),
        f"{reached / bound:.1%}",
        verdict,
    )


def main() -> int:
    """Print the table."""
    parser = arguments(__doc__)
    parser.add_argument("--robot", default="iiwa14", help="(iiwa14)")
    parser.add_argument("--cases", default=",".join(CASES), help="id, dfd, mixed (all)")
    parser.add_argument("--tasks", type=int, help="how many, instead of thousands")
    args = parse(parser)
    targets = Targets()
    rows = []
    for name in args.cases.split(","):
        case = CASES[name]
        rows.append(measured(case, args.robot, args.tasks or case.tasks, targets))
        print(*rows[-1], file=sys.stderr, flush=True)
    section(f"{args.robot} over a gigabit wire, 18-bit words, at 100 MHz", HEAD, rows)
    return targets.finish()


if __name__ == "__main__":
    sys.exit(main())
