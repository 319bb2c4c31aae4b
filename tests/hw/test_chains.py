"""Serial chains by scans and constraint forces in hardware: bit for bit, precise, and sooner than by recursion."""

from __future__ import annotations

from pathlib import Path

import pytest

from rbdgen import ConfigError, Options, UnsupportedError, compile_robot, load_robot
from rbdgen.model import FreeFlyer, Setup, with_contacts, with_frames
from rbdgen.trials import make_tasks, relative_errors, task_states
from tests.chains import jointed, snake
from tests.hw.test_joint_types import simulated_mismatches


@pytest.mark.parametrize(
    ("functions", "forward", "more"),
    [
        (("id", "fd"), "cfa", {}),
        (("id", "nle", "fd"), "jsiia", {"calibratable": True}),
        (("fd", "minv"), "hybrid", {}),
    ],
)
@pytest.mark.slow
def test_a_snake_becomes_hardware(
    functions: tuple[str, ...], forward: str, more: dict[str, bool], tmp_path: Path
) -> None:
    options = Options(
        functions, ii=8, word=26, inverse_dynamics="scan", forward_dynamics=forward, **more
    )
    d = compile_robot(snake(3), options)
    states = task_states(d, 200, seed=1)
    for function in d.network.functions:
        tasks = make_tasks(d, function, states)
        assert relative_errors(d, tasks, tasks.expected)[0] < 1e-4, function
    assert simulated_mismatches(d, 4 * len(functions), tmp_path) == 0


@pytest.mark.parametrize("more", [{"forces": True}, {"moving_base": True}, {"calibratable": True}])
@pytest.mark.slow
def test_scans_take_forces_moving_bases_and_loaded_parameters(more: dict[str, bool]) -> None:
    options = Options(("id", "did"), word=26, inverse_dynamics="scan", programs="two", **more)
    d = compile_robot(snake(3), options)
    tasks = make_tasks(d, "id", task_states(d, 200, seed=1))
    assert relative_errors(d, tasks, tasks.expected)[0] < 1e-4


FRAMED = ("laminvf", "lama", "laminv", "lam")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("reference", "damping"),
    [
        ("local", 0.0),
        ("local_world_aligned", 0.5),
        pytest.param("world", 0.0, marks=pytest.mark.thorough),
    ],
)
def test_the_inertia_of_a_floating_chains_end_is_near_float64(
    reference: str, damping: float
) -> None:
    robot = with_frames(jointed({0: FreeFlyer()}, 3), {"tip=l3": (0.1, 0.0, 0.2, 0.3, 0.2, 0.1)})
    options = Options(
        FRAMED,
        ii=8,
        word=26,
        operational_space="schur",
        reference=reference,
        constraint_damping=damping,
    )
    d = compile_robot(robot, options)
    states = task_states(d, 200, seed=1)
    for function in FRAMED:
        tasks = make_tasks(d, function, states)
        assert not tasks.flags.any(), function
        assert relative_errors(d, tasks, tasks.expected)[0] < 1e-4, function


@pytest.mark.thorough
def test_the_inertia_of_a_chains_end_becomes_hardware(tmp_path: Path) -> None:
    robot = with_frames(jointed({0: FreeFlyer()}, 3), {"l3": ()})
    options = Options(("lam", "lama", "laminvf"), ii=12, word=18, operational_space="schur")
    assert simulated_mismatches(compile_robot(robot, options), 12, tmp_path) == 0


@pytest.mark.parametrize(
    "reference", [pytest.param("local", marks=pytest.mark.thorough), "local_world_aligned"]
)
@pytest.mark.slow
def test_contacts_of_a_chains_end_are_near_float64(reference: str) -> None:
    robot = with_frames(snake(3), {"tip=l3": (0.1, 0.0, 0.2, 0.3, 0.2, 0.1)})
    options = Options(
        ("cfd", "scfd"),
        ii=12,
        word=24,
        operational_space="schur",
        reference=reference,
        constraint_damping=0.1,
        contact_rate=2.0,
    )
    d = compile_robot(with_contacts(robot, ["tip:xz"]), options)
    states = task_states(d, 200, seed=1)
    for function in d.network.functions:
        tasks = make_tasks(d, function, states)
        assert not tasks.flags.any(), function
        assert relative_errors(d, tasks, tasks.expected)[0] < 1e-4, function


@pytest.mark.slow
def test_contacts_of_a_chains_end_become_hardware(tmp_path: Path) -> None:
    robot = with_contacts(snake(2), ["l2:x"])
    options = Options(
        ("cfd", "scfd"), ii=12, word=18, operational_space="schur", constraint_damping=0.1
    )
    assert simulated_mismatches(compile_robot(robot, options), 12, tmp_path) == 0


def latency(links: int, function: str, **more: str) -> int:
    robot = with_frames(snake(links), {f"l{links}": ()})
    d = compile_robot(robot, Options((function,), word=28, **more))
    return d.promised_latency(function)


@pytest.mark.thorough
def test_derivatives_beside_them_do_not_make_torques_slow() -> None:
    d = compile_robot(snake(16), Options(("id", "did"), word=26, inverse_dynamics="scan"))
    assert d.promised_latency("id") < 16


@pytest.mark.thorough
def test_twice_the_links_cost_a_constant_number_of_cycles() -> None:
    scans = [latency(n, "id", inverse_dynamics="scan") for n in (4, 8, 16)]
    assert scans[-1] - scans[0] <= 4
    assert scans[-1] < latency(16, "id") / 2
    held = {"inverse_dynamics": "scan", "forward_dynamics": "cfa"}
    usual = latency(8, "fd")
    assert latency(8, "fd", **held) < usual
    hybrid = {"inverse_dynamics": "scan", "forward_dynamics": "hybrid"}
    assert latency(8, "fd", **hybrid) < usual
    ends = [latency(n, "laminvf", operational_space="schur") for n in (4, 8)]
    assert ends[1] - ends[0] <= 7
    assert ends[1] < latency(8, "laminvf")


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(
        ConfigError,
        match=r"^forward_dynamics jsiia and mass_matrix: forward_dynamics jsiia needs mass_matrix ldl, "
        "not mminvgen$",
    ):
        Options(("fd",), forward_dynamics="jsiia", mass_matrix="mminvgen")
    with pytest.raises(
        ConfigError,
        match=r"^calibratable and forward_dynamics: calibratable needs forward_dynamics factors, not hybrid$",
    ):
        Options(("fd",), forward_dynamics="hybrid", calibratable=True)
    with pytest.raises(UnsupportedError, match=r"^forward-dynamics cfa: takes serial chains"):
        compile_robot(load_robot("hyq"), Options(("fd",), forward_dynamics="cfa"))


@pytest.mark.thorough
def test_constraint_forces_of_an_arm_have_formats_for_an_error() -> None:
    """Errors of its eliminations are not independent: taken so, they are larger than the values."""
    target = 1e-2
    options = Options(("fd",), error={"all": target}, forward_dynamics="cfa")
    d = compile_robot(Setup(tip="link4").load("iiwa14"), options)
    tasks = make_tasks(d, "fd", task_states(d, 1000, seed=1))
    assert relative_errors(d, tasks, tasks.expected)[0] < target
