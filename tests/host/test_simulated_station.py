"""The driver over UDP against the RTL with its MAC: a wire that is played, in real time behind a socket and in
simulated time, on which frames are lost, doubled, overtaken and damaged."""

from __future__ import annotations

import time

import numpy as np
import pytest

from rbdgen import Design, golden, parameter_values
from rbdgen.emulation import manifest_of
from rbdgen.errors import LinkError, RbdgenWarning
from rbdgen.host.driver import Driver
from rbdgen.host.udp import connect
from rbdgen.protocol.links import Addresses
from rbdgen.tracing.calibration import varied_robot
from rbdgen_hw.emit import write_station
from rbdgen_sim.comparison import check_mixed
from rbdgen_sim.device import BuiltStation, Faults, SimulatedStation, SteppedPort, build_station
from tests.conftest import design
from tests.host.test_driver import close

CLOCK = 80e6
"""Hz of the board's clock, whose phase wanders against the wire's."""
SHORT_SECOND = 2e4
"""What the RTL is told of its clock, in Hz, so that its seconds are short: a session is another's after 0.25 ms."""
BAD = Faults(lost=0.05, doubled=0.05, overtaken=0.05, damaged=0.03)


def robot() -> Design:
    return design("pendulum2", functions=("id", "m", "did"), ii=4, calibratable=True)


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> BuiltStation:
    """A small robot's accelerator."""
    work = tmp_path_factory.mktemp("station")
    written, station = write_station(robot(), SHORT_SECOND, Addresses(), work)
    return build_station(written.manifest, station, written.sources, written.top, work)


@pytest.mark.thorough
@pytest.mark.slow
def test_mixed_tasks_are_answered_over_a_socket(board: BuiltStation) -> None:
    known = board.manifest
    with SimulatedStation(board, CLOCK) as simulated:
        with Driver.udp(known, simulated.address) as device:
            check_mixed(robot(), device, 3000, 1)
            assert device.link.counters.sent - device.link.counters.lost == 3000
            q, v, a = np.random.default_rng(4).uniform(-1, 1, (3, 2, 5, 2))
            close(device.rnea(q, v, a), golden.rnea(robot().robot, q, v, a))
        with Driver.udp(known, simulated.address) as device:
            # another host, whose turn has come
            check_mixed(robot(), device, 100, 2)
            simulated.reset()
            check_mixed(robot(), device, 300, 3)
    assert simulated.cycles > 50_000


@pytest.mark.slow
def test_a_bad_wire_loses_time_only(board: BuiltStation) -> None:
    known = board.manifest
    begun = time.monotonic()
    with (
        SimulatedStation(board, CLOCK, BAD, seed=3) as simulated,
        Driver.udp(known, simulated.address) as device,
    ):
        check_mixed(robot(), device, 3000, 4)
        assert device.link.counters.lost > 100
    assert time.monotonic() - begun < 60


@pytest.mark.slow
def test_parameters_stay_loaded_though_the_board_is_reset(
    board: BuiltStation,
) -> None:
    known = board.manifest
    d = robot()
    varied = varied_robot(d.robot, np.random.default_rng(1))
    q, v, a = np.random.default_rng(5).uniform(-1, 1, (3, 40, 2))
    with (
        SimulatedStation(board, CLOCK) as simulated,
        Driver.udp(known, simulated.address) as device,
    ):
        device.calibrate(parameter_values(d.robot, varied))
        expected = device.rnea(q, v, a)
        close(expected, golden.rnea(varied, q, v, a))
        simulated.reset()
        with pytest.warns(RbdgenWarning, match="was reset"):
            assert np.array_equal(device.rnea(q, v, a), expected)


@pytest.mark.slow
def test_it_is_the_same_in_simulated_time(board: BuiltStation) -> None:
    known = board.manifest
    times = []
    for faults in (Faults(), BAD):
        port = SteppedPort(board, CLOCK, faults, seed=5)
        device = Driver(known, connect(port, known))
        begun = port.now()
        check_mixed(robot(), device, 1500, 6)
        times.append(port.now() - begun)
        assert (device.link.counters.lost > 0) == (faults == BAD)
        device.close()
    # the bytes of the tasks alone take a tenth of a millisecond
    assert all(1e-4 < seconds < 0.5 for seconds in times)


@pytest.mark.slow
def test_another_design_is_refused(board: BuiltStation) -> None:
    other = manifest_of(robot(), "f" * 64)
    with (
        SimulatedStation(board, CLOCK) as simulated,
        pytest.raises(LinkError, match=r"holds design [0-9a-f]{32}, not [0-9a-f]{32} "),
    ):
        Driver.udp(other, simulated.address)
