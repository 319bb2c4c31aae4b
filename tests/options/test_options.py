"""Options: each one's values, what does not go together, and that all ways of giving them say the same."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbdgen import ConfigError, Options
from rbdgen.cli.arguments import OPTION_ARGUMENTS
from rbdgen.cli.main import main
from rbdgen.cli.parser import make_parser
from rbdgen.machines.pipeline.budget import DEMANDS
from rbdgen.report.files import read_config
from rbdgen.setting import GROUPS, settings

WRONG: list[tuple[dict[str, Any], list[str], str]] = [
    ({"functions": ("foo",)}, ["--functions", "foo"], "function 'foo': unknown"),
    ({"functions": ()}, ["--functions", ","], "functions: none given; choose from id"),
    ({"ii": 0}, ["--ii", "0"], "ii: must be 1 to 4096 cycles, not 0"),
    ({"ii": 10**7}, ["--ii", "10000000"], "ii: must be 1 to 4096 cycles, not 10000000$"),
    ({"replicas": 0}, ["--replicas", "0"], "^replicas: must be 1 to 64, not 0$"),
    ({"replicas": 65}, ["--replicas", "65"], "^replicas: must be 1 to 64, not 65$"),
    ({"word": 7}, ["--word", "7"], "word: must be 8 to 35 bits, not 7"),
    ({"device": "ecp6"}, ["--device", "ecp6"], "device: must be one of .*; did you mean 'ecp5'?"),
    ({"derivative": "x"}, ["--derivative", "x"], "derivative: must be one of composite, columns"),
    ({"mass_matrix": "x"}, ["--mass-matrix", "x"], "mass_matrix: must be one of ldl, mminvgen"),
    (
        {"functions": ("roll",), "integrator": "foo"},
        ["--functions", "roll", "--integrator", "foo"],
        "integrator: must be one of euler, rk4, not 'foo'",
    ),
    (
        {"functions": ("roll",), "time_step": 0.0},
        ["--functions", "roll", "--time-step", "0"],
        "time_step: must be between 0 and 1 seconds, not 0",
    ),
    (
        {"goal": "speed"},
        ["--for", "speed"],
        r"^goal \(--for\): must be one of throughput, area, latency, host, not 'speed'",
    ),
    ({"formats": "x"}, ["--formats", "x"], "formats: must be one of signal, uniform, not 'x'"),
    ({"rounding": "x"}, ["--rounding", "x"], "rounding: must be one of auto, nearest, truncate"),
    ({"overflow": "x"}, ["--overflow", "x"], "overflow: must be one of flag, saturate, not 'x'"),
    ({"constants": "x"}, ["--constants", "x"], "constants: must be one of auto, logic, multip"),
    ({"programs": "x"}, ["--programs", "x"], "programs: must be one of auto, two, one, not 'x'"),
    ({"spread": "x"}, ["--spread", "x"], "spread: must be one of auto, fewest, twice, not 'x'"),
    ({"clock": -1.0}, ["--clock", "-1"], "clock: must be 1 to 1000 MHz, not -1"),
    (
        {"error": {"all": 2.0}},
        ["--error", "2"],
        "error.all: must be 1e-12 or more and below 1, not 2",
    ),
    (
        {"word": 18, "error": {"all": 1e-3}},
        ["--word", "18", "--error", "1e-3"],
        "word and error: give one of them",
    ),
    (
        {"error": {"did": 1e-3}},
        ["--error", "did=1e-3"],
        "error: 'did' is no function or output of this design; the nearest is 'id'; choose from all, id, tau, id.tau",
    ),
    (
        {"formats": "uniform", "word": 18},
        ["--formats", "uniform", "--word", "18"],
        "formats and word: formats uniform is a search for an error target; give error instead of word",
    ),
    (
        {"with_inverse": True},
        ["--with-inverse"],
        "with_inverse and functions: with_inverse needs dfd among the functions, which are id; add it, or "
        "leave with_inverse out",
    ),
    (
        {"functions": ("m",), "forces": True},
        ["--functions", "m", "--forces"],
        "forces and functions: forces acts on none of m; add a function such as id, or leave forces out",
    ),
    (
        {"functions": ("m", "minv"), "moving_base": True},
        ["--functions", "m,minv", "--moving-base"],
        "moving_base and functions: moving_base acts on none of m, minv; add a function such as id",
    ),
    (
        {"integrator": "rk4"},
        ["--integrator", "rk4"],
        "integrator and functions: integrator is for roll or step, and functions are id; add one, or leave",
    ),
    (
        {"time_step": 0.01},
        ["--time-step", "0.01"],
        "time_step and functions: time_step is for roll or step, and functions are id",
    ),
    (
        {"calibratable": True, "derivative": "columns"},
        ["--calibratable", "--derivative", "columns"],
        "calibratable and derivative: calibratable needs derivative composite, not columns",
    ),
    (
        {"calibratable": True, "mass_matrix": "mminvgen"},
        ["--calibratable", "--mass-matrix", "mminvgen"],
        "calibratable and mass_matrix: calibratable needs mass_matrix ldl, not mminvgen",
    ),
    (
        {"moving_base": True, "derivative": "columns"},
        ["--moving-base", "--derivative", "columns"],
        "moving_base and derivative: moving_base needs derivative composite, not columns",
    ),
]


@pytest.mark.parametrize(("given", "arguments", "message"), WRONG)
def test_what_is_wrong_is_said_alike_from_python_and_the_command_line(
    given: dict[str, Any],
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        Options(**given)
    assert "\n" not in str(raised.value)
    assert main(["layout", "pendulum2", *arguments]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said == [f"rbdgen: error: {raised.value}"]


@pytest.mark.parametrize("name", settings(Options))
def test_a_value_of_another_type_is_an_error(name: str) -> None:
    flag = settings(Options)[name].flag
    said = f"{name} (--{flag})" if flag else name
    with pytest.raises(ConfigError, match=f"^{re.escape(said)}: must be .*, not "):
        Options(**{name: object()})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ii": True}, "ii: must be a whole number, not True"),
        ({"ii": 2.0}, "ii: must be a whole number, not 2.0"),
        ({"word": "18"}, "word: must be a whole number, not '18'"),
        ({"fold": 1}, "fold: must be true or false, not 1"),
        ({"functions": "id"}, "functions: must be a list of names, not 'id'"),
        ({"clock": float("nan")}, "clock: must be a number, not nan"),
        (
            {"error": {"id": "x"}},
            "error.id: must be a number, or one behind entry:, largest:, abs:, not 'x'",
        ),
        ({"limits": {"j": 1}}, "limits.j: must be a table of limits, not 1"),
    ],
)
def test_types_are_strict(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Options(**given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ii", "3", "--rate", "5"], "ii and rate: give one of them"),
        (["--multipliers", "3", "--rate", "5"], "multipliers and rate: give one of them"),
        (["--multipliers", "0"], "multipliers: must be at least 1, not 0"),
        (["--rate", "-1"], "rate: must be above 0, not -1"),
        (["--ii", "x"], "ii: must be a whole number, not 'x'"),
        (["--clock", "fast"], "clock: must be a number, not 'fast'"),
        (
            ["--error", "id=x"],
            "error.id: must be a number, or one behind entry:, largest:, abs:, not 'x'",
        ),
        (["--board", "nothing"], "board 'nothing'"),
        (["--base", "flying"], "error: base: must be one of fixed, floating, planar, not 'flying'"),
        (["--error", ""], "error: must be a number, or NAME=NUMBER,..., not ''"),
        (["--evidence", "-1"], "evidence: must be at least 0, not -1"),
        (
            ["--board", "ulx3s_85f", "--device", "xcup"],
            "device and board: ulx3s_85f has ecp5, not 'xcup'; leave device out",
        ),
    ],
)
def test_wrong_arguments(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["layout", "pendulum2", *arguments]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert message in said[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("overflw = 'flag'", "unknown key 'overflw'; did you mean 'overflow'?; known keys: "),
        ("ii = 'two'", "ii: must be a whole number, not 'two'"),
        ("ii = true", "ii: must be a whole number, not True"),
        ("fold = 1", "fold: must be true or false, not 1"),
        ("functions = 'id'", "functions: must be a list of names, not 'id'"),
        ("base = 'flying'", "base: must be one of fixed, floating, planar, not 'flying'"),
        ("functions = ['nope']", "function 'nope': unknown"),
        ("joints = 3", "joints: must be limits by joint, not 3"),
        ("error = 'x'", "error: must be a number, or one behind entry:, largest:, abs:, not 'x'"),
        ("goal = 'x'", "goal (--for): must be one of throughput, area, latency, host, not 'x'"),
        ("ii = 0", "config.toml: ii: must be 1 to 4096 cycles, not 0"),
        (
            "spread = 'thrice'",
            "config.toml: spread: must be one of auto, fewest, twice, not 'thrice'",
        ),
        ("multipliers = 0", "config.toml: multipliers: must be at least 1, not 0"),
        ("rate = 'fast'", "config.toml: rate: must be a number, not 'fast'"),
        ("seed = -1", "config.toml: seed: must be at least 0, not -1"),
        ("robot = 3", "config.toml: robot: must be a word, not 3"),
        ("[error]\nid = 2.0", "config.toml: error.id: must be 1e-12 or more and below 1, not 2"),
        (
            "[error]\n'a\\nb' = 2.0",
            r"config.toml: error.a\nb: must be 1e-12 or more and below 1, not 2",
        ),
        ("[joints]\njoint2 = 3", "config.toml: joints.joint2: must be a table of limits, not 3"),
        ("[joints.joint2]\nvelocity = 'x'", "joints.joint2.velocity: must be a finite number, not"),
        ("[joints.joint2]\nvelocity = []", "joints.joint2.velocity: must be a finite number, not"),
        ("[joints.joint2]\nspeed = 1", "joints.joint2.speed: no such limit; limits are lower"),
        (f"ii = {10**400}", "ii: must be 1 to 4096 cycles, not a number of 401 digits"),
        (f"clock = {10**400}", "clock: must be a number, not a number of 401 digits"),
        (f"seed = {'9' * 9000}", "config.toml: must be a TOML file: Exceeds the limit (4300"),
        (f"ii = 0x{'f' * 9000}", "ii: must be 1 to 4096 cycles, not a number of 10838 digits"),
        (f"ii = '{'x' * 9000}'", "ii: must be a whole number, not 'xxx"),
        (f"ii = {'[' * 5000}{']' * 5000}", "config.toml: must be nested at most 40 deep; mend it"),
        (f"{'a.' * 5000}b = 1", "config.toml: must be nested at most 40 deep; mend it"),
        (f"ii = {'{a=' * 5000}1{'}' * 5000}", "config.toml: must be nested at most 40 deep; mend"),
        (f"{'k' * 9000} = 1", "config.toml: unknown key 'kkk"),
        ("clock = nan", "clock: must be a number, not nan"),
        ("ii = 1979-05-27", "ii: must be a whole number, not datetime.date(1979, 5, 27)"),
        ("ii = 2\nrate = 5.0", "rate and ii: give one of them; each says how often a task comes"),
        ("error = 0.1\nword = 18", "word and error: give one of them"),
        (
            "board = 'ulx3s_85f'\ndevice = 'xcup'",
            "device and board: ulx3s_85f has ecp5, not 'xcup'; leave device out",
        ),
    ],
)
def test_a_configuration_file_is_checked(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"{text}\n")
    assert main(["layout", "pendulum2", "--config", str(path)]) == 2
    lines = capsys.readouterr().err.splitlines()
    said = [line for line in lines if line != "rbdgen: read robot"]
    assert len(said) == 1
    assert message in said[0]
    assert len(said[0]) < len(str(path)) + 1200  # all known keys are listed


def test_a_board_that_is_given_replaces_a_files_board_and_device(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("board = 'ulx3s_85f'\ndevice = 'ecp5'\n")
    arguments = ["--config", str(path), "--board", "tang_mega_138k_pro", "-o", str(tmp_path)]
    assert main(["generate", "pendulum2", *arguments]) == 0
    assert read_config(path)[2]["device"] == "gw5a"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "--tasks", "1"], "tasks: must be at least 2 to measure an interval, not 1"),
        (["simulate", "--seed", "-1"], "seed: must be at least 0, not -1"),
        (["build", "--board", "ulx3s_85f", "--seed", "-1"], "seed: must be at least 0, not -1"),
        (["explore", "--tasks", "0"], "tasks: must be at least 1, not 0"),
        (["explore", "--jobs", "0"], "jobs: must be at least 1, not 0"),
        (["explore", "--seed", "-1"], "seed: must be at least 0, not -1"),
        (["compare", "--seed", "-1"], "seed: must be at least 0, not -1"),
    ],
)
def test_wrong_numbers_are_seen_before_anything_is_computed(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *rest = arguments
    assert main([command, "pendulum2", *rest]) == 2
    assert capsys.readouterr().err.splitlines() == [f"rbdgen: error: {message}"]


def test_functions_are_in_the_order_of_their_codes() -> None:
    assert Options(functions=("dfd", "id", "dfd")).functions == ("id", "dfd")
    assert Options(functions=("nle", "all")).functions == (
        *("id", "fd", "m", "minv", "did", "dfd", "difd"),
        "nle",
    )


def test_an_error_alone_is_for_all() -> None:
    assert Options(error=1e-3).error == {"all": 1e-3}  # type: ignore[arg-type]


def commands() -> dict[str, argparse.ArgumentParser]:
    """The commands' parsers, with all help."""
    parser = make_parser(everything=True)
    actions = parser._subparsers._group_actions  # type: ignore[union-attr]
    return actions[0].choices  # type: ignore[return-value]


