"""Branches that are alike: found, folded as far as they agree, and scheduled in turns."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest

from rbdgen import load_robot
from rbdgen.compiler import Design
from rbdgen.functions.registry import common
from rbdgen.ir.number_formats import Format
from rbdgen.machines.pipeline.buffers import make_plan
from rbdgen.machines.pipeline.check import check_plan
from rbdgen.machines.pipeline.scheduler import schedule
from rbdgen.tracing.folding import alike_branches, fold_branches
from rbdgen.tracing.units import UTILIZATION
from tests.conftest import design, few, shared_robot


def folded_share(d: Design) -> float:
    """Share of the branches' products that are folded."""
    bodies = {b for group in alike_branches(d.robot) for branch in group for b in branch}
    owners = {s.name for s in d.network.submodules if s.body in bodies}
    products = [i for i, n in d.fixed.graph if n.name == "mul" and n.owner in owners]
    return sum(i in d.plan.schedule.folds.members for i in products) / len(products)


def test_legs_are_alike() -> None:
    robot = load_robot("hyq")
    (legs,) = alike_branches(robot)
    assert [[robot.bodies[b].name[:2] for b in leg] for leg in legs] == [
        [p] * 3 for p in ("lf", "lh", "rf", "rh")
    ]
    assert alike_branches(load_robot("iiwa14")) == []


def test_arms_of_a_humanoid_are_alike() -> None:
    groups = alike_branches(shared_robot("atlas"))
    assert sorted(len(branch) for group in groups for branch in group) == [6, 6, 7, 7]


@pytest.mark.parametrize("base", few(["fixed", "floating"], "fixed"))
def test_most_of_the_legs_is_one_leg(base: str) -> None:
    d = design("hyq", base=base, functions=("id", "m", "did"), ii=4)
    assert folded_share(d) > 0.6
    assert set(d.plan.schedule.folds.units.values()) == {4}
    assert all(name.count("_x4") == 1 for name in d.plan.schedule.folds.units)


def test_folding_is_for_intervals_that_the_branches_share_evenly() -> None:
    assert design("hyq", ii=6).plan.schedule.folds.turns == {}
    assert design("hyq", ii=4, fold=False).plan.schedule.folds.turns == {}


def test_a_turn_is_its_own_node_with_the_arguments_in_the_templates_order() -> None:
    d = design("hyq", ii=4)
    fixed, folds = fold_branches(d.network, d.fixed, 4)
    graph = fixed.graph
    for template, turns in folds.turns.items():
        assert turns[0].node == template
        for turn in turns:
            assert sorted(turn.args) == sorted(graph.nodes[turn.node].args)
            if graph.nodes[turn.node].name == "sub":
                assert turn.negated[turn.args.index(graph.nodes[turn.node].args[1])]


@pytest.mark.slow
def test_what_has_no_time_for_the_sign_of_its_turn_is_not_folded() -> None:
    """At a high clock a sum alone fits behind the choice of its arguments, with signs that differ by turn it does not:
    the design has one for each branch."""

    def signed(clock: float) -> int:
        d = design("hyq", functions=("did",), ii=4, overflow="saturate", device="ecp5", clock=clock)
        made = d.plan.schedule
        folded = [i for i in made.folds.turns if made.folds.signed(i)]
        delays = (made.operators.delays(i) for i in folded)
        assert all(d.fit(made.device, made.device.select) for d in delays)
        return len(folded)

    assert signed(50.0) > signed(120.0)


@pytest.mark.thorough
def test_every_multiplier_is_well_used() -> None:
    for ii in (4, 12, 30):
        d = design("hyq", functions=common(), ii=ii)
        assert d.plan.schedule.utilization >= UTILIZATION
    assert design("hyq", functions=common(), ii=12, share=False).plan.schedule.utilization < 0.85


def test_units_share_what_is_left_over_only() -> None:
    """At an interval of one cycle nothing is shared, and every submodule is a unit of its own."""
    d = design("hyq")
    owners = Counter(n.owner for _, n in d.fixed.graph)
    assert {u.name for u in d.plan.units} <= owners.keys() | {"output_id"}


def test_the_checker_sees_a_turn_out_of_step() -> None:
    d = design("hyq", ii=4)
    plan, folds = d.plan, d.plan.schedule.folds
    turn = next(iter(folds.turns.values()))[1]
    slots = list(plan.schedule.slots)
    slots[turn.node] = dataclasses.replace(slots[turn.node], start=slots[turn.node].start + 1)
    broken = dataclasses.replace(
        plan, schedule=dataclasses.replace(plan.schedule, slots=tuple(slots))
    )
    with pytest.raises(ValueError, match="turn 1 must be 1 cycles after the first"):
        check_plan(broken)


def test_the_checker_sees_fewer_turns_than_the_unit_has() -> None:
    d = design("hyq", ii=4)
    schedule = d.plan.schedule
    folds = dataclasses.replace(schedule.folds, units=dict.fromkeys(schedule.folds.units, 2))
    broken = dataclasses.replace(schedule, folds=folds)
    with pytest.raises(ValueError, match="must have as many turns as its unit"):
        check_plan(dataclasses.replace(d.plan, schedule=broken))


def test_the_checker_sees_wrong_signs_and_orders() -> None:
    d = design("hyq", ii=4)
    schedule, graph = d.plan.schedule, d.plan.schedule.fixed.graph
    template, turns = next(
        (t, ts) for t, ts in schedule.folds.turns.items() if graph.nodes[t].name == "sub"
    )
    for broken, message in (
        (
            dataclasses.replace(turns[0], args=turns[0].args[::-1]),
            "turn 0 must have its arguments in their order",
        ),
        (
            dataclasses.replace(turns[0], negated=turns[0].negated[::-1]),
            "turn 0 must subtract what",
        ),
    ):
        folds = dataclasses.replace(
            schedule.folds, turns={**schedule.folds.turns, template: (broken, *turns[1:])}
        )
        with pytest.raises(ValueError, match=message):
            check_plan(
                dataclasses.replace(d.plan, schedule=dataclasses.replace(schedule, folds=folds))
            )


def test_the_checker_sees_turns_of_other_formats_and_roundings() -> None:
    d = design("hyq", ii=4)
    schedule, fixed = d.plan.schedule, d.plan.schedule.fixed
    turns = next(iter(schedule.folds.turns.values()))
    argument = next(a for a in turns[1].args if a not in turns[0].args)
    formats = list(fixed.formats)
    formats[argument] = Format(formats[argument].width + 1, formats[argument].frac)
    for broken, message in (
        (dataclasses.replace(fixed, formats=tuple(formats)), "turn 1 must have arguments in the"),
        (
            dataclasses.replace(fixed, truncated=frozenset({turns[1].node})),
            "turn 1 must drop bits as the first does",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            check_plan(
                dataclasses.replace(d.plan, schedule=dataclasses.replace(schedule, fixed=broken))
            )


def test_folded_and_plain_schedules_compute_the_same() -> None:
    d = design("hyq", ii=4)
    plain = schedule(d.fixed, d.plan.schedule.device, 4, d.network.programs)
    check_plan(make_plan(plain))
    assert [n.op for _, n in d.plan.schedule.fixed.graph] == [n.op for _, n in plain.fixed.graph]
