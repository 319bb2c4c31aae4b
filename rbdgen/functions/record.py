"""The record of a function that an accelerator computes: one record, which all stages read.

A record says what a task brings and gets, what its hardware computes, how that is traced, and its results in float64.
Nothing else in the project asks for a function's name: to add a function, add a file with its record to this folder
(:mod:`rbdgen.functions.registry` finds it) or call :func:`rbdgen.functions.registry.register`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol, TypeVar

import numpy as np

from rbdgen.algo.factorisation import Elimination, Factors
from rbdgen.algo.rnea import Motion, Wrench
from rbdgen.functions.quantities import METHODS, Quantity, States
from rbdgen.model.body import Placement
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.spatial import Scalar, Vector

Shared = TypeVar("Shared")
Bounded = Callable[
    [Robot, "Settings", np.ndarray, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]
]
"""``bounded(robot, settings, q, others)``: of operands whose range is declared with them, by name, those that there
should be at ``q``."""
Entries = Mapping[tuple[int, ...], Scalar]
"""Traced entries of a vector or matrix by index; those that are missing are zero."""


class Need(IntEnum):
    """Intermediate results that functions share, in the order in which they are computed.

    ``PLACEMENT``, ``TORQUE`` and ``MASS`` can be had beside the derivatives as well; ``FACTORS`` (of M), ``INVERSE``
    and ``ACCELERATION`` in the program of all that needs no derivatives; ``GRADIENT`` in that of the derivatives."""

    PLACEMENT = 0
    TORQUE = 1
    MASS = 2
    FACTORS = 3
    INVERSE = 4
    ACCELERATION = 5
    GRADIENT = 6


class Settings(Protocol):
    """The options that functions ask for: those of :class:`rbdgen.tracing.trace_options.TraceOptions`."""

    @property
    def integrator(self) -> str: ...
    @property
    def time_step(self) -> float: ...
    @property
    def reference(self) -> str: ...
    @property
    def constraint_damping(self) -> float: ...
    @property
    def contact_rate(self) -> float: ...
    @property
    def moving_base(self) -> bool: ...
    @property
    def movable_frames(self) -> bool: ...
    @property
    def derivative(self) -> str: ...
    @property
    def mass_matrix(self) -> str: ...
    @property
    def inverse_dynamics(self) -> str: ...
    @property
    def forward_dynamics(self) -> str: ...
    @property
    def operational_space(self) -> str: ...


Reference = Callable[[Robot, States, Settings | None, str | None], Sequence[np.ndarray]]
"""A function's results in float64, of a robot's states, by settings and a family of algorithms (None: the usual)."""


OPTIONS = {
    "reference": "reference",
    "damping": "constraint_damping",
    "rate": "contact_rate",
    "integrator": "integrator",
    "time_step": "time_step",
}
"""Options of a design by the names of golden functions' arguments."""


def by_golden(golden: Callable[..., Any], operands: Sequence[Quantity]) -> Reference:
    """Results of a ``golden`` function at a state's ``operands``, which it takes by their names. External forces, the
    base's motion, a family of algorithms and options are given to one that has arguments for them."""
    # arguments have the names of quantities, so that nothing has to say it again
    takes = inspect.signature(golden).parameters

    def reference(
        robot: Robot, s: States, settings: Settings | None, method: str | None
    ) -> Sequence[np.ndarray]:
        # a function's own quantities come first: they may have any name
        given = {
            q.name: s.others[q.name] if q.name in s.others else getattr(s, q.name) for q in operands
        }
        given |= {name: getattr(s, name) for name in ("f_ext", "root") if name in takes}
        if "method" in takes:
            given["method"] = method or METHODS[0]
        # without settings the golden function's own defaults hold
        if settings is not None:
            known = {name: option for name, option in OPTIONS.items() if name in takes}
            given |= {name: getattr(settings, option) for name, option in known.items()}
        results = golden(robot, **given)
        return results if isinstance(results, tuple) else (results,)

    return reference


