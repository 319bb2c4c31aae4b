"""Traces functions into one graph: what they share, program by program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from rbdgen.algo.chain import Chain, chain
from rbdgen.algo.composite import MassMatrix, composite_inertias, mass_matrix
from rbdgen.algo.factorisation import (
    Elimination,
    Factors,
    along_tree,
    negated_product,
    remaining_torques,
)
from rbdgen.algo.rnea import (
    Motion,
    Wrench,
    base_motion,
    inward_sweep,
    joint_placements,
    outward_sweep,
    wrenches,
)
from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.functions import registry
from rbdgen.functions.algorithms import Algorithm, chosen, usual
from rbdgen.functions.dynamics_algorithms import TakenApart, Triangle
from rbdgen.functions.quantities import BASE as BASE_MOTION
from rbdgen.functions.quantities import F_EXT, MINV, Quantity
from rbdgen.functions.record import Entries, Function, Need, Reference
from rbdgen.model.body import Placement
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.spatial import Scalar, Vector, cross, matvec, transpose, vsub
from rbdgen.tracing.construction import Construction
from rbdgen.tracing.network import (
    AGAIN,
    BASE,
    DYNAMICS,
    FEEDBACK,
    GRADIENT,
    PREFIX,
)
from rbdgen.tracing.samples import given_motion

DYNAMICS_ONLY = {Need.FACTORS, Need.INVERSE, Need.ACCELERATION}
"""Needs that are not met beside the derivatives."""


def trace(built: Construction) -> None:
    """Trace all functions, in the programs that the options and their needs ask for."""
    records = built.options.records
    gradient = [f for f in records if Need.GRADIENT in f.needs]
    dynamics = [f for f in records if Need.GRADIENT not in f.needs]
    first_pass = [f for f in gradient if f.first_pass]
    apart = set(DYNAMICS_ONLY)
    if chosen("inverse_dynamics", built.options) is not usual("inverse_dynamics"):
        # the derivatives' own torques are the recursion's
        apart.add(Need.TORQUE)
    beyond = any(apart & f.needs for f in dynamics)
    # the derivatives' text has τ and M as well, which a second program would only repeat
    if gradient and not first_pass and not beyond:
        ordered = sorted_by_need(records)
        _Gradient(built, GRADIENT, records).trace(ordered)
        return
    if built.options.programs == "one":
        program = DYNAMICS
        entering = list(records)
    else:
        program = GRADIENT
        entering = [*dynamics, *map(_first_half, first_pass)]
    _Dynamics(built, DYNAMICS, entering).trace(dynamics, first_pass, program)
    if gradient:
        _Gradient(built, program, gradient).trace(gradient)


def sorted_by_need(records: Iterable[Function]) -> list[Function]:
    """In the order in which what they need is computed, and of their codes."""
    return sorted(records, key=lambda f: (max(f.needs), f.code))


def _first_half(function: Function) -> Function:
    """A function as its first pass's program sees it."""
    assert function.first_pass is not None
    operands = *function.first_pass.operands, *_later_operands(function)
    return replace(function, operands=operands, first_pass=None)


def _later_operands(function: Function) -> list[Quantity]:
    """The operands with ranges of their own that only the second of two passes takes."""
    assert function.first_pass is not None
    taken = function.first_pass.operands
    return [q for q in function.operands if q.limits is not None and q not in taken]


