"""Frames and contacts of a robot: by option, configuration and call; refused by name where there is nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rbdgen.cli.main import main
from rbdgen.errors import ConfigError
from rbdgen.model import Setup, load_robot, setup_of, with_contacts, with_frames
from rbdgen.model.setup import ROBOT

FRAMES = {"tip=link7": (0.0, 0.1, 0.2, 0.3, 0.0, 0.0), "link3": ()}


def test_a_setup_with_frames_is_made_again_from_what_it_says() -> None:
    setup = Setup(frame=FRAMES, contact=("tip:6d", "link5"))
    robot = setup.load("iiwa14")
    assert [frame.name for frame in robot.task_frames] == ["tip", "link3"]
    assert [(c.frame.name, c.rows) for c in robot.contacts] == [("tip", 6), ("link5", 3)]
    assert setup_of(robot) == setup
    assert setup_of(robot).load("iiwa14") == robot


@pytest.mark.parametrize("angles", [(0.3, 0.2, -0.1), (2.0, -1.2, 3.0), (0.4, np.pi / 2, 0.0)])
def test_a_robot_without_a_setup_says_its_frames(angles: tuple[float, ...]) -> None:
    robot = with_frames(load_robot("iiwa14"), {"tip=link7": (0.1, 0.2, 0.3, *angles)})
    robot = with_contacts(robot, ["tip:6d", "link7", "link6:bz"])
    assert robot.setup is None
    again = setup_of(robot).load("iiwa14")
    one, other = robot.task_frames[0], again.task_frames[0]
    assert (one.name, one.body) == (other.name, other.body)
    np.testing.assert_allclose(other.placement.rotation, one.placement.rotation, atol=1e-12)
    np.testing.assert_allclose(other.placement.translation, one.placement.translation)
    held = [(c.frame.name, c.axes) for c in again.contacts]
    assert held == [("tip", (0, 1, 2, 3, 4, 5)), ("link7", (0, 1, 2)), ("link6", (2, 4))]


def test_frames_after_a_setup_are_what_it_says() -> None:
    robot = with_frames(Setup(frame={"link3": ()}).load("iiwa14"), FRAMES)
    assert setup_of(robot).frame == FRAMES
    assert setup_of(robot).load("iiwa14") == robot


def test_a_frame_is_placed_by_fixed_axes_in_its_link() -> None:
    frame = with_frames(load_robot("iiwa14"), FRAMES).task_frames[0]
    c, s = np.cos(0.3), np.sin(0.3)
    np.testing.assert_allclose(frame.placement.rotation, [[1, 0, 0], [0, c, -s], [0, s, c]])
    assert frame.placement.translation == (0.0, 0.1, 0.2)


@pytest.mark.parametrize(
    ("text", "frames"),
    [
        ("link7", {"link7": ()}),
        ("link7:", {"link7": ()}),
        ("tip=link7:0,0,0.1", {"tip=link7": (0.0, 0.0, 0.1)}),
        ("link7:1,2,3,4,5,6; link2", {"link7": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), "link2": ()}),
        ("arm::lower", {"arm::lower": ()}),
        ("tip=arm::lower:0,0,1; a:b:", {"tip=arm::lower": (0.0, 0.0, 1.0), "a:b": ()}),
    ],
)
def test_frames_are_read_from_text(text: str, frames: dict[str, tuple[float, ...]]) -> None:
    assert ROBOT["frame"].kind.read("frame", text) == frames


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--frame", "link8"], "frame: no link 'link8' of 'iiwa14'; did you mean 'link7'?"),
        (
            ["--frame", "base"],
            "frame: link 'base' does not move; give one that a joint moves",
        ),
        (
            ["--frame", "pin=base:0.4,0,0.6"],
            "frame: 'pin' is on the base, which does not move; give one that a joint moves, or hold",
        ),
        (["--frame", "link7:1,2"], "frame: of 'link7': must be x,y,z, or those and roll,pitch,yaw"),
        (["--frame", "link7:1,2,x"], "frame: must be LINK or LINK:X,Y,Z,... (several with semi"),
        (["--frame", "link7;link7"], "frame: must be LINK or LINK:X,Y,Z,... (several with semi"),
        (["--frame", "link7:1e99,0,0"], "frame: of 'link7': must be at most 1e+06, not"),
        (["--frame", "a=link7;a=link6"], "frame: 'a' is there twice; give one NAME=LINK"),
        (["--frame", ""], "frame: must be LINK or LINK:X,Y,Z"),
        (["--contact", "link9"], "contact: no link 'link9' of 'iiwa14'; did you mean"),
        (
            ["--contact", "link7:4d"],
            "contact: of 'link7': must be 3d, 6d or letters of xyzabc, each once, not '4d'",
        ),
        (["--contact", "link7:zz"], "must be 3d, 6d or letters of xyzabc, each once, not 'zz'"),
        (["--contact", "link7,link7"], "contact: 'link7' is there twice"),
        (["--functions", "jac"], "robot 'iiwa14': has no frames; give --frame LINK"),
        (["--functions", "cfd"], "robot 'iiwa14': has no contacts; give --contact FRAME:3d"),
        (
            ["--functions", "scfd", "--contact", "link7,link6:6d", "--constraint-damping", "1"],
            "robot 'iiwa14': its contacts link7, link6 leave no direction free along which they",
        ),
        (
            ["--functions", "lam", "--frame", "link5"],
            "robot 'iiwa14': its frames have 6 rows, of which only 5 can be moved on their own",
        ),
        (
            ["--functions", "cfd", "--contact", "link7:6d,link6:6d"],
            "robot 'iiwa14': its contacts link7, link6 hold some motion twice, or one that",
        ),
        (
            ["--functions", "cfd", "--contact", "link7", "--reference", "world"],
            "reference world: contacts are held in one of local, local_world_aligned; choose one",
        ),
        (
            ["--functions", "acc", "--frame", "link7", "--moving-base"],
            "moving_base and functions: moving_base acts on none of acc",
        ),
        (
            ["--functions", "id,acc", "--frame", "link7", "--moving-base"],
            "moving-base: frames' accelerations are relative to a base that stands still; leave it",
        ),
        (
            ["--functions", "laminv", "--frame", "link7", "--mass-matrix", "mminvgen"],
            "mass-matrix mminvgen: has no factors of M, which inertia of frames and contacts",
        ),
        (
            ["--functions", "id", "--reference", "world"],
            "reference and functions: reference is for jac or acc or",
        ),
        (
            ["--constraint-damping", "-1", "--functions", "laminv", "--frame", "link7"],
            "constraint_damping: must be 0 to 1e+06, not -1",
        ),
    ],
)
def test_what_cannot_be_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["layout", "iiwa14", *arguments]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert message in said[-1]


def test_too_many_rows_are_refused() -> None:
    robot = load_robot("iiwa14")
    with pytest.raises(ConfigError, match="frame: at most 10 frames, not 11"):
        with_frames(robot, {f"f{k}=link7": () for k in range(11)})
    links = [f"f{k}=link7" for k in range(10)]
    many = with_frames(robot, dict.fromkeys(links, ()))
    with pytest.raises(ConfigError, match="contact: at most 60 rows of all contacts together"):
        with_contacts(many, [*(f"f{k}:6d" for k in range(10)), "link6"])


@pytest.mark.slow
def test_a_design_says_its_frames_and_is_made_again_from_its_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    given = ["--functions", "fk,cfd", "--word", "20", "--frame", "tip=link2:0,0,0.1"]
    given += ["--contact", "tip", "--constraint-damping", "0.5", "--contact-rate", "3"]
    assert main(["generate", "pendulum2", *given, "-o", str(one)]) == 0
    assert main(["generate", "--config", str(one / "config.toml"), "-o", str(other)]) == 0
    capsys.readouterr()
    manifest = (one / "manifest.json").read_text(encoding="utf-8")
    assert manifest == (other / "manifest.json").read_text(encoding="utf-8")
    assert '"tip=link2"' in manifest


@pytest.mark.parametrize(
    ("contact", "axes"),
    [
        ("arm::lower", (0, 1, 2)),
        ("arm::lower:6d", (0, 1, 2, 3, 4, 5)),
        ("arm::lower:z", (2,)),
        ("leg:z", (0, 1, 2)),
        ("leg:z:x", (0,)),
    ],
)
def test_names_of_links_may_have_colons(contact: str, axes: tuple[int, ...]) -> None:
    robot = load_robot("pendulum2")
    first, second = robot.bodies
    bodies = (replace(first, name="leg:z"), replace(second, name="arm::lower"))
    robot = with_contacts(replace(robot, bodies=bodies), [contact])
    assert robot.contacts[0].axes == axes
    assert setup_of(robot).contact[0].startswith(robot.contacts[0].frame.name)
    with pytest.raises(ConfigError, match=r"contact: no link 'arm::lowr' of .* mean 'arm::lower'"):
        with_contacts(robot, ["arm::lowr"])
