"""What nextpnr says while it routes an ECP5: long wires, and a router that gets nowhere, end it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rbdgen.errors import ConfigError
from rbdgen_boards import ecp5, tools
from rbdgen_boards.board import get_board
from rbdgen_boards.flow import Request, Timer


def test_long_wires_are_seen_in_what_nextpnr_says() -> None:
    said = "Info:   at iteration #30: temp = 0, timing cost = 9, wirelen = {}\nInfo: Routing..\n"
    assert not ecp5.wires_are_long("")
    assert not ecp5.wires_are_long(said.format(523361))
    assert ecp5.wires_are_long(
        said.format(900000) + said.format(523361) + "Info: Routing 138203 arcs.\n"
    )
    assert not ecp5.wires_are_long(
        said.format(900000) + said.format(236912) + "Info: Routing 121889 arcs.\n"
    )
    # few are routed however long they are
    assert not ecp5.wires_are_long(said.format(175359) + "Info: Routing 42139 arcs.\n")


def routed(rounds: Sequence[tuple[int, float]]) -> str:
    """What nextpnr says of a router that has so many connections left after so many seconds."""
    head = "Info: Routing 352729 arcs.\n"
    head += (
        "Info:    IterCnt |  w/ripup   wo/ripup |  w/r  wo/r |      arcs| batch(sec) total(sec)|\n"
    )
    line = "Info:    {:7} |    33645     178354 |  230   770 | {:9}|     239.72 {:10.2f}|\n"
    return head + "".join(line.format(1000 * k, *r) for k, r in enumerate(rounds, 1))


@pytest.mark.parametrize(
    ("rounds", "per_second", "hopeless"),
    [
        # as all seven functions on a ULX3S go
        ([(299000, 500.0), (298000, 640.0), (296425, 1244.0)], 1575 / 604, True),
        # the same pace, but nearly done
        ([(36000, 500.0), (35000, 640.0), (34000, 1244.0)], 1000 / 604, False),
        # fast enough
        ([(299000, 500.0), (298000, 640.0), (290000, 1244.0)], 8000 / 604, False),
        # more are left than were
        ([(299000, 500.0), (299500, 1200.0)], 0.0, True),
    ],
)
def test_a_router_that_gets_nowhere_is_seen(
    rounds: Sequence[tuple[int, float]], per_second: float, hopeless: bool
) -> None:
    said = routed(rounds)
    pace = ecp5.pace(said)
    assert pace is not None
    assert (pace.total, pace.left, pace.seconds) == (352729, *rounds[-1])
    assert pace.per_second == pytest.approx(per_second)
    assert pace.hopeless == ecp5.stands(said) == hopeless
    # too soon to say
    assert ecp5.pace(routed([(351730, 6.9), (350748, 590.0)])) is None
    assert ecp5.pace("Info: Placing..\n") is None
    assert not ecp5.stands("")


def test_a_design_that_is_too_crowded_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def stopped(
        tool: object, arguments: Sequence[str], directory: Path, log: str, why: object
    ) -> bool:
        calls.append(arguments)
        (directory / log).write_text(routed([(299000, 500.0), (296425, 1244.0)]), encoding="utf-8")
        return False

    monkeypatch.setattr(tools, "run", stopped)
    request = Request(get_board("ulx3s_85f"), {}, "", 60.0, 60.0, 1)
    with pytest.raises(
        ConfigError,
        match=r"^board ulx3s_85f: the design is too crowded: after 1244 s 296425 of 352729 connections are left, of "
        r"which nextpnr makes 3\.5 a second; use a larger --ii",
    ):
        ecp5._place_and_route(request, tmp_path, Timer(lambda step: None))
    # the second time with a placement for short wires
    assert ["static" in arguments for arguments in calls] == [False, True]
