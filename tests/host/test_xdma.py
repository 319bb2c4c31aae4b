"""The driver for a board behind PCI Express, against files that behave as AMD's driver's do."""

from __future__ import annotations

import errno
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from rbdgen import Design, parameter_values
from rbdgen.emulation import bit_true_shell, manifest_of
from rbdgen.errors import LinkError, RbdgenWarning
from rbdgen.host.driver import Driver
from rbdgen.host.stream_link import StreamLink
from rbdgen.host.xdma import MOST_BYTES, XdmaDevice, batch_within, xdma_link
from rbdgen.protocol.registers import Register, stream_bits
from rbdgen.tracing.calibration import varied_robot
from rbdgen_sim.axi import DmaModel
from rbdgen_sim.comparison import check_mixed, random_operands
from tests.conftest import design
from tests.host.xdma_files import XdmaFiles

FUNCTIONS = ("id", "m", "did")


def small() -> Design:
    return design("pendulum2", functions=FUNCTIONS, ii=4)


def board(d: Design, patience: float = 10.0) -> XdmaFiles:
    """``patience``: the driver's, in seconds; long where nothing fails, however busy this machine is."""
    return XdmaFiles(DmaModel(bit_true_shell(d)), patience)


def opened(d: Design, files: XdmaFiles, seconds: float = 5.0, batch: int = 4096) -> Driver:
    return Driver(manifest_of(d), xdma_link(manifest_of(d), "/dev/xdma0", batch, seconds, files))


def fails(device: Driver, message: str, within: float) -> None:
    """A call ends with this line, and soon."""
    begun = time.monotonic()
    with pytest.raises(LinkError, match=message) as caught:
        device.crba(np.zeros((3, 2)))
    assert time.monotonic() - begun < within
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("batch", "replicas"), [(4096, 1), (7, 1), (50, 3)])
def test_tasks_go_through_the_files(batch: int, replicas: int) -> None:
    d = design("pendulum2", functions=FUNCTIONS, ii=4, replicas=replicas)
    files = board(d)
    with opened(d, files, batch=batch) as device:
        check_mixed(d, device, 400, 1)
    assert files.opened == {}
    assert files.transfers >= 400 // batch


@pytest.mark.parametrize("chop", [1, 63, 100, 4096])
def test_what_is_read_in_parts_is_put_together(chop: int) -> None:
    d = small()
    files = board(d)
    files.chop = chop
    with opened(d, files) as device:
        check_mixed(d, device, 20, 2)


def test_batches_are_no_larger_than_what_is_written_at_once() -> None:
    d = small()
    assert batch_within(d.tasks, 4096) == 4096
    longest = 4 * stream_bits(d.tasks.task) // 8
    assert batch_within(d.tasks, 10**9) == MOST_BYTES // longest
    link = xdma_link(manifest_of(d), batch=10**9, files=board(d))
    assert link.batch == MOST_BYTES // longest


@pytest.mark.parametrize(
    ("node", "error", "message"),
    [
        ("user", errno.ENOENT, r"_user: is not there; load AMD's driver \('modprobe xdma'\), load"),
        ("h2c_0", errno.EACCES, r"_h2c_0: may not be opened by this user; give it rights to the "),
        ("c2h_0", errno.EBUSY, r"_c2h_0: is in use; close the program that has it open$"),
        ("user", errno.ENXIO, r"_user: is not there; "),
        ("h2c_0", errno.EIO, r"_h2c_0: cannot be opened: Input/output error; load its bitstream"),
    ],
)
def test_a_board_that_cannot_be_opened_is_one_line(node: str, error: int, message: str) -> None:
    files = board(small())
    files.refused[node] = error
    with pytest.raises(LinkError, match=r"^device: /dev/xdma0" + message):
        opened(small(), files)
    # what was opened before is closed
    assert files.opened == {}


def test_a_path_that_is_none_is_one_line(tmp_path: Path) -> None:
    """With the real files of this machine."""
    path = str(tmp_path / "xdma7")
    with pytest.raises(LinkError, match=r"^device: .*xdma7_user: is not there; load AMD's driver"):
        Driver.xdma(manifest_of(small()), path)
    (tmp_path / "xdma7_user").write_bytes(b"")
    # what is no board's has no registers
    with pytest.raises(LinkError, match=r"xdma7_h2c_0: is not there; "):
        Driver.xdma(manifest_of(small()), path)
    for node in ("h2c_0", "c2h_0"):
        (tmp_path / f"xdma7_{node}").write_bytes(b"")
    with pytest.raises(
        LinkError, match=r"_user: 0 of a register's 4 bytes were read; load its bit"
    ):
        Driver.xdma(manifest_of(small()), path)


def test_only_one_program_has_it() -> None:
    files = board(small())
    with opened(small(), files), pytest.raises(LinkError, match=r"_c2h_0: is in use; close the "):
        opened(small(), files)
    opened(small(), files).close()


