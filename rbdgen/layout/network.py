"""The network of submodules of one accelerator: the algorithms traced over a robot, with operands and results named.

Up to two programs (:mod:`rbdgen.ir.programs`) share the submodules. ``dynamics`` computes all that does not need the
derivatives: τ, M, M⁻¹ and, from τ − C, the acceleration. ``gradient`` computes the derivatives at a
given acceleration and, with a given M⁻¹, those of forward dynamics. A task of ``dfd`` goes through both: the exit
``feedback`` of the first hands q, v, a and M⁻¹ to the second.

Submodules are named after the literature and the body: ``Rf_<link>`` and ``Rb_<link>`` (RNEA), ``Mb_<link>``,
``Mf_<link>`` and ``Mi_<link>`` (mass matrix and inverse), ``Df_<link>`` and ``Db_<link>`` (derivatives),
``Mx_<link>`` (products with M⁻¹), and ``Sc`` for the sines and cosines of all joints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rbdgen.algo.composite import Entries, MassMatrix, composite_inertias, derivatives, mass_matrix
from rbdgen.algo.factorisation import Factors, factorise, inverse, solve, symmetric_product
from rbdgen.algo.mminvgen import mminvgen
from rbdgen.algo.plucker import transforms
from rbdgen.algo.rnea import Wrench, base_motion, inward_sweep, joint_placements, outward_sweep, rnea
from rbdgen.algo.rnea_derivatives import rnea_derivatives
from rbdgen.errors import UnsupportedError
from rbdgen.ir.builder import Builder, Expr
from rbdgen.ir.graph import Graph
from rbdgen.ir.precision import Precision
from rbdgen.ir.programs import Exit, Programs
from rbdgen.layout.equivalent import equivalent
from rbdgen.layout.functions import FUNCTIONS, check_algorithms, check_functions
from rbdgen.model.names import sanitize
from rbdgen.model.ranges import InputRanges, declared_ranges, extreme_states, random_states
from rbdgen.model.robot import Robot
from rbdgen.spatial import Scalar, Vector, sub

DYNAMICS, GRADIENT = "dynamics", "gradient"
"""The programs."""
PREFIX = {DYNAMICS: "", GRADIENT: "d_"}
"""What stands before an operand's name in the graph, by program."""
FEEDBACK = "feedback"
"""The exit by which ``dfd`` goes from the first program to the second."""
HEADROOM = 1.1
"""Over the largest sampled τ and M⁻¹, for the declared range of operands that follow from others."""
ZERO_TOLERANCE = 1e-12
"""An entry of M⁻¹ that stays below this share of the largest is zero for the robot's structure, and no operand."""


@dataclass(frozen=True)
class Word:
    """One operand or result: ``name`` (a legal identifier), which vector or matrix and where in it, and, for operands,
    the declared range."""

    name: str
    vector: str
    index: tuple[int, ...]
    lower: float = 0.0
    upper: float = 0.0

    @property
    def magnitude(self) -> float:
        """Largest declared magnitude."""
        return max(abs(self.lower), abs(self.upper))


@dataclass(frozen=True)
class Submodule:
    """A submodule: ``name`` (the owner in the graph), ``kind`` (Rf, Rb, …, Sc) and ``body`` (None: all of it)."""

    name: str
    kind: str
    body: int | None


