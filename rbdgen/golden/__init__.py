"""The golden model: float64 dynamics over batches of states, by which all hardware is judged.

Vectors follow Pinocchio: joints in ``robot.joint_names`` order, a continuous joint is (cos θ, sin θ) in q, a floating
base [x y z, qx qy qz qw] in q and [linear, angular] in its own frame in v; spatial vectors at this interface are
[linear, angular] in the body's own (joint child) frame, and derivatives with respect to q are in the tangent space.
States to evaluate come from ``random_states``, steps along a velocity from ``integrate``.
"""

from rbdgen.golden.arguments import RootMotion
from rbdgen.golden.checks import central_differences
from rbdgen.golden.functions import (
    METHODS,
    crba,
    forward_dynamics,
    forward_dynamics_derivatives,
    minverse,
    rnea,
    rnea_derivatives,
)
from rbdgen.model.ranges import declared_ranges, integrate, neutral, random_states

__all__ = [
    "METHODS",
    "RootMotion",
    "central_differences",
    "crba",
    "declared_ranges",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "integrate",
    "minverse",
    "neutral",
    "random_states",
    "rnea",
    "rnea_derivatives",
]
