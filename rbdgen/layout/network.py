"""The network of submodules of one accelerator: the algorithms traced over a robot, with operands and results named.

Submodules are named after the literature and the body: ``Rf_<link>``, ``Rb_<link>``, and ``Sc`` for the sines and
cosines of all joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np

from rbdgen.algo.rnea import rnea
from rbdgen.algo.submodules import TRIGONOMETRY
from rbdgen.errors import UnsupportedError
from rbdgen.ir.builder import Builder, Expr
from rbdgen.ir.graph import Graph
from rbdgen.layout.equivalent import equivalent
from rbdgen.model.names import sanitize
from rbdgen.model.ranges import InputRanges, declared_ranges, extreme_states, random_states
from rbdgen.model.robot import Robot

FUNCTIONS = {"id": 0}
"""Functions that can be generated, and their codes in a task's header."""


@dataclass(frozen=True)
class Operand:
    """One operand word: ``name`` (a legal identifier), which vector (``q``, ``v``, ``a``) and index, and its declared
    range."""

    name: str
    vector: str
    index: int
    lower: float
    upper: float


@dataclass(frozen=True)
class Result:
    """One result word: ``name``, which vector (``tau``) and index."""

    name: str
    vector: str
    index: int


@dataclass(frozen=True)
class Submodule:
    """A submodule: ``name`` (the owner in the graph), ``kind`` (Rf, Rb, Sc) and ``body`` (None: the whole robot)."""

    name: str
    kind: str
    body: int | None


@dataclass(frozen=True)
class Network:
    """What is to be built for ``robot``: operands, results, submodules, and the traced graph over all of them."""

    robot: Robot
    functions: tuple[str, ...]
    operands: tuple[Operand, ...]
    results: tuple[Result, ...]
    submodules: tuple[Submodule, ...]
    graph: Graph

    def operand_values(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, np.ndarray]:
        """Operands by name from states of shape (n, nq), (n, nv), (n, nv)."""
        vectors = {"q": q, "v": v, "a": a}
        return {o.name: vectors[o.vector][:, o.index] for o in self.operands}

    def range_samples(self, ranges: InputRanges, count: int, seed: int) -> dict[str, np.ndarray]:
        """Operand samples for range analysis: half uniform in ``ranges``, half at its extremes."""
        states = (f(self.robot, ranges, count // 2, seed) for f in (random_states, extreme_states))
        q, v, a = (np.concatenate(parts) for parts in zip(*states, strict=True))
        return self.operand_values(q, v, a)

    @property
    def declared(self) -> dict[str, float]:
        """Largest declared magnitude of each operand."""
        return {o.name: max(abs(o.lower), abs(o.upper)) for o in self.operands}


def check_functions(functions: Sequence[str]) -> tuple[str, ...]:
    """The functions, without repetition; UnsupportedError naming one that cannot be generated."""
    for code in functions:
        if code not in FUNCTIONS:
            raise UnsupportedError(
                f"function {code!r}: cannot be generated; hardware functions are: {', '.join(FUNCTIONS)}"
            )
    if not functions:
        raise UnsupportedError(f"functions: none given; choose from {', '.join(FUNCTIONS)}")
    return tuple(dict.fromkeys(functions))


def _operands(robot: Robot, ranges: InputRanges, joints: dict[str, str]) -> tuple[Operand, ...]:
    result = []
    for i, body in enumerate(robot.bodies):
        joint = joints[body.joint_name]
        parts = [""] if body.joint.nq == 1 else ["_cos", "_sin"]
        for k, part in zip(range(*robot.q_slices[i].indices(robot.nq)), parts, strict=True):
            result.append(Operand(f"q_{joint}{part}", "q", k, ranges.q_lower[k], ranges.q_upper[k]))
    for vector, limits in (("v", ranges.v_max), ("a", ranges.a_max)):
        for body, k in zip(robot.bodies, robot.v_slices, strict=True):
            limit = limits[k.start]
            result.append(Operand(f"{vector}_{joints[body.joint_name]}", vector, k.start, -limit, limit))
    return tuple(result)


def build_network(robot: Robot, functions: Sequence[str] = ("id",), ranges: InputRanges | None = None) -> Network:
    """Trace ``functions`` over the equivalent of ``robot``.

    ``ranges`` are the declared input ranges (default: the robot's own). UnsupportedError for a function that
    cannot be generated.
    """
    codes = check_functions(functions)
    cheap = equivalent(robot).robot
    links = sanitize([b.name for b in robot.bodies])
    joints = sanitize(list(robot.joint_names))
    operands = _operands(robot, ranges or declared_ranges(robot), joints)
    builder = Builder()
    words = {v: tuple(Expr(builder, builder.input(o.name)) for o in operands if o.vector == v) for v in "qva"}
    submodules: dict[str, Submodule] = {}

    def enter(kind: str, body: int | None) -> AbstractContextManager[None]:
        name = kind if body is None else f"{kind}_{links[robot.bodies[body].name]}"
        submodules.setdefault(name, Submodule(name, kind, body))
        return builder.submodule(name)

    tau = rnea(cheap, words["q"], words["v"], words["a"], enter=enter)
    results = tuple(Result(f"tau_{joints[name]}", "tau", i) for i, name in enumerate(robot.joint_names))
    outputs = {r.name: t.node if isinstance(t, Expr) else builder.const(t) for r, t in zip(results, tau, strict=True)}
    assert TRIGONOMETRY in submodules
    return Network(robot, codes, operands, results, tuple(submodules.values()), builder.graph(outputs))
