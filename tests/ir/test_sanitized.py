"""The compiled model under the sanitizers of addresses and of undefined behaviour: none of its own tests trips them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=all -g -O1"
OUT_OF_BOUNDS = """
import ctypes, numpy as np
from rbdgen.ir.machine import BLOCK, FIELDS, OPCODES, _numbers, library
code = np.zeros((1, FIELDS), np.int64)
code[0, 0], code[0, 1] = OPCODES.index("const"), 5
few = np.zeros(BLOCK, np.int64)
library().rbdgen_run(_numbers(code), 1, _numbers(few), _numbers(few), _numbers(few),
    np.zeros(BLOCK, np.uint8).ctypes.data_as(ctypes.POINTER(ctypes.c_uint8)), BLOCK, _numbers(few))
"""
"""A program that writes behind its registers."""


def sanitized(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python with a model that the sanitizers watch."""
    # the hardware's models need no compiler, and others than gcc keep their sanitizers elsewhere
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("no gcc")
    runtime = printed(compiler, "-print-file-name=libasan.so")
    if not Path(runtime).is_absolute():
        pytest.skip("gcc has no sanitizer of addresses")
    wrapper = folder / "cc"
    wrapper.write_text(f'#!/bin/sh\nexec {compiler} "$@" {FLAGS}\n')
    wrapper.chmod(0o755)
    environment = os.environ | {
        "RBDGEN_CC": str(wrapper),
        "RBDGEN_CACHE": str(folder / "cache"),
        "LD_PRELOAD": runtime,
        # Python itself leaves memory to the end of its process
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONMALLOC": "malloc",
    }
    line = [sys.executable, *command]
    return subprocess.run(
        line, env=environment, cwd=HERE.parents[1], capture_output=True, text=True, check=False
    )


def printed(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.thorough
def test_nothing_trips(tmp_path: Path) -> None:
    tests = str(HERE / "test_machine.py")
    kept = ("-k", "not compiled_once and not without_a_compiler", "-p", "no:cacheprovider")
    done = sanitized(tmp_path, "-m", "pytest", "-q", "-x", tests, *kept)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout


def test_what_is_wrong_does_trip(tmp_path: Path) -> None:
    done = sanitized(tmp_path, "-c", OUT_OF_BOUNDS)
    assert done.returncode != 0
    assert "ERROR: AddressSanitizer" in done.stderr
