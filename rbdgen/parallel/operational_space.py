"""Inertia in operational space, Λ = (J M⁻¹ Jᵀ)⁻¹, and its inverse, by Schur complements over the joints' constraints.

A force on the tip moves the last link with its own mobility D less what the joints take away; A, E as in
:mod:`rbdgen.parallel.cfa`, with E coupling the tip to the last joint only:

    Λ⁻¹ = D − Eᵀ A⁻¹ E,  D = X_t I_n⁻¹ X_tᵀ,  E = WᵀPᵀI⁻¹ X_tᵀ (last block row only).

By the matrix inversion lemma the inverse is a Schur complement of the same shape,

    Λ = S − Rᵀ A'⁻¹ R,  S = D⁻¹,  R = E D⁻¹,  A' = E D⁻¹ Eᵀ − A,

where S is the last link's inertia about the tip, and −A' is A but for the last link's mobility, missing from the last
diagonal block: that link's motion is given. Both A and A' are block tri-diagonal and solved by odd-even elimination.
Source: Fijany, "Schur complement factorizations and parallel O(log N) algorithms for computation of operational space
mass matrix and its inverse", ICRA 1994. Restricted to serial chains whose links all have an invertible inertia.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rbdgen.errors import SingularityError
from rbdgen.model.body import Placement
from rbdgen.model.robot import Robot
from rbdgen.parallel.arguments import array, state
from rbdgen.parallel.cfa import (
    REFINEMENTS,
    ConstraintForces,
    constraint_forces,
    constraint_matrix,
    elimination_of_a_steps,
    net_wrenches,
    relative_motions,
    settling_steps,
)
from rbdgen.parallel.chain import (
    SWAP,
    Chain,
    placement_transform,
    serial,
    spatial_inertia,
    transposed,
)
from rbdgen.parallel.odd_even import BlockTridiagonal, OddEvenFactors, eliminate, solution_steps
from rbdgen.parallel.steps import Steps, in_sequence, single

LARGEST_INERTIA_RATIO = 1e10
"""Beyond this ratio to the last link's own inertia the tip counts as stuck: what is left of it is rounding."""