@dataclass(frozen=True)
class Network:
    """What is to be built for ``robot``.

    ``operands`` and ``results`` hold the words of each vector by its name; ``graph`` the traced programs, described by
    ``programs``. A result's name in the graph is its word's name, an operand's has its program's prefix.
    """

    robot: Robot
    functions: tuple[str, ...]
    forces: bool
    operands: dict[str, tuple[Word, ...]]
    results: dict[str, tuple[Word, ...]]
    submodules: tuple[Submodule, ...]
    graph: Graph
    programs: Programs

    def operand_words(self, function: str) -> tuple[Word, ...]:
        """The operands of a task of ``function``, in order."""
        return tuple(w for vector in operand_vectors(function, self.forces) for w in self.operands[vector])

    def result_words(self, function: str) -> tuple[Word, ...]:
        """The results of ``function``, in order."""
        return tuple(w for vector in FUNCTIONS[function].results for w in self.results[vector])

    def exit(self, function: str) -> Exit:
        """Where a function's results leave."""
        return next(e for e in self.programs.exits if e.name == function)

    def entry(self, function: str) -> str:
        """The program that a task of ``function`` starts with."""
        return DYNAMICS if function == "dfd" else self.exit(function).program

    @property
    def declared(self) -> dict[str, float]:
        """Largest declared magnitude of each operand of the graph."""
        words = {w.name: w.magnitude for part in self.operands.values() for w in part}
        return {name: words[name.removeprefix(PREFIX[p])] for name, p in self.programs.operands.items()}

    @property
    def vectors(self) -> dict[str, str]:
        """The vector or matrix of each result of the graph."""
        return {w.name: w.vector for part in self.results.values() for w in part}

    @property
    def precise(self) -> Precision:
        """What needs more bits than the word: where M is nearly singular, small differences of torques and of M's
        entries decide on large accelerations."""
        return Precision(
            frozenset(w.name for w in self.results.get("a", ())),
            frozenset(w.name for vector in ("q", "tau") for w in self.operands.get(vector, ())),
            frozenset(s.name for s in self.submodules if s.kind in ("Mb", "Mf", "Mi")),
        )

    def pruned(self, graph: Graph) -> Network:
        """The network without the results that ``graph`` no longer has."""
        results = {v: tuple(w for w in words if w.name in graph.outputs) for v, words in self.results.items()}
        exits = tuple(
            replace(e, results=tuple(r for r in e.results if r in graph.outputs)) for e in self.programs.exits
        )
        return replace(self, results=results, programs=replace(self.programs, exits=exits))


def operand_vectors(function: str, forces: bool) -> tuple[str, ...]:
    """The operand vectors of a function in the order of the words; external forces follow the joints' vectors."""
    vectors = FUNCTIONS[function].operands
    if not forces or "v" not in vectors:
        return vectors
    return (*(v for v in vectors if v != "minv"), "f_ext", *(v for v in vectors if v == "minv"))


@dataclass(frozen=True)
class Samples:
    """States for range analysis, shapes (n, …): ``q``, ``v``, ``a``, ``f_ext`` (n, bodies, 6) or None, ``tau`` that
    goes with them, and ``minv`` (n, nv, nv) or None."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    f_ext: np.ndarray | None
    tau: np.ndarray
    minv: np.ndarray | None

    def vector(self, name: str, index: tuple[int, ...]) -> np.ndarray:
        """One word's values (n,)."""
        return getattr(self, name)[(slice(None), *index)]


def columns(x: np.ndarray) -> Vector:
    """An array (n, k) as k scalars of shape (n,)."""
    return tuple(np.moveaxis(x, -1, 0))


def wrenches(robot: Robot, f_ext: np.ndarray | None) -> tuple[Wrench, ...] | None:
    """External forces (…, bodies, 6), [force, moment], as the algorithms take them."""
    if f_ext is None:
        return None
    return tuple(
        Wrench(tuple(f_ext[..., i, k] for k in (3, 4, 5)), tuple(f_ext[..., i, k] for k in (0, 1, 2)))
        for i in range(len(robot.bodies))
    )


def _needs_inverse(functions: Iterable[str]) -> bool:
    return bool({"fd", "minv", "dfd", "difd"} & set(functions))


