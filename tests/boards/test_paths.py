"""The slowest path of a routed design, against delays that are added by hand."""

from __future__ import annotations

import pytest

from rbdgen.errors import ToolError
from rbdgen_boards.gowin.paths import Supplement, paths_through, read_delays, slowest_path

KNOWN = Supplement({"LUT4": {"I0": 0.5, "I3": 0.3}}, {"MULTALU": (2.0, 0.25)})


def register(name: str) -> str:
    return (
        f'(CELLTYPE "DFF")\n(INSTANCE {name})\n(IOPATH CLK Q (201:216:231) (201:216:230))\n'
        "(SETUPHOLD (posedge D) (posedge CLK) (35:35:35) (10:10:10))\n"
    )


def wires(*ends: tuple[str, str, int]) -> str:
    return "".join(
        f"(INTERCONNECT {a} {b} ({ps}:{ps}:{ps}) ({ps}:{ps}:{ps}))\n" for a, b, ps in ends
    )


def path(
    text: str, derating: float = 1.0, known: Supplement = KNOWN
) -> tuple[float, tuple[str, ...]]:
    return slowest_path(read_delays(text.splitlines(), known, derating))


def test_from_register_through_a_table_to_a_register() -> None:
    table = '(CELLTYPE "LUT4")\n(INSTANCE t)\n(IOPATH I1 F (1:2:700) (1:2:600))\n'
    period, lines = path(
        wires(("a/Q", "t/I1", 1000), ("t/F", "b/D", 100)) + register("a") + register("b") + table
    )
    assert period == pytest.approx(0.231 + 1.0 + 0.7 + 0.1 + 0.035)
    assert lines == (
        "  0.23 ns  clk-to-q a.Q",
        "  1.23 ns  routing  a.Q -> t.I1",
        "  1.93 ns  logic    t.I1 -> t.F",
        "  2.03 ns  routing  t.F -> b.D",
        "  2.07 ns  setup    b.D",
    )


def test_cells_without_delays_have_those_that_are_given() -> None:
    cells = '(CELLTYPE "MULTALU")\n(INSTANCE m\\$1)\n(CELLTYPE "LUT4")\n(INSTANCE t)\n'
    into = wires(("a/Q", "t/I3", 1000), ("t/F", "m\\$1/A", 2000))
    period, lines = path(into + register("a") + cells)
    assert period == pytest.approx(0.231 + 1.0 + 0.3 + 2.0 + 0.25)
    assert lines[-1] == "  3.78 ns  setup    m$1.A"
    out = wires(("m\\$1/P", "t/I0", 100), ("t/F", "b/D", 0))
    assert path(out + register("b") + cells)[0] == pytest.approx(2.0 + 0.1 + 0.5 + 0.035)
    # of what nobody knows (the clock's own buffer, an input) nothing is timed
    assert (
        path(into + wires(("clk/O", "a/CLK", 9000), ("rx/O", "b/D", 9000)) + register("a") + cells)[
            0
        ]
        == period
    )


def test_a_files_delays_are_derated_and_those_that_are_given_are_not() -> None:
    cells = '(CELLTYPE "MULTALU")\n(INSTANCE m)\n(CELLTYPE "LUT4")\n(INSTANCE t)\n'
    into = wires(("a/Q", "t/I3", 1000), ("t/F", "m/A", 2000))
    period, lines = path(into + register("a") + cells, 1.25)
    assert period == pytest.approx(1.25 * (0.231 + 1.0 + 2.0) + 0.3 + 0.25)
    assert lines[0] == "  0.29 ns  clk-to-q a.Q"
    ends = wires(("a/Q", "b/D", 1000)) + register("a") + register("b")
    assert path(ends, 1.25)[0] == pytest.approx(1.25 * path(ends)[0])


def test_delays_that_are_known_to_be_longer_are() -> None:
    """From the clock, through a cell and before the clock; a derated one that is longer stays."""
    ends = wires(("a/Q", "t/CIN", 1000), ("t/COUT", "b/D", 0)) + register("a") + register("b")
    text = ends + '(CELLTYPE "ALU")\n(INSTANCE t)\n(IOPATH CIN COUT (1:2:35) (1:2:35))\n'
    known = {("CLK", "Q"): 0.382, ("CIN", "COUT"): 0.05, ("D", "CLK"): 0.064, ("CE", "CLK"): 9.0}
    period, _ = path(text, 1.25, Supplement(least=known))
    assert period == pytest.approx(0.382 + 1.25 + 0.05 + 0.064)
    short = dict.fromkeys(known, 0.001)
    assert path(text, 1.25, Supplement(least=short)) == path(text, 1.25, Supplement())


def test_registers_at_the_end_of_paths_through_a_kind_of_cells_are_counted() -> None:
    """Those behind it, and itself where one is before it; not those that something else reaches."""
    ends = [("a/Q", "m/A", 1000), ("m/P", "t/I0", 500), ("c/Q", "t/I3", 9000), ("t/F", "b/D", 0)]
    ends += [("m/P", "b/CE", 100), ("a/Q", "c/D", 7000)]
    cells = '(CELLTYPE "MULTALU")\n(INSTANCE m)\n(CELLTYPE "LUT4")\n(INSTANCE t)\n'
    delays = read_delays(
        (wires(*ends) + cells + "".join(map(register, "abc"))).splitlines(), KNOWN, 1.0
    )
    count, slowest = paths_through(delays, ("MULTALU",))
    assert count == 2
    assert slowest == pytest.approx(2.0 + 0.5 + 0.5 + 0.035)
    assert paths_through(delays, ("BSRAM",)) == (0, 0.0)


def test_the_later_of_two_ways_counts() -> None:
    ends = [("a/Q", "t/I0", 100), ("c/Q", "t/I3", 900), ("t/F", "b/D", 0), ("a/Q", "b/CE", 400)]
    cells = '(CELLTYPE "LUT4")\n(INSTANCE t)\n' + "".join(map(register, "abc"))
    period, lines = path(wires(*ends) + cells)
    assert period == pytest.approx(0.231 + 0.9 + 0.3 + 0.035)
    assert "c.Q -> t.I3" in lines[1]


def test_without_a_path_or_with_a_loop_there_is_an_error() -> None:
    with pytest.raises(ToolError, match=r"^timing: found no path from a register to a register$"):
        path(wires(("rx/O", "b/D", 100)) + register("b"))
    loop = wires(("a/Q", "t/I0", 1), ("t/F", "u/I0", 1), ("u/F", "t/I3", 1), ("u/F", "b/D", 1))
    tables = "".join(f'(CELLTYPE "LUT4")\n(INSTANCE {name})\n' for name in "tu")
    with pytest.raises(ToolError, match=r"^timing: [tu]\.F depends on itself without a register$"):
        path(loop + tables + register("a") + register("b"))
