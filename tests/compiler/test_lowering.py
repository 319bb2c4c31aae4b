"""From a robot to a fixed-point graph: words in which a result would be of no use are refused."""

from __future__ import annotations

import re

import pytest

from rbdgen import ConfigError, Options, compile_robot, load_robot


def test_a_word_too_short_for_a_range_is_refused_with_one_that_is_not() -> None:
    robot = load_robot("pendulum2")
    limits = {"joint1": {"lower": -1e6, "upper": 1e6}}
    message = (
        r"^word: 18 bits are too few for 'pendulum2': the rms error of tau is \d+% of its rms; "
        r"(\d+) bits would do$"
    )
    with pytest.raises(ConfigError, match=message) as refused:
        compile_robot(robot, Options(word=18, limits=limits))
    found = re.match(message, str(refused.value))
    assert found is not None
    compile_robot(robot, Options(word=int(found[1]), limits=limits))
