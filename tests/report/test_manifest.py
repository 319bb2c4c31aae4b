"""The manifest: what its schema and docs/protocol.md say of it."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbdgen import Design, Options, compile_robot, load_robot, parameter_values
from rbdgen.functions.registry import common
from rbdgen.functions.roll_out import COEFFICIENTS
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.resident import Resident
from rbdgen.model import Setup, parse_urdf
from rbdgen.protocol.packets import result_rows, task_rows
from rbdgen.report.design import design_report, manifest
from rbdgen.report.design_text import tree
from rbdgen.resident import compile_program
from rbdgen.schema.json_files import check, described_keys, schema
from rbdgen.tracing.torques import RANGES
from rbdgen_hw.emit import design_verilog
from tests.conftest import design, in_words
from tests.golden.test_following import HAND

PAGE = Path(__file__).parents[2] / "docs/protocol.md"
KINDS = {
    "plain": {"functions": common(), "ii": 4},
    "roll": {"functions": ("fd", "roll"), "ii": 4, "integrator": "rk4"},
    "calibratable": {"functions": ("id", "m"), "calibratable": True},
    "moving base": {"functions": ("id", "did"), "moving_base": True},
    "movable": {"functions": ("id", "fk"), "calibratable": True, "movable_frames": True},
}
ALSO = {"movable": "calibratable"}
"""What a kind is as well."""
FRAMES = {"movable": {"tip=link2": (0.0, 0.0, 0.1)}}
NAMED = {
    *("ports", "vectors", "functions", "flags"),
    *("setup.armature", "setup.lock", "setup.payload", "setup.frame"),
    *("payloads", "payloads.*", "movable"),
}
"""Keys whose values are by name."""
SAID = {"setup.frame.*"}
"""Of the setup of a kind."""


def content_of(kind: str) -> tuple[Design, dict[str, Any]]:
    robot = Setup(frame=FRAMES.get(kind, {})).load("pendulum2")
    d = compile_robot(robot, in_words(**KINDS[kind]))
    return d, json.loads(json.dumps(manifest(d, "0" * 64, "1")))


def keys_of(value: Any, path: str = "") -> Iterator[str]:
    """The keys of a manifest as the page writes them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            name = "*" if path in NAMED else key
            yield from keys_of(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for inner in value:
            yield from keys_of(inner, f"{path}[]")
    elif value != [] or path not in ("parameters", "followers", "vectors.*.unit_vectors"):
        yield path


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_describes_every_key_and_no_other(kind: str) -> None:
    _, content = content_of(kind)
    check(content, "manifest")
    keys = described_keys("manifest")
    assert len({key.path for key in keys}) == len(keys)
    # what a setup says has a test of its own
    assert set(keys_of(content)) - SAID == {
        key.path for key in keys if key.where in ("all", kind, ALSO.get(kind))
    }
    assert {key.where for key in keys} == {
        *("all", "roll", "calibratable", "movable", "followers", "setup", "rotations", "program")
    }
    assert all(key.means for key in keys)


def test_so_does_that_of_a_program() -> None:
    options = Options(("id",), machine="engine")
    made = compile_program(load_robot("pendulum2"), options, Resident(Core()))
    keys = described_keys("manifest")
    found = set(keys_of(json.loads(made.text)))
    assert found == {key.path for key in keys if key.where in ("all", "program")}


@pytest.mark.slow
def test_the_manifest_says_what_must_be_of_unit_length() -> None:
    robot = parse_urdf(HAND, "hand.urdf", base="floating")
    vectors = manifest(compile_robot(robot, Options(("id",), word=18)), "0" * 64, "1")["vectors"]
    found = {name: v["unit_vectors"] for name, v in vectors.items()}
    assert found.pop("q") == [{"joint": "root_joint", "first": 3, "size": 4}]
    assert not any(found.values())


def test_the_manifest_says_how_the_robot_was_set_up() -> None:
    setup = Setup(
        "floating",
        root="palm",
        gravity=(0.0, 0.0, -9.81),
        armature={"a1": 0.1},
        lock={"c1": 0.5},
        payload={"l2": (0.1, 0, 0, 0.01)},
        tip="l2",
        frame={"tip=l2": (0.0, 0.0, 0.1)},
        contact=("tip:6d",),
        loop=("l1:l2:z",),
    )
    robot = parse_urdf(HAND, "hand.urdf")
    said = {f.name: getattr(setup, f.name) for f in dataclasses.fields(setup)}
    d = compile_robot(dataclasses.replace(robot, setup=said), Options(("id",), word=18))
    content = json.loads(json.dumps(manifest(d, "0" * 64, "1")))
    check(content, "manifest")
    keys = {k.path for k in described_keys("manifest") if k.where in ("all", "followers", "setup")}
    assert set(keys_of(content)) == keys
    assert content["joint_names"] == ["a1", "b1"]
    assert {f["joint"]: f["follows"] for f in content["followers"]} == {
        "a2": "a1",
        "b2": "b1",
        "c1": "a1",
    }
    shown = tree(design_report(d))
    assert "l2  (a2, revolute, follows a1)" in shown
    assert "l1  (a1, revolute)" in shown


def test_words_of_the_schema_are_those_of_the_options() -> None:
    known = schema("manifest")["properties"]
    function = next(iter(known["functions"]["patternProperties"].values()))["properties"]
    assert set(known["ranges"]["enum"]) == set(RANGES)
    assert function["integrator"]["enum"] == list(COEFFICIENTS)


def test_the_page_is_made_from_the_schema() -> None:
    assert "```{manifest-keys}" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_ports_are_those_of_the_verilog(kind: str) -> None:
    d, content = content_of(kind)
    top = design_verilog(d).split(f"module {d.name}(")[1].split("endmodule")[0]
    found = re.findall(r"^  (in|out)put (?:\[(\d+):0\] )?(\w+);", top, re.M)
    ports = {name: {"direction": way, "width": int(left or 0) + 1} for way, left, name in found}
    assert content["ports"] == ports


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_are_those_of_a_link(kind: str) -> None:
    d, content = content_of(kind)
    none = np.zeros(1, int)
    for name, f in d.tasks.functions.items():
        entry = content["functions"][name]
        task = task_rows(d.tasks, name, none, [none] * len(f.operands))
        result = result_rows(d.tasks, name, none, none, [none] * len(f.results))
        assert (entry["task_bytes"], entry["result_bytes"]) == (task.shape[1], result.shape[1])


def test_a_moving_base_has_the_operands_that_the_page_names() -> None:
    _, content = content_of("moving base")
    page = PAGE.read_text(encoding="utf-8")
    words = [o for o in content["functions"]["id"]["operands"] if o["vector"] == "base"]
    assert [o["name"] for o in words] == [f"base_{p}{x}" for p in ("w", "dw", "a") for x in "xyz"]
    for word in (words[k] for k in (0, 2, 3, 5, 6, 8)):
        assert f"`{word['name']}`" in page


def test_parameters_follow_from_inertias_as_the_page_says() -> None:
    """Of a leaf, whose frame is its link's where nothing moves it."""
    d, content = content_of("calibratable")
    body = d.robot.bodies[1]
    assert d.network.calibration is not None
    placement = d.network.calibration.frames.frames[1]
    assert np.allclose(placement.rotation, np.eye(3))
    assert not any(placement.translation)
    pseudo = body.inertia.pseudo
    entries = {"hx": (0, 3), "hz": (2, 3), "sxx": (0, 0), "sxz": (0, 2), "szz": (2, 2)}
    values = parameter_values(d.robot, d.robot)
    named = {p["entry"]: p["name"] for p in content["parameters"] if p["link"] == body.name}
    for entry, index in entries.items():
        if entry in named:
            assert values[named[entry]] == pytest.approx(pseudo[index], abs=1e-12)
    assert {"hx", "hz", "sxz"} <= named.keys()


def test_the_identity_does_not_depend_on_who_wrote_the_manifest() -> None:
    d = design("pendulum2")
    first, second = (manifest(d, "0" * 64, version) for version in ("1.2.3", "1.3.0"))
    assert first["generator"] != second["generator"]
    assert first["identity"] == second["identity"] != manifest(d, "1" * 64, "1.2.3")["identity"]
