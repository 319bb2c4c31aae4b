"""The network of submodules of one accelerator: the traced programs, with operands and results named.

Up to two programs (:mod:`rbdgen.ir.programs`) share the submodules. ``dynamics`` computes all that does not need the
derivatives: τ, M, M⁻¹ and, from τ - C, the acceleration. ``gradient`` computes the derivatives at a
given acceleration and, with a given M⁻¹, those of forward dynamics. A task of a function with a first pass goes through
both: the exit ``feedback`` of the first hands operands to the second. Where one program is asked for, ``dynamics``
computes the derivatives as well, from the same sines, motions and M, and such a task goes through it twice.

Submodules are named after the literature and the body: ``Rf_<link>`` and ``Rb_<link>`` (RNEA), ``Mb_<link>``,
``Mf_<link>`` and ``Mi_<link>`` (mass matrix and inverse), ``Df_<link>`` and ``Db_<link>`` (derivatives),
``Mx_<link>`` (products with M⁻¹), ``In_<link>`` (integration), ``Wr_<link>`` (its rotation into the base's coordinates,
where algorithms scan), ``Ce_<link>`` and ``Cs_<link>`` (constraint forces of its joint: elimination and right-hand
sides), ``Ab_<link>`` and ``Ac_<link>`` (articulated bodies and their accelerations), ``Fp_<link>``, ``Fj_<link>``,
``Fv_<link>`` and ``Fa_<link>`` (frames: places, Jacobians, velocities, accelerations), ``Fl_<link>`` (closed loops),
``Os_<link>``, ``Of_<link>`` and ``Oi_<link>`` (inverse inertia of frames, contacts and loops, its factors, inertia),
``Sc`` for the sines and cosines of all joints, and ``Ba``
for a given motion of the base.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rbdgen.functions.quantities import TAU
from rbdgen.functions.record import Carried, Function
from rbdgen.ir.graph import Graph, MatrixProduct
from rbdgen.ir.programs import Exit, Programs
from rbdgen.model.robot import Robot
from rbdgen.protocol.entries import is_above
from rbdgen.tracing.calibration import Calibration
from rbdgen.tracing.parameters import Parameter
from rbdgen.tracing.trace_options import TraceOptions
from rbdgen.tracing.words import Word

DYNAMICS, GRADIENT = "dynamics", "gradient"
"""The programs."""
# both programs are in one graph, where an operand of both is two inputs
PREFIX = {DYNAMICS: "", GRADIENT: "d_"}
"""Prefix to an operand's name in the graph, by program."""
BASE = "Ba"
"""The submodule that prepares a given motion of the base."""
FEEDBACK = "feedback"
"""The exit by which a task goes from its first pass to the second."""
AGAIN = "again"
"""The exit by which a task of a function that repeats goes into its next evaluation."""


@dataclass(frozen=True)
class Submodule:
    """A submodule: ``name`` (the owner in the graph), ``kind`` (Rf, Rb, …, Sc) and ``body`` (None: all of it)."""

    name: str
    kind: str
    body: int | None


