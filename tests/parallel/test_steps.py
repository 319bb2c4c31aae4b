"""The step structure: logarithmic depths, and operations counted as they are done."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from rbdgen.parallel import (
    Step,
    Steps,
    cfa_steps,
    contact_steps,
    depth,
    eliminate,
    elimination_steps,
    jsiia_steps,
    operational_space_inertia_steps,
    operational_space_inverse_steps,
    propagator,
    random_chain,
    scan_inverse_dynamics_steps,
    scan_mass_matrix_steps,
    scan_steps,
    solution_steps,
)
from rbdgen.parallel.cfa import REFINEMENTS as CFA_REFINEMENTS
from rbdgen.parallel.cfa import constraint_matrix
from rbdgen.parallel.chain import serial
from rbdgen.parallel.steps import doubling, in_sequence, neighbours, side_by_side, single
from tests.parallel.reference import LENGTHS, states

ALL = (
    cfa_steps,
    contact_steps,
    elimination_steps,
    jsiia_steps,
    operational_space_inertia_steps,
    operational_space_inverse_steps,
    scan_inverse_dynamics_steps,
    scan_mass_matrix_steps,
    solution_steps,
)


def levels(links: int) -> int:
    return math.ceil(math.log2(links))


def strides(steps: Steps, name: str) -> list[int]:
    return [step.stride for step in steps if step.name == name]


@pytest.mark.parametrize("links", range(1, 300))
def test_a_scan_takes_logarithmically_many_levels(links: int) -> None:
    assert depth(scan_steps(links)) == depth(doubling("", links)) == levels(links)
    assert strides(scan_steps(links), "scan") == [2**k for k in range(levels(links))]


@pytest.mark.parametrize("links", LENGTHS)
def test_the_functions_take_as_many_steps_as_they_say(links: int) -> None:
    chain = serial(random_chain(links), states(random_chain(links), 1, 0)[0])
    products = propagator(chain.transforms).products
    assert [len(product) for product in products] == [
        step.operations for step in doubling("", links)
    ]
    factors = eliminate(constraint_matrix(chain))
    assert len(factors.earlier) == len(factors.later) == levels(links)
    assert strides(elimination_steps(links), "eliminate") == [2**k for k in range(levels(links))]
    assert depth(solution_steps(links)) == levels(links) + 1


@pytest.mark.parametrize("rows", [2, 3, 6, 9])
def test_rows_without_a_neighbour_rest(rows: int) -> None:
    for step in neighbours("", rows):
        index = np.arange(rows)
        assert step.operations == np.sum((index >= step.stride) | (index < rows - step.stride))


@pytest.mark.parametrize("links", [n for n in LENGTHS if n > 1])
def test_depths(links: int) -> None:
    log = levels(links)
    assert depth(scan_inverse_dynamics_steps(links)) == 3 * log + 5
    assert depth(scan_mass_matrix_steps(links)) == 2 * log + 3
    assert CFA_REFINEMENTS == 1
    assert depth(cfa_steps(links)) == 4 * log + 10
    assert depth(operational_space_inverse_steps(links)) == 4 * log + 11
    assert depth(operational_space_inertia_steps(links)) == 4 * log + 11
    assert depth(contact_steps(links)) == 4 * log + 12
    # the parts that do not scan: one pivot after another
    assert depth(jsiia_steps(links)) >= links


@pytest.mark.parametrize("steps", ALL)
def test_levels_are_without_gaps_and_operations_positive(steps: Callable[[int], Steps]) -> None:
    for links in (1, 2, 3, 11, 64):
        found = steps(links)
        assert {step.level for step in found} == set(range(depth(found)))
        assert all(step.operations > 0 and 0 <= step.stride < links for step in found)


def test_mass_matrix_carries_each_entry_once() -> None:
    for links in LENGTHS:
        carried = [
            s.operations for s in scan_mass_matrix_steps(links) if s.name == "carry columns inward"
        ]
        assert sum(carried) == links * (links - 1) // 2


def test_groups_of_steps() -> None:
    both = side_by_side(single("a", 1), in_sequence(single("b", 2), single("c", 3)))
    assert both == (Step("a", 1, 0), Step("b", 2, 0), Step("c", 3, 1))
    assert in_sequence(both, (), single("d", 4))[-1] == Step("d", 4, 2)
    assert depth(()) == 0
