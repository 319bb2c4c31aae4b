"""Measures compiled functions from Python, and the fixed-point C of a design beside the bit-true model's interpreters.

Values are compared with the golden model's, bits with the bit-true model's at 100,000 states. ``make bench-compiled``.
"""

from __future__ import annotations

import ctypes
import sys
import timeit
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from figures import Targets, arguments, parse, section

from rbdgen import Design, Options, compile, compile_robot, golden, load, load_robot, native
from rbdgen.functions.registry import common, function
from rbdgen.model import Robot
from rbdgen.software.fixed_program import fixed_program
from rbdgen.software.library import FLAGS, LIBRARIES, c_header, c_sources, name_of
from rbdgen.software.program import flat

BATCH = 4096
ASKED_SINGLE, ASKED_BATCH, ASKED_FIXED = 5.0, 5.0, 5.0
ASKED_ERROR = 1e-12
"""Of each result's largest entry."""
TASKS, INTERPRETED = 100_000, 8192


def best(number: int, call: Callable[..., object], *arguments: Any, **named: Any) -> float:
    """Seconds of a call, the best of several rounds of so many."""
    once = partial(call, *arguments, **named)
    return min(timeit.repeat(once, number=number, repeat=5)) / number


def tupled(x: np.ndarray | tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Results as a tuple."""
    return x if isinstance(x, tuple) else (x,)


def python_rows(targets: Targets, robot: Robot, base: str) -> list[list[object]]:
    """A row for each function."""
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), BATCH, 1)
    tau, minv = golden.rnea(robot, q, v, a), golden.minverse(robot, q)
    known = {"q": q, "v": v, "a": a, "tau": tau, "minv": minv}
    compiled = compile(robot, common())
    rows: list[list[object]] = []
    for name in common():
        record = function(name)
        given = {x.name: known[x.name] for x in record.operands}
        call, reference = compiled.function(name), getattr(golden, record.method)
        found, expected = tupled(call(**given)), tupled(reference(robot, **given))
        errors = [
            np.abs(x - y).max() / np.abs(y).max() for x, y in zip(found, expected, strict=True)
        ]
        one = [x[0] for x in given.values()]
        named = {k: x[0] for k, x in given.items()}
        single = best(5000, call, *one) * 1e6
        before = best(20, reference, robot, **named) * 1e6
        many = best(3, call, **given)
        golden_many = best(1, reference, robot, **given)
        ratio = golden_many / many
        asked = (
            targets.at_most(single, ASKED_SINGLE) if (robot.name, name) == ("iiwa14", "id") else ""
        )
        rows.append(
            [
                *(robot.name, base, name, f"{before:.0f}", f"{single:.1f}", asked),
                *(f"{golden_many / BATCH * 1e9:.0f}", f"{many / BATCH * 1e9:.0f}", f"{ratio:.1f}"),
                targets.at_least(ratio, ASKED_BATCH),
                *(f"{max(errors):.1e}", targets.at_most(max(errors), ASKED_ERROR)),
            ]
        )
    return rows


def fixed_rows(targets: Targets, design: Design) -> list[list[object]]:
    """A row for each function of a design."""
    name = name_of(design.robot)
    made = {f: fixed_program(design, f) for f in design.network.functions}
    texts = c_sources(name, [], list(made.values())) | c_header(
        design.robot, [], list(made.values())
    )
    library = native.library("software", texts, FLAGS, LIBRARIES)
    rng = np.random.default_rng(1)
    rows: list[list[object]] = []
    for f, program in made.items():
        words = design.tasks.functions[f].operands
        raw = [rng.integers(w.codes[0], w.codes[1] + 1, TASKS) for w in words]
        answer = design.run(f, raw)
        tape = best(1, design.run, f, raw)
        some = [x[:INTERPRETED] for x in raw]
        with patch("rbdgen.ir.machine.library", return_value=None):
            numpy = best(1, design.run, f, some) / INTERPRETED
        arrays = {x.name: np.zeros((TASKS, x.size), np.int64) for x in program.program.operands}
        shapes = {x.name: x.shape for x in program.program.operands}
        for word, values in zip(design.network.operand_words(f), raw, strict=True):
            arrays[word.vector][:, flat(word.index, shapes[word.vector])] = values
        out = [np.zeros((TASKS, x.size), np.int64) for x in program.program.results]
        flags = np.zeros(TASKS, np.uint8)
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*arrays.values(), *out, flags)]
        call = getattr(library, f"{name}_{f}_rows_raw")
        seconds = best(1, call, ctypes.c_size_t(TASKS), *pointers)
        wrong = int(np.count_nonzero((flags & 1) != answer.overflow))
        found = {x.name: (x.shape, y) for x, y in zip(program.program.results, out, strict=True)}
        pending = iter(answer.values)
        for group, result in zip(
            design.network.options.result_vectors(f),
            design.network.options.returned(f),
            strict=True,
        ):
            shape, y = found[result]
            for word in design.network.results[group]:
                wrong += int(np.count_nonzero(y[:, flat(word.index, shape)] != next(pending)))
        ratio = tape / seconds
        rows.append(
            [
                *(design.robot.name, f, TASKS, wrong, targets.equal(wrong, 0)),
                *(
                    f"{numpy * 1e9:.0f}",
                    f"{tape / TASKS * 1e9:.0f}",
                    f"{seconds / TASKS * 1e9:.0f}",
                ),
                *(
                    f"{numpy / seconds * TASKS:.0f}",
                    f"{ratio:.1f}",
                    targets.at_least(ratio, ASKED_FIXED),
                ),
            ]
        )
    return rows


def main() -> int:
    """Print the tables; 1 where something is slower or farther off than asked."""
    parser = arguments(__doc__)
    parser.add_argument(
        "robots", nargs="*", metavar="FILE:BASE", default=["iiwa14:fixed"], help="robots"
    )
    args = parse(parser)
    targets = Targets()
    rows: list[list[object]] = []
    for text in args.robots:
        name, _, base = text.rpartition(":")
        rows += python_rows(targets, load(name, base), base)
    section(
        f"Compiled functions from Python: one state, and {BATCH} in a call",
        [
            *("robot", "base", "function", "golden, µs", "compiled, µs", "as asked"),
            *("golden, ns a state of many", "compiled, ns", "ratio", "as asked"),
            *("largest difference", "as asked"),
        ],
        rows,
        keys=3,
    )
    design = compile_robot(load_robot("iiwa14"), Options(common()))
    section(
        "A design's arithmetic, nanoseconds a state, one thread",
        [
            *("robot", "function", "states", "wrong bits or flags", "as asked"),
            *(
                "interpreter in NumPy",
                "tape in C",
                "compiled C",
                "over NumPy",
                "over the tape",
                "as asked",
            ),
        ],
        fixed_rows(targets, design),
        keys=2,
    )
    return targets.finish()


if __name__ == "__main__":
    sys.exit(main())
