"""For researchers: write an algorithm once, check it, and see what hardware it would make beside the built-in one.

    python examples/new_algorithm.py [ROBOT] [--word W] [--ii N]

The algorithm here is inverse dynamics as most textbooks write it, with spatial velocities and rotational inertias
(Featherstone 2008, table 5.1). The built-in text carries no linear velocities and folds both into one matrix, K; this
script shows what that is worth.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import rbdgen
from rbdgen import golden
from rbdgen.algo.rnea import joint_placements, rnea
from rbdgen.devices.registry import get_device
from rbdgen.ir.builder import Builder, Expr
from rbdgen.ir.interpret import evaluate_fixed
from rbdgen.machines.pipeline.layout import shaped_for
from rbdgen.machines.pipeline.scheduler import schedule
from rbdgen.model import Robot
from rbdgen.passes.pipeline import lower
from rbdgen.report.columns import table
from rbdgen.spatial import (
    ZERO3,
    Enter,
    Vector,
    add,
    anywhere,
    constant_matrix,
    cross,
    dot,
    matvec,
    transpose,
    vadd,
    vscale,
    vsub,
)
from rbdgen.tracing.equivalent import equivalent


def textbook_rnea(robot: Robot, q: Vector, v: Vector, a: Vector, enter: Enter = anywhere) -> Vector:
    """τ (nv scalars) for q (nq), v and a (nv), all abstract scalars: floats, arrays or traced. Joints of one degree of
    freedom."""
    joints = joint_placements(robot, q, enter)
    motions: list[tuple[Vector, ...]] = []
    forces: list[tuple[Vector, Vector]] = []
    still = ZERO3, ZERO3, ZERO3, vsub(ZERO3, robot.gravity)
    for i, body in enumerate(robot.bodies):
        with enter("Rf", i):
            omega, velocity, alpha, acceleration = (
                still if body.parent < 0 else motions[body.parent]
            )
            tree, turn = body.placement, transpose(joints[i].rotation)

            def inward(x: Vector, tree: Any = tree, turn: Any = turn) -> Vector:
                return matvec(turn, matvec(transpose(tree.rotation), x))

            offset = vadd(tree.translation, matvec(tree.rotation, joints[i].translation))
            e, d = body.joint.angular_subspace[0], body.joint.linear_subspace[0]
            rate, push = v[robot.v_slices[i]][0], a[robot.v_slices[i]][0]
            w_j, v_j = vscale(rate, e), vscale(rate, d)
            omega, velocity = (
                vadd(inward(omega), w_j),
                vadd(inward(vadd(velocity, cross(omega, offset))), v_j),
            )
            alpha, acceleration = (
                vadd(inward(alpha), vscale(push, e), cross(omega, w_j)),
                vadd(inward(vadd(acceleration, cross(alpha, offset))), vscale(push, d)),
            )
            # v × S q̇ of spatial vectors, the linear part
            acceleration = vadd(acceleration, cross(omega, v_j), cross(velocity, w_j))
            motions.append((omega, velocity, alpha, acceleration))
            m, h, inertia = (
                body.inertia.mass,
                body.inertia.first_moment,
                constant_matrix(body.inertia.rotational),
            )
            momentum = (
                vadd(matvec(inertia, omega), cross(h, velocity)),
                vsub(vscale(m, velocity), cross(h, omega)),
            )
            moment = vadd(matvec(inertia, alpha), cross(h, acceleration))
            force = vsub(vscale(m, acceleration), cross(h, alpha))
            moment = vadd(moment, cross(omega, momentum[0]), cross(velocity, momentum[1]))
            forces.append((moment, vadd(force, cross(omega, momentum[1]))))
    tau: list[Any] = [0.0] * robot.nv
    for i in reversed(range(len(robot.bodies))):
        with enter("Rb", i):
            body, (moment, force) = robot.bodies[i], forces[i]
            angular, linear = body.joint.angular_subspace[0], body.joint.linear_subspace[0]
            tau[robot.v_slices[i].start] = add(dot(angular, moment), dot(linear, force))
            if body.parent >= 0:
                tree = body.placement
                offset = vadd(tree.translation, matvec(tree.rotation, joints[i].translation))
                force = matvec(tree.rotation, matvec(joints[i].rotation, force))
                moment = vadd(
                    matvec(tree.rotation, matvec(joints[i].rotation, moment)), cross(offset, force)
                )
                above = forces[body.parent]
                forces[body.parent] = vadd(above[0], moment), vadd(above[1], force)
    return tuple(tau)


Text = Callable[..., Vector]
"""An algorithm's text: (robot, q, v, a, enter=...) to τ."""


