"""The driver against the model of a device: arrays as the golden functions', and a link that damages bytes."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbdgen import Design, Options, compile_robot, golden, load_robot, parameter_values
from rbdgen.emulation import DIGEST, bit_true_shell, manifest_of
from rbdgen.errors import ConfigError, LinkError, RbdgenWarning
from rbdgen.functions.registry import common
from rbdgen.host.driver import Driver, Tasks
from rbdgen.host.manifest import identity_of, manifest_from, read_manifest
from rbdgen.protocol.frames import Kind, frame_bytes
from rbdgen.protocol.tasks import Flag
from rbdgen.report.design import manifest
from rbdgen.tracing.calibration import varied_robot
from rbdgen.trials import reference, task_states
from rbdgen_sim.comparison import check_mixed, golden_requests, random_operands
from rbdgen_sim.faults import Noise
from tests.conftest import design

ALL = common()


def everything(robot: str = "pendulum2") -> Design:
    return design(robot, functions=ALL, ii=4)


def close(got: np.ndarray, expected: np.ndarray) -> None:
    assert got.shape == expected.shape
    assert np.max(np.abs(got - expected)) < 5e-3 * np.max(np.abs(expected))


def test_operands_longer_than_32_bits() -> None:
    d = compile_robot(load_robot("pendulum2"), Options(("fd",), ii=4, error={"all": 2e-7}))
    assert max(word.format.width for word in d.tasks.functions["fd"].operands) > 32
    s = task_states(d, 50, seed=1)
    with Driver.open(manifest_of(d), bit_true_shell(d)) as device:
        got = device.forward_dynamics(s.q, s.v, s.tau)
        assert not device.flags.any()
    a = golden.forward_dynamics(d.robot, s.q, s.v, s.tau)
    assert np.max(np.abs(got - a)) < 2e-7 * np.max(np.abs(a))


@pytest.mark.parametrize("batch", [(), (1,), (5,), (2, 3)])
def test_all_functions_are_those_of_the_golden_model(batch: tuple[int, ...]) -> None:
    d = everything()
    q, v, a, tau = random_operands(d, *batch)
    minv = golden.minverse(d.robot, q)
    with Driver.open(manifest_of(d), bit_true_shell(d)) as device:
        close(device.rnea(q, v, a), golden.rnea(d.robot, q, v, a))
        assert device.flags.shape == batch
        close(device.forward_dynamics(q, v, tau), a)
        close(device.crba(q), golden.crba(d.robot, q))
        close(device.minverse(q), minv)
        for got, expected in zip(
            device.rnea_derivatives(q, v, a), golden.rnea_derivatives(d.robot, q, v, a), strict=True
        ):
            close(got, expected)
        expected = golden.forward_dynamics_derivatives(d.robot, q, v, tau)
        for x, y in zip(device.forward_dynamics_derivatives(q, v, tau), expected, strict=True):
            close(x, y)
        for x, y in zip(
            device.forward_dynamics_derivatives(q, v, a=a, minv=minv), expected, strict=True
        ):
            close(x, y)


def test_external_forces_are_operands() -> None:
    d = design("pendulum2", forces=True)
    q, v, a, _ = random_operands(d, 7)
    f_ext = np.random.default_rng(1).uniform(-5, 5, (7, 2, 6))
    device = Driver.open(manifest_of(d), bit_true_shell(d))
    close(device.rnea(q, v, a, f_ext), golden.rnea(d.robot, q, v, a, f_ext))


def test_no_tasks_are_no_results() -> None:
    d = everything()
    device = Driver.open(manifest_of(d), bit_true_shell(d))
    assert device.crba(np.zeros((0, 2))).shape == (0, 2, 2)


def test_flags_are_those_of_their_tasks() -> None:
    d = everything()
    q, v, a, _ = random_operands(d, 9)
    v[4] *= 30.0
    device = Driver.open(manifest_of(d), bit_true_shell(d))
    with pytest.warns(
        RbdgenWarning,
        match=r"^id: of 9 tasks 1 with operands outside .*; the first is number 4, see",
    ):
        device.rnea(q, v, a)
    assert np.flatnonzero(device.flags & Flag.RANGE).tolist() == [4]


def test_mixed_tasks_are_all_answered() -> None:
    d = everything()
    device = Driver.open(manifest_of(d), bit_true_shell(d))
    check_mixed(d, device, 10_000, 1)
    assert (device.link.counters.sent, device.link.counters.lost) == (10_000, 0)


def test_mixed_tasks_survive_a_link_that_damages_one_byte_in_a_hundred() -> None:
    d = everything()
    noise = Noise(bit_true_shell(d), 0.01, seed=2)
    device = Driver.open(manifest_of(d), noise, patience=100)
    check_mixed(d, device, 10_000, 2)
    counters = device.link.counters
    assert counters.sent == 10_000 + counters.lost
    assert counters.lost > 1000
    assert noise.faults > 5000


def test_results_that_come_twice_and_late_are_not_taken() -> None:
    class Echo(Noise):
        before = b""

        def read(self) -> bytes:
            data = self.inner.read()
            late, self.before = self.before, data
            return late + data if data else b""

    d = everything()
    device = Driver.open(manifest_of(d), Echo(bit_true_shell(d), 0.0))
    for k in range(1, 4):
        q = np.full((k, 2), 0.1 * k)
        close(device.crba(q), golden.crba(d.robot, q))


def test_what_is_lost_for_good_is_reported() -> None:
    d = everything()
    device = Driver.open(
        manifest_of(d), Noise(bit_true_shell(d), 0.02, seed=3), attempts=1, patience=100
    )
    (answers,) = device.solve(golden_requests(d, 200)[:1])
    assert 20 < np.count_nonzero(answers.lost) < 180
    assert np.isnan(answers.values["tau"][answers.lost]).all()
    assert np.isfinite(answers.values["tau"][~answers.lost]).all()
    q, v, a, _ = random_operands(d, 200)
    with pytest.raises(
        LinkError, match=r"^device: \d+ of 200 tasks of id were lost 1 times each, the first is "
    ):
        device.rnea(q, v, a)


def test_a_device_that_falls_silent_is_named() -> None:
    class Cut(Noise):
        def read(self) -> bytes:
            return b""

    d = everything()
    device = Driver.open(manifest_of(d), bit_true_shell(d), patience=3)
    device.link.transport = Cut(bit_true_shell(d), 0.0)
    with pytest.raises(
        LinkError, match=r"^device: silent after 0 of 1 tasks, 4 hellos in a row; check"
    ):
        device.crba(np.zeros(2))
    with pytest.raises(
        LinkError, match=r"^device: no answer to 3 hellos; check that the board is programmed"
    ):
        Driver.open(manifest_of(d), Cut(bit_true_shell(d), 0.0), patience=3)


def test_results_of_an_earlier_session_are_not_taken() -> None:
    d = everything()
    shell = bit_true_shell(d)
    stale = Driver.open(manifest_of(d), shell)
    sent = []
    shell.write, write = sent.append, shell.write  # type: ignore[method-assign]
    with pytest.raises(LinkError):
        stale.crba(np.zeros((100, 2)))
    shell.write = write  # type: ignore[method-assign]
    shell.write(b"".join(sent))
    q, v, a, _ = random_operands(d, 50)
    close(Driver.open(manifest_of(d), shell).rnea(q, v, a), golden.rnea(d.robot, q, v, a))


def test_frames_that_are_no_tasks_are_counted_and_not_answered() -> None:
    d = everything()
    shell = bit_true_shell(d)
    device = Driver.open(manifest_of(d), shell)
    for kind, payload in (
        (Kind.TASK, b""),
        (Kind.TASK, b"\x00" * 3),
        (9, b"abc"),
        (Kind.HELLO, b"12345"),
    ):
        shell.write(frame_bytes(kind, payload))
    assert device.link.hello().rejected == 4


def test_a_device_of_another_design_is_refused() -> None:
    d = everything()
    other = manifest_of(d, "f" * 64)
    with pytest.raises(
        LinkError,
        match=rf"^device: holds design {manifest_of(d).identity.hex()}, not {other.identity.hex()} \({d.name}\); prog",
    ):
        Driver.open(other, bit_true_shell(d))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": np.zeros(3)}, r"^q: must have shape \(\.\.\., 2\), not \(3,\)$"),
        (
            {"v": np.zeros((4, 2))},
            r"^v: must have the leading shape \(\) of the others, not \(4, 2\)$",
        ),
        ({"a": np.array([0.0, np.nan])}, r"^operand a_\w+: must be finite, not nan$"),
        ({"tau": np.zeros(2)}, r"^tau: id of this accelerator takes none, but q, v, a$"),
        ({"a": None}, r"^a: missing; id needs q, v, a$"),
    ],
)
def test_bad_arrays_are_one_line(change: dict, message: str) -> None:
    d = everything()
    given = {"q": np.zeros(2), "v": np.zeros(2), "a": np.zeros(2)} | change
    device = Driver.open(manifest_of(d), bit_true_shell(d))
    with pytest.raises(ConfigError, match=message):
        device.solve([Tasks("id", {k: x for k, x in given.items() if x is not None})])


def test_a_function_that_was_not_built_is_named() -> None:
    d = design("pendulum2")
    device = Driver.open(manifest_of(d), bit_true_shell(d))
    with pytest.raises(
        ConfigError,
        match=r"^crba: this accelerator has no such function, only rnea \(id\); build one with --functions$",
    ):
        device.crba(np.zeros(2))
    assert not hasattr(device, "crba")
    assert "rnea" in dir(device)
    assert (
        device.rnea.__doc__
        == "inverse dynamics: of q (..., 2), v (..., 2), a (..., 2), tau (..., 2)."
    )
    both = Driver.open(manifest_of(everything()), bit_true_shell(everything()))
    with pytest.raises(
        ConfigError, match=r"^forward_dynamics_derivatives: give q, v, tau; or q, v, a, minv$"
    ):
        both.forward_dynamics_derivatives(np.zeros(2), np.zeros(2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, r"manifest\.json: no such file; give a manifest\.json"),
        ("{", r"manifest\.json: must be a JSON file"),
        ("[]", r"manifest\.json: must hold a JSON object; write it again"),
        (
            "{}",
            r"manifest\.json: manifest: schema must be 'rbdgen\.manifest/7', not None; write it again",
        ),
        (
            '{"schema": "rbdgen.manifest/2"}',
            r"manifest\.json: manifest: of an older version, 'rbdgen\.manifest/2', where this rbdgen reads "
            r"'rbdgen\.manifest/7'; write it again",
        ),
        (
            '{"schema": "rbdgen.manifest/7", "identity": 3}',
            r"manifest\.json: manifest: was changed since it was written: it says identity 3, but has '[0-9a-f]{32}'; "
            "write it again with 'rbdgen generate'",
        ),
    ],
)
def test_a_bad_manifest_is_one_line(text: str | None, message: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_manifest(tmp_path)
    assert re.search(message, str(caught.value))


def test_a_manifest_in_a_file_is_the_one_in_memory(tmp_path: Path) -> None:
    d = everything()
    content = manifest(d, DIGEST, "0")
    (tmp_path / "manifest.json").write_text(json.dumps(content))
    assert read_manifest(tmp_path) == manifest_from(content) == manifest_of(d)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("clock_mhz", float("nan"), r"clock_mhz must be finite, not nan"),
        ("ii_cycles", float("inf"), r"ii_cycles must be finite, not inf"),
        ("clock_mhz", 1j, r"clock_mhz must be a value of JSON, not 1j"),
        ("ii_cycles", 10**4100, r"ii_cycles must have at most 4000 digits"),
        ("joint_names", ["a", {2: "b"}], r"joint_names\[1\] must have names for keys, not 2"),
        (
            "followers",
            [{"offset": -float("inf")}],
            r"followers\[0\]\.offset must be finite, not -inf",
        ),
    ],
)
def test_a_manifest_as_an_object_is_as_one_in_a_file(key: str, value: Any, message: str) -> None:
    content = json.loads(json.dumps(manifest(everything(), DIGEST, "0"))) | {key: value}
    with pytest.raises(ConfigError, match=f"^manifest: {message}.*; write it again with"):
        manifest_from(content)


def test_a_manifest_is_an_object_or_a_file() -> None:
    with pytest.raises(ConfigError, match=r"^manifest: must be an object, not \[\]; write it"):
        manifest_from([])  # type: ignore[arg-type]
    with pytest.raises(
        ConfigError, match=r"^manifest: must be a Manifest or where its file is, not"
    ):
        Driver.open({}, bit_true_shell(everything()))  # type: ignore[arg-type]


def test_parts_of_unit_length_lie_in_their_vector() -> None:
    content = json.loads(json.dumps(manifest(everything(), DIGEST, "0")))
    for part, message in (
        ({"first": 0, "size": 3}, "size must be 2 or 4, not 3"),
        ({"first": 1, "size": 2}, r" must be inside the shape \[2\]"),
    ):
        content["vectors"]["q"]["unit_vectors"] = [{"joint": "joint1"} | part]
        content["identity"] = identity_of(content).hex()
        with pytest.raises(ConfigError, match=rf"vectors\.q\.unit_vectors\[0\]\.?{message}"):
            manifest_from(content)


def test_a_device_becomes_that_of_another_robot() -> None:
    d = design("pendulum2", functions=("id", "m"), ii=4, calibratable=True)
    other = varied_robot(d.robot, np.random.default_rng(4))
    values = parameter_values(d.robot, other)
    q, v, a, _ = random_operands(d, 9)
    with Driver.open(manifest_of(d), bit_true_shell(d)) as device:
        close(device.rnea(q, v, a), golden.rnea(d.robot, q, v, a))
        device.calibrate(values)
        close(device.rnea(q, v, a), golden.rnea(other, q, v, a))
        close(device.crba(q), golden.crba(other, q))
        name = next(iter(values))
        with pytest.raises(ConfigError, match=f"parameter '{name}': must be .* to .*, not"):
            device.calibrate({name: 1e3})
        with pytest.raises(
            ConfigError, match="parameter 'p_x': this accelerator has no such; parameters are p_"
        ):
            device.calibrate({"p_x": 1.0})
    message, d = "parameters are none; build with --calibratable", everything()
    with (
        Driver.open(manifest_of(everything()), bit_true_shell(everything())) as device,
        pytest.raises(ConfigError, match=message),
    ):
        device.calibrate({"p_x": 1.0})


def test_parameters_survive_a_noisy_link() -> None:
    d = design("pendulum2", functions=("id", "m"), ii=4, calibratable=True)
    other = varied_robot(d.robot, np.random.default_rng(5))
    q, v, a, _ = random_operands(d, 50)
    with Driver.open(manifest_of(d), Noise(bit_true_shell(d), 0.01, seed=3)) as device:
        device.calibrate(parameter_values(d.robot, other))
        close(device.rnea(q, v, a), golden.rnea(other, q, v, a))


def test_roll_outs_moving_bases_and_inverses() -> None:
    d = design(
        "pendulum2",
        functions=("dfd", "roll"),
        ii=4,
        moving_base=True,
        with_inverse=True,
        time_step=0.002,
    )
    s = replace(task_states(d, 20, 1), steps=np.full((20, 1), 3))
    with Driver.open(manifest_of(d), bit_true_shell(d)) as device, warnings.catch_warnings():
        warnings.simplefilter("ignore", RbdgenWarning)
        ends = device.roll_out(s.q, s.v, s.tau, 3, base=s.base)
        good = device.flags == 0  # some leave the declared ranges on their way
        assert good.mean() > 0.3
        for got, vector in zip(ends, ("q_end", "v_end"), strict=True):
            close(got[good], reference(d, "roll", s)[vector][good])
        expected = reference(d, "dfd", s)
        results = device.forward_dynamics_derivatives(s.q, s.v, s.tau, base=s.base)
        good = device.flags == 0
        for got, vector in zip(results, ("da_dq", "da_dv", "minv"), strict=True):
            close(got[good], expected[vector][good])