@dataclass(frozen=True)
class Network:
    """All that is to be built for ``robot``.

    ``operands`` and ``results`` hold the words of each vector by its name; ``graph`` the traced programs, described by
    ``programs``. A result's name in the graph is its word's name, an operand's has its program's prefix. ``leaves``
    names the exit by which each function's results leave: functions that have the same results in the same program
    leave by one. ``carried``: of a function that repeats, the results that become each operand's next value.
    ``products``: those that stay whole.
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
    products: tuple[MatrixProduct, ...] = ()

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions by name, in the order of their codes."""
        return self.options.functions

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that are loaded, those that the functions need."""
        if self.calibration is None:
            return ()
        return tuple(
            p for p in self.calibration.parameters if p.word.name in self.programs.parameters
        )

    def operand_words(self, function: str) -> tuple[Word, ...]:
        """The operands of a task of ``function``, in order."""
        words: list[Word] = []
        for vector in self.options.operand_vectors(function):
            words += self.operands[vector]
        return tuple(words)

    def result_words(self, function: str) -> tuple[Word, ...]:
        """The results of ``function``, in order."""
        words: list[Word] = []
        for vector in self.options.result_vectors(function):
            words += self.results[vector]
        return tuple(words)

    def exit(self, name: str) -> Exit:
        """Where a function's results leave; or the exit of that name, such as :data:`FEEDBACK`."""
        leaves_by = self.leaves.get(name, name)
        return next(e for e in self.programs.exits if e.name == leaves_by)

    def passes(self, function: str) -> tuple[Exit, ...]:
        """The exits of a task of ``function`` in each of its passes, the one that its results leave by last. (How often
        a task of a function that repeats goes by :data:`AGAIN` before is the task's own.)"""
        results = self.exit(function)
        if function in self.two_passes:
            return (self.exit(FEEDBACK), results)
        return (results,)

    @property
    def two_passes(self) -> tuple[str, ...]:
        """The functions that have a first pass, which is the same of all of them."""
        return self.options.two_passes

    @property
    def repeated(self) -> Function | None:
        """The function that repeats, where there is one."""
        return self.options.repeated

    @property
    def repeated_name(self) -> str | None:
        """The name of the function that repeats, where there is one."""
        return self.repeated.name if self.repeated else None

    @property
    def second_program(self) -> str | None:
        """The program of the second pass, where a function has two."""
        return self.exit(FEEDBACK).into if self.two_passes else None

    def entry(self, function: str) -> str:
        """The program that a task of ``function`` starts with."""
        return self.passes(function)[0].program

    def evaluations(self, function: str) -> int:
        """Evaluations in a step of a function that repeats; 1 of any other."""
        return len(self.options.weights) if function == self.repeated_name else 1

    def admissions(self, function: str) -> int:
        """Times that a program admits a task of ``function``: the one that it goes through most often; a step of a
        function that repeats counts as a task of one evaluation."""
        # with one program both passes of a task go through it
        programs = [e.program for e in self.passes(function)]
        return max(map(programs.count, programs))

    @property
    def declared(self) -> dict[str, float]:
        """Largest declared magnitude of each operand and parameter of the graph."""
        words: dict[str, float] = {}
        for vector in self.operands.values():
            words |= {w.name: w.magnitude for w in vector}
        declared = {}
        for name, program in self.programs.operands.items():
            plain = name.removeprefix(PREFIX[program])
            declared[name] = words[plain]
        for p in self.parameters:
            declared[p.word.name] = p.word.magnitude
        return declared

    @property
    def torque_limits(self) -> tuple[float, ...]:
        """The largest declared torque of each degree of freedom; none where no function takes torques."""
        return tuple(word.magnitude for word in self.operands.get(TAU.name, ()))

    @property
    def droppable(self) -> dict[str, str]:
        """The vector or matrix of each result of the graph that can be left out where it is zero: what differs from
        an entry across the diagonal, which would stand for both, can not."""
        found = {}
        for vector, words in self.results.items():
            quantity = self.options.quantities.get(vector)
            symmetric = quantity is not None and quantity.symmetric
            for word in words:
                if not (symmetric and is_above(word.index)):
                    found[word.name] = vector
        return found

    def pruned(self, graph: Graph) -> Network:
        """The network without the results that ``graph`` no longer has."""
        results = {}
        for vector, words in self.results.items():
            # what is zero at all states was simplified away
            results[vector] = tuple(w for w in words if w.name in graph.outputs)
        exits = []
        for e in self.programs.exits:
            left = tuple(r for r in e.results if r in graph.outputs)
            exits.append(replace(e, results=left))
        programs = replace(self.programs, exits=tuple(exits))
        return replace(self, results=results, programs=programs)