@dataclass(frozen=True, eq=False)
class OperationalSpace:
    """Λ and Λ⁻¹ of a chain's tip, as operators on vectors and as matrices.

    At this interface vectors are (..., 6), [linear, angular], in the tip's frame; inside, angular part first.
    ``chain``; ``tip_transform`` X_t (6, 6): motion of the last link to the tip's frame.
    """

    chain: Chain
    tip_transform: np.ndarray

    @cached_property
    def forces(self) -> ConstraintForces:
        """A, eliminated."""
        return constraint_forces(self.chain)

    @cached_property
    def mobility(self) -> np.ndarray:
        """D (6, 6), angular part first: the last link's own inverse inertia about the tip."""
        inverse = self.chain.inverse_inertias[-1].reshape(6, 6)
        return self.tip_transform @ inverse @ self.tip_transform.T

    @cached_property
    def own_inertia(self) -> np.ndarray:
        """S = D⁻¹ (6, 6), angular part first: the last link's inertia about the tip."""
        inertia = spatial_inertia(self.chain.robot.bodies[-1].inertia)
        return self._outward.T @ inertia @ self._outward

    @cached_property
    def coupling(self) -> np.ndarray:
        """The last block row of E (c, 6), the only one that is not zero."""
        w = self.chain.complement[-1].reshape(6, -1)
        inverse = self.chain.inverse_inertias[-1].reshape(6, -1)
        return w.T @ inverse @ self.tip_transform.T

    @cached_property
    def driven_coupling(self) -> np.ndarray:
        """The last block row of R = E D⁻¹ (c, 6), the only one that is not zero."""
        return self.chain.complement[-1].reshape(6, -1).T @ self._outward

    @cached_property
    def driven_matrix(self) -> BlockTridiagonal:
        """−A', positive definite: A without the last link's mobility."""
        matrix = constraint_matrix(self.chain)
        w = self.chain.complement[-1].reshape(6, -1)
        missing = np.where(self.chain.constrained[-1], 0.0, 1.0)
        held = np.diag(missing)
        diagonal = matrix.diagonal.copy()
        # formed anew: subtracting the mobility from the sum would leave its rounding
        diagonal[-1] = held
        if self.chain.links > 1:
            inward = transposed(self.chain.transforms[-1]) @ w
            diagonal[-1] = transposed(inward) @ self.chain.inverse_inertias[-2] @ inward + held
        return replace(matrix, name="constraint matrix A' of the driven tip", diagonal=diagonal)

    @cached_property
    def driven_factors(self) -> OddEvenFactors:
        """−A', eliminated. SingularityError at a kinematic singularity."""
        robot = self.chain.robot
        if robot.nv < 6:
            raise SingularityError(
                f"operational-space inertia of {robot.name!r}: does not exist for a tip with {robot.nv} degrees of "
                "freedom, 6 are needed; use its inverse"
            )
        try:
            return eliminate(self.driven_matrix)
        except SingularityError as error:
            # A and D are positive definite, so that A' is singular exactly where Λ⁻¹ is
            raise _kinematic_singularity(robot, f" ({error})") from None

    @cached_property
    def _outward(self) -> np.ndarray:
        """X_t⁻¹ (6, 6)."""
        rotation = self.tip_transform[:3, :3]
        shift = self.tip_transform[3:, :3]
        result = np.zeros((6, 6))
        result[:3, :3] = rotation.T
        result[3:, 3:] = rotation.T
        result[3:, :3] = shift.T
        return result

    def tip_response(self, wrenches: np.ndarray) -> np.ndarray:
        """The links' accelerations (n, *batch, 6, k) for wrenches (*batch, 6, k) on the tip, angular part first."""
        chain = self.chain
        columns = wrenches.shape[-1]
        accelerations = np.zeros((chain.links, *chain.batch, 6, columns))
        accelerations[-1] = self.chain.inverse_inertias[-1] @ self.tip_transform.T @ wrenches
        return self.forces.settle(accelerations)

    def _inverse_columns(self, wrenches: np.ndarray) -> np.ndarray:
        return self.tip_transform @ self.tip_response(wrenches)[-1]

    def _inertia_columns(self, accelerations: np.ndarray) -> np.ndarray:
        chain = self.chain
        w = chain.complement
        factors = self.driven_factors
        mobile = chain.inverse_inertias.copy()
        mobile[-1] = 0.0  # its motion is given
        columns = accelerations.shape[-1]
        links = np.zeros((chain.links, *chain.batch, 6, columns))
        links[-1] = self._outward @ accelerations
        total = np.zeros(())
        for _ in range(1 + REFINEMENTS):
            forbidden = relative_motions(chain, links)
            multipliers = factors.solve(transposed(w) @ forbidden)
            total = total + multipliers
            links = links - mobile @ net_wrenches(chain, w @ multipliers)
        result = self.own_inertia @ accelerations
        result = result + self.driven_coupling.T @ total[-1]
        self._check(accelerations, result)
        return result

    def _check(self, accelerations: np.ndarray, forces: np.ndarray) -> None:
        """SingularityError where the chain resists far more than the last link alone."""
        own = np.einsum("...ik,...ik->...k", accelerations, self.own_inertia @ accelerations)
        whole = np.einsum("...ik,...ik->...k", accelerations, forces)
        fine = (whole >= (1 - 1e-6) * own) & (whole <= LARGEST_INERTIA_RATIO * own)
        if not np.all(fine):
            first = np.argwhere(~fine)[0]
            raise _kinematic_singularity(self.chain.robot, state(first[:-1]))

    def inverse_times(self, force: np.ndarray) -> np.ndarray:
        """Λ⁻¹ f: the tip's acceleration (..., 6) under ``force`` (..., 6), [force, moment], on the tip of a chain at
        rest without gravity. Never forms Λ⁻¹."""
        force = array("force", force, (6,), self.chain.batch)
        column = force[..., SWAP, None]
        result = self._inverse_columns(column)[..., 0]
        return result[..., SWAP]

    def inertia_times(self, acceleration: np.ndarray) -> np.ndarray:
        """Λ a: the force (..., 6), [force, moment], that gives the tip ``acceleration`` (..., 6). Never forms Λ.

        SingularityError at a kinematic singularity.
        """
        acceleration = array("acceleration", acceleration, (6,), self.chain.batch)
        column = acceleration[..., SWAP, None]
        result = self._inertia_columns(column)[..., 0]
        return result[..., SWAP]

    def _unit(self) -> np.ndarray:
        unit = np.eye(6)[SWAP]
        return np.broadcast_to(unit, (*self.chain.batch, 6, 6))

    def inverse(self) -> np.ndarray:
        """Λ⁻¹ (..., 6, 6), [linear, angular]."""
        result = self._inverse_columns(self._unit())[..., SWAP, :]
        return 0.5 * (result + transposed(result))

    def inertia(self) -> np.ndarray:
        """Λ (..., 6, 6), [linear, angular]. SingularityError at a kinematic singularity."""
        result = self._inertia_columns(self._unit())[..., SWAP, :]
        return 0.5 * (result + transposed(result))


def _kinematic_singularity(robot: Robot, where: str) -> SingularityError:
    return SingularityError(
        f"operational-space inertia of {robot.name!r}: is singular{where}, a kinematic singularity: "
        "the tip cannot be accelerated in every direction; move q off it, or use the inverse"
    )


def operational_space(
    robot: Robot, q: np.ndarray, tip: Placement | None = None
) -> OperationalSpace:
    """Λ and Λ⁻¹ at ``q`` (..., nq) for a ``tip`` placed in the last link's joint frame (None: that frame itself).

    SI units. Serial chains only. UnsupportedError for a tree; ConfigError for a ``q`` of wrong shape or not finite.
    Where it is used, SingularityError for a link without mass or without a moment about some axis.
    """
    return OperationalSpace(serial(robot, q), placement_transform(tip or Placement()))


def operational_space_inverse_steps(links: int) -> Steps:
    """Steps of Λ⁻¹, as a matrix or applied to a vector: 4 ⌈log₂ n⌉ + 11 levels for n > 1."""
    return in_sequence(
        single("placement", links),
        elimination_of_a_steps(links),
        single("acceleration of the last link", 1),
        settling_steps(links),
        single("acceleration of the tip", 1),
    )


def operational_space_inertia_steps(links: int) -> Steps:
    """Steps of Λ, as a matrix or applied to an acceleration: 4 ⌈log₂ n⌉ + 11 levels for n > 1."""
    once = in_sequence(
        single("forbidden motion", links),
        solution_steps(links),
        single("settled acceleration", links),
    )
    return in_sequence(
        single("placement", links),
        elimination_of_a_steps(links),
        single("acceleration of the last link", 1),
        *[once] * (1 + REFINEMENTS),
        single("force on the tip", 1),
    )
