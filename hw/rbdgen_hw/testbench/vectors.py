"""Tasks of a testbench and what must be answered to them, by the bit-true model at fresh random states.

First comes a lone task of each function, then :data:`RATED` of each at full rate, then mixed ones: all functions in a
random order, some with an operand outside its range, some of unknown functions. Of a calibratable design the second
half of these follows tasks that load another robot's parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from rbdgen.compiler import Design
from rbdgen.functions.quantities import States
from rbdgen.model.robot import Robot
from rbdgen.protocol.tasks import CALIBRATE, FUNCTION_BITS, TAG_BITS, Flag, OperandWord, join_header
from rbdgen.trials import model_answers, raw_parameters, task_states

RATED = 24
"""Tasks of each function at full rate."""
LONG = 4
"""Steps of the lone roll-out that is not of one step, and the most of mixed ones."""
OUTSIDE = 0.1
"""Share of mixed tasks with an operand outside its range."""
UNKNOWN = 0.05
"""Share of mixed tasks of unknown functions."""
LOAD = "load"
"""Name of tasks that load a parameter."""


@dataclass(frozen=True)
class Trial:
    """A task and its result: the ``name`` and ``code`` of its function, the beats of both, its ``number`` among all,
    and the steps of a roll-out (1 of any other)."""

    name: str
    code: int
    task: tuple[int, ...]
    result: tuple[int, ...]
    number: int = 0
    steps: int = 1


@dataclass(frozen=True)
class Vectors:
    """All tasks in their order, of which those before ``rated_from`` are ``lone``, and those from ``mixed_from`` on
    mixed."""

    trials: tuple[Trial, ...]
    rated_from: int
    mixed_from: int

    @property
    def lone(self) -> tuple[Trial, ...]:
        """The lone ones."""
        return self.trials[: self.rated_from]

    @property
    def by_code(self) -> list[Trial]:
        """All by function code, those of one code in their order."""
        return sorted(self.trials, key=lambda trial: trial.code)


def make_vectors(design: Design, count: int, seed: int) -> Vectors:
    """The tasks of a bench, ``count`` of them mixed (beside those that load parameters)."""
    maker = _Maker(design, seed)
    lone = maker.lone()
    rated = maker.rated()
    mixed = maker.mixed(count)
    numbered = []
    for number, trial in enumerate([*lone, *rated, *mixed]):
        known = replace(trial, number=number)
        numbered.append(known)
    rated_from = len(lone)
    mixed_from = rated_from + len(rated)
    return Vectors(tuple(numbered), rated_from, mixed_from)


class _Maker:
    """Makes tasks of ``design``; ``robot`` is the one whose parameters are loaded, None for those after a reset."""

    def __init__(self, design: Design, seed: int) -> None:
        self.design = design
        self.layout = design.tasks
        self.functions = design.network.functions
        self.rng = np.random.default_rng(seed)
        self.seed = seed
        self.robot: Robot | None = None

    def lone(self) -> list[Trial]:
        """One of each function, of roll-outs one more."""
        trials = []
        for function in self.functions:
            trials += self._trials(function, self._states(1))
        repeated = self.design.network.repeated_name
        if repeated is not None:
            steps = np.array([[LONG]])
            states = replace(self._states(1), steps=steps)
            (trial,) = self._trials(repeated, states)
            long_trial = replace(trial, steps=LONG)
            trials.append(long_trial)
        return trials

    def rated(self) -> list[Trial]:
        """Those at full rate, function by function."""
        trials = []
        for function in self.functions:
            trials += self._trials(function, self._states(RATED))
        return trials

    def mixed(self, count: int) -> list[Trial]:
        """Those in a random order."""
        if not self.layout.parameters:
            return self._shuffled(count)
        before = self._shuffled(count // 2)
        # answers from here on are this robot's: its parameters are loaded between both halves
        assert self.design.network.calibration is not None
        self.robot = self.design.network.calibration.varied(self.rng)
        loads = self._loads()
        behind = self._shuffled(count - len(before))
        return [*before, *loads, *behind]

    def _states(self, count: int) -> States:
        """``count`` states, others at each call."""
        self.seed += 1
        return task_states(self.design, count, self.seed, self.robot)

    def _tags(self, count: int) -> np.ndarray:
        """Random tags (n,)."""
        return self.rng.integers(0, 1 << TAG_BITS, count)

    def _trials(self, function: str, states: States, outside: float = 0.0) -> list[Trial]:
        """Tasks of one function at ``states``, of which a share ``outside`` has an operand outside its range."""
        fmt = self.layout.functions[function]
        values = []
        for word in self.design.network.operand_words(function):
            column = states.vector(word.vector, word.index)
            values.append(column)
        raw = fmt.quantise(values)
        count = len(values[0])
        drawn = self.rng.random(count)
        for k in np.flatnonzero(drawn < outside):
            chosen = self.rng.integers(len(raw))
            operand = fmt.operands[chosen]
            # before the model answers, whose flags say so
            raw[chosen][k] = self._outside(operand)
        loaded = self._loaded(count)
        expected, flags = model_answers(self.design, function, raw, loaded)
        tags = self._tags(count)
        tasks = self.layout.pack(function, tags, raw)
        results = self.layout.pack_results(function, tags, flags, expected)
        trials = []
        for task, result in zip(tasks, results, strict=True):
            trial = Trial(function, fmt.code, tuple(task), tuple(result))
            trials.append(trial)
        return trials

    def _loaded(self, count: int) -> Mapping[str, np.ndarray]:
        """The parameters by name that are not as after a reset, raw, for each of ``count`` tasks."""
        if self.robot is None:
            return {}
        loaded = {}
        values = raw_parameters(self.design, self.robot)
        for word, value in zip(self.layout.parameters, values, strict=True):
            loaded[word.name] = np.full(count, value)
        return loaded

    def _outside(self, word: OperandWord) -> int:
        """A raw value outside the range of ``word``: next to it, or anywhere; inside where the format has no other."""
        low, high = word.codes
        fmt = word.format
        candidates = []
        if fmt.minimum < low:
            anywhere = self.rng.integers(fmt.minimum, low)
            candidates += [low - 1, int(anywhere)]
        if high < fmt.maximum:
            # moved up by one: integers() leaves the upper bound out
            anywhere = self.rng.integers(high, fmt.maximum)
            candidates += [high + 1, int(anywhere) + 1]
        if not candidates:
            return low
        return int(self.rng.choice(candidates))

    def _shuffled(self, count: int) -> list[Trial]:
        """``count`` tasks of all functions in a random order, some of unknown functions."""
        unknown = len(self.functions)
        order = self.rng.integers(0, unknown, count)
        drawn = self.rng.random(count)
        order[drawn < UNKNOWN] = unknown
        counts = np.bincount(order, minlength=unknown + 1).tolist()
        sources = []
        for function, needed in zip(self.functions, counts, strict=False):
            trials = self._varied(function, needed)
            sources.append(iter(trials))
        others = self._unknown(counts[unknown])
        sources.append(iter(others))
        return [next(sources[k]) for k in order]

    def _varied(self, function: str, count: int) -> list[Trial]:
        """``count`` tasks of one function: some outside their ranges, roll-outs of several steps."""
        if not count:
            return []
        steps = self.rng.integers(1, LONG + 1, (count, 1))
        states = replace(self._states(count), steps=steps)
        return self._trials(function, states, OUTSIDE)

    def _unknown(self, count: int) -> list[Trial]:
        """``count`` tasks of unknown functions, each a beat of any bits behind its header."""
        known = self.layout.task_words
        codes = [code for code in range(1 << FUNCTION_BITS) if code not in known]
        trials = []
        for tag in self._tags(count).tolist():
            code = int(self.rng.choice(codes))
            task = join_header(code, tag) | self._filling()
            result = join_header(code, tag, Flag.FUNCTION.value)
            trial = Trial("unknown", code, (task,), (result,))
            trials.append(trial)
        return trials

    def _filling(self) -> int:
        """A beat of any bits but for its first word, which is zero."""
        packing = self.layout.task
        beat = 0
        for place, offset in zip(packing.places[1:], packing.offsets[1:], strict=True):
            word = self.rng.integers(0, 1 << place)
            beat |= int(word) << offset
        return beat

    def _loads(self) -> list[Trial]:
        """Tasks that load the parameters of ``robot`` in a random order, and ones that are refused: of an unknown
        number, and before each parameter of a value outside its range."""
        assert self.robot is not None
        words = self.layout.parameters
        values = raw_parameters(self.design, self.robot)
        # behind the last number: 0 is in range or not, it is refused
        trials = [self._load(len(words), 0)]
        for number in self.rng.permutation(len(words)).tolist():
            refused = self._outside(words[number])
            trials.append(self._load(number, refused))
            trials.append(self._load(number, values[number]))
        return trials

    def _load(self, number: int, value: int) -> Trial:
        """A task that loads a raw value, and its answer."""
        words = self.layout.parameters
        flag = Flag.RANGE.value
        if number < len(words):
            low, high = words[number].codes
            if low <= value <= high:
                flag = 0
        tag = self._tags(1)
        (task,) = self.layout.pack_calibration(tag, np.array([number]), np.array([value]))
        result = join_header(CALIBRATE, int(tag[0]), flag)
        return Trial(LOAD, CALIBRATE, tuple(task), (result,))
