"""The textbook algorithms as texts: how they are cut into submodules, which columns they carry, what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from rbdgen import Robot, golden, load_robot
from rbdgen.algo.aba import aba
from rbdgen.algo.articulated import symmetric_inverse
from rbdgen.algo.crba import crba
from rbdgen.algo.mminvgen import mminvgen
from rbdgen.algo.plucker import transforms
from rbdgen.algo.rnea import inward_sweep, joint_placements, outward_sweep
from rbdgen.algo.rnea_derivatives import rnea_derivatives
from rbdgen.ir.builder import Builder, Expr
from rbdgen.spatial import Enter
from rbdgen.tracing.equivalent import equivalent
from tests.conftest import shared_robot

Text = Callable[[Robot, tuple[Any, ...], tuple[Any, ...], tuple[Any, ...], Enter], Any]


def derivatives(robot: Robot, q: Any, v: Any, a: Any, enter: Enter) -> Any:
    joints = joint_placements(robot, q, enter)
    motions, wrenches = outward_sweep(robot, joints, v, a, enter=enter)
    totals = inward_sweep(robot, joints, v, a, wrenches, enter)[1]
    return rnea_derivatives(robot, transforms(robot, joints, enter), v, motions, totals, enter)


TEXTS: dict[str, tuple[Text, set[str]]] = {
    "columns": (derivatives, {"Sc", "Rf", "Rb", "Df", "Db"}),
    "crba": (
        lambda r, q, v, a, enter: crba(
            r, transforms(r, joint_placements(r, q, enter), enter), enter
        ),
        {"Sc", "Mb"},
    ),
    "mminvgen": (
        lambda r, q, v, a, enter: mminvgen(
            r, transforms(r, joint_placements(r, q, enter), enter), enter=enter
        ),
        {"Sc", "Mb", "Mf"},
    ),
    "aba": (
        lambda r, q, v, a, enter: aba(
            r, transforms(r, joint_placements(r, q, enter), enter), v, a, enter=enter
        ),
        {"Sc", "Af", "Ab", "Ac"},
    ),
}


def states(robot: Robot) -> tuple[tuple[Any, ...], ...]:
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), 4, seed=9)
    return tuple(q.T), tuple(v.T), tuple(a.T)


@pytest.mark.parametrize("name", TEXTS)
def test_every_operation_is_in_a_submodule_of_one_body(name: str) -> None:
    """Traced, nothing but constants is outside the submodules that the text names."""
    robot = load_robot("hyq")
    text, kinds = TEXTS[name]
    builder = Builder()
    found: set[str] = set()

    @contextmanager
    def enter(kind: str, body: int | None) -> Iterator[None]:
        found.add(kind)
        with builder.submodule(f"{kind} {body}"):
            yield

    sizes = (robot.nq, robot.nv, robot.nv)
    q, v, a = (
        tuple(Expr(builder, builder.input(f"{n}{k}")) for k in range(s))
        for n, s in zip("qva", sizes, strict=True)
    )
    text(robot, q, v, a, enter)
    owners = {n.owner for n in builder.nodes if n.op not in ("const", "input")}
    assert found == kinds
    assert {o.split()[0] for o in owners} == kinds
    assert all(o == "Sc None" or int(o.split()[1]) < len(robot.bodies) for o in owners)


def related(robot: Robot) -> set[tuple[int, int]]:
    """Pairs of degrees of freedom of which one is on the other's way to the base."""
    bodies = [i for i, part in enumerate(robot.v_slices) for _ in range(part.start, part.stop)]
    above: list[set[int]] = []
    for i, body in enumerate(robot.bodies):
        above.append({i} | (above[body.parent] if body.parent >= 0 else set()))
    dofs = range(robot.nv)
    return {
        (i, j)
        for i in dofs
        for j in dofs
        if bodies[i] in above[bodies[j]] or bodies[j] in above[bodies[i]]
    }


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_only_entries_that_can_differ_from_zero_are_computed(base: str) -> None:
    robot = load_robot("hyq", base)
    q, v, a = states(robot)
    ways = transforms(robot, joint_placements(robot, q))
    pairs = related(robot)
    lower = {(i, j) for i, j in pairs if i >= j}
    assert set(crba(robot, ways)) == lower
    mass, inverse = mminvgen(robot, ways)
    assert set(mass) == lower
    legs = {(i, j) for i in range(robot.nv) for j in range(i + 1)}
    assert set(inverse) == (legs if base == "floating" else lower)
    by_position, by_velocity = derivatives(robot, q, v, a, enter=nowhere)
    assert set(by_position) == set(by_velocity) == pairs


@contextmanager
def nowhere(kind: str, body: int | None) -> Iterator[None]:
    yield


def test_mminvgens_flags_choose_its_results() -> None:
    robot = load_robot("iiwa14")
    q = states(robot)[0]
    ways = transforms(robot, joint_placements(robot, q))
    both = mminvgen(robot, ways)
    assert mminvgen(robot, ways, m=False)[0] == {}
    assert mminvgen(robot, ways, minv=False)[1] == {}
    for one, other in zip(
        both, (mminvgen(robot, ways, minv=False)[0], mminvgen(robot, ways, m=False)[1]), strict=True
    ):
        assert set(one) == set(other)
        assert all(np.array_equal(one[k], other[k]) for k in one)
    mass, inverse = np.zeros((2, 4, 7, 7))
    for matrix, entries in zip((mass, inverse), both, strict=True):
        for (i, j), x in entries.items():
            matrix[:, i, j] = matrix[:, j, i] = x
    assert np.allclose(mass @ inverse, np.eye(7), atol=1e-9)


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_small_symmetric_matrices_are_inverted(size: int) -> None:
    root = np.random.default_rng(size).normal(size=(size, size))
    m = root @ root.T + np.eye(size)
    inverse = np.array(symmetric_inverse([tuple(row) for row in m]))
    assert np.allclose(inverse @ m, np.eye(size), atol=1e-12)
    assert np.array_equal(inverse, inverse.T)


PRODUCTS = {
    ("columns", "iiwa"): 1900,
    ("columns", "hyq_simple"): 1100,
    ("mminvgen", "iiwa"): 580,
    ("mminvgen", "hyq_simple"): 320,
    ("crba", "iiwa"): 110,
    ("aba", "iiwa"): 430,
}
"""Variable multiplications, rounded up, not to be exceeded on the equivalent robot. MMinvGen: M and M⁻¹."""


@pytest.mark.parametrize(("text", "name"), PRODUCTS)
def test_texts_stay_cheap(text: str, name: str) -> None:
    robot = equivalent(shared_robot(name)).robot
    builder = Builder()
    sizes = (robot.nq, robot.nv, robot.nv)
    q, v, a = (
        tuple(Expr(builder, builder.input(f"{n}{k}")) for k in range(s))
        for n, s in zip("qva", sizes, strict=True)
    )
    found = TEXTS[text][0](robot, q, v, a, nowhere)
    outputs: dict[str, int] = {}
    for number, part in enumerate(found if isinstance(found, tuple) else (found,)):
        entries = part if isinstance(part, dict) else {0: part}
        outputs |= {f"{number} {k}": x.node for k, x in entries.items() if isinstance(x, Expr)}
    count = Counter(n.name for n in builder.graph(outputs).nodes)
    assert 0 < count["mul"] <= PRODUCTS[text, name]
