"""Reports of a design, and of a board's bitstream, as text for people: eighty columns, no colours, the same on a
terminal and in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rbdgen.errors import counted
from rbdgen.functions.algorithms import KINDS
from rbdgen.report.columns import WIDTH, paragraph, table
from rbdgen.report.host_rate import host_text
from rbdgen.report.smallest import smallest_text


def build(report: dict[str, Any]) -> str:
    """The report of what a board's tools made of a design."""
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
        clock = missing_tool(report)
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
            used_resources(report),
            table(["function", "interval, cycles", "µs", "latency, cycles", "µs"], times)
            + f"\n(cycles promised by the schedule, at the clock {basis})",
            host_text(report["host"]),
            "\n".join(
                [clock, *tries, *rests_on(report["assumptions"]), *written, *_verified(report)]
            ),
        ]
    )


def used_resources(report: Mapping[str, Any]) -> str:
    """A table of a board's resources, measured or estimated, of a report of what its tools made."""
    estimate = report["estimate"]
    rows = []
    for name, r in (estimate or report)["resources"].items():
        share = f"{r['used'] / r['available']:.1%}" if r["used"] is not None else None
        rows.append([name, r["used"], r["available"], share])
    used = "used" if estimate is None else "estimated"
    text = table(["resource", used, "available", "share"], rows)
    if estimate is None:
        return text
    return f"{text}\n(estimated by {estimate['by']}; {report['missing']} comes to other numbers)"


def missing_tool(report: Mapping[str, Any]) -> str:
    """A line on a bitstream that is not there."""
    advice = f"follow {report['directory']}/README.txt"
    return f"{report['board']}: no bitstream, as {report['missing']} is not on PATH; {advice}"


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


def tree(report: dict[str, Any]) -> str:
    """The robot's links as an indented tree, with the joints that carry them. Where that is too wide, an only child
    stands below its parent without being indented."""
    lines = _tree_lines(report["tree"], False)
    if max(map(len, lines)) <= WIDTH:
        return "\n".join(lines)
    lines = _tree_lines(report["tree"], True)
    return "\n".join([*lines, "(a link right below another is its only child)"])


def _tree_lines(rows: Sequence[dict[str, Any]], flat: bool) -> list[str]:
    """The tree's lines, those of only children not indented if ``flat``."""
    names = {row["link"] for row in rows}
    children: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        children.setdefault(row["parent"], []).append(row)
    lines: list[str] = []
    for root in children:
        # what carries links and is none itself is a base
        if root not in names:
            lines.append(root)
            _walk(children, root, "", flat, lines)
    return lines


def _walk(
    children: Mapping[str, Sequence[dict[str, Any]]],
    parent: str,
    indent: str,
    flat: bool,
    lines: list[str],
) -> None:
    """Add the lines of all that a link carries."""
    below = children.get(parent, ())
    for row in below:
        branch, further = ("└─ ", "   ") if row is below[-1] else ("├─ ", "│  ")
        if flat and len(below) == 1:
            branch = further = ""
        after = f", follows {row['follows']}" if "follows" in row else ""
        joint = f"({row['joint']}, {row['type']}{after})"
        first = f"{indent}{branch}{row['link']}  "
        if len(first) + len(joint) > WIDTH:
            lines.append(first.rstrip())
            first = f"{indent}{further}  "
        lines.append(first + joint)
        _walk(children, row["link"], indent + further, flat, lines)


def robots(rows: Sequence[dict[str, Any]]) -> str:
    """Built-in robots."""
    lines = [[robot["name"], robot["joints"], robot["summary"]] for robot in rows]
    return table(["name", "joints", "what it is"], lines)


