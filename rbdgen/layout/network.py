"""The network of submodules of one accelerator: the algorithms traced over a robot, with operands and results named.

Up to two programs (:mod:`rbdgen.ir.programs`) share the submodules. ``dynamics`` computes all that does not need the
derivatives: τ, M, M⁻¹ and, from τ − C, the acceleration. ``gradient`` computes the derivatives at a
given acceleration and, with a given M⁻¹, those of forward dynamics. A task of ``dfd`` goes through both: the exit
``feedback`` of the first hands q, v, a and M⁻¹ to the second. Where one program is asked for, ``dynamics`` computes the
derivatives as well, from the same sines, motions and M, and ``dfd`` goes through it twice.

Submodules are named after the literature and the body: ``Rf_<link>`` and ``Rb_<link>`` (RNEA), ``Mb_<link>``,
``Mf_<link>`` and ``Mi_<link>`` (mass matrix and inverse), ``Df_<link>`` and ``Db_<link>`` (derivatives),
``Mx_<link>`` (products with M⁻¹), ``In_<link>`` (a roll-out's integration), ``Sc`` for the sines and cosines of all
joints, and ``Ba`` for a given motion of the base.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rbdgen.algo.composite import Entries, MassMatrix, composite_inertias, derivatives, mass_matrix
from rbdgen.algo.factorisation import Factors, factorise, inverse, solve, symmetric_product
from rbdgen.algo.mminvgen import mminvgen
from rbdgen.algo.plucker import transforms
from rbdgen.algo.rnea import Motion, Wrench, base_motion, inward_sweep, joint_placements, outward_sweep, wrenches
from rbdgen.algo.rnea_derivatives import rnea_derivatives
from rbdgen.errors import UnsupportedError
from rbdgen.ir.builder import Builder, Expr
from rbdgen.ir.graph import Graph
from rbdgen.ir.precision import Precision
from rbdgen.ir.programs import Exit, Programs
from rbdgen.layout.calibration import Calibration, Parameter, make_calibration
from rbdgen.layout.equivalent import EquivalentRobot, equivalent
from rbdgen.layout.functions import ROLL_OUT, check_algorithms, check_functions
from rbdgen.layout.rollout import AGAIN, BEGIN, END, MIDDLE, SUM, WEIGHTS, Carried, check_integrator
from rbdgen.layout.samples import Samples, given_motion, make_samples
from rbdgen.layout.words import INVERSE, TraceOptions, Word, dof_names, operand_words
from rbdgen.model.names import sanitize
from rbdgen.model.ranges import InputRanges, declared_ranges
from rbdgen.model.robot import Placement, Robot
from rbdgen.spatial import Scalar, Vector, add, cross, matvec, mul, sub, transpose, vsub

DYNAMICS, GRADIENT = "dynamics", "gradient"
"""The programs."""
PROGRAMS = ("two", "one")
"""How many programs the functions may have; the first is the default."""
PREFIX = {DYNAMICS: "", GRADIENT: "d_"}
"""What stands before an operand's name in the graph, by program."""
BASE = "Ba"
"""The submodule that prepares a given motion of the base."""
FEEDBACK = "feedback"
"""The exit by which ``dfd`` goes from its first pass to the second."""


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
    ``programs``. A result's name in the graph is its word's name, an operand's has its program's prefix. ``leaves``
    names the exit by which each function's results leave: functions that have the same results in the same program
    leave by one. ``carried``: of roll-outs, the results that become each operand's next value.
    """

    robot: Robot
    options: TraceOptions
    operands: dict[str, tuple[Word, ...]]
    results: dict[str, tuple[Word, ...]]
    submodules: tuple[Submodule, ...]
    graph: Graph
    programs: Programs
    leaves: Mapping[str, str]
    calibration: Calibration | None = None
    carried: Mapping[str, Carried] = field(default_factory=dict)

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions by name, in the order of their codes."""
        return self.options.functions

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that are loaded, those that the functions need."""
        if self.calibration is None:
            return ()
        return tuple(p for p in self.calibration.parameters if p.word.name in self.programs.parameters)

    def operand_words(self, function: str) -> tuple[Word, ...]:
        """The operands of a task of ``function``, in order."""
        return tuple(w for vector in self.options.operand_vectors(function) for w in self.operands[vector])

    def result_words(self, function: str) -> tuple[Word, ...]:
        """The results of ``function``, in order."""
        return tuple(w for vector in self.options.result_vectors(function) for w in self.results[vector])

    def exit(self, name: str) -> Exit:
        """Where a function's results leave; or the exit of that name, such as :data:`FEEDBACK`."""
        return next(e for e in self.programs.exits if e.name == self.leaves.get(name, name))

    def way(self, function: str) -> tuple[Exit, ...]:
        """The exits of a task of ``function`` in each of its passes, the one that its results leave by last. (How often
        a roll-out goes by ``again`` before is the task's own.)"""
        results = self.exit(function)
        return (self.exit(FEEDBACK), results) if function == "dfd" else (results,)

    def entry(self, function: str) -> str:
        """The program that a task of ``function`` starts with."""
        return self.way(function)[0].program

    def turns(self, function: str) -> int:
        """Turns of a program that a task of ``function`` takes: as many as the program that it goes through most
        often; a step of a roll-out counts as a task of one evaluation."""
        programs = [e.program for e in self.way(function)]
        return max(map(programs.count, programs))

    @property
    def declared(self) -> dict[str, float]:
        """Largest declared magnitude of each operand and parameter of the graph."""
        words = {w.name: w.magnitude for part in self.operands.values() for w in part}
        operands = {name: words[name.removeprefix(PREFIX[p])] for name, p in self.programs.operands.items()}
        return operands | {p.word.name: p.word.magnitude for p in self.parameters}

    @property
    def vectors(self) -> dict[str, str]:
        """The vector or matrix of each result of the graph."""
        return {w.name: w.vector for part in self.results.values() for w in part}

    @property
    def precise(self) -> Precision:
        """What needs more bits than the word: where M is nearly singular, small differences of torques and of M's
        entries decide on large accelerations; and what a roll-out adds to a state in one step is small."""
        rolls = ROLL_OUT.name in self.functions
        states = ("v", "q" + BEGIN, "v" + BEGIN, "q" + SUM, "v" + SUM) if rolls else ()
        return Precision(
            frozenset(
                w.name for vector in ("a", *ROLL_OUT.results, "q_mid", "v_mid") for w in self.results.get(vector, ())
            ),
            frozenset(w.name for vector in ("q", "tau", *states) for w in self.operands.get(vector, ())),
            frozenset(s.name for s in self.submodules if s.kind in ("Mb", "Mf", "Mi", "In")),
        )

    def pruned(self, graph: Graph) -> Network:
        """The network without the results that ``graph`` no longer has."""
        results = {v: tuple(w for w in words if w.name in graph.outputs) for v, words in self.results.items()}
        exits = tuple(
            replace(e, results=tuple(r for r in e.results if r in graph.outputs)) for e in self.programs.exits
        )
        return replace(self, results=results, programs=replace(self.programs, exits=exits))


