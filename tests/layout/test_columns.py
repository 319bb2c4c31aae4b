"""Columns that are alike: found, given equal formats, folded as far as they agree, and scheduled in turns."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import lru_cache

import pytest

from rbdgen import Design, Options, compile_robot, load_robot
from rbdgen.ir.builder import Builder, Expr
from rbdgen.ir.fixed import Format
from rbdgen.ir.folds import NO_FOLDS
from rbdgen.ir.graph import Graph
from rbdgen.layout import columns
from rbdgen.layout.columns import column_groups
from rbdgen.schedule.check import check_plan
from tests.conftest import design


@lru_cache
def coarse() -> Design:
    """Formats from an error target, columns folded."""
    options = Options(functions=("difd",), ii=6, columns="fold", error={"all": 1e-2})
    return compile_robot(load_robot("iiwa14"), options)


@pytest.fixture
def every(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fold even where it saves next to nothing."""
    monkeypatch.setattr(columns, "LEAST_SAVED", 0.01)


def products(count: int, tree: Callable[[Sequence[Expr]], Expr]) -> Graph:
    """``count`` columns: a tree over three products with factors that all columns have in common."""
    builder = Builder("Mx")
    row = [Expr(builder, builder.input(f"m{k}")) for k in range(3)]
    outputs = {}
    for j in range(count):
        column = [Expr(builder, builder.input(f"x{j}_{k}")) for k in range(3)]
        outputs[f"y{j}"] = tree([a * x for a, x in zip(row, column, strict=True)]).node
    return builder.graph(outputs)


def three(terms: Sequence[Expr]) -> Expr:
    return (terms[0] + terms[1]) + terms[2]


@pytest.mark.parametrize(
    ("count", "ii", "portions"),
    [
        (4, 4, [(4, 4)]),
        (3, 4, [(3, 4)]),
        (2, 4, [(2, 2)]),
        (5, 4, [(4, 4)]),
        (6, 4, [(4, 4), (2, 2)]),
        (7, 12, [(6, 6)]),
        (2, 3, [(2, 3)]),
        (4, 1, [(4, 4)]),
    ],
)
def test_columns_take_turns_that_divide_the_interval(
    every: None, count: int, ii: int, portions: list[tuple[int, int]]
) -> None:
    groups = column_groups(products(count, three), ii)
    assert [(len(g.columns), g.turns) for g in groups] == portions


def test_corresponding_operations_read_corresponding_values(every: None) -> None:
    graph = products(4, three)
    (group,) = column_groups(graph, 4)
    for k, node in enumerate(group.columns[0].nodes):
        for column in group.columns:
            assert sorted(column.turn(graph, k).args) == sorted(graph.nodes[column.nodes[k]].args)
            if graph.nodes[node].op == "mul":
                # the factor that all columns read is where the first one has it
                common = [
                    p
                    for p, a in enumerate(column.turn(graph, k).args)
                    if graph.nodes[a].attr.startswith("m")
                ]
                assert column.turn(graph, k).args[common[0]] == group.columns[0].args[k][common[0]]


def test_what_differs_in_structure_or_format_is_apart(every: None) -> None:
    builder = Builder("Mx")
    a, b, c, d = (Expr(builder, builder.input(n)) for n in "abcd")
    graph = builder.graph({"y": ((a * b) + (b * c)).node, "z": ((a * c) + (b * d) + (c * d)).node})
    assert column_groups(graph, 2) == []
    graph = products(2, three)
    assert len(column_groups(graph, 2)) == 1
    formats = {i: Format(8, 4) for i, _ in graph} | {graph.outputs["y1"]: Format(9, 4)}
    assert column_groups(graph, 2, marks=formats.get) == []


def test_small_savings_are_left_alone() -> None:
    assert column_groups(products(4, three), 4) == []


@pytest.mark.parametrize("ii", [4, 6, 16])
def test_columns_of_a_product_with_the_inverse_are_folded(ii: int) -> None:
    d = design(
        "iiwa14", functions=("difd",), ii=ii, columns="fold", rounding="truncate", overflow="flag"
    )
    plain = design(
        "iiwa14", functions=("difd",), ii=ii, columns="apart", rounding="truncate", overflow="flag"
    )
    folds = d.plan.schedule.folds
    assert any(name.startswith("Mx_columns_x") for name in folds.units)
    assert plain.plan.schedule.folds.turns == {}
    sums = [
        sum(
            x.plan.schedule.folds.template(i) == i
            for i, n in x.fixed.graph
            if n.op in ("add", "sub", "neg")
        )
        for x in (d, plain)
    ]
    assert sums[0] < 0.9 * sums[1]
    for turns in folds.turns.values():
        assert len({d.fixed.formats[t.node] for t in turns}) == 1


def test_formats_for_an_error_target_are_alike_in_columns() -> None:
    d = coarse()
    assert len(d.plan.schedule.folds.members) > 400


def test_the_checker_sees_more_turns_than_the_unit_has() -> None:
    d = coarse()
    schedule = d.plan.schedule
    folds = dataclasses.replace(schedule.folds, units=dict.fromkeys(schedule.folds.units, 2))
    with pytest.raises(ValueError, match="must have no more turns than its unit"):
        check_plan(dataclasses.replace(d.plan, schedule=dataclasses.replace(schedule, folds=folds)))


def test_a_column_that_needs_another_is_not_folded_with_it(every: None) -> None:
    """Substitution: each row needs the one before it."""
    builder = Builder("Mf")
    x = [Expr(builder, builder.input(f"x{k}")) for k in range(4)]
    y = Expr(builder, builder.input("y"))
    outputs = {}
    for k in range(3):
        with builder.submodule("Mf"):
            total = (x[k] * x[k + 1] + y * x[k]) + x[k + 1]
        with builder.submodule("Mi"):
            y = total * total
        outputs[f"y{k}"] = y.node
    graph = builder.graph(outputs)
    (group,) = (g for g in column_groups(graph, 3) if g.owner == "Mf")
    assert columns._orderly(graph, NO_FOLDS, [group]) == []


def test_the_checker_sees_wrong_signs_and_orders() -> None:
    d = coarse()
    schedule, graph = d.plan.schedule, d.plan.schedule.fixed.graph
    template, turns = next(
        (t, ts) for t, ts in schedule.folds.turns.items() if graph.nodes[t].op == "sub"
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


def test_every_portion_has_a_first_column_as_it_is(every: None) -> None:
    """Columns that are folded second are differences the other way round than those that are folded first."""
    builder = Builder("Mx")
    m, n = (Expr(builder, builder.input(x)) for x in "mn")
    outputs = {}
    for j in range(6):
        a, b = (Expr(builder, builder.input(f"{x}{j}")) for x in "ab")
        outputs[f"y{j}"] = ((m * a - n * b) if j < 4 else (n * b - m * a)).node
    graph = builder.graph(outputs)
    first, second = column_groups(graph, 4)
    assert [len(g.columns) for g in (first, second)] == [4, 2]
    for group in (first, second):
        assert group.columns[0].args == tuple(graph.nodes[i].args for i in group.columns[0].nodes)
