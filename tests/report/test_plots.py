"""Plots name everything once, however many points there are."""

from __future__ import annotations

import pytest

from rbdgen.report import plots

ROW = {
    "luts": 1000,
    "tasks_per_second": 1e6,
    "latency_us": 2.0,
    "max_relative_error": 1e-3,
    "pareto": True,
    "multiplier_blocks": 10,
}
FUNCTION = {
    "robot": "arm",
    "function": "id",
    "workers": None,
    "batch": None,
    "latency_us": 1.0,
    "task_us": 0.5,
    "implementation": "rbdgen, II 4",
    "cells": {"latency_us": "modelled", "task_us": "modelled"},
}


def names(figure) -> list[str]:
    """What the legend names."""
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize("series", [["all points"] * 3, ["word 12", "word 18", "word 12"]])
def test_a_sweeps_legend_names_each_series_once(series: list[str]) -> None:
    rows = [ROW | {"series": name, "multiplier_blocks": 10 + k} for k, name in enumerate(series)]
    figure = plots.pareto_plot(rows)
    assert names(figure) == list(dict.fromkeys(series))
    assert all(len(ax.get_lines()) == 3 for ax in figure.axes)
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        "rate over look-up tables",
        "latency over look-up tables",
        "rate over multipliers",
        "error over look-up tables",
    ]


def test_a_comparisons_legend_names_each_implementation_once() -> None:
    numpy = {"implementation": "NumPy", "workers": 2, "latency_us": None}
    rows = [
        FUNCTION,
        FUNCTION | {"robot": "leg", "function": "m"},
        FUNCTION | numpy | {"batch": 1024},
        FUNCTION | numpy | {"batch": 1, "latency_us": 9.0, "task_us": 9.0},
    ]
    figure = plots.comparison_plot({"rows": rows})
    assert names(figure) == ["rbdgen, II 4", "NumPy, 2 cores"]
    marks = [len(ax.get_lines()) for ax in figure.axes]
    assert marks == [2, 2, 1, 1]


def test_a_comparisons_marks_say_how_figures_are_known() -> None:
    kinds = ("measured", "modelled", "published")
    rows = [FUNCTION | {"cells": dict.fromkeys(FUNCTION["cells"], kind)} for kind in kinds]
    figure = plots.comparison_plot({"rows": rows})
    for ax in figure.axes:
        assert [line.get_fillstyle() for line in ax.get_lines()] == ["full", "left", "none"]
    assert all(kind in figure.legends[0].get_title().get_text() for kind in kinds)


def test_latencies_over_links_name_each_algorithm() -> None:
    deep = {4: 9, 8: 10, 16: 11}
    both = {"id": {"recursive": {4: 9, 8: 14}, "scan": deep}, "fd": {"cfa": deep}}
    inverse, forward = plots.latency_plot(both).axes
    texts = inverse.get_legend().get_texts()
    assert [text.get_text() for text in texts] == ["recursive", "scan"]
    assert [label.get_text() for label in inverse.get_xticklabels()] == ["4", "8", "16"]
    assert forward.get_title(loc="left") == "fd"
    (line,) = forward.get_lines()
    assert line.get_xydata().tolist() == [[4, 9], [8, 10], [16, 11]]
