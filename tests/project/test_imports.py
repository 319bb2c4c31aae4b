"""Nothing is loaded before it is needed: what ``import rbdgen`` and the start of the command line bring in."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import rbdgen

ROOT = Path(__file__).parents[2]
HEAVY = {"networkx", "scipy", "rich", "matplotlib", "amaranth", "mujoco"}
"""Packages that take long to load."""


def loaded(code: str) -> set[str]:
    """Modules that are there after ``code`` in a new process, but for those of Python itself."""
    shown = f"{code}\nimport sys\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", shown], cwd=ROOT, capture_output=True, text=True, check=True
    )
    modules = done.stderr.splitlines()[-1].split()
    return {m for m in modules if m.partition(".")[0] not in sys.stdlib_module_names}


def test_importing_rbdgen_loads_its_errors_only() -> None:
    there = loaded("pass")
    assert loaded("import rbdgen") - there == {"rbdgen", "rbdgen.errors"}


@pytest.mark.parametrize("code", ["rbdgen.load_robot('iiwa14')", "rbdgen.golden.rnea"])
def test_a_robot_and_its_golden_model_need_neither_graphs_nor_sparse_matrices(code: str) -> None:
    assert not loaded(f"import rbdgen\n{code}") & HEAVY


def test_a_driver_loads_no_compiler() -> None:
    modules = loaded("import rbdgen.host.driver, rbdgen.host.pynq")
    folders = {".".join(m.split(".")[:2]) for m in modules if m.startswith("rbdgen.")}
    assert folders == {
        f"rbdgen.{name}"
        for name in (
            *("errors", "host", "installation", "ir", "operands", "payloads", "protocol", "schema"),
        )
    }
    others = {m.partition(".")[0] for m in modules} - {"rbdgen"}
    assert others - {m.partition(".")[0] for m in loaded("import numpy, fastjsonschema")} == set()


@pytest.mark.parametrize("arguments", [["--help"], ["layout", "--help"], ["--version"]])
def test_help_loads_no_command(arguments: list[str]) -> None:
    start = "import contextlib\nfrom rbdgen.cli.main import main\n"
    code = f"{start}with contextlib.suppress(SystemExit):\n    main({arguments})"
    modules = loaded(code)
    assert not modules & (HEAVY | {"rbdgen.cli.commands", "rbdgen.compiler"})


@pytest.mark.parametrize("name", rbdgen.__all__)
def test_every_public_name_is_found(name: str) -> None:
    assert getattr(rbdgen, name) is getattr(rbdgen, name)
    assert name in dir(rbdgen)
    module = rbdgen._MODULES.get(name)
    if module is not None:
        assert getattr(rbdgen, name) is getattr(import_module(module), name)


def test_names_are_found_in_the_usual_ways() -> None:
    assert not loaded("from rbdgen import golden\nassert golden.rnea") & HEAVY
    loaded("from rbdgen import *\nassert compile_robot and golden and __version__")
    loaded("import rbdgen\nassert rbdgen.compile.__name__ == 'compile_functions'")
    with pytest.raises(AttributeError, match=r"^module 'rbdgen' has no attribute 'nothing'$"):
        rbdgen.nothing  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError, match=r"^cannot import name 'nothing' from 'rbdgen'"):
        exec("from rbdgen import nothing")
