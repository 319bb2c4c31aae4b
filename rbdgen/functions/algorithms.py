"""The algorithms that an accelerator's functions may be traced by."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.functions.record import Function, Need

DERIVATIVES = {
    "composite": "from composite bodies (after Singh, Russell & Wensing 2022)",
    "columns": "column by column (Carpentier & Mansard 2018)",
}
"""Algorithms for the derivatives of inverse dynamics; the first is the default."""
MASS_MATRICES = {
    "ldl": "composite bodies, then the branch-sparse factors of M (Featherstone 2005)",
    "mminvgen": "M and its inverse in one algorithm (Yang, Chen & Han 2023)",
}
"""Algorithms for the mass matrix and its inverse; the first is the default."""
INVERSE_DYNAMICS = {
    "recursive": "from link to link (Luh, Walker & Paul 1980)",
    "scan": "by prefix sums, in logarithmic depth; serial chains (after Yang, Wu & Pan 2016)",
}
"""Algorithms for inverse dynamics; the first is the default."""
FORWARD_DYNAMICS = {
    "factors": "by the mass matrix and its factors, or by its inverse",
    "jsiia": "the same, with M by prefix sums; serial chains (Yang, Wu & Pan 2016)",
    "hybrid": "by articulated bodies, accelerations by a scan; serial chains (Yang, Wu & Pan 2016)",
    "cfa": "by constraint forces, in logarithmic depth; serial chains (Fijany, Sharf & D'Eleuterio 1995)",
}
"""Algorithms for forward dynamics; the first is the default."""
OPERATIONAL_SPACE = {
    "factors": "by the factors of the mass matrix (Featherstone 2010)",
    "schur": "by Schur complements, in logarithmic depth; a frame or contact at a serial chain's end (Fijany 1994)",
}
"""Algorithms for the inertia of frames and contacts; the first is the default."""
WITHOUT_FACTORS = ("hybrid", "cfa")
"""Those of them that take neither M nor its factors."""
FAMILIES: dict[str, Mapping[str, str]] = {
    "derivative": DERIVATIVES,
    "mass_matrix": MASS_MATRICES,
    "inverse_dynamics": INVERSE_DYNAMICS,
    "forward_dynamics": FORWARD_DYNAMICS,
    "operational_space": OPERATIONAL_SPACE,
}
"""The algorithms of each kind, by the option that chooses among them."""
OPEN = "auto"
"""The word for what the tool is to choose."""
TREES = {
    "inverse_dynamics": "recursive",
    "forward_dynamics": "factors",
    "operational_space": "factors",
}
"""Of the kinds with algorithms for serial chains only, the one that takes trees."""


def chosen_algorithms(options: Any) -> dict[str, str]:
    """The algorithm of each kind that options (of the compiler, or of a trace) choose; of what they leave open the one
    that takes trees."""
    chosen = {}
    for kind in FAMILIES:
        name = getattr(options, kind)
        chosen[kind] = TREES[kind] if name == OPEN else name
    return chosen


def needed_kinds(functions: Collection[Function]) -> tuple[str, ...]:
    """The kinds of algorithms that make a difference for ``functions``."""
    needs: set[Need] = set()
    for f in functions:
        needs |= f.all_needs
    matters = {
        "derivative": Need.GRADIENT in needs,
        "mass_matrix": bool({Need.INVERSE, Need.ACCELERATION}.intersection(needs)),
        "inverse_dynamics": Need.TORQUE in needs,
        "forward_dynamics": Need.ACCELERATION in needs,
        "operational_space": any("operational_space" in f.uses for f in functions),
    }
    return tuple(kind for kind in FAMILIES if matters[kind])


def check_algorithms(chosen: Mapping[str, str]) -> None:
    """UnsupportedError naming an algorithm that there is not. ``chosen``: one of each kind."""
    for kind, name in chosen.items():
        known = FAMILIES[kind]
        if name not in known:
            option = kind.replace("_", "-")
            raise UnsupportedError(f"{option} {name!r}: unknown; choose from {', '.join(known)}")


def check_combination(chosen: Mapping[str, str], calibratable: bool, moving_base: bool) -> None:
    """ConfigError naming an algorithm that does not go with another option. ``chosen``: one of each kind."""
    needed = []
    if calibratable:
        needed.append(("calibratable", "derivative", "composite"))
        needed.append(("calibratable", "mass_matrix", "ldl"))
        if chosen["forward_dynamics"] in WITHOUT_FACTORS:
            # a link's inertia, or the inverse of it, is a constant
            needed.append(("calibratable", "forward_dynamics", "factors"))
        needed.append(("calibratable", "operational_space", "factors"))
    if moving_base:
        needed.append(("moving_base", "derivative", "composite"))
    forward = chosen["forward_dynamics"]
    if forward != "factors":
        needed.append((f"forward_dynamics {forward}", "mass_matrix", "ldl"))
    for option, algorithm, needs in needed:
        given = chosen[algorithm]
        if given != needs:
            raise ConfigError(
                f"{option} and {algorithm}: {option} needs {algorithm} {needs}, not {given}"
            )
