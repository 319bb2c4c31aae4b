"""CUDA kernels: run on the host against the golden model, compiled by NVRTC, and what they are said to take."""

from __future__ import annotations

import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbdgen import load_robot
from rbdgen.errors import ConfigError, RobotWarning, ToolError
from rbdgen.functions import registry
from rbdgen.model.robot import Robot
from rbdgen.software import nvrtc, spread_kernel
from rbdgen.software.calls import TYPES
from rbdgen.software.composition import make_program
from rbdgen.software.cuda import CudaFunction, CudaKernel, cuda_files
from rbdgen.software.kernel import Kernel
from rbdgen.software.nvrtc import Usage, library_path, occupancy
from rbdgen.software.program import Program, Straight
from rbdgen.software.spread import Spreading
from rbdgen.software.spread_kernel import SpreadKernel
from rbdgen.software.timing import operand_arrays, program_states, reference
from rbdgen.tracing.trace_options import TraceOptions
from tests.conftest import few
from tests.software.cuda_on_host import CPP, OnHost

ROBOTS = {"pendulum2": "fixed", "ur5": "fixed", "iiwa14": "fixed", "hyq": "floating"}
AS_WELL = ("ur5", "hyq")
"""Robots of the thorough tests."""
SETTINGS = TraceOptions()
COUNT = 70
"""States: more than two warps have, and no whole number of blocks."""
WITHIN = {64: 1e-12, 32: 3e-5}
"""Errors relative to the largest magnitude of a result."""
QUICK = ("--Ofast-compile=max",)
"""NVRTC does little more than translate."""

needs_compiler = pytest.mark.skipif(CPP is None, reason="needs g++")
needs_nvrtc = pytest.mark.skipif(library_path() is None, reason="needs nvidia-cuda-nvrtc")


@lru_cache
def robot(name: str) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotWarning)
        return load_robot(name, ROBOTS[name])


@lru_cache
def program(name: str, function: str) -> Program:
    return make_program(robot(name), SETTINGS, function)


def cases() -> list[Any]:
    found = []
    for name, base in ROBOTS.items():
        functions = [*registry.common(), "step"]
        if base == "fixed":
            functions.append("roll")
        marks = [pytest.mark.thorough] if name in AS_WELL else []
        found += [pytest.param(name, function, marks=marks) for function in functions]
    return found


def check(name: str, own: OnHost) -> None:
    """All kernels at random states, with warps in both orders."""
    program = own.function.program
    states = program_states(robot(name), SETTINGS, program, COUNT)
    expected = reference(robot(name), SETTINGS, program, states)
    operands = operand_arrays(program, states)
    steps = states.steps[:, 0] if program.repeat and states.steps is not None else None
    for kernel in own.kernels:
        found, singular = own.run(kernel, operands, steps)
        assert singular == 0
        for x, truth in zip(found, expected, strict=True):
            error = np.max(np.abs(x - truth)) / np.max(np.abs(truth))
            assert error < WITHIN[kernel.kind.bits]
        again, _ = own.run(kernel, operands, steps, descending=True)
        for x, y in zip(found, again, strict=True):
            np.testing.assert_array_equal(x, y)


@needs_compiler
@pytest.mark.parametrize(("name", "function"), cases())
@pytest.mark.slow
def test_kernels_agree_with_the_golden_model(name: str, function: str, tmp_path: Path) -> None:
    kinds = TYPES if name == "iiwa14" or function == "difd" else TYPES[:1]
    check(name, OnHost(CudaFunction(program(name, function)), tmp_path, kinds))


def test_what_spills_is_spread() -> None:
    kernels = {f: CudaFunction(program("iiwa14", f)).kernels(TYPES[0]) for f in ("id", "dfd")}
    assert [k.name for k in kernels["id"]] == ["plain"]
    assert [k.name for k in kernels["dfd"]] == ["plain", "spread"]
    assert kernels["dfd"][1].shared <= 227 * 1024


