"""Schedules and plans: right by an independent checker, which itself catches what is wrong."""

from __future__ import annotations

import dataclasses

import pytest

from rbdgen import ConfigError, Options, compile_robot, load_robot
from rbdgen.devices.registry import DEVICES
from rbdgen.errors import RbdgenWarning
from rbdgen.functions.registry import common
from rbdgen.ir.graph import INPUT_OWNER
from rbdgen.machines.pipeline.budget import Budget
from rbdgen.machines.pipeline.buffers import FIFO_MINIMUM, Tap, make_plan, uses
from rbdgen.machines.pipeline.check import check_operators, check_plan
from rbdgen.machines.pipeline.delays import Slot
from rbdgen.machines.pipeline.schedule import Schedule, chain_length
from rbdgen.machines.pipeline.scheduler import schedule
from tests.conftest import design, few


@pytest.mark.parametrize("device", few(DEVICES, "ecp5", "gw5a"))
@pytest.mark.parametrize("ii", [1, 2, 3, 4, 7, 8, 16, 100])
def test_every_interval_on_every_device_passes_the_checker(ii: int, device: str) -> None:
    plan = make_plan(schedule(design("iiwa14").fixed, DEVICES[device], ii))
    check_plan(plan)
    graph = plan.schedule.fixed.graph
    for owner, count in plan.schedule.multipliers.items():
        assert count == -(-graph.count("mul", owner) // ii)


def test_utilization_is_full_at_one_and_high_when_shared() -> None:
    fixed, device = design("iiwa14").fixed, DEVICES["generic125"]
    assert schedule(fixed, device, 1).utilization == 1.0
    assert schedule(fixed, device, 2).utilization >= 0.90
    assert schedule(fixed, device, 4).utilization >= 0.90


def test_values_that_wait_long_between_units_do_so_in_fifos() -> None:
    plan = design("iiwa14").plan
    assert plan.fifos
    assert all(f.read - f.write >= FIFO_MINIMUM for f in plan.fifos)


@pytest.mark.parametrize("ii", few([1, 4], 4))
@pytest.mark.slow
def test_no_two_units_keep_a_value_side_by_side_before_either_reads_it(ii: int) -> None:
    plan = make_plan(
        schedule(design("iiwa14", functions=("dfd",)).fixed, DEVICES["generic125"], ii)
    )
    check_plan(plan)
    slots, nodes = plan.schedule.slots, plan.schedule.fixed.graph.nodes
    through = {(f.sink, v) for f in plan.fifos for v in f.values}
    keeping: dict[tuple[int, int], int] = {}
    shared = 0
    for unit in plan.units:
        reads = uses(plan.schedule, unit)
        for tap in unit.inputs:
            if (
                nodes[tap.node].owner != INPUT_OWNER
                and (unit.name, tap.node) not in through
                and tap.node in reads
            ):
                made = slots[tap.node].finish
                shared += tap.cycle > made
                for k in range(
                    chain_length(made, tap.cycle, ii), chain_length(made, reads[tap.node][0], ii)
                ):
                    keeping[tap.node, k] = keeping.get((tap.node, k), 0) + 1
    assert shared
    assert keeping
    assert max(keeping.values()) == 1


def sound() -> Schedule:
    """A schedule with sharing."""
    return schedule(design("iiwa14").fixed, DEVICES["generic125"], 4)


def broken(change) -> Schedule:
    """A schedule with one slot or binding changed after the plan was made."""
    result = sound()
    return change(result, [i for i, n in result.fixed.graph if n.name == "mul"])


def last_sum(result: Schedule) -> int:
    return max(i for i, n in result.fixed.graph if n.name == "add")


def with_slot(result: Schedule, i: int, slot: Slot) -> Schedule:
    return dataclasses.replace(result, slots=(*result.slots[:i], slot, *result.slots[i + 1 :]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda s, products: with_slot(s, products[-1], Slot(0, 0, 7.9)),
            r"^node %\d+ \(mul\): operands of a shared multiplier must come from registers$",
        ),
        (
            lambda s, products: with_slot(s, last_sum(s), Slot(0, 0, 3.8)),
            r"^node %\d+ \(add\): argument %\d+ must be there at its start",
        ),
        (
            lambda s, products: with_slot(
                s, products[0], dataclasses.replace(s.slots[products[0]], ready=9.0)
            ),
            r"^node %\d+ \(mul\): must be ready within 8\.0 ns, not at 9\.0$",
        ),
        (
            lambda s, products: dataclasses.replace(s, binding=s.binding | {products[0]: 999}),
            r"^node %\d+ \(mul\): multiplier 999 of \w+ does not exist$",
        ),
        (
            lambda s, products: dataclasses.replace(s, binding=dict.fromkeys(s.binding, 0)),
            r"^unit \w+: \w+ 0 is used \d+ times in phase \d$",
        ),
        (
            lambda s, products: dataclasses.replace(
                s, exits={name: cycle - 1 for name, cycle in s.exits.items()}
            ),
            r"^result \w+: must be there in cycle \d+$",
        ),
    ],
)
def test_checker_finds_a_broken_schedule(change, message: str) -> None:
    plan = dataclasses.replace(make_plan(sound()), schedule=broken(change))
    with pytest.raises(ValueError, match=message):
        check_plan(plan)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda cycles, ii: [c + 1 for c in cycles][:1] + cycles[1:],
            "must take its beats in 6 cycles, one in each",
        ),
        (lambda cycles, ii: [*cycles[:-1], cycles[0] + len(cycles)], "and before they are sent"),
        (
            lambda cycles, ii: [*cycles[:-1], cycles[0] - ii],
            "must take its beats in 6 cycles, one in each",
        ),
        (lambda cycles, ii: [c - 30 for c in cycles], "must take beats when they are there"),
    ],
)
@pytest.mark.slow
def test_checker_finds_beats_at_wrong_times(change, message: str) -> None:
    plan = design("iiwa14", functions=("did",), ii=6).plan
    beats = plan.beats["did"]
    assert len(beats) == 6
    cycles = change([beat.cycle for beat in beats], 6)
    moved = tuple(dataclasses.replace(beat, cycle=c) for beat, c in zip(beats, cycles, strict=True))
    with pytest.raises(ValueError, match=rf"^exit did: .*{message}"):
        check_plan(dataclasses.replace(plan, beats={**plan.beats, "did": moved}))


