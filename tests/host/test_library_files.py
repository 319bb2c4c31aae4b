"""The host library's files: the same bytes for the same manifest, warnings off none, found by CMake and pkg-config."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rbdgen import Design
from rbdgen.emulation import bit_true_shell, manifest_of, serve_bit_true
from rbdgen.host.driver import Driver
from rbdgen.host.library import library_files
from rbdgen.host.manifest import Manifest
from rbdgen.protocol.identifiers import Scope, c_comment, c_literal
from rbdgen.protocol.tasks import TaskFormat
from tests.conftest import design
from tests.host.native import (
    CPP,
    C,
    compiled,
    needs_compiler,
    on_serial,
    on_tcp,
    program,
    run,
    runtime,
    written,
)
from tests.host.wire import calibratable, everything

PAGE = Path(__file__).parents[2] / "docs" / "host_library.md"
NASTY = (
    'x(void){}/*"*/',
    "int",
    "class",
    "a__b",
    "_x",
    "9",
    "τ",
    "",
    'b";system("true");//',
    "A__B",
    "count",
    "c\n#include",
    "device",
    "??/",
    "x" * 300,
)


def renamed(manifest: Manifest, names: tuple[str, ...] = NASTY) -> Manifest:
    """A manifest of which every name and text is one of these, and of each other kind another one."""
    changes: dict[str, str] = {}

    def new(name: str) -> str:
        return changes.setdefault(name, names[len(changes) % len(names)])

    functions = {}
    for name, f in manifest.tasks.functions.items():
        functions[new(name)] = replace(f, name=new(name))
    parameters = []
    for k, word in enumerate(manifest.tasks.parameters):
        parameters.append(replace(word, name=f"{names[k % len(names)]}{k}"))
    tasks = TaskFormat(functions, manifest.tasks.task, manifest.tasks.result, tuple(parameters))
    words = {}
    for part in ("operands", "results"):
        entries = {}
        for name, own in getattr(manifest, part).items():
            entries[new(name)] = tuple(replace(e, vector=new(e.vector)) for e in own)
        words[part] = entries
    vectors = {}
    for part in ("operand_vectors", "result_vectors"):
        listed = {}
        for name, own in getattr(manifest, part).items():
            listed[new(name)] = tuple(map(new, own))
        vectors[part] = listed
    return replace(
        manifest,
        name="rbd",
        robot=f'"; #error {NASTY[0]} */ \\\n',
        tasks=tasks,
        shapes={new(name): shape for name, shape in manifest.shapes.items()},
        summaries={new(name): f"*/ {NASTY[8]} \\\n" for name in manifest.summaries},
        methods={new(name): NASTY[0] for name in manifest.methods},
        **words,
        **vectors,
    )


def test_the_same_manifest_gives_the_same_bytes() -> None:
    d = everything()
    one = library_files(manifest_of(d))
    assert one == library_files(manifest_of(d))
    assert all(text.isascii() and text.endswith("\n") and "\t" not in text for text in one.values())
    other = library_files(manifest_of(d, "f" * 64))
    differing = [name for name in one if one[name] != other[name]]
    assert differing == [f"{d.name}_device.c"]


@needs_compiler
@pytest.mark.parametrize("nasty", [False, True])
def test_all_files_compile_without_a_warning(nasty: bool, tmp_path: Path) -> None:
    known = manifest_of(calibratable())
    prefix = written(renamed(known) if nasty else known, tmp_path)
    assert prefix == ("rbd_2" if nasty else known.name)
    sources = sorted(tmp_path.glob("rbdgen_*.c"))
    checked = [tmp_path / f"{prefix}_device.c", *([] if nasty else sources)]
    run(*C, "-Wshadow", "-O2", "-fsyntax-only", *checked)
    wrapper = tmp_path / "wrapper.cpp"
    wrapper.write_text(f'#include "{prefix}_device.hpp"\n#include "{prefix}_device.hpp"\n')
    run(*CPP, "-fsyntax-only", f"-I{tmp_path}", wrapper)


@needs_compiler
@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm")
def test_the_runtime_has_neither_heap_nor_state_of_its_own() -> None:
    symbols = subprocess.run(
        ["nm", runtime("-fno-pic", "-O2")], capture_output=True, text=True, check=True
    ).stdout
    found = re.findall(r"^[0-9a-f ]{16} (\w) (\w+)$", symbols, re.MULTILINE)
    assert {kind for kind, _ in found} <= set("TtRrU")
    names = {name for _, name in found}
    assert {"rbd_solve", "ldexp"} <= names
    assert names.isdisjoint({"malloc", "calloc", "realloc", "free", "strdup", "rand"})


FINITE = """
#include "rbdgen_internal.h"
int main(int count, char **words)
{
    const double none = count > 5 ? 1.0 : 0.0, one = 1.0;
    (void)words;
    return rbd_internal_finite(one / none) || rbd_internal_finite(none / none) || !rbd_internal_finite(one);
}
"""


@needs_compiler
def test_numbers_are_checked_whatever_the_compiler_takes_for_granted(tmp_path: Path) -> None:
    written(manifest_of(design("pendulum2")), tmp_path)
    source, made = tmp_path / "finite.c", tmp_path / "finite"
    source.write_text(FINITE)
    objects = tmp_path / "checks.o"
    run(*C, "-Ofast", "-c", tmp_path / "rbdgen_checks.c", "-o", objects)
    run(*C, source, objects, runtime("-O2"), "-lm", "-o", made)
    run(made)


def test_names_that_are_alike_stay_apart() -> None:
    scope = Scope(["count"])
    found = [scope.take("f", name) for name in ("a", "A", "a_", "_a", "a!", "9")]
    assert found == ["f_a", "f_A", "f_a_2", "f_a_3", "f_a_4", "f_n9"]
    assert [scope.take(name) for name in ("count", "int", "int")] == ["count_2", "int_2", "int_3"]


def test_texts_are_literals_and_comments() -> None:
    assert c_literal('a"\\\n??/é') == '"a\\042\\134\\012\\077\\077/\\303\\251"'
    assert c_comment('τ */ "x" \\\n//y??/ (z)') == "x y (z)"


@needs_compiler
@pytest.mark.slow
def test_what_cannot_be_meant_is_refused_and_software_answers() -> None:
    made = program(manifest_of(calibratable()), "misuse.c")
    done = subprocess.run([made], capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@contextmanager
def at_udp(d: Design) -> Iterator[tuple[str, ...]]:
    """The address at which a design's model answers datagrams, and a word that says so."""
    with serve_bit_true(d) as server:
        yield *server.name.split(":"), "udp"


