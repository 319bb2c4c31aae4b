"""Programs of engines that are emulated: robots beside each other and in each other's place, loads that are torn, over
noise, after resets, and what is refused."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from rbdgen import Options, bit_true, compile_robot, golden, load_robot, parameter_values
from rbdgen.emulated_engine import EmulatedEngine, serve_engine
from rbdgen.errors import ConfigError, LinkError, RbdgenWarning
from rbdgen.host.driver import Driver
from rbdgen.host.engine import Engine
from rbdgen.host.programs import PROGRAM_FILE, Program, read_program
from rbdgen.host.spi import SpiTransport
from rbdgen.host.transport import Transport
from rbdgen.machines.engine.core import LANES, Core
from rbdgen.machines.engine.memories import Memories
from rbdgen.machines.engine.resident import VERSION, Resident, read_identity
from rbdgen.model import Setup, with_payloads
from rbdgen.model.robot import Robot
from rbdgen.protocol.directory import Entry
from rbdgen.report.files import write_files
from rbdgen.resident import compile_program, load_robot_into
from rbdgen.shells.spi_model import SpiModel
from rbdgen.tracing.calibration import varied_robot
from rbdgen_sim.faults import Noise
from tests.conftest import few

ENGINE = Resident(Core())


@lru_cache
def program(
    robot: str, functions: Sequence[str] = ("id",), beside: tuple[Entry, ...] = ()
) -> Program:
    return compile_program(
        load_robot(robot), Options(functions=tuple(functions), machine="engine"), ENGINE, beside
    )


def right(device: Driver, robot: str) -> bool:
    """Whether a device has a robot's torques."""
    own = load_robot(robot)
    q, v, a = np.random.default_rng(4).uniform(-1.0, 1.0, (3, 5, own.nv))
    return bool(np.allclose(device.rnea(q, v, a), golden.rnea(own, q, v, a), rtol=1e-3, atol=1e-3))


def test_an_engine_says_what_it_is() -> None:
    for engine in (ENGINE, Resident(Core(1, 1, depth=512, results=512), 3)):
        assert read_identity(engine.identity) == engine
    other = bytearray(ENGINE.identity)
    other[4] += 1
    with pytest.raises(
        LinkError, match=rf"^device: its engine is of another version \({VERSION + 1}, check"
    ):
        read_identity(bytes(other))
    with pytest.raises(LinkError, match=r"^device: holds design 00.*, to which no program"):
        read_identity(bytes(16))


def test_robots_stand_beside_each_other() -> None:
    device = Driver.open(program("pendulum2", ("id", "fd")), EmulatedEngine(ENGINE))
    beside = tuple(device.programs.entries())
    other = device.load(program("ur5", ("id", "m"), beside))
    assert device.robots == other.robots == ("pendulum2", "ur5")
    assert right(device, "pendulum2")
    assert right(other, "ur5")
    assert right(device, "pendulum2")


def test_what_clashes_is_taken_out() -> None:
    device = Driver.open(program("pendulum2"), EmulatedEngine(ENGINE))
    other = device.load(program("ur5"))
    assert device.robots == ("ur5",)
    assert right(other, "ur5")
    with pytest.raises(LinkError, match=r"^device: program rbd_pendulum2_id was taken out"):
        right(device, "pendulum2")


def test_what_is_there_is_not_loaded_again() -> None:
    shell = EmulatedEngine(ENGINE)
    Driver.open(program("pendulum2"), shell)
    written = shell.accepted
    assert right(Driver.open(program("pendulum2"), shell), "pendulum2")
    # the directory alone was read
    assert shell.accepted - written < 300


def test_a_device_that_lost_its_programs_gets_them_again() -> None:
    shell = EmulatedEngine(ENGINE)
    device = Driver.open(program("pendulum2"), shell)
    other = device.load(program("ur5", ("id", "m"), tuple(device.programs.entries())))
    # as after its power was gone
    shell.__init__(ENGINE)
    with pytest.warns(RbdgenWarning, match=r"its programs \(pendulum2, ur5\) were loaded again"):
        assert right(device, "pendulum2")
    assert right(other, "ur5")
    shell.reset()
    with pytest.warns(RbdgenWarning, match="loaded again"):
        assert right(other, "ur5")