class _Tracer:
    """Traces the programs into one builder."""

    def __init__(
        self,
        robot: Robot,
        frames: EquivalentRobot,
        calibration: Calibration | None,
        options: TraceOptions,
        words: dict[str, tuple[Word, ...]],
    ) -> None:
        self.robot, self.frames, self.options, self.words = robot, frames, options, words
        self.builder = Builder()
        self.cheap = frames.robot
        self.parameters: tuple[str, ...] = ()
        if calibration is not None:
            self.parameters = tuple(p.word.name for p in calibration.parameters)
            self.cheap = calibration.applied([Expr(self.builder, self.builder.input(n)) for n in self.parameters])
        self.operands: dict[str, str] = {}
        self.outputs: dict[str, int] = {}
        self.results: dict[str, tuple[Word, ...]] = {}
        self.exits: list[Exit] = []
        self.leaves: dict[str, str] = {}
        self.submodules: dict[str, Submodule] = {}
        self.carried: dict[str, Carried] = {}
        self.links = sanitize([b.name for b in robot.bodies])
        self.dofs = dof_names(robot, [sanitize(list(robot.joint_names))[n] for n in robot.joint_names])

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
        turned = []
        for i, wrench in enumerate(wrenches(self.operand(program, "f_ext"))):
            with self.enter("Rf", i):
                turned.append(_seen_from(self.frames.frames[i], wrench))
        return tuple(turned)

    def base(self, program: str) -> Motion:
        """How the base moves."""
        if "base" not in self.words:
            return base_motion(self.cheap.gravity)
        operands = self.operand(program, "base")
        with self.enter(BASE, None):
            return given_motion(operands)

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

    def leave(self, function: str, program: str, results: Iterable[str]) -> None:
        """By an exit of its own, or that of a function with the same results."""
        found = Exit(function, program, tuple(results))
        self.leaves[function] = next((e.name for e in self.exits if replace(e, name=function) == found), function)
        if self.leaves[function] == function:
            self.exits.append(found)

    def return_by(self, name: str, program: str, results: Iterable[str]) -> None:
        """What goes back into a program."""
        self.exits.append(Exit(name, program, tuple(results)))

    def mass(self, joints: list[Any]) -> tuple[list[Any], Any]:
        inertias = composite_inertias(self.cheap, joints, self.enter)
        return inertias, mass_matrix(self.cheap, joints, inertias, self.enter)

    def dynamics(self) -> None:
        """τ, M, M⁻¹ and a."""
        functions, robot = set(self.options.functions), self.cheap
        if ROLL_OUT.name in functions:
            functions.add("fd")
        joints = joint_placements(robot, self.operand(DYNAMICS, "q"), self.enter)
        tau: Vector = ()
        if functions & {"id", "fd", "dfd"}:
            v = self.operand(DYNAMICS, "v")
            given = "id" in functions or (self.options.programs == "one" and functions & {"did", "dfd", "difd"})
            a = self.operand(DYNAMICS, "a") if given else (0.0,) * robot.nv
            base = self.base(DYNAMICS)
            _, forces = outward_sweep(robot, joints, v, a, self.forces(DYNAMICS), self.enter, base)
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
        if "fd" in self.options.functions:
            self.leave("fd", DYNAMICS, accelerations)
        if ROLL_OUT.name in functions:
            self.roll_out(solution)
        if "dfd" in functions:
            passed = [w.name for vector in ("q", "v", "f_ext", "base") for w in self.words.get(vector, ())]
            self.return_by(FEEDBACK, DYNAMICS, [*map(self.passed, passed), *accelerations, *entries])

    def roll_out(self, accelerations: dict[int, Scalar]) -> None:
        """The state after an evaluation, and what the next one needs of this one."""
        h, weighted = self.options.time_step, self.options.weighted
        states = {v: self.operand(DYNAMICS, v) for v in ("q", "v")}
        rates = {"q": states["v"], "v": tuple(accelerations[k] for k in range(self.robot.nv))}
        more = {v + kind: self.operand(DYNAMICS, v + kind) for v in states for kind in (BEGIN, SUM)} if weighted else {}
        c, b = self.operand(DYNAMICS, WEIGHTS) if weighted else (h, h)
        found: dict[str, dict[tuple[int, ...], Scalar]] = {}
        for k in range(self.robot.nv):
            with self.enter("In", self.body(k)):
                for vector in ("v", "q"):
                    rate = rates[vector][k]
                    if weighted:
                        middle = add(more[vector + BEGIN][k], mul(c, rate))
                        found.setdefault(f"{vector}_{MIDDLE}", {})[k,] = middle
                        end = add(more[vector + SUM][k], mul(b, rate))
                    else:
                        # semi-implicit: the position moves at the new velocity
                        rate = found["v_end"][k,] if vector == "q" else rate
                        end = add(states[vector][k], mul(h, rate))
                    found.setdefault(f"{vector}_{END}", {})[k,] = end
        names = {
            vector: self.result(vector, found[vector])
            for vector in (*ROLL_OUT.results, *sorted(found.keys() - set(ROLL_OUT.results)))
        }
        self.leave(ROLL_OUT.name, DYNAMICS, [n for vector in ROLL_OUT.results for n in names[vector]])
        for name in (w.name for vector in ("tau", "f_ext", "base") for w in self.words.get(vector, ())):
            self.carried[name] = Carried(self.passed(name), self.passed(name))
        for vector in states:
            ends = names[f"{vector}_{END}"]
            for k, word in enumerate(self.words[vector]):
                self.carried[word.name] = Carried(names[f"{vector}_{MIDDLE}"][k] if weighted else ends[k], ends[k])
                if weighted:
                    begin, total = (self.words[vector + kind][k].name for kind in (BEGIN, SUM))
                    self.carried[begin] = Carried(self.passed(begin), ends[k])
                    self.carried[total] = Carried(ends[k], ends[k])
        self.return_by(AGAIN, DYNAMICS, dict.fromkeys(n for c in self.carried.values() for n in (c.within, c.behind)))

    def passed(self, name: str) -> str:
        """The result by which an operand is handed on as it is."""
        self.outputs[f"next_{name}"] = self.builder.input(name)
        return f"next_{name}"

    def inverse_as_given(self, given: Entries) -> list[str]:
        """The results by which ``dfd`` returns the M⁻¹ that it took, where it does."""
        if not self.options.with_inverse:
            return []
        words = [replace(w, name=w.name.replace("minv", INVERSE, 1)) for w in self.words["minv"]]
        self.outputs |= {w.name: self.node(x) for w, x in zip(words, given.values(), strict=True)}
        self.results[INVERSE] = tuple(words)
        return [w.name for w in words]

    def body(self, dof: int) -> int:
        return next(i for i, part in enumerate(self.robot.v_slices) if part.start <= dof < part.stop)

    def gradient(self, program: str, alone: bool) -> None:
        """The derivatives; τ and M as well where there is nothing else (``alone``).

        In the program of all other functions this is the same text over the same operands, so that what both need is
        there once.
        """
        functions, robot = set(self.options.functions), self.cheap
        q, v, a = (self.operand(program, vector) for vector in "qva")
        joints = joint_placements(robot, q, self.enter)
        base = self.base(program)
        motions, forces = outward_sweep(robot, joints, v, a, self.forces(program), self.enter, base)
        tau, totals = inward_sweep(robot, joints, forces, self.enter)
        if self.options.derivative == "columns":
            ways = transforms(robot, joints, self.enter)
            by_position, by_velocity = rnea_derivatives(robot, ways, v, motions, totals, self.enter)
            mass = self.mass(joints)[1] if alone and "m" in functions else MassMatrix({}, {})
        else:
            inertias, mass = self.mass(joints)
            both = derivatives(robot, joints, v, base, motions, totals, inertias, mass, self.enter)
            by_position, by_velocity = both.by_position, both.by_velocity
        if alone and "id" in functions:
            self.leave("id", program, self.result("tau", {(i,): t for i, t in enumerate(tau)}))
        if alone and "m" in functions:
            self.leave("m", program, self.result("m", mass.entries))
        if "did" in functions:
            names = self.result("dtau_dq", by_position) + self.result("dtau_dv", by_velocity)
            self.leave("did", program, names)
        if functions & {"dfd", "difd"}:
            index = [(w.index[0], w.index[1]) for w in self.words["minv"]]
            given: Entries = dict(zip(index, self.operand(program, "minv"), strict=True))
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
            if "dfd" in functions:
                self.leave("dfd", program, names + self.inverse_as_given(given))
            if "difd" in functions:
                self.leave("difd", program, names)


