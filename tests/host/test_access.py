"""A device that several threads use, or a forked process, or its own progress function."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rbdgen.emulation import bit_true, bit_true_shell, manifest_of, serve_bit_true
from rbdgen.errors import LinkError
from rbdgen.host.driver import Driver
from rbdgen.host.exchanges import Access
from rbdgen_sim.comparison import random_operands
from tests.conftest import design

ZEROS = np.zeros(2)


@pytest.mark.parametrize("link", ["bytes", "datagrams"])
def test_threads_get_their_own_results_and_flags(link: str) -> None:
    d = design("pendulum2", functions=("id", "m"))
    q, v, a, _ = random_operands(d, 200)
    q[::7] = 9.0

    def ask(device: Driver, begin: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        own = slice(begin, begin + 40 + begin % 3)
        torques = device.rnea(q[own], v[own], a[own])
        flags = device.flags
        return torques, flags, device.crba(q[own][:5])

    with serve_bit_true(d) as server:
        if link == "bytes":
            device = bit_true(d, flags="ignore")
        else:
            device = Driver.udp(manifest_of(d), server.name, flags="ignore")
        begins = [(11 * k) % 150 for k in range(40)]
        alone = [ask(device, begin) for begin in begins]
        before = device.flags
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda begin: ask(device, begin), begins))
        assert device.flags is before
        device.close()
    for one, other in zip(alone, together, strict=True):
        for x, y in zip(one, other, strict=True):
            assert np.array_equal(x, y)


def test_a_device_is_not_called_by_its_own_progress() -> None:
    d = design("pendulum2")
    again: list[Driver] = []

    def progress(done: int, total: int) -> None:
        again[0].rnea(ZEROS, ZEROS, ZEROS)

    again.append(Driver.open(manifest_of(d), bit_true_shell(d), progress=progress))
    with pytest.raises(LinkError, match=r"^device: is amid a call of this thread's"):
        again[0].rnea(ZEROS, ZEROS, ZEROS)


def test_closing_waits_for_the_call_of_another_thread() -> None:
    access, order, inside, go = Access(), [], threading.Event(), threading.Event()

    def use() -> None:
        with access.call():
            inside.set()
            go.wait(5)
            order.append("used")

    thread = threading.Thread(target=use)
    thread.start()
    inside.wait(5)
    closing = threading.Thread(target=lambda: access.close(lambda: order.append("closed")))
    closing.start()
    go.set()
    thread.join(5)
    closing.join(5)
    assert order == ["used", "closed"]


def test_a_forked_process_has_the_model_but_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    d = design("pendulum2")
    own = bit_true(d)
    with serve_bit_true(d) as server, Driver.udp(manifest_of(d), server.name) as shared:
        monkeypatch.setattr(os, "getpid", lambda: -1)
        assert own.rnea(ZEROS, ZEROS, ZEROS).shape == (2,)
        with pytest.raises(LinkError, match=r"^device: was opened by another process"):
            shared.rnea(ZEROS, ZEROS, ZEROS)
        monkeypatch.undo()
        assert shared.rnea(ZEROS, ZEROS, ZEROS).shape == (2,)
