"""The driver over streams of beats, against the model of a device."""

from __future__ import annotations

import pytest

from rbdgen.emulation import bit_true_shell, manifest_of
from rbdgen.errors import LinkError
from rbdgen.host.driver import Driver
from rbdgen.host.stream_link import StreamLink
from rbdgen.protocol.registers import Register, stream_bits
from rbdgen_sim.axi import DmaModel
from rbdgen_sim.comparison import check_mixed, golden_requests
from tests.conftest import design
from tests.host.test_driver import everything


@pytest.mark.parametrize("batch", [1, 7, 4096])
@pytest.mark.parametrize("ii", [1, 4])
def test_mixed_tasks_come_back_from_batches(batch: int, ii: int) -> None:
    d = design("pendulum2", functions=("id", "m", "did"), ii=ii)
    known, dma = manifest_of(d), DmaModel(bit_true_shell(d))
    check_mixed(d, Driver(known, StreamLink(known, dma, batch)), 100, 1)
    assert len(dma.sent) == -(-100 // batch)


@pytest.mark.parametrize("batch", [1, 7, 4096])
@pytest.mark.parametrize(("replicas", "ii"), [(2, 1), (3, 4)])
def test_tasks_go_side_by_side_to_several_accelerators(replicas: int, ii: int, batch: int) -> None:
    d = design("pendulum2", functions=("id", "m", "did"), ii=ii, replicas=replicas)
    known, dma = manifest_of(d), DmaModel(bit_true_shell(d))
    assert known.tasks.replicas == replicas
    check_mixed(d, Driver(known, StreamLink(known, dma, batch)), 100, 1)
    assert len(dma.sent) == -(-100 // batch)
    if ii == 1:
        width = stream_bits(known.tasks.task) // 8
        assert len(dma.sent[0]) == width * -(-min(batch, 100) // replicas)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda data: data[:-1],
            r"^device: a transfer of \d+ bytes ends inside a result; reset it$",
        ),
        (lambda data: data + data, r"^device: answered 20 of 10 tasks of a batch; reset it$"),
        (lambda data: bytes([data[0] ^ 3]) + data[1:], r"^device: "),
    ],
)
def test_answers_that_do_not_belong_are_refused(
    change, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    d = everything()
    known, dma = manifest_of(d), DmaModel(bit_true_shell(d))
    transfer = dma.transfer
    monkeypatch.setattr(dma, "transfer", lambda data, size: change(transfer(data, size)))
    with pytest.raises(LinkError, match=message):
        Driver(known, StreamLink(known, dma)).solve(golden_requests(d, 10)[:1])


def test_registers_do_not_overlap() -> None:
    assert len({r >> 2 for r in Register}) == len(Register)
    assert max(Register) == Register.IDENTITY