@needs_compiler
@pytest.mark.parametrize("warps", [2, 4, 8])
@pytest.mark.parametrize("function", ["id", "roll"])
def test_any_number_of_warps_computes_the_same(function: str, warps: int, tmp_path: Path) -> None:
    own = CudaFunction(program("ur5", function))
    own.spreads = {64: SpreadKernel(own.program, f"{function}_spread", warps, 64)}
    check("ur5", OnHost(own, tmp_path, TYPES[:1]))


def test_products_of_matrices_stay_whole_in_both_kernels() -> None:
    """In spread kernels the right factor is where its product will be, which takes no shared memory."""
    own = CudaFunction(program("hyq", "difd"))
    assert [x.name for x in own.program.local] == ["left0", "right0", "right1"]
    assert Kernel(own.program, "difd").text().count("negated_product)(") == 2
    for kernel in own.spreads.values():
        assert kernel.text().count("product_in_place)<18>(") == 2
        assert kernel.shared_bytes < 227 * 1024


@needs_compiler
@pytest.mark.slow
def test_products_between_arrays_in_shared_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spread_kernel, "_in_place", lambda program: {})
    own = CudaFunction(program("hyq", "difd"))
    own.spreads = {32: SpreadKernel(own.program, "difd_spread", 8, 32, 48)}
    assert own.spreads[32].text().count("rows_of_product)(") == 2
    check("hyq", OnHost(own, tmp_path, TYPES[1:]))


@needs_compiler
@pytest.mark.slow
def test_singular_states_are_counted_once(tmp_path: Path) -> None:
    own = CudaFunction(program("iiwa14", "dfd"))
    states = program_states(robot("iiwa14"), SETTINGS, own.program, COUNT)
    operands = operand_arrays(own.program, states)
    operands[0][[3, 40, COUNT - 1], 1:] = np.nan
    host = OnHost(own, tmp_path)
    assert [k.spread for k in host.kernels] == [False, True, False, True]
    for kernel in host.kernels:
        _, singular = host.run(kernel, operands)
        assert singular == 3


@pytest.mark.parametrize("warps", [1, 2, 8])
def test_warps_read_only_what_is_there(warps: int) -> None:
    """Each operation once; what a warp reads of others was written in a phase before, and is still in its slot."""
    (straight,) = (s for s in program("iiwa14", "did").steps if isinstance(s, Straight))
    found = Spreading(straight).over(warps, 96, 64)
    nodes = straight.graph.nodes
    own: list[set[int]] = [set() for _ in range(warps)]
    slots: dict[int, int] = {}
    done: list[int] = []
    written = []
    for phase in found.phases:
        readers = {slot for part in phase for slot in part.takes.values()}
        writers = [slot for part in phase for slot in part.leaves.values()]
        assert len(set(writers)) == len(writers)
        assert not readers & set(writers)
        for w, part in enumerate(phase):
            assert all(slots[slot] == i for i, slot in part.takes.items())
            here = own[w] | set(part.takes)
            for i in part.nodes:
                made = {a for a in nodes[i].args if nodes[a].op not in ("input", "const")}
                assert made <= here
                here.add(i)
            own[w].update(part.nodes)
            done += part.nodes
            written += part.writes
        for part in phase:
            slots |= {slot: i for i, slot in part.leaves.items()}
    assert sorted(done) == [i for i, n in straight.graph if n.op not in ("input", "const")]
    assert sorted(written) == sorted(straight.writes)
    assert max(slots, default=-1) < found.slots


@pytest.mark.slow
def test_large_plain_kernels_call_their_parts() -> None:
    kept = {
        f: [CudaFunction(program("iiwa14", f)).kernels(k)[0].kept for k in TYPES]
        for f in ("did", "step")
    }
    assert kept["did"] == [0, 0]
    assert kept["step"][0] > 5000
    assert kept["step"][1] == 0
    assert CudaFunction(program("iiwa14", "step")).device().count("RBD_CALLED") == 1


def test_text_is_the_same_every_time() -> None:
    made = program("ur5", "did")
    assert SpreadKernel(made, "did", 4, 64).text() == SpreadKernel(made, "did", 4, 64).text()


