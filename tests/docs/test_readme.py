"""The README: its tables of figures are what is measured, its command prints what it says, every function is named."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import pytest

from rbdgen.functions import registry
from tests.cli.test_cli import run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST = README[: README.index("## Start")]
SECTION = README[README.index("## What it reaches") : README.index("## How it works")]


@pytest.mark.thorough
@pytest.mark.slow
def test_the_table_is_what_its_command_finds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """By the schedule's promises, which are the cycles that simulations measure."""
    found = re.search(r"^rbdgen (compare .*) --measure$", SECTION, re.M)
    assert found
    status, out, err = run(capsys, *shlex.split(found[1]), "-o", tmp_path, "--json")
    assert status == 0, err
    content = json.loads(out)
    ours = [row for row in content["rows"] if row["known"].startswith("modelled: the schedule")]
    rows = []
    for row in ours:
        interval = f"{row['interval_cycles']} cycles, {row['task_us']:.3g} µs"
        latency = f"{row['latency_cycles']} | {row['latency_us']:.3g}"
        rows.append(
            f"| `{row['function']}` | {latency} | {interval} | {row['variable_multipliers']} |"
        )
    assert re.findall(r"^\| `.*$", SECTION, re.M) == rows
    assert f"{content['designs'][0]['modelled_resources']['luts']:,} look-up tables" in SECTION


def rows_of(bench: str, title: str) -> list[dict[str, Any]]:
    """Rows of a table that was measured."""
    content = json.loads((ROOT / f"docs/measurements/{bench}.json").read_text(encoding="utf-8"))
    (table,) = (t for t in content["tables"] if t["title"].startswith(title))
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_first_pages_name_every_function(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [name for name in registry.known() if f"`{name}`" not in text] == []


def test_the_first_command_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(
        r"^rbdgen (layout .*?) \| grep -A (\d+) '\^asked'$\n```\n\n```text\n(.*?)```",
        FIRST,
        re.M | re.S,
    )
    assert found
    status, out, err = run(capsys, *shlex.split(found[1]))
    assert status == 0, err
    lines = out.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("asked"))
    assert lines[first : first + int(found[2]) + 1] == found[3].splitlines()


def test_figures_beside_processors_are_those_that_were_measured() -> None:
    counted = rows_of("microcontroller", "Instructions of one call")
    for core, arithmetic in (("Cortex-M4F", "float"), ("Cortex-M0+", "fixed point")):
        line = next(line for line in FIRST.splitlines() if line.startswith(f"| a {core}"))
        for function in ("id", "fd"):
            (row,) = (
                row
                for row in counted
                if (row["robot"], row["function"], row["core"]) == ("iiwa14", function, core)
                and str(row["arithmetic"]).startswith(arithmetic)
            )
            assert f"{row['instructions']:,}" in line
    hardware = rows_of("microcontroller", "Cycles of hardware")
    arm = [row for row in hardware if row["robot"] == "iiwa14"]
    for row in arm:
        assert f"{row['us at 125 MHz']:.3g}" in FIRST
        assert f"{row['look-up tables']:,} look-up tables" in FIRST
    calls = rows_of("software", "One call, nanoseconds, double, one thread")
    for row in calls:
        if row["robot"] == "iiwa14" and row["function"] in ("id", "fd"):
            assert f"{row['this C'] / 1000:.3f} µs" in FIRST
            others = row["Pinocchio's C++"] / 1000
            assert f"{others:.3f} µs" in FIRST
    (alone,) = (row for row in calls if (row["robot"], row["function"]) == ("iiwa14", "dfd"))
    assert f"beside {alone['this C'] / 1000:.2f})" in FIRST
    latencies = rows_of("logic", "Latencies by the generic model")
    (cycles,) = (
        row["latency, cycles"] for row in latencies if (row["II"], row["function"]) == (1, "dfd")
    )
    assert f"{cycles} cycles, {cycles / 125:.2f} µs" in FIRST


def test_the_first_picture_is_what_the_project_draws() -> None:
    """``python bench/first_picture.py`` draws it again."""
    script = runpy.run_path(str(ROOT / "bench/first_picture.py"))
    drawn = script["picture"](script["design"]())
    assert script["PICTURE"].read_text(encoding="utf-8") == drawn
