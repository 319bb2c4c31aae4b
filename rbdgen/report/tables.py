"""Reports as text for people: aligned columns, no colours, the same on a terminal and in a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns under their heads; numbers to the right."""
    cells = [list(map(str, head)), *([("–" if c is None else str(c)) for c in row] for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
    numeric = [bool(rows) and all(isinstance(row[k], (int, float)) for row in rows) for k in range(len(head))]
    lines = [
        "  ".join(
            c.rjust(w) if right else c.ljust(w) for c, w, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "\n".join(lines)


def tree(report: dict[str, Any]) -> str:
    """The robot's links as an indented tree, with the joints that carry them."""
    rows = report["tree"]
    names = {row["link"] for row in rows}
    lines: list[str] = []

    def walk(parent: str, indent: str) -> None:
        children = [row for row in rows if row["parent"] == parent]
        for k, row in enumerate(children):
            last = k == len(children) - 1
            lines.append(f"{indent}{'└─ ' if last else '├─ '}{row['link']}  ({row['joint']}, {row['type']})")
            walk(row["link"], indent + ("   " if last else "│  "))

    for root in dict.fromkeys(row["parent"] for row in rows if row["parent"] not in names):
        lines.append(root)
        walk(root, "")
    return "\n".join(lines)


def robots(rows: Sequence[dict[str, Any]]) -> str:
    """Built-in robots."""
    return table(["name", "joints", "what it is"], [[r["name"], r["joints"], r["summary"]] for r in rows])


def summary(report: dict[str, Any]) -> str:
    """One paragraph on the whole design."""
    m, n = report["multipliers"], report["multiplications"]
    sine, resources = report["sine"], report["modelled_resources"]
    return "\n".join(
        [
            f"{report['name']}: {report['joints']} joints, {report['word']}-bit words, "
            f"{report['device']} at {report['clock_mhz']:g} MHz",
            f"multipliers: {m['variable']} ({report['multiplier_blocks']} device blocks) for {n['variable']} "
            f"multiplications; of {n['constant']} constant factors {m['constant']} are shifts and adds; "
            f"{report['additions']} additions",
            f"modelled: {resources['luts']} look-up tables, {resources['registers']} registers, "
            f"{resources['memories']} block memories",
            f"sine and cosine: {sine['tables']} table(s) of {1 << sine['address_bits']} entries, "
            f"Taylor order {sine['order']}, method error {sine['truncation']:.1e}",
            f"registers: {report['register_bits']} bits; "
            f"bypass FIFOs: {sum(f['kind'] == 'bypass' for f in report['fifos'])} with {report['fifo_bits']} bits",
        ]
    )


def functions(report: dict[str, Any], columns: Sequence[tuple[str, str]]) -> str:
    """One row per function with these (key, head) columns."""
    rows = [[code, *(f[key] for key, _ in columns)] for code, f in report["functions"].items()]
    return table(["function", *(head for _, head in columns)], rows)


PROMISES = (
    ("ii_cycles", "interval"),
    ("latency_cycles", "latency"),
    ("multiplier_utilization", "multiplier utilization"),
)


def families(report: dict[str, Any]) -> str:
    """Multiplications by every choice of algorithms, side by side."""
    rows = [
        [f["derivative"], f["mass_matrix"], f["variable"], f["constant"], "this design" if f["chosen"] else ""]
        for f in report["families"]
    ]
    return table(["derivative", "mass matrix", "var mult", "const mult", ""], rows)


def evidence(report: dict[str, Any]) -> str:
    """Errors at fresh states: measured, asked for, and in single precision."""
    found, rows = report["evidence"], []
    for code, f in found["functions"].items():
        for vector, e in f["outputs"].items():
            asked = "–" if e["target"] is None else f"{e['target']:.1e}"
            errors = [f"{x:.2e}" for x in (e["max_relative"], e["rms_relative"], e["max"])]
            single, entry = f"{e['single_precision']['max_relative']:.2e}", ",".join(map(str, e["worst"]["entry"]))
            rows.append([code, vector, asked, *errors, single, entry, sum(f["flagged"].values())])
    head = ["function", "output", "asked", "max error", "rms", "absolute", "in float32", "worst entry", "flagged"]
    note = f"(relative to each output's largest magnitude, at {found['states']} fresh states, seed {found['seed']}; "
    return table(head, rows) + "\n" + note + "flagged tasks count in no error)"


def units(report: dict[str, Any]) -> str:
    """Units with multipliers: what they execute, and how well they are used."""
    rows = [
        [
            u["name"],
            len(u["submodules"]),
            u["turns"],
            u["multiplications"],
            u["multipliers"],
            f"{u['utilization']:.0%}",
        ]
        for u in report["units"]
        if u["multipliers"]
    ]
    return table(["unit", "submodules", "turns", "var mult", "multipliers", "used"], rows)


def layout(report: dict[str, Any]) -> str:
    """The layout: tree, submodules, totals, promises, and the families of algorithms if they were compared."""
    keys = (
        ("name", "submodule"),
        ("variable_multiplications", "var mult"),
        ("constant_multiplications", "const mult"),
        ("additions", "adds"),
        ("multipliers", "multipliers"),
        ("first_cycle", "first cycle"),
        ("last_cycle", "last cycle"),
    )
    rows = [[row[key] for key, _ in keys] for row in report["submodules"]]
    return "\n\n".join(
        [
            tree(report),
            table([head for _, head in keys], rows),
            *([units(report)] if report["ii"] > 1 else []),
            summary(report),
            *(["\n".join(["layout:", *(f"  {line}" for line in report["layout"])])] if report["layout"] else []),
            functions(report, PROMISES) + "\n(cycles promised by the schedule; 'rbdgen simulate' measures them)",
            *([evidence(report)] if "evidence" in report else []),
            *([families(report)] if "families" in report else []),
        ]
    )


def simulation(report: dict[str, Any]) -> str:
    """What a simulation measured."""
    rows = []
    for code, f in report["functions"].items():
        rows += [
            [code, "tasks: alone, and mixed with all others under random stalls", f"{f['tasks']} + {f['tasks_mixed']}"],
            [code, "mismatches against the integer model", f["mismatches"]],
            [code, "tasks flagged", f["overflows"]],
            [code, "latency, cycles (a lone task)", f["latency_cycles"]],
            [code, "latency, cycles (median at full rate)", f"{f['latency_cycles_steady']:g}"],
            [code, "interval, cycles (steady)", f["ii_cycles"]],
            [code, "latency, µs at the model's clock", f"{f['latency_cycles'] / report['clock_mhz']:.3f}"],
            [code, "largest error / largest output", f"{f['max_relative_error']:.2e}"],
            [code, "rms error / largest output", f"{f['rms_relative_error']:.2e}"],
            [code, "multiplier utilization", f["multiplier_utilization"]],
        ]
    timing = f"{report['simulator']}: built in {report['build_seconds']} s, ran in {report['run_seconds']} s"
    fifos = [[f["name"], f["depth"], f["high_water"]] for f in report["fifos"]]
    return "\n\n".join(
        [
            summary(report),
            table(["function", "measured in RTL simulation", "value"], rows),
            table(["FIFO", "depth", "high-water mark"], fifos),
            timing,
        ]
    )
