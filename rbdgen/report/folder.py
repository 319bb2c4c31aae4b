"""A build's folder, read: its report, its simulation if there is one, its configuration; refused if broken or older.

Not for the build's hardware: the host driver reads the manifest (:mod:`rbdgen.host.manifest`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbdgen.errors import ConfigError
from rbdgen.report.design import SCHEMA
from rbdgen.report.files import (
    BUILD_FILE,
    CONFIG_FILE,
    LAYOUT_FILE,
    REPORT_FILE,
    SIMULATION_FILE,
    TIMING_FILE,
)

_NUMBER = (int, float)
_PROMISE = {
    "ii_cycles": _NUMBER,
    "latency_cycles": _NUMBER,
    "latency_cycles_steady": (*_NUMBER, type(None)),
    "multipliers": {"variable": int, "constant": int},
    "multiplications": int,
    "multiplier_utilization": _NUMBER,
}
_MEASURED = _PROMISE | {
    "tasks": int,
    "tasks_mixed": int,
    "mismatches": int,
    "overflows": int,
    "max_relative_error": _NUMBER,
    "rms_relative_error": _NUMBER,
    "errors": {"*": {"max": list, "rms": list}},
}
_BOUNDS = {
    "multiplier_bound": _NUMBER,
    "memory_bound": _NUMBER,
    "stream_bound": _NUMBER,
    "binds": str,
    "task_beats": int,
    "result_beats": int,
}
REPORT_SHAPE: dict[str, Any] = {
    "robot": str,
    "joints": int,
    "name": str,
    "word": int,
    "precision": str,
    "ii": int,
    "device": str,
    "clock_mhz": _NUMBER,
    "multipliers": {"variable": int, "constant": int},
    "multiplier_blocks": int,
    "multiplier_widths": {"*": int},
    "modelled_resources": {"luts": int, "registers": int, "multipliers": int, "memories": int},
    "multiplications": {"variable": int, "constant": int},
    "additions": int,
    "sine": {"tables": int, "order": int, "address_bits": int, "truncation": _NUMBER},
    "register_bits": int,
    "fifo_bits": int,
    "functions": {"*": _PROMISE},
    "mixed": {"promised_ii_cycles": (*_NUMBER, type(None))},
    "roofline": {
        "functions": {"*": _BOUNDS},
        "task_bits_per_cycle": int,
        "result_bits_per_cycle": int,
    },
    "submodules": [
        {"name": str, "kind": str, "multipliers": int, "first_cycle": int, "last_cycle": int}
    ],
    "units": [
        {
            "name": str,
            "submodules": list,
            "turns": int,
            "multiplications": int,
            "multipliers": int,
            "utilization": (*_NUMBER, type(None)),
        }
    ],
    "layout": [str],
    "formats": {"signal_bits": {"least": int, "mean": _NUMBER, "most": int}},
    "fifos": [{"name": str, "kind": str, "source": str, "sink": str, "words": int, "depth": int}],
    "tree": [{"joint": str, "type": str, "link": str, "parent": str}],
    "produced": {
        "command": str,
        "seed": int,
        "algorithms": {"*": str},
        "graph_sha256": str,
        "versions": {"*": (str, type(None))},
    },
}
"""What a report must hold; ``"*"`` stands for any key."""
_SIMULATION = REPORT_SHAPE | {
    "functions": {"*": _MEASURED},
    "simulator": str,
    "seed": int,
    "build_seconds": _NUMBER,
    "run_seconds": _NUMBER,
    "simulated": {"command": str, "versions": {"*": (str, type(None))}},
}

_ROUTED = REPORT_SHAPE | {
    "board": str,
    "running_clock_mhz": _NUMBER,
    "timing_met": (bool, type(None)),
    "microseconds": {"*": {"interval": _NUMBER, "latency": _NUMBER}},
    "resources": {"*": {"used": (int, type(None)), "available": int}},
}


@dataclass(frozen=True)
class Build:
    """What a folder holds: the ``report`` of promises, the ``simulation``'s report (None: none of this design),
    ``routed``, the report of place and route (None: none), and ``config``, the text of the configuration (empty: none).
    ``pictures`` are texts of SVGs by file name, empty where there is none; ``notes`` say what was left out, and why.
    """

    directory: Path
    report: dict[str, Any]
    simulation: dict[str, Any] | None
    routed: dict[str, Any] | None
    config: str
    pictures: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def figures(self) -> dict[str, Any]:
        """The simulation's report where there is one, else the promises."""
        return self.simulation or self.report


