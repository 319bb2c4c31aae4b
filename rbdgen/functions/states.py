"""States to compute at: values of every kind of operand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np

from rbdgen.functions.quantities import BEGIN, SUM, WEIGHTS
from rbdgen.numeric.arguments import RootMotion


@dataclass(frozen=True)
class States:
    """n states: ``q`` (n, nq), ``v`` and ``a`` (n, nv), ``f_ext`` (n, bodies, 6) or None, ``tau`` (n, nv), ``minv``
    (n, nv, nv) or None, ``base`` (n, 9) or None, ``parameters`` (n, k) or None; of functions that repeat, the number of
    ``steps`` (n, 1) and the ``weights`` c and b (n, 2) of an evaluation, or None. ``free`` (n,): which torques are any
    within their limits, while others are those of the motion; None where all are the motion's. ``others``: values
    (n, …) of the operands whose range is declared with them, by name."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    f_ext: np.ndarray | None
    tau: np.ndarray
    minv: np.ndarray | None
    base: np.ndarray | None = None
    parameters: np.ndarray | None = None
    steps: np.ndarray | None = None
    weights: np.ndarray | None = None
    free: np.ndarray | None = None
    others: Mapping[str, np.ndarray] = field(default_factory=dict)

    def vector(self, quantity: str, index: tuple[int, ...]) -> np.ndarray:
        """One entry's values (n,). Where a step of a roll-out began, and its sum, are about where it is now."""
        stands_for = {WEIGHTS: "weights"}
        stands_for |= {vector + kind: vector for vector in ("q", "v") for kind in (BEGIN, SUM)}
        values = self.others.get(quantity)
        if values is None:
            values = getattr(self, stands_for.get(quantity, quantity))
        return values[(slice(None), *index)]

    def part(self, chosen: slice | np.ndarray) -> States:
        """Some of the states."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "others"}
        taken = {name: x[chosen] for name, x in given.items() if x is not None}
        others = {name: x[chosen] for name, x in self.others.items()}
        return replace(self, **taken, others=others)

    @property
    def root(self) -> RootMotion | None:
        """The base's motion as the golden functions take it: the speed of its origin has no effect."""
        if self.base is None:
            return None
        still = np.zeros((len(self.base), 3))
        velocity = np.concatenate([still, self.base[:, :3]], axis=1)
        acceleration = np.concatenate([self.base[:, 6:], self.base[:, 3:6]], axis=1)
        return RootMotion(velocity, acceleration, still)