def software(report: dict[str, Any]) -> str:
    """Costs of the programs of functions, and the files."""
    names = ("products", "sums", "sines", "divisions", "memory_bytes")
    lines = []
    for name, known in report["functions"].items():
        lines.append([name, known["summary"], *(known[key] for key in names)])
    heads = ["function", "what it is", "products", "sums", "sines", "divisions", "bytes of memory"]
    parts = [table(heads, lines)] if lines else []
    kernels = report.get("kernels", ())
    if kernels:
        heads = [str(key).replace("_", " ") for key in kernels[0]]
        parts.append(f"on {report['architecture']}:")
        parts.append(table(heads, [list(kernel.values()) for kernel in kernels]))
    parts.append("\n".join(f"wrote {file}" for file in report["files"]))
    return "\n\n".join(parts)


def summary(report: dict[str, Any]) -> str:
    """One paragraph on the whole design."""
    lines = [_head(report)]
    lines += _engine_lines(report) if "engine" in report else _pipeline_lines(report)
    return "\n".join(paragraph(line, "  ") for line in lines)


def _head(report: dict[str, Any]) -> str:
    """The line on what it is for."""
    several = ""
    if report["replicas"] > 1:
        several = f", {report['replicas']} accelerators behind one stream"
    return (
        f"{report['name']}: {report['joints']} joints, {report['precision']}, "
        f"{report['device']} at {report['clock_mhz']:g} MHz{several}"
    )


def _modelled(report: dict[str, Any]) -> str:
    """The line on resources."""
    resources = report["modelled_resources"]
    return (
        f"modelled: {resources['luts']} look-up tables, {resources['registers']} registers, "
        f"{resources['memories']} block memories"
    )


def _engine_lines(report: dict[str, Any]) -> list[str]:
    """Lines on an engine and its program."""
    e = report["engine"]
    cores = f"{e['cores']} cores of " if e["cores"] > 1 else ""
    lanes, banks = counted(e["lanes"], "lane"), counted(e["banks"], "bank")
    return [
        f"engine: {cores}{lanes} of {e['width']} bits, {banks} of {e['words']} words "
        f"({report['multiplier_blocks']} device blocks)",
        _modelled(report),
        f"program: {e['program_words']} of {e['program_depth']} words of {e['program_bits']} bits; "
        f"{e['constants']} constants, and at most {e['values']} of {e['rotating_words']} further words of a bank",
    ]


def _pipeline_lines(report: dict[str, Any]) -> list[str]:
    """Lines on a pipeline's multipliers, tables and registers."""
    m, n = report["multipliers"], report["multiplications"]
    sine = report["sine"]
    bypasses = [fifo for fifo in report["fifos"] if fifo["kind"] == "bypass"]
    return [
        f"multipliers: {m['variable']} ({report['multiplier_blocks']} device blocks) for {n['variable']} "
        f"multiplications; of {n['constant']} constant factors {m['constant']} are shifts and adds; "
        f"{report['additions']} additions",
        _modelled(report),
        f"sine and cosine: {counted(sine['tables'], 'table')} of {1 << sine['address_bits']} entries, "
        f"Taylor order {sine['order']}, method error {sine['truncation']:.1e}",
        f"registers: {report['register_bits']} bits; "
        f"bypass FIFOs: {len(bypasses)} with {report['fifo_bits']} bits",
    ]


def functions(report: dict[str, Any], columns: Sequence[tuple[str, str]]) -> str:
    """One row per function with these (key, head) columns."""
    keys = ["function", *(key for key, _ in columns)]
    heads = ["function", *(head for _, head in columns)]
    rows = [{"function": code} | function for code, function in report["functions"].items()]
    return table(heads, _cells(rows, keys))


def _cells(rows: Iterable[Mapping[str, Any]], keys: Sequence[str]) -> list[list[Any]]:
    """Cells of rows for ``keys``."""
    return [list(map(row.__getitem__, keys)) for row in rows]


PROMISES = (
    ("ii_cycles", "interval"),
    ("latency_cycles", "latency"),
    ("latency_cycles_steady", "at full rate"),
    ("multiplier_utilization", "multiplier utilization"),
)


