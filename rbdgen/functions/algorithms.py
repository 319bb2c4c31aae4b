"""The algorithms that an accelerator's functions may be traced by."""

from __future__ import annotations

from rbdgen.errors import ConfigError, UnsupportedError

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


def check_algorithms(derivative: str, mass_matrix: str) -> None:
    """UnsupportedError naming an algorithm that there is not."""
    for option, name, known in (
        ("derivative", derivative, DERIVATIVES),
        ("mass-matrix", mass_matrix, MASS_MATRICES),
    ):
        if name not in known:
            raise UnsupportedError(f"{option} {name!r}: unknown; choose from {', '.join(known)}")


def check_combination(
    derivative: str, mass_matrix: str, calibratable: bool, moving_base: bool
) -> None:
    """ConfigError naming an algorithm that does not go with another option."""
    needed = []
    if calibratable:
        needed.append(("calibratable", "derivative", derivative, "composite"))
        needed.append(("calibratable", "mass_matrix", mass_matrix, "ldl"))
    if moving_base:
        needed.append(("moving_base", "derivative", derivative, "composite"))
    for option, algorithm, given, needs in needed:
        if given != needs:
            raise ConfigError(
                f"{option} and {algorithm}: {option} needs {algorithm} {needs}, not {given}"
            )