def flags(parser: argparse.ArgumentParser) -> set[str]:
    return {f for action in parser._actions for f in action.option_strings}


def test_layout_and_build_take_the_same_options() -> None:
    known = commands()
    assert flags(known["layout"]) - flags(known["build"]) <= {
        *("--svg", "--chart", "--trace", "--evidence", "--families")
    }
    for name in ("layout", "generate", "simulate", "build", "synth"):
        for option, described in {**settings(Options), **DEMANDS}.items():
            if described.on_command_line:
                assert f"--{(described.flag or option).replace('_', '-')}" in flags(known[name])


@pytest.mark.parametrize("command", ["layout", "generate", "simulate"])
def test_help_shows_what_most_people_need(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    short = capsys.readouterr().out
    shown = re.findall(r"^  (?:-\w, |-\w \w+, )?--[\w-]+", short, re.M)
    assert 8 <= len(shown) <= 15, shown
    assert "--help-all" in short
    with pytest.raises(SystemExit):
        main([command, "--help-all"])
    whole = capsys.readouterr().out
    for title in GROUPS.values():
        assert title in whole
    for option in OPTION_ARGUMENTS:
        flag = settings(Options)[option].flag or option.replace("_", "-")
        assert re.search(rf"--{flag}\b", whole)


@pytest.mark.slow
def test_written_options_are_read_again(tmp_path: Path) -> None:
    arguments = ["--functions", "dfd,roll", "--with-inverse", "--integrator", "rk4", "--ii", "8"]
    first = tmp_path / "first"
    assert main(["generate", "pendulum2", *arguments, "-o", str(first)]) == 0
    _, _, values = read_config(first / "config.toml")
    options = Options(**values)
    assert options.functions == ("dfd", "roll")
    assert (options.with_inverse, options.integrator, options.ii) == (True, "rk4", 8)
    assert "auto" not in (options.programs, options.constants, options.spread)
    second = tmp_path / "second"
    assert main(["generate", "--config", str(first / "config.toml"), "-o", str(second)]) == 0
    (name,) = (path.name for path in first.glob("*.v"))
    assert (first / name).read_bytes() == (second / name).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (["--board", "ulx3s_85f"], "board"),
        (["--multipliers", "9"], "multipliers"),
        (["--rate", "2e7"], "rate"),
        (["--board", "ulx3s_85f", "--rate", "2e7"], "rate"),
    ],
)
def test_what_was_fitted_to_a_demand_is_made_again(
    arguments: list[str], key: str, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert main(["generate", "pendulum2", *arguments, "-o", str(first)]) == 0
    assert f"\n{key} = " in (first / "config.toml").read_text()
    assert main(["generate", "--config", str(first / "config.toml"), "-o", str(second)]) == 0
    (name,) = (path.name for path in first.glob("*.v"))
    assert (first / name).read_bytes() == (second / name).read_bytes()
    assert (first / "config.toml").read_bytes() == (second / "config.toml").read_bytes()


def test_numbers_may_be_numpys() -> None:
    """Options are Python's numbers afterwards, which JSON and keys of caches take."""
    given = Options(
        functions=("id",),
        forces=np.bool_(True),
        ii=np.int64(4),
        error={"tau": np.float32(2.0**-10)},
        force_limit=np.array(10.0),
        clock=np.float32(50.0),
    )
    usual = Options(
        functions=("id",), forces=True, ii=4, error={"tau": 2.0**-10}, force_limit=10.0, clock=50.0
    )
    assert repr(given) == repr(usual)
    with pytest.raises(ConfigError, match=r"^ii: must be a whole number, not"):
        Options(functions=("id",), ii=np.float64(4.0))