def test_checker_finds_a_result_in_two_beats() -> None:
    plan = design("iiwa14", functions=("did",), ii=6).plan
    first, second, *rest = plan.beats["did"]
    twice = dataclasses.replace(second, results=(*second.results, first.results[0]))
    with pytest.raises(ValueError, match=r"^exit did: must take each of its results in one beat$"):
        check_plan(dataclasses.replace(plan, beats={"did": (first, twice, *rest)}))


def test_checker_finds_a_shallow_fifo() -> None:
    plan = design("iiwa14").plan
    fifo = plan.fifos[0]
    shallow = dataclasses.replace(plan, fifos=(dataclasses.replace(fifo, depth=1), *plan.fifos[1:]))
    with pytest.raises(ValueError, match=r"^FIFO \w+ to \w+: must be \d+ entries deep, not 1$"):
        check_plan(shallow)


def test_checker_finds_a_fifo_read_too_early() -> None:
    plan = design("iiwa14").plan
    fifo = plan.fifos[0]
    early = dataclasses.replace(
        plan, fifos=(dataclasses.replace(fifo, read=fifo.write), *plan.fifos[1:])
    )
    with pytest.raises(
        ValueError, match=r"^FIFO \w+ to \w+: must be read after cycle \d+, not in \d+$"
    ):
        check_plan(early)


def test_checker_finds_a_value_that_no_unit_offers() -> None:
    plan = design("iiwa14").plan
    unit = next(u for u in plan.units if u.outputs and u.name.startswith("Rf"))
    units = tuple(dataclasses.replace(u, outputs=()) if u is unit else u for u in plan.units)
    with pytest.raises(ValueError, match=rf"{unit.name} must offer %\d+ in cycle \d+$"):
        check_plan(dataclasses.replace(plan, units=units))