def test_another_design_is_refused_and_let_go_of() -> None:
    files = board(small())
    other = manifest_of(design("pendulum2"), "f" * 64)
    with pytest.raises(LinkError, match=r"^device: holds design [0-9a-f]{32}, not [0-9a-f]{32} "):
        xdma_link(other, files=files)
    assert files.opened == {}
    files.dma.registers[Register.VERSION] = 7
    with pytest.raises(LinkError, match=r"^device: has registers of version 7, this host knows "):
        opened(small(), files)


def test_a_board_that_is_gone_ends_a_call_at_once() -> None:
    d, files = small(), board(small(), patience=30.0)
    device = opened(d, files, seconds=20.0)
    files.gone = True
    gone = r"^device: /dev/xdma0: is gone, its registers read as ones; check power and cable, load "
    fails(device, gone, within=2.0)
    with pytest.raises(LinkError, match=gone):
        opened(d, XdmaFilesGone(d))
    device.link.close()
    fails(device, r"^device: /dev/xdma0: is (closed; open it again|amid a transfer)", within=1.0)
    device.close()
    fails(device, r"^device: is closed; open it again$", within=1.0)


class XdmaFilesGone(XdmaFiles):
    """A board that was gone before it was opened."""

    def __init__(self, d: Design) -> None:
        super().__init__(DmaModel(bit_true_shell(d)))
        self.gone = True


def test_results_that_do_not_come_end_a_call_within_the_seconds() -> None:
    d, files = small(), board(small(), patience=30.0)
    device = opened(d, files, seconds=0.3)
    files.held = True
    fails(device, r"^device: /dev/xdma0: no result left for 0\.3 s during a transfer; load", 2.0)
    # what may still come of it is never taken for another call's
    fails(device, r"^device: /dev/xdma0: is amid a transfer that was given up; load its bit", 1.0)


def test_the_drivers_own_time_limit_is_an_error() -> None:
    d, files = small(), board(small(), patience=0.2)
    device = opened(d, files, seconds=20.0)
    files.held = True
    fails(device, r"^device: /dev/xdma0_(h2c|c2h)_0: Connection timed out; load its bitstream", 2.0)


def test_tasks_that_are_not_all_taken_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    d, files = small(), board(small())
    device = opened(d, files)
    whole = files.pwrite
    monkeypatch.setattr(
        files, "pwrite", lambda handle, data, offset: whole(handle, data, offset) - 8
    )
    fails(device, r"^device: /dev/xdma0_h2c_0: took \d+ of \d+ bytes of tasks; load its", 2.0)


def test_a_reset_in_mid_use_brings_the_parameters_back() -> None:
    """Amid a transfer: its results are lost, and the call is repeated, once the driver has given it up."""
    d = design("pendulum2", functions=("id", "m"), ii=4, calibratable=True)
    other = varied_robot(d.robot, np.random.default_rng(4))
    values = parameter_values(d.robot, other)
    q, v, a, _ = random_operands(d, 60)
    undisturbed = opened(d, board(d))
    undisturbed.calibrate(values)
    wanted = undisturbed.rnea(q, v, a)
    files = board(d, patience=0.3)
    device = opened(d, files, seconds=2.0)
    device.calibrate(values)
    files.resets = {files.transfers + 1}
    begun = time.monotonic()
    with pytest.warns(RbdgenWarning, match=r"^device: was reset in mid-use; its \d+ parameters"):
        assert np.array_equal(device.rnea(q, v, a), wanted)
    assert time.monotonic() - begun < 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(device.rnea(q, v, a), wanted)


def test_a_call_that_never_ends_is_not_waited_for() -> None:
    """A driver that was told to wait for ever keeps a reading: the next transfer ends as well."""
    d, files = small(), board(small(), patience=30.0)
    device = XdmaDevice("/dev/xdma0", 0.2, files)
    link = StreamLink(manifest_of(d), device)
    files.held = True
    with pytest.raises(LinkError, match=r"no result left for 0\.2 s"):
        link.exchange([b"\x00" * 8])
    # nothing else may be sent, until a reset; and then not before the reading has ended
    driver = Driver(manifest_of(d), link)
    fails(driver, r"is amid a transfer that was given up; load", 1.0)
    files.dma.reset()
    fails(driver, r"_(h2c|c2h)_0: an earlier transfer is still under way after 0\.2 s; load", 1.0)


def test_registers_are_words() -> None:
    files = board(small())
    device = XdmaDevice("/dev/xdma0", 1.0, files)
    device.write_register(Register.EPOCH, 0x01020304)
    assert device.read_register(Register.EPOCH) == 0x01020304
    assert files.dma.read_register(Register.EPOCH) == 0x01020304
    # a number that happens to be all ones is none of a board that is gone
    device.write_register(Register.EPOCH, 0xFFFFFFFF)
    assert device.read_register(Register.EPOCH) == 0xFFFFFFFF
    with pytest.raises(LinkError, match=r"^device: /dev/xdma0_user: Protocol error; load its"):
        device.read_register(Register.EPOCH + 1)