class _Shared(ABC):
    """All that functions share in one program; a :class:`rbdgen.functions.record.TracedProgram`. ``functions`` are all
    whose tasks it admits."""

    def __init__(self, built: Construction, program: str, functions: Iterable[Function]) -> None:
        self.built = built
        self.program = program
        self.functions = tuple(functions)
        self.robot = built.cheap
        self.settings = built.options
        self.software = built.software
        self.enter = built.enter
        self.kept: dict[Hashable, Any] = {}
        self.tracing = ""
        """The function whose results are traced."""

    def algorithm(self, kind: str) -> Algorithm:
        """The algorithm that something is computed by."""
        return chosen(kind, self.settings)

    def shared(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The outcome of ``make``, once for all functions of the program that ask for it by this key."""
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    def body(self, dof: int) -> int:
        """The body that a degree of freedom moves."""
        # an empty part, of a joint that follows another, ends no later than the one before
        parts = self.robot.v_slices
        return next(i for i, part in enumerate(parts) if dof < part.stop)

    def reached(self, reference: Reference) -> Sequence[np.ndarray]:
        """A function's results at the states that ranges are found at."""
        return reference(self.built.robot, self.built.states, self.settings, None)

    def is_brought_by_tasks(self, quantity: str) -> bool:
        """Whether this is an operand that some functions have and others have not."""
        brought: set[str] = set()
        for f in registry.known().values():
            brought.update(q.name for q in f.operands)
        return quantity in brought

    def brought(self) -> set[str]:
        """The operands that tasks bring, in any pass through this program."""
        names: set[str] = set()
        for f in self.functions:
            names.update(q.name for q in f.operands)
            if f.forced:
                names.add(F_EXT.name)
            if f.based:
                names.add(BASE_MOTION.name)
            if f.first_pass:
                names.update(f.first_pass.hands_over)
        return names

    def operand(self, quantity: str) -> Vector:
        """An operand's entries; zeros where no task brings it."""
        absent = quantity not in self.brought()
        if absent and self.is_brought_by_tasks(quantity):
            words = self.built.words[quantity]
            # constant zeros fold away, with all that would be multiplied by them
            return (0.0,) * len(words)
        return self.built.operand(self.program, quantity)

    def operand_names(self, quantity: str) -> list[str]:
        """The names of an operand's words, in order; none where there is no such operand."""
        prefix = PREFIX[self.program]
        words = self.built.words.get(quantity, ())
        return [prefix + w.name for w in words]

    def result(self, quantity: str, entries: Entries) -> list[str]:
        """Name results; the names, in order."""
        return self.built.result(self.program, quantity, entries)

    def passed(self, name: str) -> str:
        """The result by which an operand is handed on as it is."""
        return self.built.passed(name)

    def finish(self, function: Function) -> None:
        """Trace a function's results, and let them leave."""
        names = []
        self.tracing = function.name
        for quantity, entries in function.trace(self).items():
            names += self.result(quantity, entries)
        group = self.built.options.extra_of(function.name)
        if function.extra and group:
            source = function.extra.source
            given = self.given_matrix(source)
            names += self.built.given_again(group, source, given)
        self.built.leave(function.name, self.program, names)
        if function.repeat:
            carried = dict(function.repeat.carried(self))
            self.built.carried |= carried
            back: list[str] = []
            for c in carried.values():
                back += [c.within, c.behind]
            # a result may be carried to several operands
            each_once = dict.fromkeys(back)
            self.built.return_by(AGAIN, self.program, each_once, self.program)

    def given_matrix(self, quantity: str) -> dict[tuple[int, int], Scalar]:
        """An operand that is a matrix, by its entries."""
        words = self.built.words[quantity]
        given = {}
        for word, x in zip(words, self.operand(quantity), strict=True):
            row, column = word.index
            given[row, column] = x
        return given

    @cached_property
    def joints(self) -> list[JointPlacement]:
        """Where the joints place their bodies."""
        q = self.operand("q")
        return joint_placements(self.robot, q, self.enter)

    @cached_property
    def chain(self) -> Chain:
        """Rotations, offsets and joint axes of a serial chain in the base's coordinates."""
        return chain(self.robot, self.joints, self.enter)

    @cached_property
    def base(self) -> Motion:
        """The motion of the base."""
        if not self._option_brought(BASE_MOTION.name):
            return base_motion(self.robot.gravity)
        operands = self.operand(BASE_MOTION.name)
        with self.enter(BASE, None):
            return given_motion(operands)

    def root_motion(self) -> Motion:
        """The motion of the base."""
        return self.base

    def forces(self) -> tuple[Wrench, ...] | None:
        """External forces, as seen from the bodies' frames."""
        if not self._option_brought(F_EXT.name):
            return None
        # forces act in the frames of the robot's file, which the equivalent robot has replaced
        frames = self.built.frames.frames
        given = wrenches(self.operand(F_EXT.name))
        seen = []
        for i, wrench in enumerate(given):
            with self.enter("Rf", i):
                seen.append(_seen_from(frames[i], wrench))
        return tuple(seen)

    def _option_brought(self, quantity: str) -> bool:
        """Whether an operand that an option adds is there, and tasks bring it."""
        if quantity not in self.built.words:
            return False
        return quantity in self.brought()

    def whole(self) -> Robot:
        """The robot with all inertia where it is, which its own may have regrouped. ConfigError where inertias are
        loaded: as they are regrouped."""
        if self.settings.calibratable:
            raise ConfigError(
                f"calibratable and functions: {self.tracing} takes what each link weighs, of which parameters say only "
                f"what joints feel; leave {self.tracing} or calibratable out"
            )
        # constraint forces need what a link itself resists, which regrouping moves to its parent
        return self.built.whole

    def link_frames(self) -> Sequence[Placement]:
        """Where the links' own frames, in which their parameters are, are in the bodies' frames."""
        return self.built.frames.link_frames

    def placements(self) -> list[JointPlacement]:
        """Where the joints place their bodies."""
        return self.joints

    @cached_property
    def _along(self) -> Elimination:
        return along_tree(self.robot, self.enter)

    def along(self) -> Elimination:
        """The elimination by which M is taken apart."""
        return self._along

    @cached_property
    def inertias_and_mass(self) -> tuple[list[Any], MassMatrix]:
        """Composite inertias and M."""
        inertias = composite_inertias(self.robot, self.joints, self.enter)
        mass = mass_matrix(self.robot, self.joints, inertias, self.enter)
        return inertias, mass

    def _missing(self, what: str) -> UnsupportedError:
        return UnsupportedError(
            f"functions: {what} is not computed in the program {self.program!r}; state it among the function's needs"
        )

    @abstractmethod
    def torque(self) -> Vector:
        """τ of what tasks bring."""

    @abstractmethod
    def motions(self) -> list[Motion]:
        """Motions of the bodies, relative to free fall."""

    @abstractmethod
    def mass(self) -> Entries:
        """The lower triangle of M."""

    def factors(self) -> Factors:
        """The factors of M."""
        raise self._missing("the factors of M")

    def rest(self) -> Sequence[Scalar]:
        """τ - ID(q, v, 0)."""
        raise self._missing("what torques leave to accelerations")

    def inverse(self) -> Entries:
        """The lower triangle of M⁻¹."""
        raise self._missing("the inverse of M")

    def acceleration(self) -> Entries:
        """Forward dynamics."""
        raise self._missing("the acceleration")

    def torque_derivatives(self) -> tuple[Entries, Entries]:
        """∂τ/∂q and ∂τ/∂v."""
        raise self._missing("a derivative")

    def acceleration_derivatives(self) -> tuple[Entries, Entries]:
        """-M⁻¹ ∂τ/∂q and -M⁻¹ ∂τ/∂v."""
        raise self._missing("a derivative")


class _Dynamics(_Shared):
    """τ, M, M⁻¹ and a."""

    def trace(self, functions: list[Function], first_passes: list[Function], second: str) -> None:
        """The functions, and the first pass of those that go on through the program ``second``."""
        self.needs: set[Need] = set()
        for f in functions:
            self.needs.update(f.needs)
        for f in first_passes:
            if f.first_pass:
                self.needs.update(f.first_pass.needs)
        pending = sorted_by_need(functions)
        _ = self.joints
        for need in sorted(self.needs):
            self.provide(need)
            while pending and max(pending[0].needs) <= need:
                self.finish(pending.pop(0))
        if first_passes:
            self.hand_over(first_passes, second)

    def provide(self, need: Need) -> None:
        """Compute what functions share."""
        if need == Need.TORQUE:
            self.torque()
        elif need in (Need.MASS, Need.INVERSE):
            _ = self.taken_apart
        elif need == Need.ACCELERATION:
            self.acceleration()

    def hand_over(self, functions: Sequence[Function], second: str) -> None:
        """The end of the first pass of ``functions``, which is the same for all: operands as they are, and what the
        second pass, through the program ``second``, takes from this one."""
        first_pass = functions[0].first_pass
        assert first_pass is not None
        handed = {"a": self.acceleration, MINV.name: self.inverse}
        names = []
        later = {q.name: None for f in functions for q in _later_operands(f)}
        for quantity in later:
            # nothing here has asked for it yet
            self.operand(quantity)
        for quantity in ("q", "v", F_EXT.name, BASE_MOTION.name, *later):
            for name in self.operand_names(quantity):
                names.append(self.passed(name))
        for quantity in first_pass.hands_over:
            entries = handed[quantity]()
            names += self.result(quantity, entries)
        self.built.return_by(FEEDBACK, self.program, names, second)

    @cached_property
    def _moved(self) -> tuple[list[Motion], list[Wrench]]:
        """Motions of the bodies, and the wrenches that these take."""
        v = self.operand("v")
        a = self.operand("a")
        base = self.base
        given = self.forces()
        return outward_sweep(self.robot, self.joints, v, a, given, self.enter, base)

    def motions(self) -> list[Motion]:
        """Motions of the bodies, relative to free fall."""
        return self._moved[0]

    def wrenches(self) -> list[Wrench]:
        """Wrenches that the bodies' motions take."""
        return self._moved[1]

    @cached_property
    def _torque(self) -> Vector:
        return self.algorithm("inverse_dynamics").text(self)

    def torque(self) -> Vector:
        """τ of what tasks bring."""
        return self._torque

    @cached_property
    def taken_apart(self) -> TakenApart:
        """M, its inverse where one is needed, and its factors where something is found by them."""
        inverse = Need.INVERSE in self.needs
        forward = self.algorithm("forward_dynamics")
        # articulated bodies find the acceleration without M's factors
        solved = forward.factored and Need.ACCELERATION in self.needs
        text = self.algorithm("mass_matrix").text
        return text(self, Need.MASS in self.needs, inverse, solved or Need.FACTORS in self.needs)

    def mass_text(self) -> Triangle:
        """The lower triangle of M by composite bodies, or as the algorithm of forward dynamics has it."""
        text = self.algorithm("forward_dynamics").mass
        return text(self) if text else self.inertias_and_mass[1].entries

    def mass(self) -> Entries:
        """The lower triangle of M."""
        return self.taken_apart.mass

    def factors(self) -> Factors:
        """The factors of M."""
        found = self.taken_apart.factors
        if found is None:
            raise self._missing("the factors of M")
        return found

    def inverse(self) -> Entries:
        """The lower triangle of M⁻¹."""
        return self.taken_apart.inverse

    @cached_property
    def _acceleration(self) -> dict[tuple[int, ...], Scalar]:
        forward = self.algorithm("forward_dynamics")
        if forward.factored:
            _ = self.taken_apart
        if Need.INVERSE in self.needs:
            self.result(MINV.name, self.inverse())
        solution = forward.text(self, self.rest())
        return {(i,): x for i, x in solution.items()}

    @cached_property
    def _rest(self) -> list[Scalar]:
        # tasks that ask for an acceleration bring none, so that their torque is that of a = 0
        tau = self.operand("tau")
        return remaining_torques(self.robot, tau, self.torque(), self.enter)

    def rest(self) -> Sequence[Scalar]:
        """τ - ID(q, v, 0)."""
        return self._rest

    def acceleration(self) -> Entries:
        """Forward dynamics; a result even where no function returns it, for what comes after."""
        self.result("a", self._acceleration)
        return self._acceleration


class _Gradient(_Shared):
    """The derivatives; τ and M as well where there is nothing else.

    In the program of all other functions this is the same text over the same operands, so that what both need is
    there once.
    """

    def trace(self, functions: list[Function]) -> None:
        """The functions, all of them after the derivatives that they share."""
        self.torque_derivatives()
        for f in functions:
            self.finish(f)

    @cached_property
    def _swept(self) -> tuple[Vector, tuple[Any, Any], list[Motion], list[Wrench]]:
        # operands stand in the graph as they are first asked for: q, v, a
        self.operand("q")
        v = self.operand("v")
        a = self.operand("a")
        joints = self.joints
        base = self.base
        given = self.forces()
        motions, forces = outward_sweep(self.robot, joints, v, a, given, self.enter, base)
        tau, totals = inward_sweep(self.robot, joints, v, a, forces, self.enter)
        both = self.algorithm("derivative").text(self, motions, totals)
        return tau, both, motions, totals

    def torque(self) -> Vector:
        """τ of what tasks bring."""
        return self._swept[0]

    def motions(self) -> list[Motion]:
        """Motions of the bodies, relative to free fall."""
        return self._swept[2]

    def mass(self) -> Entries:
        """The lower triangle of M."""
        return self.inertias_and_mass[1].entries

    def torque_derivatives(self) -> tuple[Entries, Entries]:
        """∂τ/∂q and ∂τ/∂v."""
        return self._swept[1]

    @cached_property
    def _acceleration_derivatives(self) -> tuple[Entries, Entries]:
        given = self.given_matrix(MINV.name)
        found = []
        by_position, by_velocity = self.torque_derivatives()
        for quantity, entries in (("da_dq", by_position), ("da_dv", by_velocity)):
            negated = negated_product(self.robot, given, entries, self.enter)
            self.result(quantity, negated)
            found.append(negated)
        return found[0], found[1]

    def acceleration_derivatives(self) -> tuple[Entries, Entries]:
        """-M⁻¹ ∂τ/∂q and -M⁻¹ ∂τ/∂v."""
        return self._acceleration_derivatives


def _seen_from(frame: Placement, wrench: Wrench) -> Wrench:
    """A wrench about the origin and in the coordinates of ``frame``, from one in those that ``frame`` is placed in."""
    inward = transpose(frame.rotation)
    lever = cross(frame.translation, wrench.force)
    moment = vsub(wrench.moment, lever)
    return Wrench(matvec(inward, moment), matvec(inward, wrench.force))
