"""CUDA kernels compiled by the system's C++ compiler and run on the host (see ``cuda_host.h``)."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rbdgen.software.calls import TYPES, Type
from rbdgen.software.cuda import HEADER, CudaFunction, CudaKernel
from rbdgen.software.library import support

HOST = Path(__file__).with_name("cuda_host.h")
CPP = shutil.which("g++")
DTYPES = {64: np.dtype(np.float64), 32: np.dtype(np.float32)}


class OnHost:
    """A function's kernels in a library made in ``folder``."""

    def __init__(self, function: CudaFunction, folder: Path, kinds: Sequence[Type] = TYPES) -> None:
        self.function = function
        self.kernels = [k for kind in kinds for k in function.kernels(kind)]
        texts = {**function.texts(), HEADER: support(HEADER), HOST.name: HOST.read_text()}
        texts["kernels.cpp"] = f'#include "{HOST.name}"\n{function.device()}\n{self._runs()}'
        for name, text in texts.items():
            (folder / name).write_text(text)
        made = folder / "kernels.so"
        assert CPP is not None
        line = [CPP, "-std=c++17", "-O0", "-w", "-shared", "-fPIC", "-o", str(made)]
        subprocess.run([*line, str(folder / "kernels.cpp")], check=True)
        self.library = ctypes.CDLL(str(made))

    def _runs(self) -> str:
        texts = []
        for k in self.kernels:
            columns, rows = (32, k.warps) if k.spread else (k.threads, 1)
            parameters = ", ".join(self.function.parameters(k.kind))
            call = f"{self.function.global_name(k)}({', '.join(self.function.arguments)})"
            blocks = f"(count + {k.states - 1}) / {k.states}"
            texts.append(
                f'extern "C" void run_{k.name}(bool descending, {parameters})\n{{\n'
                f"rbd_host::launch({blocks}, {columns}, {rows}, descending, [&] {{ {call}; }});\n}}\n"
            )
        return "\n".join(texts)

    def run(
        self,
        kernel: CudaKernel,
        operands: Sequence[np.ndarray],
        steps: np.ndarray | None = None,
        descending: bool = False,
    ) -> tuple[list[np.ndarray], int]:
        """Results (count, …) and the number of singular states; warps take turns in one order or the other."""
        dtype = DTYPES[kernel.kind.bits]
        count = len(operands[0])
        arrays = [side_by_side(x, dtype) for x in operands]
        if steps is not None:
            arrays.append(np.ascontiguousarray(steps, np.int32))
        results = [np.full((x.size, count), np.nan, dtype) for x in self.function.program.results]
        singular = np.zeros(1, np.uint64)
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*arrays, *results, singular)]
        call = getattr(self.library, f"run_{kernel.name}")
        call(ctypes.c_bool(descending), ctypes.c_size_t(count), *pointers)
        shapes = [x.shape for x in self.function.program.results]
        found = [x.T.reshape(count, *shape) for x, shape in zip(results, shapes, strict=True)]
        return found, int(singular[0])


def side_by_side(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """States (count, …) with an entry's states side by side."""
    return np.ascontiguousarray(x.reshape(len(x), -1).T.astype(dtype))
