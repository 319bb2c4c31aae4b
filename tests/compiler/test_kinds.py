"""The choice between a pipeline and an engine: by what is asked for, and by modelled cost."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from rbdgen import Budget, Design, Options, compile_robot, load_robot
from rbdgen.compiler.choices import choose
from rbdgen.compiler.cost import Cost
from rbdgen.errors import ConfigError, RbdgenWarning

WORD = 32


def chosen(budget: Budget | None = None, robot: str = "pendulum2", **options: Any) -> Design:
    given = Options(word=WORD, **options)
    return compile_robot(load_robot(robot), given, budget=budget)


def test_without_a_wish_for_size_it_is_a_pipeline() -> None:
    assert chosen().machine.kind == "pipeline"


@pytest.mark.slow
def test_for_area_it_is_the_smaller_one() -> None:
    d = chosen(robot="ur5", goal="area", device="ecp5")
    other = chosen(robot="ur5", goal="area", device="ecp5", machine="pipeline", ii=1024)
    assert d.machine.kind == "engine"
    assert d.engine.program.core.lanes == 1
    assert Cost.of(d).area({}) < Cost.of(other).area({})
    assert "an engine takes" in d.why[-1]
    assert "a pipeline takes" in d.why[-1]


def test_nobody_is_warned_of_what_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def warned(workshop: Any, options: Options) -> Design:
        warnings.warn("of a pipeline", RbdgenWarning, stacklevel=2)
        return choose(workshop, options)

    monkeypatch.setattr("rbdgen.compiler.kinds.choose", warned)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        d = chosen(goal="area", device="ecp5")
    assert d.machine.kind == "engine"
    assert not caught
    with pytest.warns(RbdgenWarning, match="of a pipeline"):
        chosen(Budget(rate=60e6))


def test_a_high_rate_asks_for_a_pipeline() -> None:
    d = chosen(Budget(rate=60e6), functions=("id",))
    assert d.machine.kind == "pipeline"


@pytest.mark.parametrize(("rate", "lanes"), [(1e4, 1), (1.4e6, 4)])
def test_a_rate_takes_as_many_lanes_as_it_needs(rate: float, lanes: int) -> None:
    d = chosen(Budget(rate=rate), "iiwa14", machine="engine")
    assert d.engine.program.core.lanes == lanes
    assert 1e6 * d.running_clock / d.interval("id") >= rate


def test_a_higher_rate_takes_cores() -> None:
    d = chosen(Budget(rate=4e6), "iiwa14", machine="engine")
    cores = d.engine.cores
    per_core = 1e6 * d.running_clock / d.interval("id")
    assert (cores - 1) * per_core < 4e6 <= cores * per_core
    assert d.options.cores == cores


def test_a_rate_beyond_all_cores_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"rate: 1e\+09 tasks .*; 32 cores, which is the most"):
        chosen(Budget(rate=1e9), "iiwa14", machine="engine")
    with pytest.raises(
        ConfigError, match=r"rate: .* more than the .* of this engine; 3 cores of 4 lanes would do"
    ):
        chosen(Budget(rate=4e6), "iiwa14", machine="engine", cores=1)


@pytest.mark.slow
def test_where_a_pipeline_has_no_room_it_is_an_engine() -> None:
    resources = {"luts": 9000, "registers": 9000, "multipliers": 20, "memories": 100}
    small = Budget(blocks=20, name="a small board", resources=resources)
    d = chosen(small, "ur5", functions=("id", "fd", "m"), device="ecp5")
    assert d.machine.kind == "engine"
    assert d.why[-1].endswith("by the model, too much for a small board")
    more = {name: 10 * amount for name, amount in resources.items()}
    large = Budget(blocks=200, name="a large board", resources=more)
    assert chosen(large, "pendulum2", device="ecp5").machine.kind == "pipeline"
