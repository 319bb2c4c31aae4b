"""What ``rbdgen emit`` writes: it builds without a warning, installs, is found, computes; the same bytes each time."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rbdgen import golden, load_robot
from rbdgen.cli.main import main
from rbdgen.software.composition import make_program
from rbdgen.software.library import c_files, quoted
from rbdgen.tracing.trace_options import TraceOptions

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
USER = """
#include <stdio.h>
#include "pendulum2.h"
int main(void)
{
    const double q[] = {0.3, -0.4}, v[] = {1.0, 2.0}, a[] = {3.0, 4.0};
    double tau[PENDULUM2_NV], m[PENDULUM2_NV * PENDULUM2_NV];
    const int wrong = pendulum2_id(q, v, a, tau) || pendulum2_m_rows(1, q, m);
    printf("%.17g %.17g %.17g %s\\n", tau[0], tau[1], m[1], pendulum2_software.functions[0].function);
    return wrong;
}
"""


def emitted(folder: Path, *arguments: str) -> dict[str, str]:
    assert main(["emit", "pendulum2", "--functions", "id,m", "-o", str(folder), *arguments]) == 0
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def run(*line: str, cwd: Path) -> str:
    return subprocess.run(line, cwd=cwd, check=True, capture_output=True, text=True).stdout


def check(output: str) -> None:
    robot = load_robot("pendulum2")
    q = np.array([0.3, -0.4])
    tau = golden.rnea(robot, q, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    *numbers, name = output.split()
    np.testing.assert_allclose([float(x) for x in numbers[:2]], tau, rtol=1e-13)
    assert float(numbers[2]) == pytest.approx(golden.crba(robot, q)[0, 1], rel=1e-13)
    assert name == "id"


def test_sources_compile_without_a_warning(tmp_path: Path) -> None:
    files = emitted(tmp_path / "c", "--fixed", "--word", "18")
    assert {
        "include/pendulum2.h",
        "src/pendulum2_id.c",
        "CMakeLists.txt",
        "LICENSE",
    } <= files.keys()
    (tmp_path / "user.c").write_text(USER)
    sources = [str(path) for path in sorted((tmp_path / "c" / "src").glob("*.c"))]
    line = [
        "cc",
        "-std=c99",
        "-O1",
        *WARNINGS,
        "-Ic/include",
        "user.c",
        *sources,
        "-lm",
        "-o",
        "user",
    ]
    run(*line, cwd=tmp_path)
    check(run(str(tmp_path / "user"), cwd=tmp_path))
    line = ["cc", "-x", "c++", "-fsyntax-only", "-Wall", "-Werror", "c/include/pendulum2.h"]
    run(*line, cwd=tmp_path)


def test_sources_run_under_sanitizers(tmp_path: Path) -> None:
    emitted(tmp_path / "c", "--fixed", "--word", "18")
    (tmp_path / "user.c").write_text(USER)
    sources = [str(path) for path in sorted((tmp_path / "c" / "src").glob("*.c"))]
    flags = ["-std=c99", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover"]
    run("cc", *flags, "-Ic/include", "user.c", *sources, "-lm", "-o", "user", cwd=tmp_path)
    check(run(str(tmp_path / "user"), cwd=tmp_path))


def test_sums_that_may_be_reordered_leave_sines_right(tmp_path: Path) -> None:
    emitted(tmp_path / "c")
    (tmp_path / "user.c").write_text(USER)
    sources = [str(path) for path in sorted((tmp_path / "c" / "src").glob("*.c"))]
    line = ["cc", "-std=c99", "-Ofast", *WARNINGS, "-Ic/include", "user.c", *sources]
    run(*line, "-lm", "-o", "user", cwd=tmp_path)
    check(run(str(tmp_path / "user"), cwd=tmp_path))


NAMES = [
    "rbd",
    "RBD",
    "rbd_x",
    "table",
    "math",
    "string",
    "stdint",
    "int",
    "double",
    "errno",
    "main",
    "NULL",
    "std",
    "assert",
    "m",
    "c",
    "all",
    "test",
    "features",
    "unistd",
    "arm_fixed",
    "id",
    "run",
    "raw",
    "own",
    "functions",
    "linux",
    "größe",
    "腕",
    "1",
    "_",
    "-",
]


def test_robots_may_be_called_anything(tmp_path: Path) -> None:
    own = load_robot("pendulum2")
    settings = TraceOptions(functions=("id",))
    for number, name in enumerate(NAMES):
        renamed = replace(own, name=name)
        files = c_files(renamed, [make_program(renamed, settings, "id")])
        folder = tmp_path / str(number)
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        sources = sorted(map(str, folder.glob("src/*.c")))
        line = ["cc", "-std=c99", *WARNINGS, "-fsyntax-only", "-Iinclude", *sources]
        run(*line, cwd=folder)
        (header,) = folder.glob("include/*.h")
        run("cc", "-x", "c++", "-fsyntax-only", "-Iinclude", str(header), cwd=folder)
        assert header.stem.lower() not in {"rbd", "table", "m", "c", "all", "test", "features"}


def test_the_same_bytes_each_time(tmp_path: Path) -> None:
    assert emitted(tmp_path / "one", "--fixed") == emitted(tmp_path / "other", "--fixed")


@pytest.mark.skipif(not shutil.which("cmake"), reason="CMake is not installed")
@pytest.mark.slow
def test_a_package_that_is_found(tmp_path: Path) -> None:
    emitted(tmp_path / "c")
    place = tmp_path / "installed"
    run("cmake", "-S", "c", "-B", "build", f"-DCMAKE_INSTALL_PREFIX={place}", cwd=tmp_path)
    run("cmake", "--build", "build", "-j2", cwd=tmp_path)
    run("cmake", "--install", "build", cwd=tmp_path)
    user = tmp_path / "user"
    user.mkdir()
    (user / "user.c").write_text(USER)
    (user / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(user C)\nfind_package(pendulum2 REQUIRED)\n"
        "add_executable(user user.c)\ntarget_link_libraries(user pendulum2::pendulum2)\n"
    )
    run("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={place}", cwd=user)
    run("cmake", "--build", "build", cwd=user)
    check(run("build/user", cwd=user))
    if shutil.which("pkg-config"):
        (found,) = place.rglob("pendulum2.pc")
        flags = run(
            *(
                "env",
                f"PKG_CONFIG_PATH={found.parent}",
                "pkg-config",
                "--cflags",
                "--libs",
                "pendulum2",
            ),
            cwd=user,
        ).split()
        run("cc", "-std=c99", "user.c", *flags, "-o", "other", cwd=user)
        check(run("./other", cwd=user))


def test_a_report_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["emit", "pendulum2", "--functions", "all", "-o", str(tmp_path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["schema"] == "rbdgen.software/1"
    assert report["target"] == "c"
    assert report["functions"]["id"]["products"] < report["functions"]["dfd"]["products"]
    assert all(Path(file).is_file() for file in report["files"])


DEVICE_USER = """
#include <stdio.h>
#include "pendulum2.h"
#include "rbd_pendulum2_id_m_device.h"
static rbd_device device;
int main(void)
{
    const double q[] = {0.3, -0.4}, v[] = {1.0, 2.0}, a[] = {3.0, 4.0};
    double tau[2], m[4];
    uint8_t flags[1];
    int wrong = rbd_open_software(&device, &rbd_pendulum2_id_m_design, &pendulum2_software);
    wrong |= rbd_pendulum2_id_m_id(&device, 1, q, v, a, tau, flags);
    wrong |= rbd_pendulum2_id_m_m(&device, 1, q, m, flags);
    printf("%.17g %.17g %.17g %s\\n", tau[0], tau[1], m[1], pendulum2_software.functions[0].function);
    return wrong | flags[0];
}
"""


def test_the_library_for_boards_computes_by_it(tmp_path: Path) -> None:
    emitted(tmp_path / "c")
    line = ["generate", "pendulum2", "--functions", "id,m", "--word", "18", "--evidence", "0"]
    assert main([*line, "-o", str(tmp_path / "arm")]) == 0
    folder = tmp_path / "host"
    assert main(["emit", str(tmp_path / "arm"), "--target", "host", "-o", str(folder)]) == 0
    (tmp_path / "user.c").write_text(DEVICE_USER)
    sources = [*(tmp_path / "c" / "src").glob("*.c"), *folder.glob("*.c")]
    own = sorted(str(path) for path in sources if "posix" not in path.name)
    line = ["cc", "-std=c99", "-O1", *WARNINGS, "-Ic/include", "-Ihost", "user.c", *own, "-lm"]
    run(*line, "-o", "user", cwd=tmp_path)
    check(run(str(tmp_path / "user"), cwd=tmp_path))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nobody"], "robot 'nobody': neither a file nor built in"),
        ([], "ROBOT: missing; give a built-in name"),
        (["pendulum2", "--functions", "idd"], "function 'idd': unknown"),
        (["pendulum2", "--target", "fortran"], "invalid choice: 'fortran'"),
        (["pendulum2", "--target", "host"], "pendulum2"),
        (["--target", "host"], "with --target host give the directory"),
        (["pendulum2", "--target", "host", "--fixed"], "--fixed: is of --target c"),
        (["pendulum2", "--target", "cuda", "--fixed"], "--fixed: is of --target c"),
        (["pendulum2", "--word", "18"], "--word: is of the accelerator, whose arithmetic --fixed"),
        (
            ["pendulum2", "--target", "cuda", "--board", "ulx3s_85f"],
            "--board: is of the accelerator",
        ),
        (["x", "--target", "host", "--forces"], "--forces: is in the design that DIR holds"),
        (["pendulum2", "--architecture", "sm_90"], "--architecture: is of --target cuda"),
        (["pendulum2", "--target", "cuda", "--architecture", "sm_1"], "sm_1"),
    ],
)
def test_what_is_refused(
    arguments: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["emit", *arguments, "-o", str(tmp_path / "out")])
    except SystemExit as error:
        status = error.code
    assert status == 2
    assert complaint in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.c"))


def test_cuda_kernels_and_what_they_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["emit", "pendulum2", "--functions", "id", "--target", "cuda", "-o", str(tmp_path)]
    assert main([*line, "--architecture", "sm_90", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {kernel["bits"] for kernel in report["kernels"]} == {32, 64}
    assert all(0 < kernel["registers"] < 256 for kernel in report["kernels"])
    assert (tmp_path / "cuda" / "pendulum2.cuh").is_file()


def test_names_run_no_code() -> None:
    assert (
        quoted('a"; system("x") ??/ \\ \n')
        == '"a\\042; system(\\042x\\042) \\077\\077/ \\134 \\012"'
    )
