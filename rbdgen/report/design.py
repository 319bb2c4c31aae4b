"""The report and manifest of a design as plain objects for JSON: what it promises, before anything is simulated; what
bounds the rate of its functions; versions and a digest of its arithmetic."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from importlib import metadata
from typing import Any

from rbdgen.compiler import Design, Family, Options
from rbdgen.compiler.depth import LONGEST, ChainDepth
from rbdgen.compiler.design import readable
from rbdgen.functions import registry
from rbdgen.functions.algorithms import chosen_algorithms
from rbdgen.functions.quantities import Quantity
from rbdgen.host.manifest import (
    GENERATOR,
    KEY,
    MANIFEST_SCHEMA,
    identity_of,
    packet_keys,
    stream_keys,
)
from rbdgen.ir.fixed import to_text
from rbdgen.ir.number_formats import Format
from rbdgen.model.robot import Robot
from rbdgen.model.setup import setup_of
from rbdgen.report import engine, pipeline
from rbdgen.report.evidence import formats
from rbdgen.report.host_rate import host_rates

VERSIONED = ("rbdgen", "numpy", "networkx", "amaranth", "pyosys")
"""Packages on whose versions the bytes of a design depend."""


def versions(packages: tuple[str, ...] = VERSIONED) -> dict[str, str | None]:
    """Versions of Python and of packages; None for one that is not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def graph_digest(design: Design) -> str:
    """SHA-256 of the fixed-point graph's text: two reports with the same digest are of the same arithmetic."""
    return hashlib.sha256(to_text(design.fixed).encode()).hexdigest()


PARTS = {"pipeline": pipeline, "engine": engine}
"""What reports say of machines alone, by kind."""


def roofline(design: Design) -> dict[str, Any]:
    """The least interval that multipliers, tables, streams and the board's link, if there is one, allow each function,
    in cycles from task to task, and which of them binds."""
    tasks = design.tasks
    link = design.target.link
    clock = design.machine.device.megahertz
    bounds = {}
    for name in design.network.functions:
        ways = PARTS[design.machine.kind].bounds(design, name)
        if link is not None:
            ways["link"] = link.interval(tasks, name, clock)
        bounds[name] = {
            "task_beats": tasks.task_beats(name),
            "result_beats": tasks.result_beats(name),
            "multiplier_bound": round(ways["multipliers"], 4),
            "memory_bound": round(ways["memory"], 4),
            "stream_bound": readable(ways["streams"]),
            "binds": max(ways, key=lambda way: ways[way]),
        }
        if link is not None:
            bounds[name]["link_bound"] = round(ways["link"], 4)
    found: dict[str, Any] = {
        "task_bits_per_cycle": tasks.task.row_bits,
        "result_bits_per_cycle": tasks.result.row_bits,
        "functions": bounds,
    }
    if link is not None:
        bits = round(link.bits_per_cycle(clock), 4)
        found["link"] = {"name": link.name, "bits_per_cycle": bits}
    return found


SCHEMA = "rbdgen.report/3"
"""Name and version of the report's structure."""


def families_table(families: Sequence[Family], options: Options) -> list[dict[str, Any]]:
    """One row per choice of algorithms: its multiplications or the problem with it, and whether it is the design's."""
    chosen = chosen_algorithms(options)
    rows = []
    for family in families:
        counts = {"variable": family.variable, "constant": family.constant}
        own = {"chosen": family.algorithms == chosen}
        rows.append({**family.algorithms, **counts, **own, "problem": family.problem})
    return rows


def depth_table(depths: Sequence[ChainDepth]) -> list[dict[str, Any]]:
    """One row per algorithm for serial chains: its depth beside that of the one for trees."""
    return [asdict(depth) | {"longest": LONGEST} for depth in depths]


