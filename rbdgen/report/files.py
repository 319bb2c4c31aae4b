"""A design's files: which they are, and the configuration file, written and read."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from rbdgen.compiler import Design, Options
from rbdgen.errors import ConfigError, short
from rbdgen.host.manifest import MANIFEST_FILE
from rbdgen.ir.text import to_text
from rbdgen.model.setup import ROBOT, setup_of
from rbdgen.report.design import design_report, manifest, verilog_digest
from rbdgen.report.drawings import layout_picture, timing_chart
from rbdgen.report.writing import write_files
from rbdgen.schedule.budget import DEMANDS, Target
from rbdgen.schema.json_files import read_object
from rbdgen.setting import LIMITS, WORD, Setting, nearest, settings

REPORT_FILE, SIMULATION_FILE, CONFIG_FILE = "report.json", "simulation.json", "config.toml"
"""A design's promises, what a simulation of it measured, and its options."""
BUILD_FILE = "build.json"
"""What a board's tools made of it."""
LAYOUT_FILE, TIMING_FILE = "layout.svg", "timing.svg"
"""Its pictures."""

OPTIONS = {name: s for name, s in settings(Options).items() if name != "limits"}
"""Options that a configuration file has by their own names; limits are under ``joints``."""
OTHER_KEYS = {
    "joints": Setting(LIMITS, "what", "joints' ranges"),
    "robot": Setting(WORD, "what", "a built-in robot, or the path of a URDF"),
    **DEMANDS,
}
"""What else it may have; ``DEMANDS`` are what a design is fitted to."""


def check_robot_name(robot: str | None) -> None:
    """ConfigError if ``robot``, as the user named it, cannot be written into a configuration file, which is UTF-8."""
    try:
        (robot or "").encode()
    except UnicodeEncodeError:
        raise ConfigError(
            f"robot: the path {os.fsencode(robot or '')!r} has bytes that are not UTF-8, which no {CONFIG_FILE} can "
            "have; rename the file or its folder"
        ) from None


def config_text(design: Design, robot: str) -> str:
    """``config.toml``: every option as it was resolved, and every joint's declared range."""
    options, ranges = design.options, design.ranges
    joints: dict[str, dict[str, float]] = {}
    for body, q, v in design.robot.independent:
        limits = {
            "velocity": ranges.v_max[v.start],
            "acceleration": ranges.a_max[v.start],
        }
        effort = ranges.tau_max[v.start]
        if effort is not None:
            limits["effort"] = effort
        if body.joint.nq == 1:
            limits = {"lower": ranges.q_lower[q.start], "upper": ranges.q_upper[q.start]} | limits
        joints[body.joint_name] = limits
    setup = setup_of(design.robot)
    content: dict[str, Any] = {"robot": robot}
    for name in ROBOT:
        value = getattr(setup, name)
        if value not in (None, {}, ()):
            content[name] = list(value) if isinstance(value, tuple) else value
    for name in OPTIONS:
        value = options.targets if name == "error" else getattr(options, name)
        if value is not None:
            content[name] = list(value) if isinstance(value, tuple) else value
    if options.word is not None:
        del content["error"]
    content |= _demands(design.target)
    if "multipliers" in content or "rate" in content:
        del content["ii"]
    return tomli_w.dumps(content | {"joints": joints})


def _demands(target: Target) -> dict[str, Any]:
    """What a design was fitted to, as it was asked for."""
    budget = target.budget
    demands = {"multipliers": budget.multipliers, "rate": budget.rate, "board": target.board}
    return {name: value for name, value in demands.items() if value is not None}


def read_config(path: Path) -> tuple[str | None, dict[str, Any], dict[str, Any]]:
    """The robot, its setup and the options of a configuration file, as far as it says; ConfigError naming file and
    key."""
    missing = "give a config.toml that generate wrote"
    content = read_object(path, "TOML", missing, "mend it", tomllib.loads)
    known = OPTIONS | ROBOT | OTHER_KEYS
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key not in known:
            raise ConfigError(
                f"{path}: unknown key {short(key)}{nearest(key, known)}; known keys: {', '.join(known)}"
            )
        try:
            values[key] = known[key].check(key, value)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
    robot = values.pop("robot", None)
    setup = {name: values.pop(name) for name in ROBOT if name in values}
    limits: Mapping[str, Any] = values.pop("joints", {})
    return robot, setup, values | ({"limits": limits} if limits else {})


def with_overrides(options: dict[str, Any], **given: Any) -> Options:
    """Options from a configuration file's, with those that were ``given`` (not None) on top."""
    return Options(**(options | {k: v for k, v in given.items() if v is not None}))


def write_design(
    design: Design, verilog: str, directory: Path, robot: str, version: str, more: Mapping[str, Any]
) -> list[Path]:
    """Write Verilog, ``manifest.json``, ``report.json``, ``config.toml``, ``graph.txt``, and pictures, into
    ``directory``.

    ``more`` is added to the report. Everything is written beside its place first and moved there when it is complete.
    ConfigError if the directory cannot be written, or holds another design.
    """
    other = _design_in(directory)
    if other not in (None, design.name):
        raise ConfigError(
            f"{directory}: holds {other}, not {design.name}; choose another directory with -o, or remove it"
        )
    digest = verilog_digest(verilog)
    files = {
        f"{design.name}.v": verilog,
        MANIFEST_FILE: json.dumps(manifest(design, digest, version), indent=2) + "\n",
        REPORT_FILE: json.dumps(design_report(design) | dict(more), indent=2) + "\n",
        CONFIG_FILE: config_text(design, robot),
        "graph.txt": to_text(design.fixed),
        LAYOUT_FILE: layout_picture(design),
        TIMING_FILE: timing_chart(design),
    }
    return write_files(files, directory)


def _design_in(directory: Path) -> str | None:
    """The name of the design whose files are in a directory."""
    try:
        content = json.loads((directory / MANIFEST_FILE).read_text(encoding="utf-8"))
        return str(content["name"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
