"""The same function of many things on all cores: results in order, whatever happens to the processes."""

from __future__ import annotations

import os
import signal

import pytest

from rbdgen import processes
from rbdgen.processes import on_all_cores

THINGS = list(range(20))


@pytest.mark.parametrize("workers", [1, 2, 5, 40])
def test_results_come_in_order(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_workers", lambda: workers)
    assert on_all_cores(lambda x: x * x, THINGS, THINGS) == [x * x for x in THINGS]
    assert on_all_cores(lambda x: x, [], []) == []


def test_children_do_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_workers", lambda: 3)
    assert len(set(on_all_cores(lambda x: os.getpid(), THINGS, [1] * 20))) == 3


def test_what_a_child_cannot_do_the_parent_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_workers", lambda: 2)
    here = os.getpid()

    def fatal(x: int) -> int:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return x + 1

    assert on_all_cores(fatal, THINGS, THINGS) == [x + 1 for x in THINGS]


def test_an_error_is_the_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_workers", lambda: 2)

    def wrong(x: int) -> int:
        if x == 7:
            raise ValueError("seven")
        return x

    with pytest.raises(ValueError, match="seven"):
        on_all_cores(wrong, THINGS, THINGS)
