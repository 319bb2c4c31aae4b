"""Constant factors as products: the same values, and no constant factor left but those of angles."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen.functions.registry import common
from rbdgen.ir.interpret import evaluate
from rbdgen.passes.constant_factors import multiply_constants
from rbdgen.trials import make_tasks, relative_errors, task_states
from tests.conftest import design


def test_values_are_the_same() -> None:
    graph = design("pendulum2", functions=common()).fixed.graph
    multiplied = multiply_constants(graph)
    rng = np.random.default_rng(1)
    operands = {name: rng.uniform(0.2, 1.0, 20) for name in graph.inputs}
    old, new = evaluate(graph, operands), evaluate(multiplied, operands)
    for name, i in graph.outputs.items():
        np.testing.assert_allclose(new[multiplied.outputs[name]], old[i], rtol=1e-12)
    left = [i for i, n in multiplied if n.name == "scale"]
    assert left
    assert all(
        multiplied.nodes[multiplied.nodes[i].args[0]].op == "residual"
        or any(multiplied.nodes[u].operation.is_addressed for u in multiplied.users[i])
        for i in left
    )
    before, after = graph.multiplications(), multiplied.multiplications()
    assert after == before
    assert multiplied.count("mul") == graph.count("mul") + graph.count("scale") - len(left)


@pytest.mark.slow
def test_errors_stay_what_they_were() -> None:
    worst = {}
    for constants in ("logic", "multipliers"):
        d = design("iiwa14", functions=("did",), ii=4, constants=constants)
        tasks = make_tasks(d, "did", task_states(d, 500, seed=3))
        worst[constants] = relative_errors(d, tasks, tasks.expected)[0]
    assert worst["multipliers"] < 2 * worst["logic"] < 2e-3
