"""What a driver takes as operands: numbers, rotations of unit length, counts that its words hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from rbdgen import Design, Options, compile_robot, golden, load
from rbdgen.emulation import bit_true, manifest_of
from rbdgen.errors import ConfigError, LinkError
from rbdgen.host.arrays import FunctionArrays
from rbdgen.host.driver import Tasks
from tests.conftest import design

ZEROS = np.zeros(2)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ([[1, 2], [3]], "list"),
        (["x", "y"], "list"),
        ("12", "str"),
        (["1", "2"], "list"),
        (np.array([1.0, 2j]), "ndarray of complex128"),
        ([1.0, None], "list"),
        (np.array(["1", 2.0], object), "ndarray of object"),
        ({"a": 1.0}, "dict"),
        (np.array(["2020", "2021"], "datetime64[Y]"), "ndarray of datetime64"),
        ([10**400, 0], "list"),
    ],
)
@pytest.mark.parametrize("ask", ["method", "call", "solve"])
def test_what_is_no_array_of_numbers_is_named(value: Any, kind: str, ask: str) -> None:
    device = bit_true(design("pendulum2"))
    calls: dict[str, Callable[[], object]] = {
        "method": lambda: device.rnea(ZEROS, value, ZEROS),
        "call": lambda: device.call("id", q=ZEROS, v=value, a=ZEROS),
        "solve": lambda: device.solve([Tasks("id", {"q": ZEROS, "v": value, "a": ZEROS})]),
    }
    with pytest.raises(ConfigError, match=f"^v: must be an array of numbers, not {kind}"):
        calls[ask]()


def test_numbers_of_all_kinds_are_numbers() -> None:
    device = bit_true(design("pendulum2"))
    wanted = device.rnea([1.0, 0.5], ZEROS, ZEROS)
    for q in (np.array([1, 0.5], np.float32), [Fraction(1), Fraction(1, 2)], (np.float16(1), 0.5)):
        assert np.array_equal(device.rnea(q, np.zeros(2, bool), [0, 0]), wanted)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_named(value: float) -> None:
    with pytest.raises(ConfigError, match=rf"^operand v_joint2: must be finite, not {value}$"):
        bit_true(design("pendulum2")).rnea(ZEROS, [0.0, value], ZEROS)


@pytest.mark.parametrize(
    "order", [["a", "b"], [0, 2], [0.5, 0.5], [[0], [1, 1]], [0], [0, math.nan]]
)
def test_an_order_that_names_other_tasks_is_refused(order: Any) -> None:
    task = Tasks("id", {"q": ZEROS, "v": ZEROS, "a": ZEROS})
    with pytest.raises(ConfigError, match=r"^order: must "):
        bit_true(design("pendulum2")).solve([task, task], order)


@pytest.mark.parametrize("value", ["heavy", math.nan, math.inf, 1j, [1.0, 2.0], None])
def test_a_parameter_that_is_no_number_is_not_loaded(value: Any) -> None:
    device = bit_true(design("pendulum2", calibratable=True))
    name = device.manifest.tasks.parameters[0].name
    with pytest.raises(ConfigError, match=f"^parameter '{name}': must be "):
        device.calibrate({name: value})
    assert not device.parameters.held


def test_a_device_that_is_closed_says_so() -> None:
    device = bit_true(design("pendulum2", calibratable=True))
    name = device.manifest.tasks.parameters[0].name
    device.close()
    device.close()
    for call in (
        lambda: device.rnea(ZEROS, ZEROS, ZEROS),
        lambda: device.solve([Tasks("id", {"q": ZEROS, "v": ZEROS, "a": ZEROS})]),
        lambda: device.calibrate({name: 1.0}),
    ):
        with pytest.raises(LinkError, match=r"^device: is closed; open it again$"):
            call()


TURNING = """<robot name="turning">
<link name="trunk"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="arm"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hip" type="revolute"><parent link="trunk"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" velocity="1" effort="9"/></joint></robot>"""
"""A robot whose base may move."""


def mobile(base: str) -> Design:
    return compile_robot(load(TURNING, base=base), Options(functions=("id",), word=18))


@pytest.mark.parametrize(("base", "part"), [("floating", slice(3, 7)), ("planar", slice(2, 4))])
def test_rotations_must_be_of_unit_length_as_for_the_golden_model(base: str, part: slice) -> None:
    d = mobile(base)
    q, still = golden.neutral(d.robot), np.zeros(d.robot.nv)
    device = bit_true(d)
    assert device.rnea(q, still, still).shape == still.shape
    for shape in ((), (3,), (0,)):
        batch = np.broadcast_to(q, (*shape, len(q))).copy()
        zeros = np.zeros((*shape, len(still)))
        batch.reshape(-1, len(q))[-1:, part] = 0.6 if shape else 0.0
        found = []
        for call in (lambda q, v: golden.rnea(d.robot, q, v, v), lambda q, v: device.rnea(q, v, v)):
            try:
                call(batch, zeros)
                found.append("")
            except ConfigError as error:
                found.append(str(error))
        assert found[0] == found[1]
        assert bool(found[0]) == bool(batch.size)


def test_a_count_that_its_word_does_not_hold_is_refused() -> None:
    device = bit_true(design("pendulum2", functions=("roll",), word=20), flags="ignore")
    q = np.zeros((2, 2))
    with pytest.raises(
        ConfigError, match=r"^operand steps: must be 1 to 32767, .*, not 32768; use"
    ):
        device.roll_out(q, q, q, [3, 32768])
    with pytest.raises(ConfigError, match=r"^steps: must be whole numbers, not 2\.5$"):
        device.roll_out(q, q, q, 2.5)
    device.roll_out(q, q, q, np.array([0, -40000]))
    assert device.flags.tolist() == [2, 2]


def test_values_beyond_a_declared_range_that_ends_with_its_format_are_refused() -> None:
    known = manifest_of(design("pendulum2", functions=("roll",), word=20))
    arrays = FunctionArrays(known, "roll")
    places = [word.name for word in arrays.format.operands]
    assert [places[k] for k in arrays.ended] == ["steps"]
