"""A testbench in SystemVerilog that needs nothing but a simulator: its text and its vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template

from rbdgen.compiler import Design
from rbdgen.protocol.tasks import CALIBRATE, FLAG_BITS, FUNCTION_BITS, TAG_BITS
from rbdgen_hw.testbench.vectors import LOAD, RATED, Exchange, Vectors, by_code, make_vectors

TEMPLATE = Path(__file__).parent / "bench.sv"
"""The bench but for what is this design's."""
PATIENCE = 20_000
"""Cycles without a beat until the bench gives up, beyond what the slowest task takes."""


class _Template(Template):
    """Text with places such as ``@@{name}``; ``$`` is SystemVerilog's."""

    delimiter = "@@"


def testbench_files(design: Design, count: int, seed: int = 0) -> dict[str, str]:
    """The bench's files by name: ``<name>_tb.sv``, and its vectors as hexadecimal text, of ``count`` mixed tasks beside
    those that measure latencies and intervals. The same bytes for the same ``design``, ``count`` and ``seed``."""
    vectors = make_vectors(design, count, seed)
    name = f"{design.name}_tb"
    tasks, results = design.tasks.task, design.tasks.result
    numbered = list(enumerate(vectors.exchanges))
    sent = [(number, e, e.task) for number, e in numbered]
    expected = []
    for code in by_code(vectors.exchanges):
        expected += [(number, e, e.result) for number, e in numbered if e.code == code]
    return {
        f"{name}.sv": _bench(design, vectors),
        f"{name}_tasks.hex": _hexadecimal(sent, tasks.beat_bits),
        f"{name}_results.hex": _hexadecimal(expected, results.beat_bits),
    }


def _hexadecimal(packets: Iterable[tuple[int, Exchange, tuple[int, ...]]], bits: int) -> str:
    """Text for ``$readmemh`` of packets of beats of so many ``bits``; a comment behind each packet's first beat says
    which task it is of."""
    digits = -(-bits // 4)
    lines = []
    for number, exchange, beats in packets:
        first, *others = [f"{beat:0{digits}x}" for beat in beats]
        lines.append(f"{first} // {exchange.name}, task {number}")
        lines += others
    return "\n".join(lines) + "\n"


def _cases(values: Mapping[int, object], function: str) -> str:
    """The lines of a case statement that assigns to ``function``."""
    return "\n".join(f"      {key}: {function} = {value};" for key, value in values.items())


def _bench(design: Design, vectors: Vectors) -> str:
    """The bench's text."""
    tasks = design.tasks
    codes = {name: f.code for name, f in tasks.functions.items()}
    task_beats = {codes[name]: tasks.task_beats(name) for name in codes}
    result_beats = {codes[name]: tasks.result_beats(name) for name in codes}
    names = {code: f'"{name}"' for name, code in codes.items()}
    also = ""
    if tasks.parameters:
        task_beats[CALIBRATE] = tasks.task.beats(2)
        names[CALIBRATE] = f'"{LOAD}"'
        also = ", then with another robot's parameters"
    results_from, expected = {}, 0
    for code, exchanges in by_code(vectors.exchanges).items():
        results_from[code] = expected
        expected += sum(len(e.result) for e in exchanges)
    latencies = {}
    for number, lone in enumerate(vectors.lone):
        further = (lone.steps - 1) * design.step_cycles(lone.function)
        latencies[number] = design.promised_latency(lone.function) + further
    functions = list(enumerate(design.network.functions))
    intervals = {k: design.interval(f) * design.evaluations(f) for k, f in functions}
    numbered = list(enumerate(vectors.lone))
    return _Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        name=design.name,
        also=also,
        task_bits=tasks.task.beat_bits,
        result_bits=tasks.result.beat_bits,
        function_bits=FUNCTION_BITS,
        tag_bits=TAG_BITS,
        flag_bits=FLAG_BITS,
        sent=sum(len(e.task) for e in vectors.exchanges),
        expected=expected,
        lone=len(vectors.alone),
        rated=RATED,
        mixed_from=len(vectors.alone) + len(vectors.rated),
        tasks=len(vectors.exchanges),
        patience=PATIENCE + 10 * max(latencies.values()),
        task_beats=_cases(task_beats, "task_beats"),
        result_beats=_cases(result_beats, "result_beats"),
        results_from=_cases(results_from, "results_from"),
        names=_cases(names, "name_of"),
        lone_codes=_cases({k: codes[one.function] for k, one in numbered}, "lone_code"),
        lone_steps=_cases({k: one.steps for k, one in numbered}, "lone_steps"),
        latencies=_cases(latencies, "promised_latency"),
        rated_codes=_cases({k: codes[f] for k, f in functions}, "rated_code"),
        intervals=_cases(intervals, "promised_interval"),
    )


__all__ = ["testbench_files"]