def _seen_from(frame: Placement, wrench: Wrench) -> Wrench:
    """A wrench about the origin and in the coordinates of ``frame``, from one in those that ``frame`` is placed in."""
    inward = transpose(frame.rotation)
    moment = vsub(wrench.moment, cross(frame.translation, wrench.force))
    return Wrench(matvec(inward, moment), matvec(inward, wrench.force))


def build_network(
    robot: Robot,
    options: TraceOptions | None = None,
    ranges: InputRanges | None = None,
    count: int = 256,
    seed: int = 1,
) -> tuple[Network, Samples]:
    """Trace the functions over the equivalent of ``robot``; with the states that ranges are to be found at.

    ``ranges`` are the declared input ranges (default: the robot's own); ``count`` states come from ``seed``.
    UnsupportedError for a function, a choice of algorithms or a robot that cannot be generated.
    """
    options = options or TraceOptions()
    functions = check_functions(options.functions)
    check_algorithms(options.derivative, options.mass_matrix)
    if options.programs not in PROGRAMS:
        raise UnsupportedError(f"programs {options.programs!r}: unknown; choose from {', '.join(PROGRAMS)}")
    if options.calibratable and (options.derivative, options.mass_matrix) != ("composite", "ldl"):
        raise UnsupportedError(
            f"calibratable: needs derivative composite and mass-matrix ldl, not {options.derivative} and "
            f"{options.mass_matrix}"
        )
    if options.moving_base and options.derivative == "columns":
        raise UnsupportedError("moving-base: needs derivative composite, not columns")
    if ROLL_OUT.name in functions:
        check_integrator(robot, options.integrator, options.time_step)
    options = replace(options, functions=functions)
    ranges = ranges or declared_ranges(robot)
    links, joints = sanitize([b.name for b in robot.bodies]), sanitize(list(robot.joint_names))
    calibration = make_calibration(robot, links, seed) if options.calibratable else None
    frames = calibration.frames if calibration else equivalent(robot)
    states = make_samples(robot, frames.robot, ranges, options, calibration, count, seed)
    words = operand_words(
        robot,
        ranges,
        options,
        [joints[n] for n in robot.joint_names],
        [links[b.name] for b in robot.bodies],
        states.tau,
        states.minv,
    )
    tracer = _Tracer(robot, frames, calibration, options, words)
    first = bool({"fd", "minv", "dfd", ROLL_OUT.name} & set(functions)) or not {"did", "difd"} & set(functions)
    if first:
        tracer.dynamics()
    if {"did", "dfd", "difd"} & set(functions):
        tracer.gradient(DYNAMICS if first and options.programs == "one" else GRADIENT, alone=not first)
    needed = {r for e in tracer.exits for r in e.results}
    graph = tracer.builder.graph({n: i for n, i in tracer.outputs.items() if n in needed})
    programs = Programs(tracer.operands, tuple(tracer.exits), tuple(n for n in tracer.parameters if n in graph.inputs))
    taken = {"steps"} | {name.removeprefix(PREFIX[program]) for name, program in tracer.operands.items()}
    network = Network(
        robot,
        options,
        {v: w for v, w in words.items() if any(word.name in taken for word in w)},
        tracer.results,
        tuple(tracer.submodules.values()),
        graph,
        programs,
        tracer.leaves,
        calibration,
        tracer.carried,
    )
    return network, states


def operand_samples(network: Network, states: Samples) -> dict[str, np.ndarray]:
    """Values of the graph's operands and parameters for range analysis.

    The states come twice where forward dynamics is computed: as inverse dynamics sees them, and with zero
    acceleration and the torque that would have caused it.
    """
    twice = bool({"fd", "dfd", ROLL_OUT.name} & set(network.functions))
    words = {w.name: w for part in network.operands.values() for w in part}
    words |= {p.word.name: p.word for p in network.parameters}
    values = {}
    for name, program in {**network.programs.operands, **dict.fromkeys(network.programs.parameters, "")}.items():
        word = words[name.removeprefix(PREFIX.get(program, ""))]
        once = states.vector(word.vector, word.index)
        again = np.zeros_like(once) if program == DYNAMICS and word.vector == "a" else once
        values[name] = np.concatenate([once, again]) if twice else once
    return values
