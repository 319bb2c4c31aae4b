"""Reciprocals over every argument of an 18-bit word: the stated error, and the flag for what has none."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen import ConfigError
from rbdgen.ir.builder import Builder
from rbdgen.ir.interpret import evaluate_fixed
from rbdgen.passes.expansions import reciprocal_method
from rbdgen.passes.pipeline import lower

LARGEST = 4.0


def reciprocal(word: int, smallest: float):
    """The fixed-point graph of 1 / x for x in [``smallest``, ``LARGEST``)."""
    builder = Builder("Mf")
    graph = builder.graph({"y": builder.make("reciprocal", (builder.input("x"),))})
    samples = np.geomspace(smallest, LARGEST * 0.999, 4096)
    return lower(graph, {"x": samples}, {"x": LARGEST * 0.999}, word)


def test_every_argument_of_18_bits() -> None:
    """The error stays below one and a quarter of the result's last place."""
    fixed = reciprocal(18, 0.5)
    fmt, result = fixed.formats[fixed.graph.inputs["x"]], fixed.formats[fixed.graph.outputs["y"]]
    raw = np.arange(int(fmt.quantise(0.5)), fmt.maximum + 1)
    got = evaluate_fixed(fixed, {"x": raw})
    exact = 1.0 / fmt.real(raw)
    assert not got.overflow.any()
    assert np.max(np.abs(result.real(got.outputs["y"]) - exact)) <= 1.25 * result.resolution


@pytest.mark.parametrize("word", [12, 18, 24, 27, 32])
def test_methods_keep_their_promise(word: int) -> None:
    fixed = reciprocal(word, 0.5)
    fmt, result = fixed.formats[fixed.graph.inputs["x"]], fixed.formats[fixed.graph.outputs["y"]]
    raw = np.unique(np.linspace(int(fmt.quantise(0.5)), fmt.maximum, 20001).astype(np.int64))
    exact = 1.0 / fmt.real(raw)
    error = np.abs(result.real(evaluate_fixed(fixed, {"x": raw}).outputs["y"]) - exact)
    assert np.max(error) <= 2.0 * result.resolution
    assert reciprocal_method(word).truncation <= 2.0 ** (-word - 1)


def test_what_has_no_reciprocal_raises_the_flag() -> None:
    fixed = reciprocal(18, 0.5)
    fmt = fixed.formats[fixed.graph.inputs["x"]]
    raw = np.array([-5, 0, 1, int(fmt.quantise(0.1)), int(fmt.quantise(0.6)), fmt.maximum])
    assert evaluate_fixed(fixed, {"x": raw}).overflow.tolist() == [
        True,
        True,
        True,
        True,
        False,
        False,
    ]


def test_constants_need_no_hardware() -> None:
    builder = Builder("Mf")
    graph = builder.graph({"y": builder.make("reciprocal", (builder.const(4.0),))})
    assert [n.attr for _, n in graph if n.op == "const"] == [0.25]


def test_words_beyond_the_tables_are_refused() -> None:
    with pytest.raises(
        ConfigError,
        match=r"^word: reciprocals of 40 bits need a finer table than supported; use at",
    ):
        reciprocal_method(40)
