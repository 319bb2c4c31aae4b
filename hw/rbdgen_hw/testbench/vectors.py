"""Tasks of a self-checking testbench and what must be answered to them, from the bit-true model at fresh random states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rbdgen.compiler import Design
from rbdgen.functions.states import States
from rbdgen.layout.calibration import varied_robot
from rbdgen.model.robot import Robot
from rbdgen.protocol.tasks import CALIBRATE, TAG_BITS, Flag, OperandWord, join_header
from rbdgen.trials import model_answers, raw_parameters, task_states

RATED = 24
"""Tasks of each function at full rate."""
LONG = 4
"""Steps of a lone roll-out beside that of one step, and the most of mixed ones."""
OUTSIDE = 0.1
"""Share of mixed tasks with an operand outside its range."""
UNKNOWN = 0.05
"""Share of mixed tasks of functions that there are not."""
LOAD = "load"
"""Name of tasks that load a parameter."""
UNKNOWN_NAME = "unknown"
"""Name of tasks of functions that there are not."""


@dataclass(frozen=True)
class Exchange:
    """A task and its result: the function's ``name`` and ``code``, and the beats of both."""

    name: str
    code: int
    task: tuple[int, ...]
    result: tuple[int, ...]


@dataclass(frozen=True)
class Lone:
    """What is measured with a lone task: its function, and its ``steps`` if it is a roll-out (else 1)."""

    function: str
    steps: int = 1


@dataclass(frozen=True)
class Vectors:
    """All tasks in their order: a ``lone`` one of each function, :data:`RATED` at full rate of each, ``mixed`` ones."""

    lone: tuple[Lone, ...]
    alone: tuple[Exchange, ...]
    rated: tuple[Exchange, ...]
    mixed: tuple[Exchange, ...]

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All of them, one after the other."""
        return (*self.alone, *self.rated, *self.mixed)


def make_vectors(design: Design, count: int, seed: int = 0) -> Vectors:
    """``count`` mixed tasks, and those for latencies and intervals before. Of a calibratable design the second half of
    the mixed ones comes behind tasks that load another robot's parameters."""
    maker = _Maker(design, np.random.default_rng(seed), seed)
    return maker.make(count)