def make_samples(
    robot: Robot, cheap: Robot, ranges: InputRanges, options: TraceOptions, count: int, seed: int
) -> Samples:
    """``count`` states, half uniform in ``ranges``, half straining them; ``cheap`` is the equivalent robot."""
    states = (f(robot, ranges, count // 2, seed) for f in (random_states, extreme_states))
    q, v, a = (np.concatenate(parts) for parts in zip(*states, strict=True))
    f_ext = None
    if options.forces:
        limits = np.array([options.force_limit] * 3 + [options.moment_limit] * 3)
        f_ext = np.random.default_rng(seed).uniform(-1, 1, (len(q), len(robot.bodies), 6)) * limits
    tau = rnea(robot, columns(q), columns(v), columns(a), wrenches(robot, f_ext))
    minv = _inverses(robot, cheap, q) if _needs_inverse(options.functions) else None
    return Samples(q, v, a, f_ext, np.stack([np.broadcast_to(t, len(q)) for t in tau], axis=-1), minv)


def _inverses(robot: Robot, cheap: Robot, q: np.ndarray) -> np.ndarray:
    """M⁻¹ (n, nv, nv) at ``q`` (n, nq); UnsupportedError where M is not positive definite."""
    joints = joint_placements(cheap, columns(q))
    entries = mass_matrix(cheap, joints, composite_inertias(cheap, joints)).entries
    m = np.zeros((len(q), robot.nv, robot.nv))
    for (i, j), x in entries.items():
        m[:, i, j] = m[:, j, i] = x
    smallest = np.linalg.eigvalsh(m)[:, 0]
    if smallest.min() <= 0:
        share = np.mean(smallest <= 0)
        raise UnsupportedError(
            f"robot {robot.name!r}: its mass matrix is not positive definite at {share:.1%} of the declared range "
            f"(smallest eigenvalue {smallest.min():.3g}), so that fd, minv, dfd and difd have no meaning; mend the "
            "inertias that no body can have (a warning names them), or ask for id, m and did only"
        )
    return np.linalg.inv(m)


@dataclass(frozen=True)
class TraceOptions:
    """What to trace: ``functions`` by the algorithms ``derivative`` and ``mass_matrix``; ``forces``: with external
    forces as operands, up to ``force_limit`` (N) and ``moment_limit`` (N·m) per component.
    """

    functions: tuple[str, ...] = ("id",)
    derivative: str = "composite"
    mass_matrix: str = "ldl"
    forces: bool = False
    force_limit: float = 100.0
    moment_limit: float = 20.0


def _operands(
    robot: Robot,
    ranges: InputRanges,
    samples: Samples,
    options: TraceOptions,
    joints: Sequence[str],
    links: Sequence[str],
) -> dict[str, tuple[Word, ...]]:
    q, dofs = [], _dof_names(robot, joints)
    for i, body in enumerate(robot.bodies):
        for k, part in zip(range(*robot.q_slices[i].indices(robot.nq)), body.joint.coordinate_names, strict=True):
            name = "_".join(["q", joints[i], *([part] if part else [])])
            q.append(Word(name, "q", (k,), ranges.q_lower[k], ranges.q_upper[k]))
    words = {"q": tuple(q)}
    torques = tuple(HEADROOM * np.max(np.abs(samples.tau), axis=0))
    for vector, limits in (("v", ranges.v_max), ("a", ranges.a_max), ("tau", torques)):
        words[vector] = tuple(Word(f"{vector}_{n}", vector, (k,), -limits[k], limits[k]) for k, n in enumerate(dofs))
    if options.forces:
        limit = [options.force_limit] * 3 + [options.moment_limit] * 3
        words["f_ext"] = tuple(
            Word(f"f_ext_{links[i]}_{axis}", "f_ext", (i, k), -limit[k], limit[k])
            for i in range(len(robot.bodies))
            for k, axis in enumerate(("fx", "fy", "fz", "nx", "ny", "nz"))
        )
    if samples.minv is not None:
        largest = HEADROOM * np.max(np.abs(samples.minv), axis=0)
        least = ZERO_TOLERANCE * np.max(largest)
        words["minv"] = tuple(
            Word(f"minv_{dofs[i]}_{dofs[j]}", "minv", (i, j), -float(largest[i, j]), float(largest[i, j]))
            for i in range(robot.nv)
            for j in range(i + 1)
            if largest[i, j] > least
        )
    return words


def _dof_names(robot: Robot, joints: Sequence[str]) -> list[str]:
    """A name for each degree of freedom: its joint's, numbered where the joint has several."""
    return [
        joints[i] if body.joint.nv == 1 else f"{joints[i]}_{k}"
        for i, body in enumerate(robot.bodies)
        for k in range(body.joint.nv)
    ]


class _Tracer:
    """Traces the programs into one builder."""

    def __init__(self, robot: Robot, cheap: Robot, options: TraceOptions, words: dict[str, tuple[Word, ...]]) -> None:
        self.robot, self.cheap, self.options, self.words = robot, cheap, options, words
        self.builder = Builder()
        self.operands: dict[str, str] = {}
        self.outputs: dict[str, int] = {}
        self.results: dict[str, tuple[Word, ...]] = {}
        self.exits: list[Exit] = []
        self.submodules: dict[str, Submodule] = {}
        self.links = sanitize([b.name for b in robot.bodies])
        self.dofs = _dof_names(robot, [sanitize(list(robot.joint_names))[n] for n in robot.joint_names])

    def enter(self, kind: str, body: int | None) -> AbstractContextManager[None]:
        name = kind if body is None else f"{kind}_{self.links[self.robot.bodies[body].name]}"
        self.submodules.setdefault(name, Submodule(name, kind, body))
        return self.builder.submodule(name)

    def operand(self, program: str, vector: str) -> Vector:
        names = [PREFIX[program] + w.name for w in self.words[vector]]
        self.operands |= dict.fromkeys(names, program)
        return tuple(Expr(self.builder, self.builder.input(n)) for n in names)

    def forces(self, program: str) -> tuple[Wrench, ...] | None:
        if "f_ext" not in self.words:
            return None
        f = self.operand(program, "f_ext")
        return tuple(Wrench(f[6 * i + 3 : 6 * i + 6], f[6 * i : 6 * i + 3]) for i in range(len(self.robot.bodies)))

    def node(self, x: Scalar) -> int:
        return x.node if isinstance(x, Expr) else self.builder.const(x)

    def result(self, vector: str, entries: dict[tuple[int, ...], Scalar]) -> list[str]:
        """Name a vector's or matrix's results; those that are zero for this robot are none."""
        named = []
        for index, x in sorted(entries.items()):
            if isinstance(x, Expr) or x != 0:
                word = Word("_".join([vector, *(self.dofs[k] for k in index)]), vector, index)
                self.outputs[word.name] = self.node(x)
                named.append(word)
        self.results[vector] = tuple(named)
        return [w.name for w in named]

    def leave(self, name: str, program: str, results: Iterable[str]) -> None:
        self.exits.append(Exit(name, program, tuple(results)))

    def mass(self, joints: list[Any]) -> tuple[list[Any], Any]:
        inertias = composite_inertias(self.cheap, joints, self.enter)
        return inertias, mass_matrix(self.cheap, joints, inertias, self.enter)

    def dynamics(self) -> None:
        """τ, M, M⁻¹ and a."""
        functions, robot = set(self.options.functions), self.cheap
        joints = joint_placements(robot, self.operand(DYNAMICS, "q"), self.enter)
        tau: Vector = ()
        if functions & {"id", "fd", "dfd"}:
            v = self.operand(DYNAMICS, "v")
            a = self.operand(DYNAMICS, "a") if "id" in functions else (0.0,) * robot.nv
            _, forces = outward_sweep(robot, joints, v, a, self.forces(DYNAMICS), self.enter)
            tau, _ = inward_sweep(robot, joints, forces, self.enter)
        if "id" in functions:
            self.leave("id", DYNAMICS, self.result("tau", {(i,): t for i, t in enumerate(tau)}))
        if not functions & {"m", "fd", "minv", "dfd"}:
            return
        factors: Factors | None = None
        wanted = bool(functions & {"minv", "dfd"})
        if self.options.mass_matrix == "mminvgen":
            wanted |= "fd" in functions
            ways = transforms(robot, joints, self.enter)
            mass, inverted = mminvgen(robot, ways, "m" in functions, wanted, self.enter)
        else:
            mass, inverted = self.mass(joints)[1].entries, {}
            if functions & {"fd", "minv", "dfd"}:
                factors = factorise(robot, mass, self.enter)
                inverted = inverse(robot, factors, self.enter) if wanted else {}
        if "m" in functions:
            self.leave("m", DYNAMICS, self.result("m", mass))
        entries = self.result("minv", inverted)
        if "minv" in functions:
            self.leave("minv", DYNAMICS, entries)
        if not functions & {"fd", "dfd"}:
            return
        rest: list[Scalar] = []
        for i, (t, c) in enumerate(zip(self.operand(DYNAMICS, "tau"), tau, strict=True)):
            with self.enter("Rb", self.body(i)):
                rest.append(sub(t, c))
        if factors is None:
            solution = symmetric_product(robot, inverted, [dict(enumerate(rest))], self.enter)[0]
        else:
            solution = dict(enumerate(solve(robot, factors, rest, self.enter)))
        accelerations = self.result("a", {(i,): x for i, x in solution.items()})
        if "fd" in functions:
            self.leave("fd", DYNAMICS, accelerations)
        if "dfd" in functions:
            passed = [w.name for vector in ("q", "v", "f_ext") for w in self.words.get(vector, ())]
            for name in passed:
                self.outputs[f"next_{name}"] = self.builder.input(name)
            self.leave(FEEDBACK, DYNAMICS, [*(f"next_{n}" for n in passed), *accelerations, *entries])

    def body(self, dof: int) -> int:
        return next(i for i, part in enumerate(self.robot.v_slices) if part.start <= dof < part.stop)

    def gradient(self, alone: bool) -> None:
        """The derivatives; τ and M as well where there is no other program (``alone``)."""
        functions, robot = set(self.options.functions), self.cheap
        q, v, a = (self.operand(GRADIENT, vector) for vector in "qva")
        joints = joint_placements(robot, q, self.enter)
        motions, forces = outward_sweep(robot, joints, v, a, self.forces(GRADIENT), self.enter)
        tau, totals = inward_sweep(robot, joints, forces, self.enter)
        if self.options.derivative == "columns":
            ways = transforms(robot, joints, self.enter)
            by_position, by_velocity = rnea_derivatives(robot, ways, v, motions, totals, self.enter)
            mass = self.mass(joints)[1] if alone and "m" in functions else MassMatrix({}, {})
        else:
            inertias, mass = self.mass(joints)
            base = base_motion(robot.gravity)
            both = derivatives(robot, joints, v, base, motions, totals, inertias, mass, self.enter)
            by_position, by_velocity = both.by_position, both.by_velocity
        if alone and "id" in functions:
            self.leave("id", GRADIENT, self.result("tau", {(i,): t for i, t in enumerate(tau)}))
        if alone and "m" in functions:
            self.leave("m", GRADIENT, self.result("m", mass.entries))
        if "did" in functions:
            names = self.result("dtau_dq", by_position) + self.result("dtau_dv", by_velocity)
            self.leave("did", GRADIENT, names)
        if functions & {"dfd", "difd"}:
            index = [(w.index[0], w.index[1]) for w in self.words["minv"]]
            given: Entries = dict(zip(index, self.operand(GRADIENT, "minv"), strict=True))
            names = []
            for vector, entries in (("da_dq", by_position), ("da_dv", by_velocity)):
                sparse = [{i: x for (i, k), x in entries.items() if k == j} for j in range(robot.nv)]
                products = symmetric_product(robot, given, sparse, self.enter)
                negated: dict[tuple[int, ...], Scalar] = {}
                for j, column in enumerate(products):
                    for i, x in column.items():
                        with self.enter("Mx", self.body(i)):
                            negated[i, j] = sub(0.0, x)
                names += self.result(vector, negated)
            for function in ("dfd", "difd"):
                if function in functions:
                    self.leave(function, GRADIENT, names)


def build_network(
    robot: Robot,
    options: TraceOptions | None = None,
    ranges: InputRanges | None = None,
    samples: Callable[[Robot], Samples] | None = None,
) -> tuple[Network, Samples]:
    """Trace the functions over the equivalent of ``robot``; with the states that ranges are to be found at.

    ``ranges`` are the declared input ranges (default: the robot's own); ``samples`` makes the states from the
    equivalent robot (default: few). UnsupportedError for a function or a robot that cannot be generated.
    """
    options = options or TraceOptions()
    functions = check_functions(options.functions)
    check_algorithms(options.derivative, options.mass_matrix)
    options = replace(options, functions=functions)
    cheap = equivalent(robot).robot
    ranges = ranges or declared_ranges(robot)
    states = samples(cheap) if samples else make_samples(robot, cheap, ranges, options, 256, 1)
    links, joints = sanitize([b.name for b in robot.bodies]), sanitize(list(robot.joint_names))
    words = _operands(
        robot,
        ranges,
        states,
        options,
        [joints[n] for n in robot.joint_names],
        [links[b.name] for b in robot.bodies],
    )
    tracer = _Tracer(robot, cheap, options, words)
    first = bool({"fd", "minv", "dfd"} & set(functions)) or not {"did", "difd"} & set(functions)
    if first:
        tracer.dynamics()
    if {"did", "dfd", "difd"} & set(functions):
        tracer.gradient(alone=not first)
    programs = Programs(tracer.operands, tuple(tracer.exits))
    needed = {r for e in tracer.exits for r in e.results}
    graph = tracer.builder.graph({n: i for n, i in tracer.outputs.items() if n in needed})
    taken = {name.removeprefix(PREFIX[program]) for name, program in tracer.operands.items()}
    network = Network(
        robot,
        functions,
        options.forces,
        {v: w for v, w in words.items() if any(word.name in taken for word in w)},
        tracer.results,
        tuple(tracer.submodules.values()),
        graph,
        programs,
    )
    return network, states


def operand_samples(network: Network, states: Samples) -> dict[str, np.ndarray]:
    """Values of the graph's operands for range analysis.

    The states come twice where forward dynamics is computed: as inverse dynamics sees them, and with zero
    acceleration and the torque that would have caused it.
    """
    twice = bool({"fd", "dfd"} & set(network.functions))
    values = {}
    for name, program in network.programs.operands.items():
        plain = name.removeprefix(PREFIX[program])
        word = next(w for part in network.operands.values() for w in part if w.name == plain)
        once = states.vector(word.vector, word.index)
        again = np.zeros_like(once) if program == DYNAMICS and word.vector == "a" else once
        values[name] = np.concatenate([once, again]) if twice else once
    return values