@pytest.mark.slow
def test_a_register_that_moved_on_before_it_is_read_is_refused() -> None:
    plan = make_plan(schedule(design("iiwa14", functions=("dfd",)).fixed, DEVICES["generic125"], 4))
    slots, through = plan.schedule.slots, {(f.sink, v) for f in plan.fifos for v in f.values}

    def late(name: str, t: Tap) -> bool:
        return (name, t.node) not in through and t.cycle > slots[t.node].finish

    moved = next(t for u in plan.units for t in u.inputs if late(u.name, t))
    # the next register has the value of the cycles behind those in which it is read
    wrong = Tap(moved.node, moved.cycle + plan.schedule.ii)
    units = tuple(
        dataclasses.replace(
            u,
            inputs=tuple(wrong if t == moved and late(u.name, t) else t for t in u.inputs),
            outputs=tuple(sorted({*u.outputs, wrong})) if moved in u.outputs else u.outputs,
        )
        for u in plan.units
    )
    with pytest.raises(ValueError, match=rf"reads %{moved.node} in cycle \d+, before it arrives$"):
        check_plan(dataclasses.replace(plan, units=units))


def test_an_operand_comes_from_the_register_that_holds_it_for_the_interval() -> None:
    plan = make_plan(schedule(design("iiwa14").fixed, DEVICES["generic125"], 4))
    nodes = plan.schedule.fixed.graph.nodes
    unit = next(u for u in plan.units if any(nodes[t.node].op == "input" for t in u.inputs))
    tap = next(t for t in unit.inputs if nodes[t.node].op == "input")
    assert tap.cycle % 4 == 3
    early = dataclasses.replace(
        unit, inputs=tuple(Tap(t.node, 1) if t == tap else t for t in unit.inputs)
    )
    units = tuple(early if u is unit else u for u in plan.units)
    with pytest.raises(
        ValueError, match=rf"^unit {unit.name}: (reads %{tap.node} in|input must offer %{tap.node})"
    ):
        check_plan(dataclasses.replace(plan, units=units))


@pytest.mark.parametrize("ii", [0, -3, 5000])
def test_impossible_intervals_are_refused(ii: int) -> None:
    with pytest.raises(ConfigError, match=rf"^ii: must be 1 to 4096 cycles, not {ii}$"):
        schedule(design("pendulum2").fixed, DEVICES["generic125"], ii)


def test_a_clock_that_no_multiplier_reaches_is_refused() -> None:
    fast = dataclasses.replace(DEVICES["generic125"], name="fast", period=2.5)
    with pytest.raises(
        ConfigError, match=r"^device fast: a mul takes 3 ns, more than the period of 2\.5 ns; "
    ):
        schedule(design("pendulum2").fixed, fast, 1)


@pytest.mark.thorough
def test_a_folded_sum_that_saturates_in_one_turn_only() -> None:
    """Formats of turns are equal, ranges are not: the operator has to saturate in time for all of them."""
    d = compile_robot(
        load_robot("hyq", base="floating"),
        Options(("id", "m", "did"), ii=8, device="ecp5", word=18),
    )
    folds, fixed = d.plan.schedule.folds, d.plan.schedule.fixed
    assert any(
        len({fixed.may_overflow(t.node) for t in turns}) == 2 for turns in folds.turns.values()
    )
    check_plan(d.plan)


@pytest.mark.thorough
def test_spread_products_take_what_multipliers_there_are() -> None:
    robot, options = (
        load_robot("iiwa14"),
        Options(("id", "m"), ii=6, device="ecp5", constants="multipliers", word=18),
    )
    fewest, apart, twice = (
        compile_robot(robot, dataclasses.replace(options, **choice)).plan
        for choice in ({}, {"share": False}, {"spread": "twice"})
    )
    least = fewest.schedule.blocks
    assert twice.exits == apart.exits
    assert twice.register_bits < fewest.register_bits
    assert least < apart.schedule.blocks
    assert 1.5 * apart.schedule.blocks < twice.schedule.blocks <= 2 * apart.schedule.blocks
    given = Budget(resources={"multipliers": least + 7, "luts": 1, "registers": 1})
    pinned = dataclasses.replace(options, spread="twice")
    with pytest.warns(RbdgenWarning, match=r"about \d+ of 1 luts would be used"):
        limited = compile_robot(robot, pinned, budget=given)
    assert least < limited.plan.schedule.blocks <= least + 7