def design_report(design: Design) -> dict[str, Any]:
    """The object that ``--json`` prints and ``report.json`` holds: promises, all modelled, none measured."""
    options, graph = design.options, design.fixed.graph
    replicas = design.tasks.replicas
    used = design.machine.resources(design.tasks).as_dict()
    part = PARTS[design.machine.kind].machine_part(design)
    return {
        "schema": SCHEMA,
        "figures": "promised",
        "robot": design.robot.name,
        "joints": len(design.robot.bodies),
        "name": design.name,
        "machine": design.machine.kind,
        "word": design.word,
        "precision": options.precision_label,
        "formats": formats(design),
        "ii": design.ii,
        "replicas": replicas,
        "device": options.device,
        "clock_mhz": round(design.machine.device.megahertz, 3),
        "multiplier_blocks": used["multipliers"],
        "modelled_resources": used,
        "multiplications": graph.multiplications(),
        "additions": graph.additions(),
        **part,
        "mixed": {"promised_ii_cycles": design.mixed_interval},
        "roofline": roofline(design),
        "host": host_rates(design, design.running_clock),
        "layout": list(design.why),
        "tree": _tree(design.robot),
        "produced": {
            "command": "rbdgen generate --config config.toml",
            "seed": options.seed,
            "algorithms": chosen_algorithms(options),
            "graph_sha256": graph_digest(design),
            "versions": versions(),
        },
    }


def _format(fmt: Format) -> dict[str, int]:
    return {"width": fmt.width, "frac": fmt.frac}


def _unit(robot: Robot, quantity: Quantity) -> str:
    """Unit of a vector's entries: of what joints have for turning and for sliding only that which there is."""
    kinds = {kind for body, _, _ in robot.independent for kind in body.joint.kinds}
    both = quantity.unit.split(", ")
    if quantity.shape not in (("nq",), ("nv",)) or len(both) != 2:
        return quantity.unit
    if kinds == {"angle"}:
        return both[0]
    return both[1] if kinds == {"length"} else quantity.unit


def vector_shapes(design: Design) -> dict[str, Any]:
    """Of every vector and matrix that tasks or results hold: its shape without batch dimensions, whether it is
    symmetric, so that only its lower triangle is transferred, and what its entries must be."""
    vectors = {}
    for name in design.network.options.quantities:
        if name in design.network.operands or name in design.network.results:
            quantity = design.network.options.quantities[name]
            shape = list(quantity.size(design.robot))
            vectors[name] = {
                "shape": shape,
                "symmetric": quantity.symmetric,
                "unit": _unit(design.robot, quantity),
                "whole": quantity.whole,
                "unit_vectors": _unit_vectors(design.robot) if quantity.shape == ("nq",) else [],
            }
    return vectors


def _unit_vectors(robot: Robot) -> list[dict[str, Any]]:
    """The parts of q that are of unit length, by joint."""
    found = []
    for body, part, _ in robot.independent:
        own = range(robot.nq)[part][body.joint.unit_part]
        if own:
            found.append({"joint": body.joint_name, "first": own.start, "size": len(own)})
    return found


def _function_entry(design: Design, name: str) -> dict[str, Any]:
    """The manifest's entry of one function."""
    tasks, network = design.tasks, design.network
    f, record = tasks.functions[name], registry.function(name)
    operands = []
    for w, o in zip(network.operand_words(name), f.operands, strict=True):
        place = {"name": w.name, "vector": w.vector, "index": list(w.index)}
        limits = {"lower": w.lower, "upper": w.upper, "codes": list(o.codes)}
        operands.append(place | limits | _format(o.format))
    results = []
    for w, r in zip(network.result_words(name), f.results, strict=True):
        place = {"name": w.name, "vector": w.vector, "index": list(w.index)}
        results.append(place | _format(r.format))
    entry = {
        "code": design.tasks.functions[name].code,
        "method": record.method,
        "summary": record.summary,
        **packet_keys(tasks, name),
        "latency_cycles": design.promised_latency(name),
        "latency_cycles_steady": design.steady_latency(name),
        "interval_cycles": design.interval(name) * design.evaluations(name),
    }
    if name == network.repeated_name:
        entry |= {
            "integrator": network.options.integrator,
            "time_step": network.options.time_step,
            "evaluations": design.evaluations(name),
            "step_cycles": design.step_cycles(name),
        }
    return entry | {
        "operand_vectors": list(network.options.operand_vectors(name)),
        "result_vectors": list(network.options.returned(name)),
        "operands": operands,
        "results": results,
    }


