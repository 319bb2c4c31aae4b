"""Memories of an engine: what no program is long enough for is refused before anything is scheduled."""

from __future__ import annotations

import pytest

from rbdgen import ConfigError, Options, compile_robot, load_robot
from rbdgen.machines.engine import sizes


def test_what_no_program_is_long_enough_for_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sizes, "MOST_DEPTH", 8)
    options = Options(functions=("id",), machine="engine", lanes=2)
    with pytest.raises(ConfigError) as caught:
        compile_robot(load_robot("pendulum2"), options)
    message = str(caught.value)
    assert message.startswith("id: ")
    assert " words of program on 2 lanes, and there can be 8; --lanes 8, fewer" in message


@pytest.mark.parametrize(
    ("functions", "share", "remedy"),
    [
        (("id",), 0.8, "--lanes 8 or C (rbdgen emit) would do"),
        (("id", "m"), 0.8, "--lanes 8 or fewer functions or C (rbdgen emit) would do"),
        (("id", "m"), 0.3, "fewer functions or C (rbdgen emit) would do"),
    ],
)
def test_more_values_than_banks_have_words_for_are_refused_with_what_would_do(
    functions: tuple[str, ...], share: float, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(most: int) -> str:
        monkeypatch.setattr(sizes, "MOST_WORDS", most)
        with pytest.raises(ConfigError) as caught:
            compile_robot(load_robot("pendulum2"), Options(functions, machine="engine", lanes=4))
        return str(caught.value)

    monkeypatch.setattr(sizes, "ROWS", 1)
    named, _, rest = refused(1).partition(": ")
    assert named == ", ".join(functions)
    most = int(share * int(rest.split()[0]))
    assert refused(most).endswith(
        f" words of each bank are needed, and there can be {most}; {remedy}"
    )


@pytest.mark.parametrize("lanes", [1, 4])
def test_no_program_is_shorter_than_the_bound(lanes: int) -> None:
    options = Options(functions=("id", "dfd"), machine="engine", lanes=lanes)
    design = compile_robot(load_robot("pendulum2"), options)
    for routine in design.engine.program.routines.values():
        graph = routine.schedule.work.composition.fixed.graph
        assert 0 < sizes.least_slots(graph) <= routine.schedule.work.slots