def read_build(directory: Path) -> Build:
    """Read a build's folder; ConfigError naming the file, what is wrong with it, and what would help."""
    if not directory.is_dir():
        raise ConfigError(
            f"{directory}: no such directory; give one that 'rbdgen generate' or 'rbdgen simulate' wrote"
        )
    if not (directory / REPORT_FILE).is_file():
        raise ConfigError(
            f"{directory}: not a build: holds no {REPORT_FILE}; give a directory that 'rbdgen generate' wrote"
        )
    report, notes, found = _read(directory / REPORT_FILE, REPORT_SHAPE), [], {}
    for name, shape, remedy in (
        (SIMULATION_FILE, _SIMULATION, "simulate"),
        (BUILD_FILE, _ROUTED, "build"),
    ):
        if (directory / name).is_file():
            content = _read(directory / name, shape)
            if _identity(content) == _identity(report):
                found[name] = content
            else:
                notes.append(
                    f"{name} is of another design than {REPORT_FILE}, and left out; {remedy} again"
                )
    texts = {name: _text(directory / name) for name in (CONFIG_FILE, LAYOUT_FILE, TIMING_FILE)}
    notes += [
        f"{name} is missing; generate again"
        for name in (LAYOUT_FILE, TIMING_FILE)
        if not texts[name]
    ]
    return Build(
        directory,
        report,
        found.get(SIMULATION_FILE),
        found.get(BUILD_FILE),
        texts.pop(CONFIG_FILE),
        texts,
        tuple(notes),
    )


def _text(path: Path) -> str:
    """A file's text; empty if there is none."""
    try:
        return path.read_text(encoding="utf-8") if path.is_file() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None


def _identity(report: Mapping[str, Any]) -> tuple[Any, ...]:
    """What tells designs apart."""
    return (
        *(report[key] for key in ("name", "word", "ii", "device")),
        report["produced"]["graph_sha256"],
    )


def _read(path: Path, shape: Mapping[str, Any]) -> dict[str, Any]:
    again = "write it anew with 'rbdgen generate' or 'rbdgen simulate'"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: broken: {error}; {again}") from None
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema != SCHEMA:
        raise ConfigError(f"{path}: {_version_complaint(schema)}; {again}")
    _check(content, shape, "", path, again)
    return content


def _version_complaint(schema: object) -> str:
    """How a schema differs from the one that is read."""
    name, _, wanted = SCHEMA.partition("/")
    found = re.fullmatch(rf"{re.escape(name)}/(\d+)", schema) if isinstance(schema, str) else None
    if not found:
        return f"schema must be {SCHEMA!r}, not {schema!r}"
    age = "an older" if int(found[1]) < int(wanted) else "a newer"
    return f"of {age} version, {schema!r}, where this rbdgen reads {SCHEMA!r}"


def _check(value: Any, shape: Any, where: str, path: Path, again: str) -> None:
    """ConfigError unless ``value`` has the keys and types of ``shape``; ``where`` in the file, as keys with dots."""
    if isinstance(shape, dict):
        _check_kind(value, dict, "an object", where, path, again)
        for key, inner in shape.items():
            _check_key(value, key, inner, where, path, again)
    elif isinstance(shape, list):
        _check_kind(value, list, "a list", where, path, again)
        for k, item in enumerate(value):
            _check(item, shape[0], f"{where}[{k}]", path, again)
    else:
        kinds = shape if isinstance(shape, tuple) else (shape,)
        # a bool is an int in Python, not in a report
        wrong_bool = isinstance(value, bool) and bool not in kinds
        if wrong_bool or not isinstance(value, kinds):
            wanted = " or ".join(kind.__name__ for kind in kinds)
            raise ConfigError(f"{path}: broken: {where} must be {wanted}, not {value!r}; {again}")


def _check_kind(value: Any, kind: type, name: str, where: str, path: Path, again: str) -> None:
    if not isinstance(value, kind):
        raise ConfigError(f"{path}: broken: {where or 'it'} must be {name}; {again}")


def _check_key(
    value: dict[str, Any], key: str, shape: Any, where: str, path: Path, again: str
) -> None:
    """ConfigError unless ``value`` has what ``shape`` says for ``key``; ``*`` stands for every key."""
    dotted = f"{where}.{key}".lstrip(".")
    if key == "*":
        for name, inner in value.items():
            _check(inner, shape, f"{where}.{name}", path, again)
    elif key in value:
        _check(value[key], shape, dotted, path, again)
    else:
        raise ConfigError(f"{path}: broken: lacks {dotted}; {again}")