def _parameter_entries(design: Design) -> list[dict[str, Any]]:
    """The manifest's entries of the parameters that can be loaded, in the order of their numbers."""
    entries = []
    for p, w in zip(design.network.parameters, design.tasks.parameters, strict=True):
        body = design.robot.bodies[p.body]
        place = {"name": p.word.name, "link": body.name, "entry": p.entry}
        if p.frame:
            place["frame"] = p.frame
        limits = {"nominal": p.nominal, "lower": p.word.lower, "upper": p.word.upper}
        entries.append(place | limits | {"codes": list(w.codes)} | _format(w.format))
    return entries


def _payloads(design: Design) -> dict[str, Any]:
    """What payloads add to parameters, of a design that has some."""
    calibration = design.network.calibration
    if calibration is None or not calibration.calibratable:
        return {}
    loaded = {p.word.name for p in design.network.parameters}
    effects = {}
    for link, own in calibration.payloads().items():
        effects[link] = {name: row for name, row in own.items() if name in loaded}
    return {"payloads": effects}


def _movable(design: Design) -> dict[str, Any]:
    """Where links are on which frames can be put elsewhere, of a design that has some."""
    calibration = design.network.calibration
    if calibration is None or not calibration.movable:
        return {}
    found = {}
    for own in calibration.movable:
        place = calibration.frames.link_frames[own.frame.body] @ own.place
        found[own.frame.name] = {
            "link": own.link,
            "origin": [*place.translation],
            "rotation": [[*row] for row in place.rotation],
            "reach": own.reach,
        }
    return {"movable": found}


def _tree(robot: Robot) -> list[dict[str, Any]]:
    """The robot's joints, each with what it carries and is on, and the one that it follows, if it does."""
    rows = []
    for body in robot.bodies:
        parent = robot.base_name if body.parent < 0 else robot.bodies[body.parent].name
        kind = type(body.joint).__name__.lower()
        row = {"joint": body.joint_name, "type": kind, "link": body.name, "parent": parent}
        if body.mimic:
            row["follows"] = body.mimic.joint
        rows.append(row)
    return rows


def _followers(robot: Robot) -> list[dict[str, Any]]:
    """The joints that follow others."""
    found = []
    for body in robot.bodies:
        if body.mimic:
            found.append(
                {"joint": body.joint_name, "follows": body.mimic.joint}
                | {"multiplier": body.mimic.multiplier, "offset": body.mimic.offset}
            )
    return found


def _setup(robot: Robot) -> dict[str, Any]:
    """The robot's setup, as far as that says more than its description."""
    setup = replace(setup_of(robot), gravity=robot.gravity)
    said: dict[str, Any] = {}
    for f in fields(setup):
        value = getattr(setup, f.name)
        if value not in (None, {}, ()):
            said[f.name] = value
    # as it is read back: with lists for tuples
    return json.loads(json.dumps(said))


def manifest(
    design: Design,
    verilog_sha256: str,
    version: str,
    program: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Facts that a host or a bench needs to talk to the accelerator: ports, codes, header, words, formats, declared
    ranges, promised cycles; and its identity. ``program``: the facts of one that is loaded into an engine. Its schema
    says what each key means."""
    tasks = design.tasks
    content = {
        "schema": MANIFEST_SCHEMA,
        GENERATOR: f"rbdgen {version}",
        "name": design.name,
        "robot": design.robot.name,
        "joint_names": [body.joint_name for body, _, _ in design.robot.independent],
        "followers": _followers(design.robot),
        "setup": _setup(design.robot),
        "verilog_sha256": verilog_sha256,
        "vectors": vector_shapes(design),
        "functions": {name: _function_entry(design, name) for name in tasks.functions},
        "parameters": _parameter_entries(design),
        **_payloads(design),
        **_movable(design),
        **stream_keys(tasks),
        "ii_cycles": design.ii,
        "clock_mhz": round(design.machine.device.megahertz, 3),
        "ranges": design.options.ranges,
        **({"program": dict(program)} if program else {}),
    }
    return content | {KEY: identity_of(content).hex()}


def verilog_digest(verilog: str) -> str:
    """SHA-256 of a design's Verilog."""
    return hashlib.sha256(verilog.encode()).hexdigest()


def design_identity(design: Design, verilog: str, version: str) -> bytes:
    """The identity that a shell of ``design`` tells: its manifest's."""
    return bytes.fromhex(manifest(design, verilog_digest(verilog), version)[KEY])