class _Maker:
    """Makes the tasks of ``design``."""

    def __init__(self, design: Design, rng: np.random.Generator, seed: int) -> None:
        self.design = design
        self.tasks = design.tasks
        self.functions = design.network.functions
        self.rng = rng
        self.seed = seed

    def make(self, count: int) -> Vectors:
        """All of them."""
        lone = [Lone(function) for function in self.functions]
        repeated = self.design.network.repeated_name
        if repeated is not None:
            lone.append(Lone(repeated, LONG))
        alone = []
        for one in lone:
            states = self._states(1)
            alone += self._exchanges(one.function, replace(states, steps=np.array([[one.steps]])))
        rated = []
        for function in self.functions:
            rated += self._exchanges(function, self._states(RATED))
        if not self.tasks.parameters:
            mixed = self._mixed(count)
        else:
            robot = varied_robot(self.design.robot, self.rng)
            before = self._mixed(count // 2)
            loads = self._loads(raw_parameters(self.design, robot))
            mixed = [*before, *loads, *self._mixed(count - count // 2, robot)]
        return Vectors(tuple(lone), tuple(alone), tuple(rated), tuple(mixed))

    def _states(self, count: int, robot: Robot | None = None) -> States:
        """States that no other call gives."""
        self.seed += 1
        return task_states(self.design, count, self.seed, robot)

    def _tags(self, count: int) -> np.ndarray:
        return self.rng.integers(0, 1 << TAG_BITS, count)

    def _exchanges(
        self, function: str, states: States, robot: Robot | None = None, outside: float = 0.0
    ) -> list[Exchange]:
        """Tasks of one function at ``states``, of which a share ``outside`` has an operand outside its range; for the
        parameters of ``robot`` (default: those after a reset)."""
        fmt = self.tasks.functions[function]
        words = self.design.network.operand_words(function)
        raw = fmt.quantise([states.vector(word.vector, word.index) for word in words])
        count = len(raw[0])
        for k in np.flatnonzero(self.rng.random(count) < outside):
            chosen = self.rng.integers(len(raw))
            raw[chosen] = raw[chosen].copy()
            raw[chosen][k] = self._outside(fmt.operands[chosen])
        loaded = self._loaded(robot, count)
        values, flags = model_answers(self.design, function, raw, loaded)
        tags = self._tags(count)
        sent = self.tasks.pack(function, tags, raw)
        expected = self.tasks.pack_results(function, tags, flags, values)
        pairs = zip(sent, expected, strict=True)
        return [Exchange(function, fmt.code, tuple(a), tuple(b)) for a, b in pairs]

    def _loaded(self, robot: Robot | None, count: int) -> Mapping[str, np.ndarray]:
        """The raw parameters by name that are loaded for ``robot``, for each of ``count`` tasks."""
        if robot is None:
            return {}
        parameters = zip(self.tasks.parameters, raw_parameters(self.design, robot), strict=True)
        return {word.name: np.full(count, x) for word, x in parameters}

    def _outside(self, word: OperandWord) -> int:
        """A raw value that the operand may not have: next to its range, or anywhere outside."""
        below, above = word.codes[0] - 1, word.codes[1] + 1
        lowest, highest = word.format.minimum, word.format.maximum
        candidates = []
        if lowest <= below:
            candidates += [below, int(self.rng.integers(lowest, below, endpoint=True))]
        if above <= highest:
            candidates += [above, int(self.rng.integers(above, highest, endpoint=True))]
        return int(self.rng.choice(candidates))

    def _mixed(self, count: int, robot: Robot | None = None) -> list[Exchange]:
        """``count`` tasks of all functions, and of functions that there are not, in a random order."""
        unknown = self.rng.random(count) < UNKNOWN
        order = self.rng.integers(0, len(self.functions), count)
        streams: list[Iterator[Exchange]] = []
        for k, function in enumerate(self.functions):
            needed = max(int(np.count_nonzero(order == k)), 1)
            states = self._states(needed, robot)
            steps = self.rng.integers(1, LONG + 1, (needed, 1))
            states = replace(states, steps=steps)
            streams.append(iter(self._exchanges(function, states, robot, OUTSIDE)))
        made = []
        for k, is_unknown in zip(order, unknown, strict=True):
            made.append(self._unknown() if is_unknown else next(streams[k]))
        return made

    def _unknown(self) -> Exchange:
        """A task of a function that there is not, a beat of any bits."""
        known = self.tasks.task_words
        codes = [code for code in range(CALIBRATE + 1) if code not in known]
        code = int(self.rng.choice(codes))
        tag = int(self._tags(1)[0])
        width = self.tasks.task.word_bits
        beat = join_header(code, tag)
        for place in range(1, self.tasks.task.words_per_beat):
            word = int(self.rng.integers(0, 1 << width))
            beat |= word << place * width
        answer = join_header(code, tag, Flag.FUNCTION.value)
        return Exchange(UNKNOWN_NAME, code, (beat,), (answer,))

    def _loads(self, raw: np.ndarray) -> list[Exchange]:
        """Tasks that load all parameters in a random order, each behind ones that are refused: of a value outside the
        range, where a word has any, and of a number that there is not."""
        words = self.tasks.parameters
        made = [self._load(len(words), 0, Flag.RANGE)]
        for number in self.rng.permutation(len(words)):
            codes, fmt = words[number].codes, words[number].format
            if codes != (fmt.minimum, fmt.maximum):
                made.append(self._load(number, self._outside(words[number]), Flag.RANGE))
            made.append(self._load(number, raw[number]))
        return made

    def _load(self, number: int, value: int, flags: Flag = Flag(0)) -> Exchange:
        tag = self._tags(1)
        (beats,) = self.tasks.pack_calibration(tag, np.array([number]), np.array([value]))
        answer = join_header(CALIBRATE, int(tag[0]), flags.value)
        return Exchange(LOAD, CALIBRATE, tuple(beats), (answer,))


def by_code(exchanges: Sequence[Exchange]) -> dict[int, list[Exchange]]:
    """The exchanges of each function code, in their order; codes ascend."""
    found: dict[int, list[Exchange]] = {}
    for code in sorted({e.code for e in exchanges}):
        found[code] = [e for e in exchanges if e.code == code]
    return found
