"""Files of a design and of its build: their names, the configuration file, written and read; writing all of them or
none, into a directory that was seen to be writable before the work began; and a build's folder, read, refused if broken
or older.

Not for the build's hardware: the host driver reads the manifest (:mod:`rbdgen.host.manifest`).
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from rbdgen.compiler import Design, Options
from rbdgen.errors import ConfigError, short
from rbdgen.host.manifest import MANIFEST_FILE
from rbdgen.ir.fixed import to_text
from rbdgen.machines.options import ENGINE
from rbdgen.machines.pipeline.budget import DEMANDS, Budget, Target
from rbdgen.model import builtin_robots
from rbdgen.model.setup import ROBOT, setup_of
from rbdgen.report.design import SCHEMA, design_report, manifest, verilog_digest
from rbdgen.report.drawings import layout_picture, timing_chart
from rbdgen.schema.json_files import check, read_json, read_object, version_complaint
from rbdgen.setting import LIMITS, WORD, Setting, nearest, settings


def check_writable(directory: Path, option: str = "-o") -> None:
    """ConfigError if files could not be written into a directory, which need not be there. ``option`` is what chooses
    another one."""
    there = directory.absolute()
    while not there.exists() and there != there.parent:
        there = there.parent
    reason = None
    if not there.is_dir():
        reason = f"{there} is no directory"
    # files are made only in a directory that can be entered too
    elif not os.access(there, os.W_OK | os.X_OK):
        reason = (
            f"{there} is not yours to write" if there != directory else "it is not yours to write"
        )
    if reason:
        raise ConfigError(
            f"{directory}: cannot be written: {reason}; choose another directory with {option}"
        )


@contextmanager
def occupied(directory: Path) -> Iterator[None]:
    """Have a directory, made if it is absent, for this process alone among those that do the same. ConfigError where
    another has it, or it cannot be made. A lock ends with its process, so that none is ever left behind."""
    try:
        import fcntl
    except ImportError:  # Windows has other locks, and nothing is built there
        directory.mkdir(parents=True, exist_ok=True)
        yield
        return
    try:
        directory.mkdir(parents=True, exist_ok=True)
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise _unwritable(directory, error, "-o") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            # some network file systems have no locks
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise ConfigError(
                    f"{directory}: is in use: another rbdgen writes into it; wait until it is done, or choose another "
                    "directory with -o"
                ) from None
        yield
    finally:
        os.close(handle)


def _unwritable(directory: Path, error: OSError, option: str) -> ConfigError:
    return ConfigError(
        f"{directory}: cannot be written: {error.strerror}; choose another directory with {option}"
    )


def write_files(
    files: Mapping[str, str | bytes], directory: Path, option: str = "-o"
) -> list[Path]:
    """Write ``files`` (name to content) into ``directory`` all at once; ConfigError if it cannot be written. ``option``
    is what chooses another directory."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # inside the directory, so that files move within one file system, each in one step
        staging = Path(tempfile.mkdtemp(prefix=".writing-", dir=directory))
        try:
            for name, content in files.items():
                for folder in (staging, directory):
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                raw = content if isinstance(content, bytes) else content.encode()
                (staging / name).write_bytes(raw)
            for name in files:
                (staging / name).replace(directory / name)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        raise _unwritable(directory, error, option) from None
    return [directory / name for name in files]


REPORT_FILE, SIMULATION_FILE, CONFIG_FILE = "report.json", "simulation.json", "config.toml"
"""A design's promises, what a simulation of it measured, and its options."""
BUILD_FILE = "build.json"
"""Report on what a board's tools made of it."""
LAYOUT_FILE, TIMING_FILE = "layout.svg", "timing.svg"
"""Its pictures."""

