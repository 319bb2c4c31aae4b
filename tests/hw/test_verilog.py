"""The Verilog text: the same bytes every time, no operator's report lost, and what synthesis is told."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from rbdgen import Design
from rbdgen.machines.pipeline.queues import lane_memory
from rbdgen_hw.emit import design_verilog
from rbdgen_hw.pipeline.unit_values import overflow_reports
from tests.conftest import design


@pytest.fixture(scope="module")
def made() -> Design:
    return design("iiwa14", functions=("m",), ii=8, device="ecp5")


@pytest.mark.slow
def test_the_same_design_gives_the_same_bytes(made: Design) -> None:
    # in one process: nothing may depend on where objects stand in memory
    texts = [design_verilog(made) for _ in range(2)]
    assert texts[0] == texts[1]


ENGINE = {"machine": "engine", "word": 32}


@pytest.mark.parametrize(
    "options",
    [{"ii": 4}, {"ii": 4, "replicas": 2}, ENGINE, ENGINE | {"cores": 2}],
)
@pytest.mark.slow
def test_no_process_waits_for_a_constant(options: dict[str, object]) -> None:
    """Verilog runs ``always @*`` when something that it reads changes: one that reads nothing leaves what it should
    drive undefined."""
    made = design("pendulum2", functions=("id", "dfd"), calibratable=True, **options)
    text = re.sub(r"\\\S+ |\d+'\w*", "  ", design_verilog(made))
    processes = re.findall(r"^  always @\*(?: begin)?\n((?:    .*\n)+)", text, re.MULTILINE)
    assert processes
    for process in processes:
        read = [
            found for found in re.findall(r"[^<]= ?([^;]*);", process) if re.search(r"[a-z]", found)
        ]
        assert read or "if (" in process or "case" in process, process


def test_every_overflow_is_looked_at(made: Design) -> None:
    """Whatever an operator reports is read somewhere in its unit."""
    seen = 0
    for module in design_verilog(made).split("\nendmodule"):
        reported = re.findall(r"\.overflow\(((?:\\\S+ )|\w+)\)", module)
        names = Counter(re.findall(r"\\\S+ |\b\w+\b", re.sub(r"\.\w+\(", "(", module)))
        # once where it is declared, once at the operator, once where it is read
        assert [name for name in reported if names[name] < 3] == []
        seen += len(reported)
    assert seen > 80


@pytest.mark.parametrize(("device", "always"), [("gw5a", True), ("ecp5", False)])
def test_flags_are_collected_from_registers_on_large_devices(device: str, always: bool) -> None:
    plan = design("iiwa14", functions=("m",), ii=8, device=device, overflow="flag").plan
    waits = {
        report - cycle
        for u in plan.units
        for (cycle, _), report in overflow_reports(plan, u).items()
    }
    assert max(waits) == 2
    assert (waits == {2}) == always


def test_wide_lanes_and_tables_are_block_memories(made: Design) -> None:
    text = design_verilog(made)
    blocks = re.findall(
        r'\(\* no_rw_check .*\n +\(\* ram_style = "block" \*\)\n +reg \[(\d+):0\] storage', text
    )
    assert [int(high) + 1 for high in blocks] == [lane_memory(made.plan, made.tasks, "m")[0]]
    tables = re.findall(r'\n +\(\* ram_style = "block" \*\)\n +reg \[\d+:0\] \\table ', text)
    # all tables of sines are one module
    assert len(tables) == 1
    instances = re.findall(r"^  \w+_sine_table_\w+ ", text, re.M)
    assert len(instances) == sum(made.plan.schedule.tables.values()) > 0
    assert text.count("(*") == 2 + len(tables)