def memories(given: Program) -> Memories:
    """What an engine holds that has a program to itself."""
    shell = EmulatedEngine(ENGINE)
    Driver.open(given, shell)
    return shell.memories


class Torn(EmulatedEngine):
    """A link that is cut after so many bytes."""

    left = 1 << 40
    came = 0

    def write(self, data: bytes) -> None:
        self.came += len(data)
        super().write(data[: self.left])
        self.left = max(0, self.left - len(data))


def over_spi(shell: Transport) -> Transport:
    """A shell as the host has it behind an SPI bus."""
    return SpiTransport(SpiModel(shell), "model", timeout=0.0)


WAYS: dict[str, Callable[[Transport], Transport]] = {"serial": lambda shell: shell, "spi": over_spi}
"""Ways to a shell, by their names."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("step", few([10, 97], 97))
@pytest.mark.slow
def test_loads_that_are_torn_leave_the_old_program_or_none(step: int, way: str) -> None:
    old, new = program("pendulum2", ("id", "m")), program("pendulum2", ("m", "fd"))
    shell, through = Torn(ENGINE), WAYS[way]
    Driver.open(old, through(shell))
    before = shell.came
    Driver.open(new, through(shell))
    whole = shell.came - before
    images = memories(old), memories(new)
    found = set()
    for cut in range(0, whole + step, step):
        shell.__init__(ENGINE)
        shell.left = 1 << 40
        device = Driver.open(old, through(shell))
        shell.left = cut
        with contextlib.suppress(LinkError):
            Driver.open(new, through(shell), patience=1, seconds=1.0)
        shell.left = 1 << 40
        there = device.robots
        entries = device.programs.entries()
        known = [code for code in range(31) if shell.memories.knows(code)]
        # whatever answers is one of them, whole
        if [e.identity for e in entries] == [old.manifest.identity]:
            assert right(device, "pendulum2")
            found.add("old")
        elif entries:
            assert entries == [new.entry]
            found.add("new")
        else:
            assert not there
            found.add("none" if not known else "some")
        for code in known:
            words = shell.memories.routine(code).words
            assert any(
                list(words) == list(image.routine(code).words)
                for image in images
                if image.knows(code)
            )
    assert found >= {"old", "none", "new"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rate", [0.002, 0.01])
def test_a_line_with_noise_loads_what_it_should(rate: float, way: str) -> None:
    shell = EmulatedEngine(ENGINE)
    line = WAYS[way](Noise(shell, rate, seed=1))
    device = Driver.open(program("ur5", ("id", "m")), line, attempts=1000, patience=100)
    quiet = memories(program("ur5", ("id", "m")))
    assert shell.memories.columns == quiet.columns
    assert shell.memories.banks == quiet.banks
    assert right(device, "ur5")


@pytest.mark.parametrize("lanes", [1, 4])
def test_parameters_are_loaded_by_name(lanes: int) -> None:
    engine = Resident(Core(lanes, LANES[lanes]))
    arm = load_robot("pendulum2")
    options = Options(functions=("id", "m"), machine="engine", calibratable=True)
    shell = EmulatedEngine(engine)
    device = Driver.open(compile_program(arm, options, engine), shell)
    other = varied_robot(arm, np.random.default_rng(1))
    device.calibrate(parameter_values(arm, other))
    q, v, a = np.random.default_rng(2).uniform(-1.0, 1.0, (3, 5, 2))
    assert np.allclose(device.rnea(q, v, a), golden.rnea(other, q, v, a), atol=1e-3)
    # with everything else, after a reset
    shell.reset()
    with pytest.warns(RbdgenWarning, match="loaded again"):
        assert np.allclose(device.rnea(q, v, a), golden.rnea(other, q, v, a), atol=1e-3)
    name = next(iter(parameter_values(arm, arm)))
    with pytest.raises(ConfigError, match=rf"^parameter '{name}': must be .* to .*, not"):
        device.calibrate({name: 1e6})
    with pytest.raises(ConfigError, match=r"^parameter 'x': this accelerator has no such"):
        device.calibrate({"x": 1.0})


@pytest.mark.slow
def test_a_program_that_is_opened_again_has_its_own_parameters() -> None:
    arm = load_robot("pendulum2")
    other = varied_robot(arm, np.random.default_rng(1))
    options = Options(functions=("id",), machine="engine", calibratable=True)
    made = compile_program(arm, options, ENGINE)
    shell = Torn(ENGINE)
    before = memories(made)
    device = Driver.open(made, shell)
    assert shell.memories.banks == before.banks
    entry = device.programs.entries()[0]
    came = shell.came
    device.calibrate(parameter_values(arm, other))
    changing = shell.came - came
    assert changing < 3000
    (told,) = device.programs.entries()
    assert told != entry
    assert told.identity == entry.identity
    assert shell.memories.banks != before.banks
    assert right(Driver.open(made, shell), "pendulum2")
    assert shell.memories.banks == before.banks
    # cut off anywhere, the next one that opens it finds it whole, with its own parameters
    for cut in range(0, changing, 37):
        device = Driver.open(made, shell, patience=1, seconds=1.0)
        shell.left = cut
        with contextlib.suppress(LinkError):
            device.calibrate(parameter_values(arm, other))
        shell.left = 1 << 40
        assert right(Driver.open(made, shell), "pendulum2")
        assert shell.memories.banks == before.banks
        assert shell.memories.columns == before.columns


def test_what_a_load_that_was_cut_off_took_away_is_told() -> None:
    arm = load_robot("pendulum2")
    made = compile_program(
        arm, Options(functions=("id",), machine="engine", calibratable=True), ENGINE
    )
    values = parameter_values(arm, varied_robot(arm, np.random.default_rng(1)))
    for new in (None, program("ur5")):
        shell = Torn(ENGINE)
        device = Driver.open(made, shell, patience=1, seconds=1.0)
        shell.left = 300 if new is None else 6000
        with pytest.raises(LinkError):
            device.calibrate(values) if new is None else device.load(new)
        shell.left = 1 << 40
        with pytest.raises(LinkError, match=r"or a load was cut off; load it again$"):
            right(device, "pendulum2")
        # the engine holds it no more, and has it again where it is loaded
        assert right(device.load(made), "pendulum2")


TOOL = """
<link name="tool0"/>
<joint name="tool" type="fixed">
  <parent link="wrist_3_link"/> <child link="tool0"/> <origin xyz="0 0.1 0.02" rpy="0.3 0 1.5"/>
