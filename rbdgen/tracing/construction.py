"""The graph under construction: names of operands, results and submodules, and the exits by which results leave."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import replace

from rbdgen.errors import UnsupportedError
from rbdgen.functions.quantities import States, labels
from rbdgen.functions.record import Carried, Entries
from rbdgen.ir.builder import Builder, Expr
from rbdgen.ir.programs import Exit
from rbdgen.model.robot import Robot
from rbdgen.protocol.entries import is_above
from rbdgen.protocol.identifiers import free, sanitize
from rbdgen.spatial import Scalar, Vector
from rbdgen.tracing.calibration import Calibration
from rbdgen.tracing.equivalent import EquivalentRobot
from rbdgen.tracing.network import PREFIX, Submodule
from rbdgen.tracing.trace_options import TraceOptions
from rbdgen.tracing.words import Word

WHOLE_PRODUCT = 3000
"""Multiplications of a product of matrices from which on a processor takes loops for it."""


class Construction:
    """The graph under construction: names of operands, results and submodules, and the exits.

    ``words`` are those of all operands that there may be, ``states`` those that ranges are found at. ``software``: for
    a processor, see :func:`rbdgen.tracing.building.build_network`.
    """

    def __init__(
        self,
        robot: Robot,
        frames: EquivalentRobot,
        calibration: Calibration | None,
        options: TraceOptions,
        words: dict[str, tuple[Word, ...]],
        states: States,
        software: bool = False,
    ) -> None:
        self.robot = robot
        self.frames = frames
        self.options = options
        self.words = words
        self.states = states
        self.software = software
        self.builder = Builder(whole_from=WHOLE_PRODUCT if software else None)
        self.cheap = frames.robot
        self.whole = frames.whole
        self.parameters: tuple[str, ...] = ()
        self.places: frozenset[str] = frozenset()
        """The parameters that say where frames are, of which only those are loaded that a function needs."""
        if calibration is not None:
            self.parameters = tuple(p.word.name for p in calibration.parameters)
            self.places = frozenset(p.word.name for p in calibration.parameters if p.frame)
            inputs = [self._input(name) for name in self.parameters]
            self.cheap = calibration.applied(inputs)
            self.whole = calibration.moved(frames.whole, inputs)
        self.operands: dict[str, str] = {}
        self.outputs: dict[str, int] = {}
        self.results: dict[str, tuple[Word, ...]] = {}
        self.made_by: dict[str, str] = {}
        self.given: dict[str, dict[tuple[int, ...], int]] = {}
        self.exits: list[Exit] = []
        self.leaves: dict[str, str] = {}
        self.submodules: dict[str, Submodule] = {}
        self.carried: dict[str, Carried] = {}
        self.links = sanitize([b.name for b in robot.bodies])
        joints = sanitize(list(robot.joint_names))
        self.joints = [joints[n] for n in robot.joint_names]

    def enter(self, kind: str, body: int | None) -> AbstractContextManager[None]:
        """Operations inside belong to the submodule of this kind and body."""
        name = kind
        if body is not None:
            link = self.robot.bodies[body].name
            name += f"_{self.links[link]}"
        self.submodules.setdefault(name, Submodule(name, kind, body))
        return self.builder.submodule(name)

    def operand(self, program: str, vector: str) -> Vector:
        """An operand's entries in a program."""
        prefix = PREFIX[program]
        names = [prefix + w.name for w in self.words[vector]]
        self.operands |= dict.fromkeys(names, program)
        return tuple(self._input(name) for name in names)

    def _input(self, name: str) -> Expr:
        node = self.builder.input(name)
        return Expr(self.builder, node)

    def _node(self, x: Scalar) -> int:
        if isinstance(x, Expr):
            return x.node
        return self.builder.const(x)

    def result(self, program: str, vector: str, entries: Entries) -> list[str]:
        """Name a vector's or matrix's results, once; those that are zero for this robot are none. UnsupportedError
        where another program makes it."""
        if self.made_by.setdefault(vector, program) != program:
            raise UnsupportedError(
                f"functions: {vector!r} would be a result of both programs; give it two names, or use programs one"
            )
        nodes = {index: self._node(x) for index, x in entries.items()}
        if self.given.setdefault(vector, nodes) != nodes:
            raise UnsupportedError(
                f"functions: two of them give different {vector!r}; give the results two names"
            )
        if vector not in self.results:
            named = []
            # whatever order the text found them in
            for index, x in self._ordered(vector, entries):
                if isinstance(x, Expr) or x != 0 or self._stands_apart(vector, index):
                    name = self._result_name(vector, index)
                    word = Word(name, vector, index)
                    self.outputs[word.name] = self._node(x)
                    named.append(word)
            self.results[vector] = tuple(named)
        return [w.name for w in self.results[vector]]

    def _stands_apart(self, vector: str, index: tuple[int, ...]) -> bool:
        """Whether an entry is not what is across the diagonal, though that stands for both."""
        quantity = self.options.quantities.get(vector)
        return quantity is not None and quantity.symmetric and is_above(index)

    def _ordered(self, vector: str, entries: Entries) -> list[tuple[tuple[int, ...], Scalar]]:
        """In the order of indices; what differs from an entry across the diagonal behind that, which stands for
        both."""
        quantity = self.options.quantities.get(vector)
        if quantity is None or not quantity.symmetric:
            return sorted(entries.items(), key=lambda entry: entry[0])
        return sorted(entries.items(), key=lambda entry: (is_above(entry[0]), entry[0]))

    def _result_name(self, vector: str, index: tuple[int, ...]) -> str:
        """A new name for an entry, of what its index stands for."""
        quantity = self.options.quantities.get(vector)
        shape = quantity.shape if quantity else ("nv",) * len(index)
        parts = [vector]
        for k, dimension in zip(index, shape, strict=True):
            known = labels(self.robot, dimension, self.joints)
            parts.append(known[k])
        # two entries may join to one name: a_b with c, and a with b_c
        return free("_".join(parts), self.outputs)

    def leave(self, function: str, program: str, results: Iterable[str]) -> None:
        """By an exit of its own, or that of a function with the same results."""
        own = Exit(function, program, tuple(results))
        for other in self.exits:
            if replace(other, name=function) == own:
                self.leaves[function] = other.name
                return
        self.leaves[function] = function
        self.exits.append(own)

    def return_by(self, name: str, program: str, results: Iterable[str], into: str) -> None:
        """Let results go back into a program."""
        back = Exit(name, program, tuple(results), into)
        self.exits.append(back)

    def passed(self, name: str) -> str:
        """The result by which an operand is handed on as it is."""
        result = f"next_{name}"
        self.outputs[result] = self.builder.input(name)
        return result

    def given_again(self, group: str, vector: str, given: Entries) -> list[str]:
        """The results by which an operand is returned, under another name."""
        words = []
        for own, x in zip(self.words[vector], given.values(), strict=True):
            # only the first: a joint's name may hold the vector's
            name = own.name.replace(vector, group, 1)
            words.append(replace(own, name=name))
            self.outputs[name] = self._node(x)
        self.results[group] = tuple(words)
        return [w.name for w in words]
