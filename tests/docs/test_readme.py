"""The README's table of figures: what the command above it finds, on a robot that ships."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.test_cli import run

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
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
