"""The golden model: float64 dynamics over batches of states, by which all hardware is judged.

Vectors follow Pinocchio: joints in ``robot.joint_names`` order, a continuous joint is (cos θ, sin θ) in q, spatial
vectors at this interface are [linear, angular] in the body's own (joint child) frame.
"""

from rbdgen.golden.functions import rnea

__all__ = ["rnea"]