def families(report: dict[str, Any]) -> str:
    """Multiplications by every choice of algorithms, side by side; below, why those of some are not counted."""
    problems = list(dict.fromkeys(f["problem"] for f in report["families"] if f["problem"]))
    rows = [
        [
            *(f[kind] for kind in KINDS),
            f["variable"],
            f["constant"],
            "this design" if f["chosen"] else "",
            f"note {problems.index(f['problem']) + 1}" if f["problem"] else "",
        ]
        for f in report["families"]
    ]
    kinds = [kind.replace("_", " ") for kind in KINDS]
    notes = [
        paragraph(f"note {number}: {problem}", "  ") for number, problem in enumerate(problems, 1)
    ]
    return "\n".join([table([*kinds, "var mult", "const mult", "", ""], rows), *notes])


def depth(report: dict[str, Any]) -> str:
    """Depth of algorithms for serial chains, beside those for trees."""
    rows = []
    for d in report["depth"]:
        longer = f"{d['pays_from']} links" if d["pays_from"] else f"more than {d['longest']} links"
        joined = [d["levels"], d["at_once"]]
        cycles = [d["cycles"], f"{d['usual_cycles']} ({d['usual']})"]
        rows.append([d["algorithm"], d["function"], *joined, *cycles, longer])
    head = ["algorithm", "function", "levels", "links at once"]
    head += ["cycles", "for trees", "sooner from"]
    note = "(cycles without formats or waiting; chains of other lengths are made of this robot's links)"
    return table(head, rows) + "\n" + paragraph(note)


def evidence(report: dict[str, Any]) -> str:
    """Errors at fresh states: measured, asked for, and in single precision."""
    found, rows = report["evidence"], []
    for code, f in found["functions"].items():
        for vector, e in f["outputs"].items():
            asked = e["target"]
            if not isinstance(asked, str):
                asked = "–" if asked is None else f"{asked:.1e}"
            if e["targets"] > 1:
                # more for some entries
                asked += " or more"
            errors = [f"{e[key]:.2e}" for key in ("max_relative", "rms_relative", "max")]
            single = f"{e['single_precision']['max_relative']:.2e}"
            # where the table is too wide, lines end between a row and a column
            entry = e["worst"]["label"].replace(".", ", ")
            flagged = sum(f["flagged"].values())
            share = "–" if e["target"] is None else f"{e['target_share']:.0%}"
            rows.append([code, vector, asked, share, *errors, single, entry, flagged])
    head = [
        "function",
        "output",
        "asked",
        "of that",
        "max error",
        "rms",
        "absolute",
        "in float32",
        "worst entry",
        "flagged",
    ]
    note = "(relative to the entry's own largest magnitude among states of its kind, motions or free torques, at "
    note += (
        f"{found['states']} fresh states, seed {found['seed']}; flagged tasks count in no error)"
    )
    return table(head, rows) + "\n" + paragraph(note)


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
    """The layout: tree, submodules, totals, promises, the families of algorithms if they were compared, and how deep
    those for serial chains are."""
    parts = [tree(report), programs(report) if "engine" in report else submodules(report)]
    if report["ii"] > 1 and "engine" not in report:
        parts.append(units(report))
    parts.append(summary(report))
    if report["layout"]:
        reasons = [paragraph(f"  {line}", "    ") for line in report["layout"]]
        parts.append("\n".join(["layout:", *reasons]))
    if "smallest" in report:
        parts.append(smallest_text(report["smallest"]))
    note = "(cycles promised by the schedule; 'rbdgen simulate' measures them)"
    parts.append(functions(report, PROMISES) + "\n" + paragraph(note))
    interval = report["mixed"]["promised_ii_cycles"]
    if interval is not None:
        parts.append(f"all functions equally often, in a random order: {interval:g} cycles a task")
    parts.append(host_text(report["host"]))
    if "evidence" in report:
        parts.append(evidence(report))
    if report.get("narrower"):
        parts.append(narrower(report["narrower"]))
    if "families" in report:
        parts.append(families(report))
    if report.get("depth"):
        parts.append(depth(report))
    return "\n\n".join(parts)


