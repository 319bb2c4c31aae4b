"""Makes the package of bitstreams that goes with a release: an engine for each board that open tools make, netlists
verified where they can be simulated.

    python boards/bitstreams.py [-o build/bitstreams] [--board B ...] [--tasks 1000]

Boards that fail are named, and left out. Hours for all; what was made before comes from the cache. Then
`python -m build build/bitstreams` makes the wheel.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rbdgen.cli.console import reporter
from rbdgen.errors import RbdgenError
from rbdgen.flashing import flash
from rbdgen.options.options import VERIFIED_TASKS
from rbdgen.report.columns import table
from rbdgen.report.files import write_files
from rbdgen_boards.board import Board, get_board
from rbdgen_boards.engines import engine_boards
from rbdgen_boards.flows import get_flow, obstacle
from rbdgen_boards.released import Released, package_files


def main() -> int:
    """Make what is asked for; the number of boards that failed, if any."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("build/bitstreams"))
    parser.add_argument("--board", action="append", metavar="B", help="one of several (all)")
    parser.add_argument("--tasks", type=int, default=VERIFIED_TASKS, metavar="N")
    args = parser.parse_args()
    boards = [get_board(name) for name in args.board or engine_boards()]
    made: dict[str, tuple[Board, Released]] = {}
    rows = []
    # a vendor's flow keeps nothing: its tools are each user's own
    for board in (board for board in boards if get_flow(board).kept):
        verify = obstacle(board) is None
        folder = args.output / "work" / board.name
        try:
            with reporter() as progress:
                report = flash(
                    board.source, folder, 1, False, progress, verify=verify, tasks=args.tasks
                )
        except RbdgenError as error:
            rows.append([board.name, "failed", "", "", str(error)])
            continue
        file = Path(report["bitstream"])
        made[board.name] = (
            board,
            Released(file.name, file.read_bytes(), report | {"bitstream": file.name}),
        )
        clock, tables = report["running_clock_mhz"], report["resources"]["luts"]["used"]
        netlists = f"{args.tasks} tasks of each robot, 0 differ" if verify else "not simulated"
        rows.append([board.name, "made", f"{clock:g}", tables, netlists])
    write_files(package_files(made), args.output)
    print(table(["board", "", "MHz", "look-up tables", "netlists"], rows))
    return len(rows) - len(made)


if __name__ == "__main__":
    sys.exit(main())