OPTIONS = {name: s for name, s in settings(Options).items() if name != "limits"}
"""Options that a configuration file has by their own names; limits are under ``joints``."""
OTHER_KEYS = {
    "joints": Setting(LIMITS, "what", "joints' ranges"),
    "robot": Setting(WORD, "what", "a built-in robot, or the path of a URDF"),
    **DEMANDS,
}
"""Other keys that it may have; ``DEMANDS`` are what a design is fitted to."""


def check_robot_name(robot: str | None) -> None:
    """ConfigError if ``robot``, as the user named it, cannot be written into a configuration file, which is UTF-8."""
    try:
        (robot or "").encode()
    except UnicodeEncodeError:
        raise ConfigError(
            f"robot: the path {os.fsencode(robot or '')!r} has bytes that are not UTF-8, which no {CONFIG_FILE} can "
            "have; rename the file or its folder"
        ) from None


def robot_from(robot: str, directory: Path) -> str:
    """A ``robot`` as a file in ``directory`` names it: a built-in name or an absolute path as it is, and the path of a
    file, which is relative to the working folder, relative to the directory, so that both can be moved together."""
    if robot in builtin_robots() or not Path(robot).is_file() or Path(robot).is_absolute():
        return robot
    try:
        return Path(os.path.relpath(robot, directory)).as_posix()
    except ValueError:  # on another drive
        return str(Path(robot).absolute())


def robot_in(robot: str, directory: Path) -> str:
    """The robot that a file in ``directory`` names so, for the working folder: relative to the directory where that
    has such a file, as it is where not."""
    beside = directory / robot
    if robot in builtin_robots() or not beside.is_file():
        return robot
    return os.path.normpath(beside)


def config_text(design: Design, robot: str) -> str:
    """``config.toml``: every option as it was resolved, and every joint's declared range; ``robot`` as it names it
    (:func:`robot_from`)."""
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
        value = getattr(options, name)
        # an engine's words are what they are, and may miss an error that nobody asked for
        if name == "error" and options.machine != ENGINE:
            value = options.targets
        if value is not None:
            content[name] = list(value) if isinstance(value, tuple) else value
    # precision is asked for by a word or by errors, not by both
    if options.word is not None:
        del content["error"]
    content |= _demands(design.target)
    # the interval follows from what is demanded
    if {"multipliers", "rate", "latency"} & content.keys():
        del content["ii"]
    return tomli_w.dumps(content | {"joints": joints})


def _demands(target: Target) -> dict[str, Any]:
    """Demands that a design was fitted to, as they were asked for."""
    budget = target.budget
    demands = {name: getattr(budget, name) for name in settings(Budget)}
    demands["board"] = target.board
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
    if robot is not None:
        robot = robot_in(robot, path.parent)
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
    # files of two designs in one folder could not be told apart
    if other not in (None, design.name):
        raise ConfigError(
            f"{directory}: holds {other}, not {design.name}; choose another directory with -o, or remove it"
        )
    digest = verilog_digest(verilog)
    files = {
        f"{design.name}.v": verilog,
        MANIFEST_FILE: json.dumps(manifest(design, digest, version), indent=2) + "\n",
        REPORT_FILE: json.dumps(design_report(design) | dict(more), indent=2) + "\n",
        CONFIG_FILE: config_text(design, robot_from(robot, directory)),
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


AGAIN = "write it anew with 'rbdgen generate', 'rbdgen simulate' or 'rbdgen build'"
REPORT = "report"
SCHEMAS = {REPORT_FILE: REPORT, SIMULATION_FILE: "simulation", BUILD_FILE: "build"}
"""Of each file, the schema of what it has; all of them have a report's keys besides."""


@dataclass(frozen=True)
class Build:
    """Contents of a folder: the ``report`` of promises, the ``simulation``'s report (None: none of this design),
    ``routed``, the report of place and route (None: none), and ``config``, the text of the configuration (empty: none).
    ``pictures`` are texts of SVGs by file name, empty where there is none; ``notes`` say what was left out, and why."""

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
    """Digest that tells designs apart."""
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
