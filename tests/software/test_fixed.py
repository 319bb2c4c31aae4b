"""A design's arithmetic in C against its bit-true model: every bit, every flag."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from rbdgen import Design, compile_robot, load_robot, native
from rbdgen.software.fixed_program import FixedProgram, fixed_program
from rbdgen.software.library import FLAGS, LIBRARIES, c_header, c_sources, name_of
from rbdgen.software.program import flat
from tests.conftest import few, in_words

TASKS = 1003
DESIGNS = {
    "engine": ("ur5", ("id", "fd"), {"machine": "engine", "word": 32}),
    "all at 18 bits": ("pendulum2", ("id", "fd", "m", "minv", "did", "dfd", "difd"), {}),
    "an error target": ("pendulum2", ("id", "fd"), {"error": 1e-4}),
    "products beyond 64 bits": ("pendulum2", ("id", "fd", "dfd"), {"error": 2e-7}),
    "without saturation": (
        "pendulum2",
        ("fd", "did"),
        {"overflow": "flag", "rounding": "truncate", "word": 18, "ii": 6},
    ),
    "forces, a moving base, M⁻¹": (
        "pendulum2",
        ("id", "dfd"),
        {"forces": True, "moving_base": True, "with_inverse": True, "word": 22},
    ),
    "parameters": ("pendulum2", ("id", "fd", "roll"), {"calibratable": True, "word": 24}),
    "Runge-Kutta": ("pendulum2", ("roll", "step"), {"integrator": "rk4", "word": 26}),
}


class Bound:
    """A design's library, and how its functions are called."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.name = name_of(design.robot)
        self.made = {f: fixed_program(design, f) for f in design.network.functions}
        programs = list(self.made.values())
        texts = c_sources(self.name, [], programs) | c_header(design.robot, [], programs)
        self.library = native.library("software", texts, FLAGS, LIBRARIES)

    def arrays(self, f: str, raw: list[np.ndarray]) -> tuple[dict[str, np.ndarray], FixedProgram]:
        made, network = self.made[f], self.design.network
        operands = (made.begin or made.program).operands
        arrays = {x.name: np.zeros((TASKS, x.size), np.int64) for x in operands}
        shapes = {x.name: x.shape for x in operands}
        for word, values in zip(network.operand_words(f), raw, strict=True):
            arrays[word.vector][:, flat(word.index, shapes[word.vector])] = values
        for k, p in enumerate(network.parameters):
            arrays["parameters"][:, k] = self.design.model.nominal[p.word.name]
        return arrays, made

    def call(self, name: str, arrays: list[np.ndarray], made: FixedProgram, dtype: Any) -> Any:
        results = [np.full((TASKS, x.size), -7, dtype) for x in made.program.results]
        flags = np.zeros(TASKS, np.uint8)
        function = getattr(self.library, f"{self.name}_{name}")
        function.restype = ctypes.c_size_t
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*arrays, *results, flags)]
        flagged = function(ctypes.c_size_t(TASKS), *pointers)
        assert flagged == np.count_nonzero(flags)
        return results, flags


def raw_tasks(design: Design, f: str) -> list[np.ndarray]:
    """Operands in their ranges, some anywhere in their formats."""
    rng = np.random.default_rng(5)
    raw = []
    for word in design.tasks.functions[f].operands:
        if word.name == "steps":
            raw.append(rng.integers(1, 5, TASKS))
            continue
        low, high = word.codes
        values = rng.integers(low, high + 1, TASKS)
        wild = rng.integers(word.format.minimum, word.format.maximum + 1, TASKS)
        values[::31] = wild[::31]
        raw.append(values)
    return raw


@pytest.mark.parametrize("name", few(DESIGNS, *(name for name in DESIGNS if name != "Runge-Kutta")))
@pytest.mark.slow
def test_every_bit_and_every_flag(name: str) -> None:
    robot, functions, options = DESIGNS[name]
    design = compile_robot(load_robot(robot), in_words(functions=functions, **options))
    bound = Bound(design)
    for f in design.network.functions:
        raw = raw_tasks(design, f)
        answer = design.run(f, raw)
        outside = design.tasks.functions[f].out_of_range(raw)
        arrays, made = bound.arrays(f, raw)
        results, flags = bound.call(f"{f}_rows_raw", list(arrays.values()), made, np.int64)
        assert answer.overflow.any() or f in ("m", "id", "difd", "minv")
        np.testing.assert_array_equal(flags, answer.overflow + 2 * outside)
        check(design, f, made, results, answer.values)
        side = [np.ascontiguousarray(x.T) for x in arrays.values()]
        turned = [np.empty((x.size, TASKS), np.int64) for x in made.program.results]
        function = getattr(bound.library, f"{bound.name}_{f}_batch_raw")
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*side, *turned)]
        function(ctypes.c_size_t(TASKS), *pointers, None)
        check(design, f, made, [x.T for x in turned], answer.values)


def check(
    design: Design,
    f: str,
    made: FixedProgram,
    results: list[np.ndarray],
    values: list[np.ndarray],
) -> None:
    """Every word of the results is where it belongs, and all else is zero."""
    found = {x.name: y for x, y in zip(made.program.results, results, strict=True)}
    shapes = {x.name: x.shape for x in made.program.results}
    expected = {name: np.zeros_like(x) for name, x in found.items()}
    pending = iter(values)
    network = design.network
    groups = network.options.result_vectors(f)
    returned = network.options.returned(f)
    for group, name in zip(groups, returned, strict=True):
        symmetric = network.options.quantities[name].symmetric
        for word in network.results[group]:
            own = next(pending)
            expected[name][:, flat(word.index, shapes[name])] = own
            if symmetric:
                expected[name][:, flat(word.index[::-1], shapes[name])] = own
    for name, x in found.items():
        np.testing.assert_array_equal(x, expected[name])


def test_real_numbers_are_rounded_as_by_the_host() -> None:
    design = compile_robot(load_robot("pendulum2"), in_words(functions=("fd",)))
    bound = Bound(design)
    task = design.tasks.functions["fd"]
    rng = np.random.default_rng(3)
    values = [rng.uniform(-40, 40, TASKS) for _ in task.operands]
    values[0][:3] = 1e30, -1e30, 0.5 * task.operands[0].format.resolution
    raw = task.quantise(values)
    answer = design.run("fd", raw)
    arrays, made = bound.arrays("fd", raw)
    network = design.network
    real = {name: np.zeros(x.shape) for name, x in arrays.items()}
    for word, own in zip(network.operand_words("fd"), values, strict=True):
        real[word.vector][:, word.index[0]] = own
    (found,), flags = bound.call("fd_rows_fixed", list(real.values()), made, float)
    for k, (word, own) in enumerate(zip(task.results, answer.values, strict=True)):
        np.testing.assert_array_equal(found[:, k], word.format.real(own))
    np.testing.assert_array_equal(flags, answer.overflow + 2 * task.out_of_range(raw))
    real["q"][0, 0] = np.nan
    _, flags = bound.call("fd_rows_fixed", list(real.values()), made, float)
    assert flags[0] & 2