@contextmanager
def at_tcp(d: Design) -> Iterator[tuple[str, ...]]:
    """The address at which a design's model answers bytes."""
    with on_tcp(bit_true_shell(d)) as (_, host, port):
        yield host, port


@needs_compiler
@pytest.mark.parametrize("at", [at_tcp, at_udp])
@pytest.mark.slow
def test_the_wrapper_in_cpp(at: Callable[[Design], AbstractContextManager]) -> None:
    d = calibratable()
    made = program(manifest_of(d), "wrap.cpp")
    with at(d) as words:
        done = subprocess.run(
            [made, *words], capture_output=True, text=True, timeout=20, check=False
        )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    q, v, a = np.array([[0.5, 0.25], [-0.5, 0.125]]), np.array([[1, 2], [3, 4]]), np.ones((2, 2))
    with Driver.open(manifest_of(d), bit_true_shell(d)) as device:
        tau = device.rnea(q, v, a)
        expected = [tau, device.rnea(q, 0 * v, 0 * a), device.crba(q), tau]
        device.calibrate({"p_link1_hz": -0.625})
        loaded = device.rnea(q, v, a)
    for line, values in zip(lines, expected, strict=False):
        assert [float.fromhex(x) for x in line.split()[1:]] == values.ravel().tolist()
    assert lines[4:6] == ["flags 0 0, sent 10", "flags 2"]
    assert lines[6].startswith("m: of 1 tasks 1 with operands outside the declared ranges;")
    assert [float.fromhex(x) for x in lines[7].split()[1:]] == loaded.ravel().tolist()
    in_software = lines.pop(-2)
    assert [float.fromhex(x) for x in in_software.split()[1:]] == (
        q + 2 * v + 3 * a
    ).ravel().tolist()
    assert lines[8:] == [
        "13 parameter p_x: this accelerator has no such, but 14 others, see its header",
        "1 a: must have 2 numbers for each of 2 states, not 3",
        "1 q: must have 2 numbers for each of 1 states, not 3",
        "1 tau: must have 2 numbers for each of 2 states, not 2",
        "1 flags: must be one for each of 2 states, not 1",
        "1 id: takes 3 operands, not 1",
        "1 id: gives 1 results, not 0",
        f"1 function 7: {d.name} has only 2",
        "2 device: is not open; open it first",
        "2 device: is not open; open it first",
        "3 port /nowhere: there is no such port; plug the board in, or name its port",
        "3 tcp 127.0.0.1:1: cannot be connected to; check that the server runs there",
        "4 udp 127.0.0.1:1: cannot be reached, or nobody listens there; check its address and port, the cable, and "
        "that this computer's is in the same network",
        "14 software: is of robot other, not pendulum2; write it again for that robot",
    ]


