"""Kinetic and potential energy, and the matrix C of Coriolis forces.

C is the one by Christoffel's symbols, so that Ṁ = C + Cᵀ: column j of a path is I Ṡ_j + B S_j of the subtree of the
deeper joint (Echeandia & Wensing, J. Computing and Information Science in Engineering 2021; notation of
:mod:`rbdgen.algo.subtrees`).

Submodules: ``En`` and ``En_i`` for energies, ``Co_i`` for the entries of C of body i.
"""

from __future__ import annotations

from rbdgen.algo.composite import momentum_adjoint
from rbdgen.algo.following import Collected, rates
from rbdgen.algo.subtrees import MovingSubtrees, Subtrees, momentum_of
from rbdgen.spatial import Entries, Scalar, Vector, add, dot, mul, vscale


def kinetic(trees: Subtrees, v: Vector) -> Scalar:
    """Σ ½ vᵀ I v over the bodies and their rotors, at joint velocities ``v`` (nv)."""
    velocities = trees.velocities(v)
    momenta = trees.momenta(velocities, "En")
    parts: list[Scalar] = []
    for i, body in enumerate(trees.robot.bodies):
        own = rates(trees.robot, i, v)
        with trees.enter("En", i):
            part = velocities[i].power(momenta[i])
            # a rotor turns with its joint, not with the link
            for rotor, rate in zip(body.rotors, own, strict=True):
                square = mul(rate, rate)
                part = add(part, mul(rotor, square))
            parts.append(part)
    total: Scalar = 0.0
    with trees.enter("En", None):
        for part in parts:
            total = add(total, part)
        return mul(0.5, total)


def potential(trees: Subtrees) -> Scalar:
    """−m g·c; zero where the centre of mass is at the base's origin."""
    whole = trees.all_of_it(trees.composites, "En")
    uphill = tuple(0.0 - g for g in trees.robot.gravity)
    with trees.enter("En", None):
        return dot(uphill, whole.first)


def coriolis(trees: Subtrees, moving: MovingSubtrees) -> Entries:
    """Entries of C by row and column."""
    collected = Collected(trees.robot)
    for deep in trees.columns:
        body, s = deep.body, deep.twist
        own = {column.dof for column in trees.own[body]}
        with trees.enter("Co", body):
            half = vscale(0.5, s.angular)
            known = moving.rates[deep.dof]
            felt = moving.response(body, half, known.own)
            unit = momentum_of(trees.composites[body], s)
            # S_iᵀ B x for any x above: by the angular part of x alone
            momentum = moving.momenta[body]
            along = s.angular, s.linear
            turned = momentum_adjoint(along, momentum)
            turned = vscale(0.5, turned)
            for column in trees.paths[body]:
                dof = column.dof
                x = column.twist.power(felt)
                collected.put(x, dof, deep.dof)
                # of the same body each is the deeper one in its turn
                if dof in own:
                    continue
                x = moving.rates[dof].own.power(unit)
                dragged = dot(turned, column.twist.angular)
                x = add(x, dragged)
                collected.put(x, deep.dof, dof)
    return collected.entries
