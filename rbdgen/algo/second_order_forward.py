"""Second derivatives of forward dynamics, from those of inverse dynamics and the first ones of both.

τ(q, v, a(q, v, τ)) is the torque that is given. Differentiated twice, with T those of inverse dynamics and M' = ∂M/∂q,

    a_qq = −M⁻¹ (T_qq + M' a_q + (M' a_q)ᵀ),  a_vv = −M⁻¹ T_vv,  a_qv = −M⁻¹ (T_qv + M' a_v),  a_τq = −M⁻¹ M' M⁻¹

(Singh, Russell & Wensing 2023, section V), where (M' a_q)[i, k, j] = Σ_l ∂M_il/∂q_k · ∂a_l/∂q_j. With weights λ of the
accelerations, w = −M⁻¹ λ are weights of torques: the sums need no tensor.

Submodules: ``Sx_i`` for the rows of body i, ``Mx_i`` for products with M⁻¹.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from rbdgen.algo.factorisation import both_triangles, dof_bodies, negated_product, symmetric_product
from rbdgen.algo.second_order import Tensor, distinct, whole
from rbdgen.model.robot import Robot
from rbdgen.spatial import Enter, Entries, Scalar, Vector, add, anywhere, mul, sub

FORWARD_KINDS = "qq", "vv", "qv", "tq"
"""Second derivatives of accelerations, by what first and then: of tq, torque and position."""


@dataclass(frozen=True)
class Forward:
    """What is known of accelerations: ∂a/∂q, ∂a/∂v and the lower triangle of M⁻¹, which is ∂a/∂τ."""

    by_position: Entries
    by_velocity: Entries
    inverse: Entries


class _Contraction:
    """Sums over ∂M, whose entries (…, row or column, position) are those of all torques, or weighted."""

    def __init__(self, robot: Robot, mass: Tensor, enter: Enter) -> None:
        self.enter = enter
        self.columns = range(robot.nv)
        self.bodies = dof_bodies(robot)
        # by what is left of an index, entries by what is summed over
        self.rows: dict[tuple[int, ...], dict[int, Scalar]] = defaultdict(dict)
        for index, x in mass.items():
            *before, summed, k = index
            self.rows[*before, k][summed] = x

    def times(self, columns: Entries) -> Tensor:
        """Σ_l ∂M_…l/∂q_k x_lj by (…, k, j)."""
        found: Tensor = {}
        for index, row in self.rows.items():
            with self.enter("Sx", self.bodies[index[0]]):
                for j in self.columns:
                    there = [k for k in row if (k, j) in columns]
                    total: Scalar = 0.0
                    for k in there:
                        term = mul(row[k], columns[k, j])
                        total = add(total, term)
                    if there:
                        found[*index, j] = total
        return found

    def sum(self, first: Tensor, *others: Tensor) -> Tensor:
        """The sum of tensors."""
        found = dict(first)
        for other in others:
            for index, x in other.items():
                before = found.get(index, 0.0)
                with self.enter("Sx", self.bodies[index[0]]):
                    found[index] = add(before, x)
        return found


def _swapped(tensor: Tensor) -> Tensor:
    """With the last two indices the other way round."""
    found: Tensor = {}
    for index, x in tensor.items():
        *before, k, j = index
        found[*before, j, k] = x
    return found


def forward_weighted(
    robot: Robot, torques: Mapping[str, Tensor], known: Forward, enter: Enter = anywhere
) -> dict[str, Tensor]:
    """Σ λ_i ∂²a_i of all kinds, entries (first, second), from those of torques with :func:`torque_weights`; from those
    of each torque, what −M⁻¹ makes second derivatives of."""
    made = _Contraction(robot, torques["aq"], enter)
    turned = made.times(known.by_position)
    both = whole(torques)["qq"]
    by_torque = made.times(both_triangles(known.inverse))
    swapped = _swapped(turned)
    kinds = {
        "qq": made.sum(both, turned, swapped),
        "vv": dict(torques["vv"]),
        "qv": made.sum(torques["qv"], made.times(known.by_velocity)),
        "tq": _swapped(by_torque),
    }
    return distinct(robot, kinds)


def forward_tensors(
    robot: Robot, torques: Mapping[str, Tensor], known: Forward, enter: Enter = anywhere
) -> dict[str, Tensor]:
    """By kind (:data:`FORWARD_KINDS`) the entries (acceleration, first, second), from those of torques."""
    found: dict[str, Tensor] = {}
    for kind, tensor in forward_weighted(robot, torques, known, enter).items():
        found[kind] = {}
        for j in range(robot.nv):
            part: Entries = {}
            for (i, k, last), x in tensor.items():
                if last == j:
                    part[i, k] = x
            product = negated_product(robot, known.inverse, part, enter)
            for (i, k), x in product.items():
                found[kind][i, k, j] = x
    return found


def torque_weights(
    robot: Robot, weights: Vector, inverse: Entries, enter: Enter = anywhere
) -> Vector:
    """w = −M⁻¹ λ."""
    (product,) = symmetric_product(robot, inverse, [dict(enumerate(weights))], enter)
    found = []
    for i, body in enumerate(dof_bodies(robot)):
        with enter("Mx", body):
            negated = sub(0.0, product.get(i, 0.0))
            found.append(negated)
    return tuple(found)