@needs_compiler
@pytest.mark.parametrize("language", ["c", "cpp"])
def test_the_examples_of_the_documentation(language: str, tmp_path: Path) -> None:
    d = design("pendulum2", functions=("id", "m"))
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    source = tmp_path / f"example.{language}"
    with on_serial(bit_true_shell(d)) as (_, port, _):
        source.write_text(text.replace("/dev/ttyUSB0", port))
        made = compiled(manifest_of(d), source, tmp_path)
        done = subprocess.run([made], capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    with Driver.open(manifest_of(d), bit_true_shell(d)) as device:
        tau = device.rnea([0.1, 0.2], [0.0, 0.0], [0.0, 0.0])
        m = device.crba([0.1, 0.2])
    assert list(map(float, done.stdout.split())) == [tau[0], m[0, 0], 0]


USER = """\
#include <stdio.h>
#include "NAME_device.h"
#include "rbdgen_transport_posix.h"

int main(void)
{
    printf("%s %lu\\n", NAME_design.name, (unsigned long)rbd_workspace_bytes(&NAME_design));
    return rbd_workspace_bytes(&NAME_design) != CAPITALS_WORKSPACE_BYTES;
}
"""
PROJECT = """\
cmake_minimum_required(VERSION 3.13)
project(user LANGUAGES C)
find_package(NAME_device REQUIRED)
add_executable(user user.c)
target_link_libraries(user NAME_device::NAME_device)
"""


@needs_compiler
@pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake")
@pytest.mark.slow
def test_what_is_installed_is_found(tmp_path: Path) -> None:
    known = manifest_of(design("pendulum2"))
    library, user, installed = (tmp_path / name for name in ("library", "user", "installed"))
    library.mkdir()
    user.mkdir()
    name = written(known, library)
    for file, text in (("user.c", USER), ("CMakeLists.txt", PROJECT)):
        text = text.replace("NAME", name).replace("CAPITALS", name.upper())
        (user / file).write_text(text)
    build = tmp_path / "build"
    run("cmake", "-S", library, "-B", build, "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", build, "-j2")
    run("cmake", "--install", build, "--prefix", installed)
    # what is installed may be moved
    moved = installed.rename(tmp_path / "moved")
    run("cmake", "-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={moved}")
    run("cmake", "--build", user / "build")
    programs = [user / "build" / "user"]
    if shutil.which("pkg-config"):
        (pc,) = moved.rglob("*.pc")
        environment = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", f"{name}_device"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        programs.append(user / "user")
        run("cc", user / "user.c", *flags, "-o", programs[-1])
    for path in programs:
        done = subprocess.run([path], capture_output=True, text=True, check=True)
        assert done.stdout.split()[0] == known.name
