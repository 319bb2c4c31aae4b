"""The report of a board's bitstream as text for people."""

from __future__ import annotations

from typing import Any

from rbdgen.report.columns import table
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
            "\n".join([clock, *tries, *written]),
        ]
    )
