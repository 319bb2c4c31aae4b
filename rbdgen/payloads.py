"""What a link carries, as users give it: a mass, its centre, its moments; and the pseudo-inertia that it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdgen.errors import ConfigError, short
from rbdgen.operands import LARGEST, numbers_of

SIZES = (1, 4, 10)
"""Numbers of a payload: its mass; its centre of mass; its moments of inertia about that."""
ENTRIES = {
    "m": (3, 3),
    "hx": (0, 3),
    "hy": (1, 3),
    "hz": (2, 3),
    "sxx": (0, 0),
    "sxy": (0, 1),
    "sxz": (0, 2),
    "syy": (1, 1),
    "syz": (1, 2),
    "szz": (2, 2),
}
"""Entries of a pseudo-inertia (4×4) by name: mass, first moment, second moment."""


def pseudo_inertia(mass: float, com: np.ndarray, rotational: np.ndarray) -> np.ndarray:
    """The pseudo-inertia [[Σ, h], [hᵀ, m]] (4×4) of a mass (kg), its centre (3, m) and its rotational inertia about
    that (3×3, kg·m²)."""
    result = np.empty((4, 4))
    # Σ = tr(I)/2 · 1 − I, which undoes I = tr(Σ) 1 − Σ
    about_com = 0.5 * np.trace(rotational) * np.eye(3) - rotational
    result[:3, :3] = about_com + mass * np.outer(com, com)
    result[:3, 3] = result[3, :3] = mass * np.asarray(com)
    result[3, 3] = mass
    return result


def payload_inertia(link: str, numbers: Sequence[float]) -> np.ndarray:
    """The pseudo-inertia (4×4) of a payload in the link's frame: mass (kg), and, as far as given, the centre of mass
    (3, m) and the moments of inertia about it in the frame's directions (6, kg·m²: xx, yy, zz, xy, xz, yz). ConfigError
    where it is not given so."""
    given = numbers_of(f"payload: of link {link!r}", numbers)
    if len(given) not in SIZES:
        raise ConfigError(
            f"payload: of link {link!r}: must be mass, or mass and centre (3), or those and moments (6), not "
            f"{len(given)} numbers"
        )
    if not all(abs(x) <= LARGEST for x in given) or given[0] <= 0:
        raise ConfigError(
            f"payload: of link {link!r}: must be at most {LARGEST:g}, and its mass above 0, not {short(numbers)}"
        )
    mass, x, y, z, xx, yy, zz, xy, xz, yz = given + [0.0] * (10 - len(given))
    moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return pseudo_inertia(mass, np.array([x, y, z]), moments)
