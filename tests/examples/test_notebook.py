"""The tutorial as a notebook: it runs from the first cell to the last, and shows what it says that it shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples/tutorial_notebook.py"


@pytest.fixture(scope="module")
def cells() -> list[Any]:
    """The notebook's cells, run by a kernel of this Python."""
    jupytext = pytest.importorskip("jupytext")
    nbclient = pytest.importorskip("nbclient")
    kernelspec = pytest.importorskip("ipykernel.kernelspec")
    manager = pytest.importorskip("jupyter_client.manager").KernelManager()
    notebook = jupytext.read(NOTEBOOK)
    # the kernel of this environment, wherever kernels are installed
    manager.kernel_spec.argv = kernelspec.make_ipkernel_cmd()
    resources = {"metadata": {"path": str(ROOT)}}
    nbclient.NotebookClient(notebook, km=manager, timeout=300, resources=resources).execute()
    return notebook.cells


def printed(cells: list[Any]) -> str:
    """What the cells print."""
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    assert all(output.get("name") != "stderr" for output in outputs), outputs
    return "".join(output.get("text", "") for output in outputs)


def pictures(cells: list[Any]) -> list[str]:
    """The kinds of the pictures that the cells show, in their order."""
    kinds = []
    for cell in cells:
        for output in cell.get("outputs", ()):
            kinds += [kind for kind in output.get("data", {}) if kind.startswith("image/")]
    return kinds


@pytest.mark.thorough
def test_the_notebook_runs_from_end_to_end(cells: list[Any]) -> None:
    said = printed(cells)
    difference = re.search(r"largest difference: (\S+) N", said)
    assert difference
    assert float(difference[1]) < 1e-7
    divided = re.search(r"divides the error by (\S+); formats for an error of 1e-3: (\S+)", said)
    assert divided
    assert 1.8 < float(divided[1]) < 2.2
    assert float(divided[2]) < 1e-3
    rows = re.findall(r"^(\w+) +(\d+) +(\d+) +(\d+) +([\d.]+)$", said, re.M)
    assert [row[0] for row in rows] == ["id", "fd"]
    assert all(row[1] == "0" and row[2] == row[3] for row in rows)
    assert "RoboShape, ideal controller: 34 cycles" in said
    kinds = pictures(cells)
    assert kinds == ["image/png", "image/svg+xml", "image/svg+xml", "image/png", "image/png"]


def test_the_notebook_is_text() -> None:
    """Code and markdown in turn, and nothing that was computed."""
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert len(re.findall(r"^# %%$", text, re.M)) >= 7
    assert text.count("# %% [markdown]") == 7
    assert len(text) < 10_000