def test_files_are_complete() -> None:
    files = cuda_files([program("ur5", "id"), program("ur5", "did")])
    assert {"cuda/ur5.cuh", "cuda/ur5_bench.cu", "cuda/ur5_id.cu", "cuda/rbd_cuda.h"} <= set(files)
    for name, text in files.items():
        for line in text.splitlines():
            if line.startswith('#include "'):
                assert f"cuda/{line.split(chr(34))[1]}" in files, name
    assert files["cuda/ur5.cuh"].count("ur5_did_spread(") == 1
    assert "ur5_id_spread" not in files["cuda/ur5.cuh"]


def test_less_shared_memory_means_other_kernels_or_none() -> None:
    made = program("iiwa14", "dfd")
    assert CudaFunction(made, 100 * 1024).kernels(TYPES[0])[-1].shared <= 100 * 1024
    assert len(CudaFunction(made, 16 * 1024).kernels(TYPES[0])) == 1


@pytest.mark.thorough
@needs_nvrtc
@pytest.mark.parametrize("name", few(ROBOTS, "iiwa14", "ur5"))
def test_nvrtc_compiles_all_seven_functions(name: str) -> None:
    for function in registry.common():
        own = CudaFunction(program(name, function))
        ptx = nvrtc.nvrtc().ptx(own, options=QUICK)
        for kind in TYPES:
            for kernel in own.kernels(kind):
                assert f".entry {own.global_name(kernel)}(" in ptx


@needs_nvrtc
def test_spread_kernels_do_not_spill_where_plain_ones_do() -> None:
    made = nvrtc.report([program("ur5", "did"), program("ur5", "id")])
    found = {report.name: report for report in made}
    plain, spread = found["ur5_did_plain_kernel"], found["ur5_did_spread_kernel"]
    assert plain.usage.spilled > 1000
    assert spread.usage.spilled == 0
    assert found["ur5_id_plain_kernel"].usage.spilled == 0
    assert 32 < found["ur5_id_plain_kernel"].usage.registers <= 255
    assert spread.occupancy is not None
    assert spread.occupancy.blocks == 228 * 1024 // (spread.kernel.shared + 1024)


@needs_nvrtc
@pytest.mark.slow
def test_no_plain_kernel_makes_the_assembler_give_up() -> None:
    """It then takes the fewest registers, and has nearly all values in memory."""
    made = nvrtc.report([program("ur5", "step")])
    plain = next(r for r in made if r.name == "ur5_step_plain_kernel")
    assert plain.usage.registers > 200
    assert plain.usage.spilled + plain.kernel.kept < 8000


@needs_nvrtc
def test_cubins_are_programs_of_the_gpu() -> None:
    own = CudaFunction(program("pendulum2", "id"))
    made = nvrtc.nvrtc().compile(own, "sm_80")
    assert made.cubin.startswith(b"\x7fELF")
    assert own.global_name(own.kernels(TYPES[0])[0]).encode() in made.cubin
    with pytest.raises(
        ConfigError, match=r"^architecture 'sm_20': NVRTC .* compiles for sm_.*; choose one$"
    ):
        nvrtc.nvrtc().compile(own, "sm_20")


def test_without_nvrtc_its_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "library_path", lambda: None)
    with pytest.raises(ToolError, match=r"^NVRTC .*not found; .* pip install 'nvidia-cuda-nvrtc<"):
        nvrtc.Nvrtc()


@pytest.mark.parametrize(
    ("threads", "shared", "registers", "expected"),
    [
        (64, 0, 255, (4, 8)),
        (64, 0, 32, (32, 64)),
        (32, 0, 32, (32, 32)),
        (256, 100_000, 64, (2, 16)),
        (128, 0, 80, (6, 24)),
    ],
)
def test_occupancy_is_what_hopper_holds(
    threads: int, shared: int, registers: int, expected: tuple[int, int]
) -> None:
    """As NVIDIA's occupancy calculator has it for capability 9.0."""
    kernel = CudaKernel("plain", TYPES[0], 1, threads, threads, shared)
    found = occupancy(kernel, Usage(registers, 0, 0, 0), "sm_90")
    assert found is not None
    assert (found.blocks, found.warps) == expected
    assert occupancy(kernel, Usage(registers, 0, 0, 0), "sm_70") is None