def programs(report: dict[str, Any]) -> str:
    """The programs of an engine: their words, slots of lanes, and values in a bank at once."""
    rows = []
    for code, f in report["functions"].items():
        own = f["program"]
        counts = [own[key] for key in ("first_word", "words", "slots", "stages", "values")]
        rows.append([code, f["multiplications"], *counts])
    heads = ["function", "products", "first word", "words", "slots", "tasks at once"]
    return table([*heads, "words of a bank"], rows)


def submodules(report: dict[str, Any]) -> str:
    """The submodules of a pipeline."""
    columns = (
        ("name", "submodule"),
        ("variable_multiplications", "var mult"),
        ("constant_multiplications", "const mult"),
        ("additions", "adds"),
        ("multipliers", "multipliers"),
        ("first_cycle", "first cycle"),
        ("last_cycle", "last cycle"),
    )
    heads = [head for _, head in columns]
    rows = _cells(report["submodules"], [key for key, _ in columns])
    return table(heads, rows)


def narrower(found: dict[str, Any]) -> str:
    """Bits that narrower ranges would save."""
    now = found["instead_of"]
    return paragraph(
        f"ranges: with --ranges {found['ranges']}, for the torques of declared motions only, beyond which tasks are "
        f"flagged, about {found['multiplier_blocks']} multiplier blocks in place of {now['multiplier_blocks']}, and "
        f"{found['signal_bits_mean']:g} bits a signal in place of {now['signal_bits_mean']:g}",
        "  ",
    )


def _mixed(mixed: dict[str, Any]) -> list[list[Any]]:
    """Rows on the tasks of all functions in a random order at full rate, where there were any."""
    if "ii_cycles" not in mixed:
        return []
    return [
        ["all", "tasks in a random order at full rate", mixed["tasks"]],
        ["all", "interval promised for such tasks, cycles", mixed["promised_ii_cycles"]],
        ["all", "interval promised for this order, cycles", mixed["promised_ii_cycles_of_order"]],
        ["all", "interval, cycles", mixed["ii_cycles"]],
    ]


def simulation(report: dict[str, Any]) -> str:
    """Measurements of a simulation."""
    rows = []
    for code, f in report["functions"].items():
        rows += [
            [
                code,
                "tasks: alone, and mixed with all others under random stalls",
                f"{f['tasks']} + {f['tasks_mixed']}",
            ],
            [code, "mismatches against the integer model", f["mismatches"]],
            [code, "tasks flagged", f["overflows"]],
            [code, "latency, cycles (a lone task)", f["latency_cycles"]],
            [code, "latency, cycles (median at full rate)", f"{f['latency_cycles_steady']:g}"],
        ]
        if "latency_cycles_mixed" in f:
            median, most = f["latency_cycles_mixed"], f["latency_cycles_mixed_most"]
            rows += [
                [code, "latency, cycles (median among all at full rate)", f"{median:g}"],
                [code, "latency, cycles (longest among all at full rate)", most],
            ]
        rows += [
            [code, "interval, cycles (steady)", f["ii_cycles"]],
            [
                code,
                "latency, µs at the model's clock",
                f"{f['latency_cycles'] / report['clock_mhz']:.3f}",
            ],
            [
                code,
                "largest error of an entry / its largest value",
                f"{f['max_relative_error']:.2e}",
            ],
            [code, "rms error of entries / their largest values", f"{f['rms_relative_error']:.2e}"],
            [code, "multiplier utilization", f["multiplier_utilization"]],
        ]
    rows += _mixed(report["mixed"])
    timing = f"{report['simulator']}: built in {report['build_seconds']} s, ran in {report['run_seconds']} s"
    parts = [summary(report), table(["function", "measured in RTL simulation", "value"], rows)]
    if report["fifos"]:
        fifos = _cells(report["fifos"], ["name", "depth", "high_water"])
        parts.append(table(["FIFO", "depth", "high-water mark"], fifos))
    return "\n\n".join([*parts, host_text(report["host"]), timing])