def test_values_of_other_units_have_time_for_their_routing() -> None:
    fixed, far = design("iiwa14").fixed, dataclasses.replace(DEVICES["generic125"], routing=1.6)
    near, chained = schedule(fixed, DEVICES["generic125"], 4), schedule(fixed, far, 4)
    check_plan(make_plan(chained))
    nodes = fixed.graph.nodes
    connections = [
        (i, a)
        for i, n in fixed.graph
        for a in n.args
        if nodes[a].op != "const" and nodes[a].owner != n.owner
    ]
    assert connections
    for i, a in connections:
        start, made = chained.slots[i], chained.slots[a]
        assert made.finish < start.start or made.ready + 1.6 <= far.period
        assert start.ready >= 1.6 + (made.ready if made.finish == start.start else 0.0)
    assert chained.length > near.length
    with pytest.raises(
        ValueError, match=r"^node %\d+ \(\w+\): argument %\d+ must be there at its start"
    ):
        check_plan(make_plan(dataclasses.replace(near, device=far)))


@pytest.mark.thorough
def test_last_units_have_a_register_before_their_multipliers() -> None:
    """On devices that ask for it: M⁻¹ times the derivatives of τ, which nothing waits for."""
    fixed = design("iiwa14", functions=("dfd",)).fixed
    products = {i: n.owner for i, n in fixed.graph if n.name == "mul"}
    assert fixed.graph.last >= {owner for owner in products.values() if owner.startswith("Mx_")}
    assert fixed.graph.last.isdisjoint(
        o for o in products.values() if o.startswith(("Rf_", "Df_", "Db_", "Mf_"))
    )
    for name, more in (("gw5a", 1), ("ecp5", 0)):
        device = DEVICES[name]
        plan = make_plan(schedule(fixed, device, 8))
        check_plan(plan)
        for i, owner in products.items():
            slot = plan.schedule.slots[i]
            before = more * (owner in fixed.graph.last)
            cycles = device.multiply_cycles + before + device.aligning_cycles
            assert slot.finish - slot.start == cycles
        other = dataclasses.replace(device, factor_registers=1 - more)
        with pytest.raises(ValueError, match=r"^node %\d+ \(mul\): must take \d cycles"):
            check_plan(
                dataclasses.replace(plan, schedule=dataclasses.replace(plan.schedule, device=other))
            )


def test_what_goes_to_another_unit_starts_at_a_register() -> None:
    device = dataclasses.replace(DEVICES["generic125"], routing=1.6, connection_registers=1)
    plan = make_plan(schedule(design("iiwa14").fixed, device, 4))
    nodes, slots = plan.schedule.fixed.graph.nodes, plan.schedule.slots
    through = {(f.sink, v) for f in plan.fifos for v in f.values}
    for unit in plan.units:
        first = {node: cycles[0] for node, cycles in uses(plan.schedule, unit).items()}
        for tap in unit.inputs:
            direct = nodes[tap.node].owner != INPUT_OWNER and (unit.name, tap.node) not in through
            if direct and first.get(tap.node, 0) > slots[tap.node].finish:
                assert tap.cycle > slots[tap.node].finish


def test_sines_and_reciprocals_have_tables_of_their_own() -> None:
    """Also in a unit that has both."""
    plan = design("pendulum2", functions=common(), ii=12, programs="one").plan
    check_plan(plan)
    found = plan.schedule
    kinds: dict[tuple[str, int], set[bool]] = {}
    for i, node in found.fixed.graph:
        if node.operation.looks_up:
            table = node.owner, found.binding[i]
            kinds.setdefault(table, set()).add(node.op == "table_reciprocal")
    assert sorted(map(len, kinds.values())) == [1] * len(kinds)
    assert set().union(*kinds.values()) == {False, True}
    assert len(kinds) == sum(found.tables.values())
    merged = dataclasses.replace(found, binding=dict.fromkeys(found.binding, 0))
    with pytest.raises(ValueError, match=r"^unit \w+: table 0 has sines and reciprocals$"):
        check_operators(dataclasses.replace(plan, schedule=merged))
