"""What a report says of engines alone: lanes, memories, programs, and what these promise of each function."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rbdgen.compiler import Design
from rbdgen.machines.engine.core import intake_cycles
from rbdgen.machines.engine.jobs import PRODUCT
from rbdgen.machines.engine.placing import stored_nodes
from rbdgen.machines.engine.special import ADDRESS_BITS, SINES
from rbdgen.passes.expansions import SineMethod


def function_promises(design: Design, function: str) -> dict[str, Any]:
    """Promises of the program of one function: lanes, and the share of their cycles in which it has products."""
    routine = design.engine.routine(function)
    work, lanes = routine.schedule.work, design.engine.program.core.lanes
    products = sum(slot.kind == PRODUCT for own in work.sums for slot in own.slots)
    return {
        "ii_cycles": design.mean_interval(function),
        "latency_cycles": design.promised_latency(function),
        "latency_cycles_steady": design.steady_latency(function),
        "multipliers": {"variable": design.engine.cores * lanes, "constant": 0},
        "multiplications": products,
        "tables": design.engine.cores,
        "lookups": sum(call.kind == SINES for call in work.calls),
        "multiplier_utilization": round(products / (lanes * routine.interval), 4),
        "program": {
            "words": routine.interval,
            "first_word": design.engine.program.start(function),
            "stages": routine.stages,
            "slots": work.slots,
            "values": routine.allocation.needed,
        },
    }


def bounds(design: Design, function: str) -> dict[str, float]:
    """The least interval that lanes' slots, banks and streams allow a function, in cycles from task to task."""
    routine, core = design.engine.routine(function), design.engine.program.core
    beats = max(intake_cycles(routine.operands), design.tasks.result_beats(function))
    work = routine.schedule.work
    return {
        "streams": float(beats),
        "multipliers": work.slots / core.lanes,
        "memory": len(stored_nodes(work, core.lean)) / core.banks,
    }


def lane_table(design: Design) -> list[dict[str, Any]]:
    """One row per lane: products of a task of each function that it computes, and the share of all programs' cycles in
    which it has any."""
    program = design.engine.program
    rows = []
    for lane in range(program.core.lanes):
        products = 0
        for routine in program.routines.values():
            for own in routine.schedule.work.sums:
                if routine.schedule.placed[own.node].lane == lane:
                    products += sum(slot.kind == PRODUCT for slot in own.slots)
        rows.append(
            {
                "name": f"lane {lane}",
                "submodules": list(program.routines),
                "turns": 1,
                "multiplications": products,
                "multipliers": 1,
                "utilization": round(products / program.depth, 4),
            }
        )
    return rows


def machine_part(design: Design) -> dict[str, Any]:
    """The entries of a report on the machine itself."""
    program = design.engine.program
    core, cores = program.core, design.engine.cores
    functions = {name: function_promises(design, name) for name in design.network.functions}
    busiest = max(own["multiplier_utilization"] for own in functions.values())
    return {
        "multipliers": {"variable": cores * core.lanes, "constant": 0},
        "multiplier_widths": {f"{core.width + 1}×{core.width}": cores * core.lanes},
        "sine": {
            "tables": cores,
            "order": 2,
            "address_bits": ADDRESS_BITS,
            "truncation": SineMethod(2, ADDRESS_BITS).truncation,
        },
        "register_bits": design.machine.resources(design.tasks).registers,
        "fifo_bits": cores * core.width * (core.words + core.results),
        "functions": functions,
        "multiplier_utilization": busiest,
        "submodules": [],
        "units": lane_table(design),
        "fifos": [asdict(f) | {"program": None, "words": 1} for f in design.engine.fifos],
        "engine": {
            "cores": cores,
            "lanes": core.lanes,
            "banks": core.banks,
            "width": core.width,
            "program_words": program.depth,
            "program_depth": core.depth,
            "program_bits": program.layout.bits,
            "constants": len(program.constants.places),
            "values": max(r.allocation.needed for r in program.routines.values()),
            "rotating_words": program.rotating,
            "words": core.words,
        },
    }
