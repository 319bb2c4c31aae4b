"""The report of a board's bitstream as text for people."""

from __future__ import annotations

from typing import Any

from rbdgen.report.columns import table
from rbdgen.report.host_rate import host_text
from rbdgen.report.tables import summary


def build(report: dict[str, Any]) -> str:
    """What a board's tools made of a design."""
    resources = [
        [
            name,
            r["used"],
            r["available"],
            f"{r['used'] / r['available']:.1%}" if r["used"] is not None else None,
        ]
        for name, r in report["resources"].items()
    ]
    times = [
        [
            name,
            report["functions"][name]["ii_cycles"],
            t["interval"],
            report["functions"][name]["latency_cycles"],
            t["latency"],
        ]
        for name, t in report["microseconds"].items()
    ]
    if report["bitstream"] is None:
        advice = f"follow {report['directory']}/README.txt"
        clock = f"{report['board']}: no bitstream, as {report['missing']} is not on PATH; {advice}"
        written: list[str] = []
    else:
        clock = (
            f"{report['board']}: routed at {report['clock_mhz']} MHz, runs at {report['running_clock_mhz']:g} MHz"
            + ("" if report["timing_met"] else ": TIMING NOT MET, do not use this bitstream")
        )
        written = [
            f"wrote {report['bitstream']}" + (" (from the cache)" if report["cached"] else "")
        ]
    if station := report["station"]:
        written.append(
            f"on the network: {station['address']}, UDP port {station['port']}, MAC {station['mac']}"
        )
    written += [
        f"{port}: routed at {c['reached_mhz']} MHz, needs {c['required_mhz']:g} MHz"
        for port, c in report["clocks"].items()
    ]
    tries = []
    for a in report["attempts"]:
        which = f" of {a['clock']}" if "clock" in a else ""
        tries.append(
            f"tried {a['aimed_mhz']:g} MHz{which} before with a pipeline for {a['pipeline_mhz']:g} MHz, reached "
            f"{a['reached_mhz']} MHz"
        )
    basis = "that routing reached" if report["bitstream"] else "asked for"
    return "\n\n".join(
        [
            summary(report),
            table(["resource", "used", "available", "share"], resources),
            table(["function", "interval, cycles", "µs", "latency, cycles", "µs"], times)
            + f"\n(cycles promised by the schedule, at the clock {basis})",
            host_text(report["host"]),
            "\n".join(
                [clock, *tries, *rests_on(report["assumptions"]), *written, *_verified(report)]
            ),
        ]
    )


def rests_on(assumptions: list[dict[str, Any]]) -> list[str]:
    """A line on what a clock rests on that no tool times, if it does on anything."""
    phrases = []
    for stated in assumptions:
        counted = ""
        if stated["registers"] is not None:
            counted = f" ({stated['registers']} registers, {stated['slowest_ns']:.2f} ns)"
        phrases.append(stated["subject"] + counted)
    if not phrases:
        return []
    return [f"not timed by any tool, but assumed: {', '.join(phrases)} (assumptions in build.json)"]


def _verified(report: dict[str, Any]) -> list[str]:
    """A line on netlists that were simulated, if they were."""
    netlists = report.get("verified", {}).get("netlist")
    if netlists is None:
        return []
    synthesised, routed = netlists["synthesis"], netlists["routed"]
    differ = synthesised["mismatches"] + routed["mismatches"]
    return [
        f"netlists simulated: {synthesised['tasks']} tasks after synthesis, {routed['tasks']} after place and route, "
        f"{differ} results differ ({netlists['seconds']:g} s)"
    ]
