"""A horizon's first evaluation as one batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def look_ahead(problem: Any, xs: Sequence[np.ndarray], us: Sequence[np.ndarray]) -> None:
    """Have a device evaluate all knots of a ``crocoddyl.ShootingProblem`` at once, when the first of them is.

    Call it before ``problem.calc(xs, us)`` or ``solver.solve(xs, us, …)``: states and controls are known there, while
    in a roll-out each state follows from the one before it. Models that are not of :mod:`rbdgen.control` are left
    alone. Derivatives need no such call.
    """
    knots = zip(problem.runningModels, problem.runningDatas, xs, us, strict=False)
    for model, data, x, u in knots:
        known, own = getattr(model, "differential", model), getattr(data, "differential", data)
        expect = getattr(known, "expect", None)
        if expect is not None:
            expect(own, np.asarray(x), np.asarray(u))
