"""The golden model: float64 dynamics over batches of states, by which all hardware is judged.

Vectors follow Pinocchio: joints in ``robot.joint_names`` order, a continuous joint is (cos θ, sin θ) in q, a floating
base [x y z, qx qy qz qw] in q and [linear, angular] in its own frame in v; spatial vectors at this interface are
[linear, angular] in the body's own (joint child) frame, and derivatives with respect to q are in the tangent space.
States to evaluate come from ``random_states``, steps along a velocity from ``integrate``.

Two families compute everything but inverse dynamics: ``method="composite"`` are the forms that hardware is made from
(composite bodies, factors of M), ``method="textbook"`` are RNEA's derivatives in columns, CRBA, ABA and MMinvGen. A
function that is registered later (:func:`rbdgen.functions.registry.register`) is found here by its name as well.
"""

from collections.abc import Callable
from typing import Any

from rbdgen.functions import registry
from rbdgen.functions.contact import constrained_forward_dynamics
from rbdgen.functions.derivatives import forward_dynamics_derivatives, rnea_derivatives
from rbdgen.functions.forward_dynamics import forward_dynamics
from rbdgen.functions.frames import frame_accelerations, frame_jacobians, frame_placements
from rbdgen.functions.inverse_dynamics import generalized_gravity, nonlinear_effects, rnea
from rbdgen.functions.mass_matrix import crba, minverse
from rbdgen.functions.operational_space import (
    operational_space_acceleration,
    operational_space_force,
    operational_space_inertia,
    operational_space_inverse,
)
from rbdgen.functions.quantities import METHODS
from rbdgen.functions.roll_out import roll_out
from rbdgen.functions.sliding import sliding_forward_dynamics
from rbdgen.functions.step import step
from rbdgen.model.ranges import declared_ranges, integrate, neutral, random_states
from rbdgen.numeric.batch import RootMotion, central_differences

__all__ = [
    "METHODS",
    "RootMotion",
    "central_differences",
    "constrained_forward_dynamics",
    "crba",
    "declared_ranges",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "frame_accelerations",
    "frame_jacobians",
    "frame_placements",
    "generalized_gravity",
    "integrate",
    "minverse",
    "neutral",
    "nonlinear_effects",
    "operational_space_acceleration",
    "operational_space_force",
    "operational_space_inertia",
    "operational_space_inverse",
    "random_states",
    "rnea",
    "rnea_derivatives",
    "roll_out",
    "sliding_forward_dynamics",
    "step",
]

# the others, by the records that there are
__all__ += [name for name in registry.golden_functions() if name not in __all__]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Callable[..., Any]:
    """A golden function that is in the registry only."""
    try:
        return registry.golden_functions()[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
