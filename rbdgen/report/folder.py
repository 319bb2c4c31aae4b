"""A build's folder, read: its report, its simulation if there is one, its configuration; refused if broken or older.

Not for the build's hardware: the host driver reads the manifest (:mod:`rbdgen.host.manifest`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbdgen.errors import ConfigError, short
from rbdgen.report.design import SCHEMA
from rbdgen.report.files import (
    BUILD_FILE,
    CONFIG_FILE,
    LAYOUT_FILE,
    REPORT_FILE,
    SIMULATION_FILE,
    TIMING_FILE,
)
from rbdgen.schema.json_files import check, read_json, version_complaint

AGAIN = "write it anew with 'rbdgen generate', 'rbdgen simulate' or 'rbdgen build'"
REPORT = "report"
SCHEMAS = {REPORT_FILE: REPORT, SIMULATION_FILE: "simulation", BUILD_FILE: "build"}
"""Of each file, the schema of what it has; all of them have a report's keys besides."""


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
    report, notes, found = _read(directory / REPORT_FILE), [], {}
    for name, remedy in ((SIMULATION_FILE, "simulate"), (BUILD_FILE, "build")):
        if (directory / name).is_file():
            content = _read(directory / name)
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
        *sorted(report["functions"]),
    )


def _read(path: Path) -> dict[str, Any]:
    """One of the files; ConfigError unless it is of this version, and as its schemas say."""
    content = read_json(path, AGAIN, AGAIN)
    complaint = version_complaint(content, SCHEMA)
    if complaint is not None:
        raise ConfigError(f"{path}: {complaint}; {AGAIN}")
    try:
        for name in dict.fromkeys((REPORT, SCHEMAS[path.name])):
            check(content, name)
        _check_functions(content)
    except ConfigError as error:
        raise ConfigError(f"{path}: broken: {error}; {AGAIN}") from None
    return content


def _check_functions(content: Mapping[str, Any]) -> None:
    """ConfigError where something is said of some of the functions only."""
    tables = {"roofline.functions": content["roofline"]["functions"]}
    if "host" in content:
        tables["host.core"] = content["host"]["core"]
        for k, link in enumerate(content["host"]["links"]):
            tables[f"host.links[{k}].functions"] = link["functions"]
    for name in content["functions"]:
        for path, table in tables.items():
            if name not in table:
                raise ConfigError(f"lacks {path}.{short(name)}")