class TracedProgram(Protocol):
    """The context of a function's tracing: the operands of its program, and what it shares with other functions
    there."""

    @property
    def robot(self) -> Robot: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def software(self) -> bool:
        """Whether a processor computes it, as exactly as float64 does at any operands."""
        ...

    def enter(self, kind: str, body: int | None) -> AbstractContextManager[None]:
        """Operations inside belong to the submodule of this kind and body."""
        ...

    def body(self, dof: int) -> int:
        """The body that a degree of freedom moves."""
        ...

    def operand(self, quantity: str) -> Vector:
        """An operand's entries; zeros where no function of this program brings it."""
        ...

    def reached(self, reference: Reference) -> Sequence[np.ndarray]:
        """A function's results at the states that ranges are found at."""
        ...

    def shared(self, key: Hashable, make: Callable[[], Shared]) -> Shared:
        """The value that ``make`` makes, once for all functions of the program that ask for it by this key."""
        ...

    def whole(self) -> Robot:
        """The robot with all inertia where it is, which its own may have regrouped."""
        ...

    def link_frames(self) -> Sequence[Placement]:
        """Where the links' own frames, in which their parameters are, are in the bodies' frames."""
        ...

    def placements(self) -> list[JointPlacement]:
        """Where the joints place their bodies."""
        ...

    def root_motion(self) -> Motion:
        """The base's motion."""
        ...

    def forces(self) -> tuple[Wrench, ...] | None:
        """External forces, where there are any, as seen from the bodies' frames."""
        ...

    def motions(self) -> list[Motion]:
        """The bodies' motions, relative to free fall."""
        ...

    def torque(self) -> Vector:
        """τ = ID(q, v, a): inverse dynamics of what the tasks bring."""
        ...

    def mass(self) -> Entries:
        """The lower triangle of M."""
        ...

    def along(self) -> Elimination:
        """The elimination of M."""
        ...

    def factors(self) -> Factors:
        """The factors of M."""
        ...

    def rest(self) -> Sequence[Scalar]:
        """τ - ID(q, v, 0), by degree of freedom."""
        ...

    def inverse(self) -> Entries:
        """The lower triangle of M⁻¹."""
        ...

    def acceleration(self) -> Entries:
        """M⁻¹ (τ - ID(q, v, 0)), by (degree of freedom,)."""
        ...

    def torque_derivatives(self) -> tuple[Entries, Entries]:
        """∂τ/∂q and ∂τ/∂v."""
        ...

    def acceleration_derivatives(self) -> tuple[Entries, Entries]:
        """-M⁻¹ ∂τ/∂q and -M⁻¹ ∂τ/∂v with the M⁻¹ that is an operand."""
        ...

    def given_matrix(self, quantity: str) -> dict[tuple[int, int], Scalar]:
        """An operand that is a matrix, by its entries; of a symmetric one the lower triangle."""
        ...


class RepeatingProgram(TracedProgram, Protocol):
    """The context in which the next evaluation of a function that repeats is traced."""

    def result(self, quantity: str, entries: Entries) -> list[str]:
        """Name results; the names, in order. They are the same where that was done before."""
        ...

    def passed(self, name: str) -> str:
        """The result by which an operand is handed on as it is."""
        ...

    def operand_names(self, quantity: str) -> list[str]:
        """The names of an operand's words, in order; none where there is no such operand."""
        ...


@dataclass(frozen=True)
class Carried:
    """The results that become one operand of the next evaluation: ``within`` a step, and ``behind`` its end."""

    within: str
    behind: str


@dataclass(frozen=True)
class Pinocchio:
    """Pinocchio's function of the same meaning: its ``name``, its ``arguments`` behind model and data by our names, and
    the name of its ``parallel`` form, if there is one."""

    name: str
    arguments: tuple[str, ...]
    parallel: str | None = None


@dataclass(frozen=True)
class FirstPass:
    """A pass before the one that makes the results: what it ``needs``, the ``operands`` that it takes, and what it
    computes for the second pass: ``hands_over``, named as that pass's operands."""

    needs: frozenset[Need]
    operands: tuple[Quantity, ...]
    hands_over: tuple[str, ...]


@dataclass(frozen=True)
class Repeat:
    """A function whose tasks go through the program again and again.

    ``count``: the operand that says how many steps; ``weights``: c and b in seconds of each evaluation of a step;
    ``carried``: traces what every operand of the next evaluation comes from.
    """

    count: Quantity
    weights: Callable[[Settings], tuple[tuple[float, float], ...]]
    carried: Callable[[RepeatingProgram], Mapping[str, Carried]]


