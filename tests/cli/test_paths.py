"""Paths of robots: in configurations, which are moved and read from elsewhere, and of files that are no robots."""

from __future__ import annotations

import builtins
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from rbdgen import ConfigError, Options, UrdfError, compile_robot, load_robot, picture
from rbdgen.model.load import builtin_path
from rbdgen.report.files import occupied, read_config
from tests.cli.test_cli import last_error, run

DESIGN = ("--functions", "id", "--word", "16", "--ii", "4", "--evidence", "0")


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project's folder with a robot, and beside it what was generated of it from there."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(builtin_path("pendulum2"), folder / "my_arm.urdf")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        from rbdgen.cli.main import main

        assert main(["generate", "my_arm.urdf", *DESIGN, "-o", "build/arm"]) == 0
    return folder


def test_a_configuration_is_read_from_anywhere(
    generated: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: Any
) -> None:
    config = generated / "build/arm/config.toml"
    assert tomllib.loads(config.read_text())["robot"] == "../../my_arm.urdf"
    monkeypatch.chdir(tmp_path)
    status, _, err = run(capsys, "layout", "--config", config, "--evidence", "0")
    assert status == 0, err


def test_a_folder_can_be_moved_with_its_robot(
    generated: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    moved = shutil.copytree(generated, tmp_path / "elsewhere")
    config = moved / "build/arm/config.toml"
    robot, _, _ = read_config(config)
    assert robot is not None
    assert Path(robot).samefile(moved / "my_arm.urdf")
    again = moved / "build/again"
    status, _, err = run(capsys, "generate", "--config", config, "-o", again)
    assert status == 0, err
    for name in ("manifest.json", "graph.txt"):
        assert (again / name).read_bytes() == (moved / "build/arm" / name).read_bytes()


def test_the_same_configuration_comes_again(
    generated: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.chdir(generated)
    again = ("generate", "--config", "build/arm/config.toml", "-o", "build/again")
    assert run(capsys, *again)[0] == 0
    before, after = (Path(f"build/{name}/config.toml").read_bytes() for name in ("arm", "again"))
    assert before == after


def test_paths_relative_to_the_working_folder_are_still_read(
    generated: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old.toml"
    old.write_text('robot = "my_arm.urdf"\nii = 4\n')
    assert read_config(old)[0] == "my_arm.urdf"
    absolute = tmp_path / "absolute.toml"
    absolute.write_text(f'robot = "{generated / "my_arm.urdf"}"\n')
    assert read_config(absolute)[0] == str(generated / "my_arm.urdf")
    absolute.write_text('robot = "iiwa14"\n')
    assert read_config(absolute)[0] == "iiwa14"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "a PNG picture"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a JPEG picture"),
        (b"PK\x03\x04\x14", "a ZIP archive"),
        (b"solid arm\n facet normal 0 0 1", "an STL mesh"),
        (b"ISO-10303-21;\nHEADER;", "a STEP model"),
    ],
)
def test_a_file_that_is_no_robot_is_said_to_be_what_it_is(
    content: bytes, what: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "arm.urdf"
    file.write_bytes(content)
    with pytest.raises(UrdfError, match=f"is {what}, no robot; give the URDF"):
        load_robot(file)
    status, _, err = run(capsys, "layout", file)
    assert status == 2
    assert what in last_error(err)


def test_notebooks_show_a_design() -> None:
    design = compile_robot(load_robot("pendulum2"), Options(functions=("id",), word=16))
    for kind, title in (("svg", "robot tree and pipeline"), ("chart", "timing chart")):
        shown = picture(design, kind)
        assert f"<title>pendulum2: {title}</title>" in shown._repr_svg_()
        assert str(shown) == shown._repr_svg_()
    with pytest.raises(ConfigError, match=r"^kind: must be one of svg, chart, not 'trace'$"):
        picture(design, "trace")


def test_a_system_without_file_locks_writes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Windows is."""
    found = builtins.__import__

    def lacking(name: str, *rest: Any, **named: Any) -> Any:
        if name == "fcntl":
            raise ImportError(name)
        return found(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", lacking)
    with occupied(tmp_path / "made"):
        assert (tmp_path / "made").is_dir()