</joint>
"""
"""A link that is fixed to the last one of an arm."""


@pytest.mark.parametrize("as_program", [True, False])
def test_what_a_link_carries_is_changed_by_name(as_program: bool, tmp_path: Path) -> None:
    file = tmp_path / "ur5.urdf"
    text = (resources.files("rbdgen.model") / "robots" / "ur5.urdf").read_text(encoding="utf-8")
    file.write_text(text.replace("</robot>", TOOL + "</robot>"), encoding="utf-8")
    largest = {
        "wrist_3_link": (2.0, 0.0, 0.0, 0.1),
        "tool0": (1.0, 0.05, 0.0, 0.0, *[1e-3] * 3, *[0.0] * 3),
    }
    bare = load_robot(file)
    options = Options(functions=("id",), machine="engine", calibratable=True)
    arm = Setup(payload=largest).load(file)
    if as_program:
        device = Driver.open(compile_program(arm, options, ENGINE), EmulatedEngine(ENGINE))
    else:
        device = bit_true(compile_robot(arm, options))
    q, v, a = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 5, 6))

    def computes(robot: Robot) -> bool:
        return np.allclose(device.rnea(q, v, a), golden.rnea(robot, q, v, a), atol=2e-3)

    assert computes(arm)
    device.payload("wrist_3_link", 0.3, (0.01, 0.0, 0.09))
    device.payload("tool0", 0.0)
    assert computes(with_payloads(bare, {"wrist_3_link": (0.3, 0.01, 0.0, 0.09)}))
    # in place of it, with moments; a link that a fixed joint holds is as good
    moments = 1e-4, 2e-4, 2.5e-4, 1e-5, 0.0, 0.0
    device.payload("wrist_3_link", 1.5, (0.0, 0.02, 0.05))
    device.payload("tool0", 0.5, (0.0, 0.02, 0.02), moments)
    both = {"wrist_3_link": (1.5, 0.0, 0.02, 0.05), "tool0": (0.5, 0.0, 0.02, 0.02, *moments)}
    assert computes(with_payloads(bare, both))
    # beside other values of the robot itself
    other = varied_robot(bare, np.random.default_rng(5))
    changed = replace(bare, bodies=(*bare.bodies[:2], *other.bodies[2:3], *bare.bodies[3:]))
    device.calibrate(parameter_values(bare, with_payloads(changed, both)))
    assert computes(with_payloads(changed, both))
    device.payload("wrist_3_link", 0)
    device.payload("tool0", 0)
    assert computes(changed)
    for link, mass, complaint in (
        ("wrist_4_link", 1.0, r"^payload: no moving link 'wrist_4_link' whose load .*did"),
        ("tool0", -1.0, r"^payload: of link 'tool0': must be at most 1e\+30, and"),
        ("tool0", 1000.0, r"^parameter 'p_.*': must be .* to .*, not"),
    ):
        with pytest.raises(ConfigError, match=complaint):
            device.payload(link, mass)
    # nothing was changed by these
    assert computes(changed)


@pytest.mark.parametrize("as_program", [True, False])
def test_where_a_frame_is_is_changed_by_name(as_program: bool, tmp_path: Path) -> None:
    file = tmp_path / "ur5.urdf"
    text = (resources.files("rbdgen.model") / "robots" / "ur5.urdf").read_text(encoding="utf-8")
    file.write_text(text.replace("</robot>", TOOL + "</robot>"), encoding="utf-8")
    made = {"tip=tool0": (0.0, 0.0, 0.3), "wrist_2_link": ()}
    arm = Setup(frame=made).load(file)
    options = Options(functions=("fk", "jac"), machine="engine", movable_frames=True)
    if as_program:
        device = Driver.open(compile_program(arm, options, ENGINE), EmulatedEngine(ENGINE))
    else:
        device = bit_true(compile_robot(arm, options))
    q = np.random.default_rng(3).uniform(-1.0, 1.0, (5, 6))

    def computes(tip: Sequence[float]) -> bool:
        robot = Setup(frame={**made, "tip=tool0": tip}).load(file)
        places = zip(device.frame_placements(q), golden.frame_placements(robot, q), strict=True)
        there = all(np.allclose(x, y, atol=1e-4) for x, y in places)
        return there and np.allclose(
            device.frame_jacobians(q), golden.frame_jacobians(robot, q), atol=1e-4
        )

    assert computes(made["tip=tool0"])
    device.frame("tip", (0.1, -0.1, 0.15), [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    turned = (0.1, -0.1, 0.15, 0.0, 0.0, np.pi / 2)
    assert computes(turned)
    # on its link's origin, and no farther than 0.1 m, as it was made
    with pytest.raises(ConfigError, match=r"^frame 'wrist_2_link': must be within 0\.1 m of the"):
        device.frame("wrist_2_link", (0.0, 0.2, 0.0))
    for frame, position, rotation, complaint in (
        ("tap", (0, 0, 0), np.eye(3), r"^frame: no 'tap' .* did you mean 'tip'\?$"),
        ("tip", (0, 0.3, 0.3), np.eye(3), r"^frame 'tip': must be within 0\.3 m .*, not 0\.4242"),
        ("tip", (0, 0, 0), -np.eye(3), r"^frame 'tip': rotation: must be a rotation, .*mirrors"),
        ("tip", (0, 0, 0), 2 * np.eye(3), r"must be a rotation, is off by 3"),
        ("tip", (0, 0), np.eye(3), r"^position: must be of shape \(3,\), not \(2,\)"),
        ("tip", (0, 0, np.nan), np.eye(3), r"^position: must be finite"),
        ("tip", "here", np.eye(3), r"^position: must be an array of numbers"),
    ):
        with pytest.raises(ConfigError, match=complaint):
            device.frame(frame, position, rotation)
    # nothing was changed by these
    assert computes(turned)
    device.frame("tip", (0.0, 0.0, 0.3))
    assert computes(made["tip=tool0"])


def test_without_parameters_nothing_is_changed() -> None:
    device = Driver.open(program("pendulum2"), EmulatedEngine(ENGINE))
    with pytest.raises(ConfigError, match=r"^payload: no moving link 'x' .*--calibratable$"):
        device.payload("x", 1.0)
    with pytest.raises(ConfigError, match=r"^frame: no 'x' .*--movable-frames$"):
        device.frame("x", (0.0, 0.0, 0.0))


@pytest.mark.parametrize("name", ["ur5", "a_robot_with_a_name_of_many_letters", "ü" * 20])
def test_the_same_robot_is_not_loaded_beside_itself(name: str) -> None:
    shell = EmulatedEngine(ENGINE)
    engine = Engine.open(shell)
    robot = replace(load_robot("pendulum2"), name=name)
    options = Options(functions=("id",), machine="engine")
    load_robot_into(engine, robot, options)
    load_robot_into(engine, load_robot("ur5"), options)
    written = shell.accepted
    again = load_robot_into(engine, robot, options)
    assert shell.accepted - written < 500
    assert right(again, "pendulum2")
    assert len(engine.robots) == 2
    # with other functions it is another program
    load_robot_into(engine, robot, Options(functions=("id", "m"), machine="engine"))
    assert len(engine.robots) == 3


def test_robots_come_by_datagrams_as_well(tmp_path: Path) -> None:
    with serve_engine(ENGINE) as server:
        with Engine.udp(server.name) as engine:
            assert read_identity(engine.identity) == ENGINE
            arm = load_robot_into(
                engine, load_robot("ur5"), Options(functions=("id", "m"), machine="engine")
            )
            other = load_robot_into(
                engine, load_robot("pendulum2"), Options(functions=("id",), machine="engine")
            )
            assert engine.robots == ("ur5", "pendulum2")
            assert right(arm, "ur5")
            assert right(other, "pendulum2")
            # as by a board that lost its power
            with server.paused() as shell:
                shell.reset()
            with pytest.warns(RbdgenWarning, match=r"programs \(ur5, pendulum2\) were loaded"):
                assert right(arm, "ur5")
            assert right(other, "pendulum2")
        write_files(program("pendulum2", ("id", "m")).files, tmp_path)
        with Driver.udp(tmp_path, server.name) as device:
            assert right(device, "pendulum2")


def test_a_program_for_another_engine_is_refused() -> None:
    shell = EmulatedEngine(Resident(Core(2, 1)))
    with pytest.raises(LinkError, match=r"^device: holds design 52424465"):
        Driver.open(program("pendulum2"), shell)


def test_a_robot_that_is_too_large_says_what_lacks() -> None:
    small = Resident(Core(depth=64))
    with pytest.raises(ConfigError, match=r"^program: .* words are needed, .* more than there are"):
        compile_program(load_robot("ur5"), Options(functions=("id",), machine="engine"), small)


def test_a_file_is_what_its_manifest_says(tmp_path: Path) -> None:
    made = program("pendulum2")
    write_files(made.files, tmp_path)
    assert read_program(tmp_path) == made
    assert right(Driver.open(tmp_path, EmulatedEngine(ENGINE)), "pendulum2")
    image = tmp_path / PROGRAM_FILE
    image.write_bytes(image.read_bytes()[:-1] + b"\1")
    with pytest.raises(ConfigError, match=r"program\.bin: is not what its manifest was written"):
        read_program(tmp_path)
    image.unlink()
    with pytest.raises(ConfigError, match=r"program\.bin: No such file"):
        read_program(tmp_path)
    content = json.loads((tmp_path / "manifest.json").read_text())
    assert content["program"]["engine"] == ENGINE.identity.hex()