@dataclass(frozen=True)
class Extra:
    """A result that a function returns as well where the ``option`` asks for it: ``group`` names its words,
    ``quantity`` is what they are; ``source`` is the operand of the last pass that is returned."""

    option: str
    group: str
    quantity: Quantity
    source: str
    reference: Callable[[Robot, States], np.ndarray]


@dataclass(frozen=True)
class Slope:
    """Derivative of a function's only result by its ``operand``: the ``result`` (a quantity's name) of another
    ``function`` at the same operands. Those that only the other one takes are zero there. Its rows are what changes,
    its columns the operand's entries; of q it is in the tangent space (:func:`rbdgen.golden.integrate`)."""

    operand: str
    function: str
    result: str


@dataclass(frozen=True)
class Function:
    """One function of an accelerator.

    ``code`` is what a task's header holds, or, from 32 on, stands for one that is free in an accelerator
    (:func:`rbdgen.functions.registry.header_codes`); codes never change their meaning. ``operands`` and ``results`` are
    in the order of the words. ``needs``: what is computed for the last pass, the only one unless there is a
    ``first_pass``. ``trace`` gives the results' entries by name. ``golden`` is the public function of
    :mod:`rbdgen.golden` and the host driver's method of that name; ``parts`` are others that give a part of it alone.
    ``reference(robot, states, settings, method)`` are the same results in float64, where they are not those of
    ``golden`` at the operands (:func:`by_golden`); ``method`` is a family of algorithms, or None for the default one.
    ``forced`` and ``based``: whether external forces and the base's motion act on it, where an accelerator takes them.
    ``common``: one of those that ``all`` means. ``check`` refuses robots and settings; ``bounded`` brings random
    operands to where results have bounds, and where it ``closes``, random states have the robot's loops closed, nearly;
    ``uses`` are the options that only such functions have a use for. ``slopes`` are its derivatives, as far as other
    functions compute them. ``beside`` is the function as it is made with these settings beside other functions, where
    that depends on them.
    """

    name: str
    code: int
    summary: str
    operands: tuple[Quantity, ...]
    results: tuple[Quantity, ...]
    needs: frozenset[Need]
    trace: Callable[[TracedProgram], Mapping[str, Entries]]
    reference: Reference | None = None
    golden: Callable[..., Any] | None = None
    parts: tuple[Callable[..., Any], ...] = ()
    pinocchio: Pinocchio | None = None
    forced: bool = True
    based: bool = True
    common: bool = False
    first_pass: FirstPass | None = None
    repeat: Repeat | None = None
    extra: Extra | None = None
    check: Callable[[Robot, Settings], None] | None = None
    bounded: Bounded | None = None
    closes: bool = False
    uses: frozenset[str] = frozenset()
    slopes: tuple[Slope, ...] = ()
    beside: Callable[[Function, Settings, Sequence[Function]], Function] | None = None

    def evaluated(
        self, robot: Robot, s: States, settings: Settings | None = None, method: str | None = None
    ) -> Sequence[np.ndarray]:
        """The results in float64 of a robot's states, as ``reference`` or ``golden`` have them."""
        if self.reference is not None:
            return self.reference(robot, s, settings, method)
        assert self.golden is not None
        return by_golden(self.golden, self.operands)(robot, s, settings, method)

    @property
    def all_needs(self) -> frozenset[Need]:
        """The needs of all passes."""
        return self.needs | (self.first_pass.needs if self.first_pass else frozenset())

    @property
    def takes_inverse(self) -> bool:
        """Whether M⁻¹ is computed for it, or one of its operands."""
        inverted = {Need.FACTORS, Need.INVERSE, Need.ACCELERATION} & self.all_needs
        return bool(inverted) or any(q.name == "minv" for q in self.operands)

    @property
    def takes_torques(self) -> bool:
        """Whether torques are among its operands."""
        return any(q.name == "tau" for q in self.operands)

    @property
    def method(self) -> str:
        """The name by which it is called from Python."""
        return self.golden.__name__ if self.golden else self.name