def traced(robot: Robot, text: Text) -> Any:
    """The text as a graph, with one submodule per body and sweep."""
    builder = Builder()
    operands = [
        tuple(Expr(builder, builder.input(f"{letter}{k}")) for k in range(size))
        for letter, size in (("q", robot.nq), ("v", robot.nv), ("a", robot.nv))
    ]

    def enter(kind: str, body: int | None) -> Any:
        return builder.submodule(kind if body is None else f"{kind}_{body}")

    tau = text(robot, *operands, enter=enter)
    return builder.graph(
        {f"tau{k}": t.node if isinstance(t, Expr) else builder.const(t) for k, t in enumerate(tau)}
    )


def row(name: str, robot: Robot, text: Text, word: int, ii: int) -> list[Any]:
    """What a text would cost, and how exact it would be."""
    cheap = equivalent(
        robot
    ).robot  # the same torques with fewer constants; what hardware is made from
    ranges = golden.declared_ranges(robot)
    q, v, a = golden.random_states(robot, ranges, 4096, seed=1)
    values = {
        f"{letter}{k}": x[:, k]
        for letter, x in (("q", q), ("v", v), ("a", a))
        for k in range(x.shape[1])
    }
    declared = {name: float(np.max(np.abs(x))) for name, x in values.items()}
    fixed = lower(traced(cheap, text), values, declared, word)
    device = get_device("generic125")
    plan = schedule(shaped_for(fixed, device, ii), device, ii)
    raw = {n: fixed.formats[i].quantise(values[n]) for n, i in fixed.graph.inputs.items()}
    answer = evaluate_fixed(fixed, raw, list(fixed.graph.outputs))
    exact = golden.rnea(robot, q, v, a)
    tau = np.stack(
        [
            fixed.formats[fixed.graph.outputs[f"tau{k}"]].real(answer.outputs[f"tau{k}"])
            for k in range(robot.nv)
        ],
        axis=-1,
    )
    error = np.max(np.abs(tau - exact)) / np.max(np.abs(exact))
    multipliers = sum(plan.multipliers.values())
    return [
        name,
        sum(len(node.products) for _, node in fixed.graph),
        fixed.graph.count("scale"),
        multipliers,
        plan.length,
        f"{error:.1e}",
    ]


def main() -> None:
    """Check the text in float64, then print both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "robot", nargs="?", default="iiwa14", help="a built-in robot or a URDF (iiwa14)"
    )
    parser.add_argument("--word", type=int, default=18, help="word length in bits (18)")
    parser.add_argument("--ii", type=int, default=1, help="initiation interval in cycles (1)")
    args = parser.parse_args()

    robot = rbdgen.load_robot(args.robot)
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), 100, seed=2)
    mine = np.stack(
        np.broadcast_arrays(*textbook_rnea(robot, *(tuple(x.T) for x in (q, v, a)))), axis=-1
    )
    truth = golden.rnea(robot, q, v, a)
    print(
        f"float64: differs from the golden model by {np.max(np.abs(mine - truth)) / np.max(np.abs(truth)):.1e}"
    )

    rows = [
        row(name, robot, text, args.word, args.ii)
        for name, text in (("built in", rnea), ("textbook", textbook_rnea))
    ]
    head = [
        "inverse dynamics",
        "products",
        "constant products",
        "multipliers",
        "cycles",
        "largest error",
    ]
    print(
        f"\n{args.robot}, {args.word}-bit words, a task every {args.ii} cycle(s), generic125\n\n{table(head, rows)}"
    )
    print(
        "\n(cycles by the schedule, errors by the bit-true model; docs/extending/algorithm.md says how to build it in)"
    )


if __name__ == "__main__":
    main()
