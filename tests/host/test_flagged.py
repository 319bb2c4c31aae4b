"""What a driver says of flagged tasks: operands by joint, how often and how far; a warning, an error, or nothing."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from rbdgen import ConfigError, FlaggedError, RbdgenWarning, bit_true
from rbdgen.host.arrays import FunctionArrays, flag_text, operand_name, outside
from rbdgen.protocol.tasks import Flag
from rbdgen_sim.comparison import random_operands
from tests.conftest import design


def limits(arrays: FunctionArrays, name: str) -> tuple[float, float]:
    """The declared limits of an operand word."""
    (word,) = [w for w in arrays.format.operands if w.name == name]
    low, high = (float(word.format.real(np.array(code))) for code in word.codes)
    return low, high


def test_joints_are_named_with_counts() -> None:
    d = design("pendulum2", functions=("id", "m"), ii=4)
    q, v, a, _ = random_operands(d, 9)
    v, a = 0.1 * v, 0.1 * a
    with bit_true(d) as device:
        low, high = limits(device._arrays("id"), "v_joint2")
        v[4:7, 1] = 1.02 * high, 1.05 * high, 1.03 * high
        v[5, 0] = -1.02 * high
        with pytest.warns(RbdgenWarning) as caught:
            device.rnea(q, v, a)
    first, _ = limits(FunctionArrays(device.manifest, "id"), "v_joint1")
    assert [str(one.message) for one in caught] == [
        "id: of 9 tasks 3 with operands outside the declared ranges: "
        f"v of joint joint2 (3 times, up to {1.05 * high:.4g} rad/s; declared {low:.4g} to {high:.4g}), "
        f"v of joint joint1 (once, down to {-1.02 * high:.4g} rad/s; declared {first:.4g} to {-first:.4g}); "
        "the first is number 4, see Driver.flags"
    ]


def test_flags_are_an_error_if_asked_for() -> None:
    d = design("pendulum2", functions=("id", "m"), ii=4)
    far = np.array([0.1, 99.0])
    with (
        bit_true(d, flags="raise") as device,
        pytest.raises(
            FlaggedError, match=r"^m: of 1 tasks 1 .*: q of joint joint2 \(once, up to 99 rad; "
        ),
    ):
        device.crba(far)
    assert device.flags == Flag.RANGE
    with bit_true(d, flags="ignore") as device, warnings.catch_warnings():
        warnings.simplefilter("error")
        device.crba(far)
        assert device.flags == Flag.RANGE
    with pytest.raises(ConfigError, match=r"^flags: must be warn, raise, ignore, not 'stop'$"):
        bit_true(d, flags="stop")


@pytest.mark.filterwarnings("ignore:.*links without mass move:rbdgen.errors.RobotWarning")
def test_coordinates_of_a_base_are_numbered_and_others_have_their_own_names() -> None:
    base = design("pendulum2", "floating", functions=("id", "m"), ii=4)
    forces = design("pendulum2", forces=True)
    moving = design(
        "pendulum2",
        functions=("dfd", "roll"),
        ii=4,
        moving_base=True,
        with_inverse=True,
        time_step=0.002,
    )
    names = {}
    for d, function in ((base, "id"), (forces, "id"), (moving, "roll")):
        known = bit_true(d).manifest
        words = known.tasks.functions[function].operands
        for entry, word in zip(known.operands[function], words, strict=True):
            names[d.name, word.name] = operand_name(known, entry, word.name)
    assert names[base.name, "q_root_joint_qx"] == "q[3] of joint root_joint"
    assert names[base.name, "v_root_joint_5"] == "v[5] of joint root_joint"
    assert names[base.name, "v_joint2"] == "v[7] of joint joint2"
    assert names[forces.name, "f_ext_link1_fx"] == "f_ext_link1_fx"
    assert names[moving.name, "base_dwx"] == "base_dwx"
    assert names[moving.name, "steps"] == "steps"
    assert names[moving.name, "tau_joint1"] == "tau of joint joint1"


def test_only_some_operands_are_listed() -> None:
    d = design("pendulum2", functions=("id", "m"), ii=4)
    arrays = bit_true(d)._arrays("id")
    given = {name: np.full((2, 2), 1e3) for name in ("q", "v", "a")}
    text = flag_text(arrays, np.array([0, Flag.RANGE | Flag.OVERFLOW]), given)
    assert re.fullmatch(
        r"id: of 2 tasks 1 with operands outside .*: "
        r"(\w+ of joint joint[12] \(once, up to 1000 \S+; declared [^)]*\), ){3}"
        r"and 3 more and 1 with values that overflowed inside; the first is number 1, see Driver.flags",
        text,
    )


def test_what_the_hardware_takes_as_inside_is_not_named() -> None:
    """Raw values decide, as in the device: half a unit in the last place beyond a limit is none."""
    d = design("pendulum2", functions=("id", "m"), ii=4)
    arrays = bit_true(d)._arrays("m")
    word = arrays.format.operands[0]
    edge = float(word.format.real(np.array(word.codes[1])))
    step = word.format.resolution
    values = np.array([[edge + 0.4 * step, 0.0], [edge + 0.6 * step, 0.0]])
    (found,) = outside(arrays, values)
    assert (found.number, found.tasks) == (0, 1)
