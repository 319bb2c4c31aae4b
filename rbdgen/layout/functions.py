"""The functions that an accelerator can compute: codes, operand vectors and result vectors. Their one home."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from rbdgen.errors import UnsupportedError


@dataclass(frozen=True)
class Function:
    """``code`` is what a task's header holds; ``operands`` and ``results`` name vectors and matrices, in the order of
    the words."""

    name: str
    code: int
    operands: tuple[str, ...]
    results: tuple[str, ...]
    summary: str


FUNCTIONS = {
    f.name: f
    for f in (
        Function("id", 0, ("q", "v", "a"), ("tau",), "inverse dynamics"),
        Function("fd", 1, ("q", "v", "tau"), ("a",), "forward dynamics"),
        Function("m", 2, ("q",), ("m",), "mass matrix"),
        Function("minv", 3, ("q",), ("minv",), "inverse of the mass matrix"),
        Function("did", 4, ("q", "v", "a"), ("dtau_dq", "dtau_dv"), "derivatives of inverse dynamics"),
        Function("dfd", 5, ("q", "v", "tau"), ("da_dq", "da_dv"), "derivatives of forward dynamics"),
        Function("difd", 6, ("q", "v", "a", "minv"), ("da_dq", "da_dv"), "the same, given a and the inverse"),
    )
}
"""By name; codes never change their meaning."""
ROLL_OUT = Function("roll", 7, ("q", "v", "tau", "steps"), ("q_end", "v_end"), "roll-out of many steps at a constant τ")
"""A function that is there where it is asked for by name: ``all`` are the others."""
KNOWN = FUNCTIONS | {ROLL_OUT.name: ROLL_OUT}
"""All functions by name."""

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

SYMMETRIC = ("m", "minv")
"""Matrices of which only the lower triangle is transferred."""


def check_algorithms(derivative: str, mass_matrix: str) -> None:
    """UnsupportedError naming an algorithm that there is not."""
    for option, name, known in (
        ("derivative", derivative, DERIVATIVES),
        ("mass-matrix", mass_matrix, MASS_MATRICES),
    ):
        if name not in known:
            raise UnsupportedError(f"{option} {name!r}: unknown; choose from {', '.join(known)}")


def check_functions(functions: Sequence[str]) -> tuple[str, ...]:
    """The functions in the order of their codes, each once; UnsupportedError naming one that there is not."""
    for name in functions:
        if name not in KNOWN:
            near = difflib.get_close_matches(name, KNOWN, 1, cutoff=0.5)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UnsupportedError(f"function {name!r}: unknown; {hint}functions are: {', '.join(KNOWN)}, or all")
    if not functions:
        raise UnsupportedError(f"functions: none given; choose from {', '.join(KNOWN)}, or all")
    return tuple(name for name in KNOWN if name in functions)
