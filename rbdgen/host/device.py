"""The driver: arrays of states in, arrays of results out, computed by an accelerator behind any transport.

``Device.open(manifest, transport)`` is the same for a board on a serial port, the RTL in a simulator and the model of
both in this process. NumPy is all that it needs.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rbdgen.errors import ConfigError, LinkError, RbdgenWarning
from rbdgen.host.beats import StreamLink
from rbdgen.host.link import DEFAULT_ATTEMPTS, DEFAULT_PATIENCE, Link, Progress, connect
from rbdgen.host.manifest import Manifest, read_manifest
from rbdgen.host.packets import header, parameter_rows, read_results, task_rows
from rbdgen.host.tasks import Flag
from rbdgen.host.transport import SerialTransport, Transport

DEFAULT_BAUD = 3_000_000
"""Bits per second of the boards' shells."""


@dataclass(frozen=True)
class Request:
    """Tasks of one function: ``operands`` by vector, any equal leading shape."""

    function: str
    operands: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Answers:
    """Results of one :class:`Request`, with its leading shape: ``values`` by vector, ``flags``
    (bits of :class:`rbdgen.host.tasks.Flag`), and which tasks were ``lost`` for good; their values are NaN."""

    values: dict[str, np.ndarray]
    flags: np.ndarray
    lost: np.ndarray


def limit(manifest: Manifest) -> int:
    """The longest payload that a device of this manifest sends: a result or an answer to a hello."""
    sizes = [manifest.tasks.result.packet_bytes(len(f.results)) for f in manifest.tasks.functions.values()]
    return max(64, *sizes)


class Device:
    """An accelerator. Shapes are those of :mod:`rbdgen.golden`, vectors in Pinocchio's conventions; ``base`` (..., 9),
    of one with a moving base: angular velocity, angular acceleration, and acceleration less gravity, in its frame.

    The methods named after the golden functions return arrays. A task whose operands were outside the declared ranges,
    or in which something saturated, is answered all the same: a warning says how many were, ``flags`` which ones.
    LinkError where tasks were lost for good. :meth:`solve` returns everything and neither warns nor raises.
    """

    def __init__(
        self, manifest: Manifest, link: Link | StreamLink, progress: Progress = lambda done, total: None
    ) -> None:
        self.manifest, self.link, self.progress = manifest, link, progress
        self.flags = np.zeros(0, np.int64)
        """Flags of the last call's tasks, with its leading shape."""

    @classmethod
    def open(
        cls,
        manifest: Manifest | Path | str,
        transport: Transport,
        attempts: int = DEFAULT_ATTEMPTS,
        patience: int = DEFAULT_PATIENCE,
        progress: Progress = lambda done, total: None,
    ) -> Device:
        """The device behind ``transport``, once it has said that it is the manifest's.

        ``attempts``: how often a task is sent before it counts as lost; ``patience``: hellos without an answer before
        the device counts as silent; ``progress`` is told (tasks done, all).

        ConfigError for a manifest that cannot be read, LinkError for a device that is silent or another one.
        """
        if not isinstance(manifest, Manifest):
            manifest = read_manifest(Path(manifest))
        link = connect(transport, manifest.identity, limit(manifest), manifest.name, attempts, patience)
        return cls(manifest, link, progress)

    @classmethod
    def serial(cls, manifest: Manifest | Path | str, port: str, baud: int = DEFAULT_BAUD) -> Device:
        """The board on a serial port, such as ``/dev/ttyUSB0``. Errors as for :meth:`open`."""
        return cls.open(manifest, SerialTransport(port, baud))

    def close(self) -> None:
        """Let go of the device."""
        self.link.transport.close()

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def rnea(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        f_ext: np.ndarray | None = None,
        base: np.ndarray | None = None,
    ) -> np.ndarray:
        """Inverse dynamics τ (..., nv), N·m or N, of q (..., nq), v and a (..., nv), f_ext (..., bodies, 6)."""
        return self._call("id", q=q, v=v, a=a, f_ext=f_ext, base=base)[0]

    def forward_dynamics(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        f_ext: np.ndarray | None = None,
        base: np.ndarray | None = None,
    ) -> np.ndarray:
        """Forward dynamics a (..., nv) of q (..., nq), v and tau (..., nv), f_ext (..., bodies, 6)."""
        return self._call("fd", q=q, v=v, tau=tau, f_ext=f_ext, base=base)[0]

    def crba(self, q: np.ndarray) -> np.ndarray:
        """The mass matrix (..., nv, nv) at q (..., nq), both triangles."""
        return self._call("m", q=q)[0]

    def minverse(self, q: np.ndarray) -> np.ndarray:
        """The mass matrix's inverse (..., nv, nv) at q (..., nq), both triangles."""
        return self._call("minv", q=q)[0]

    def rnea_derivatives(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        f_ext: np.ndarray | None = None,
        base: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives (∂τ/∂q, ∂τ/∂v), each (..., nv, nv), of inverse dynamics."""
        by_q, by_v = self._call("did", q=q, v=v, a=a, f_ext=f_ext, base=base)
        return by_q, by_v

    def forward_dynamics_derivatives(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        f_ext: np.ndarray | None = None,
        *,
        a: np.ndarray | None = None,
        minv: np.ndarray | None = None,
        base: np.ndarray | None = None,
    ) -> tuple[np.ndarray, ...]:
        """Derivatives (∂a/∂q, ∂a/∂v), each (..., nv, nv), of forward dynamics: at ``tau``, or given both the
        acceleration ``a`` and the inverse ``minv`` (..., nv, nv). From ``tau`` an accelerator that was built so returns
        the inverse behind them."""
        if tau is not None and a is None and minv is None:
            return tuple(self._call("dfd", q=q, v=v, tau=tau, f_ext=f_ext, base=base))
        if tau is None and a is not None and minv is not None:
            return tuple(self._call("difd", q=q, v=v, a=a, minv=minv, f_ext=f_ext, base=base))
        raise ConfigError("forward_dynamics_derivatives: give tau, or both a and minv")

    def roll_out(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        steps: np.ndarray | int,
        f_ext: np.ndarray | None = None,
        base: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The states (q, v), shapes (..., nq) and (..., nv), after so many ``steps`` (...) at constant ``tau``."""
        counts = np.broadcast_to(steps, np.shape(q)[:-1])[..., None]
        by_q, by_v = self._call("roll", q=q, v=v, tau=tau, steps=counts, f_ext=f_ext, base=base)
        return by_q, by_v

    def calibrate(self, values: Mapping[str, float]) -> None:
        """Load inertial parameters by name (see :func:`rbdgen.parameter_values`); they hold until the next reset.

        ConfigError for a name that there is not and a value outside its declared range, LinkError where one was lost.
        """
        words = {w.name: k for k, w in enumerate(self.manifest.tasks.parameters)}
        for name in values:
            if name not in words:
                known = ", ".join(words) or "none; build with --calibratable"
                raise ConfigError(f"parameter {name!r}: this accelerator has no such; parameters are {known}")
        numbers = [words[name] for name in values]
        formats = [self.manifest.tasks.parameters[k].format for k in numbers]
        raw = [int(f.quantise(x)) for f, x in zip(formats, values.values(), strict=True)]
        rows = parameter_rows(self.manifest.tasks, np.array(numbers, np.int64), np.array(raw, np.int64))
        results = self.link.exchange([row.tobytes() for row in rows], self.progress)
        for name, result in zip(values, results, strict=True):
            if result is None:
                times = f"lost {self.link.attempts} times"
                raise LinkError(f"parameter {name!r}: {times}; check the cable, then load all again")
            if header(result)[2]:
                word = self.manifest.tasks.parameters[words[name]]
                low, high = (float(word.format.real(np.array(c))) for c in word.codes)
                raise ConfigError(f"parameter {name!r}: must be {low:.6g} to {high:.6g}, not {values[name]:.6g}")

    def _call(self, function: str, **operands: np.ndarray | None) -> list[np.ndarray]:
        given = {name: x for name, x in operands.items() if x is not None}
        (answers,) = self.solve([Request(function, given)])
        self.flags = answers.flags
        if answers.lost.any():
            first = int(np.flatnonzero(answers.lost)[0])
            raise LinkError(
                f"device: {np.count_nonzero(answers.lost)} of {answers.lost.size} tasks of {function} were lost "
                f"{self.link.attempts} times each, the first is number {first}; check the cable, or lower the baud rate"
            )
        if answers.flags.any():
            warnings.warn(_flag_text(function, answers.flags), RbdgenWarning, stacklevel=3)
        return list(answers.values.values())

    def solve(self, requests: Sequence[Request], order: np.ndarray | None = None) -> list[Answers]:
        """All tasks of all requests, many in flight at once.

        ``order``: the request whose next task is to be sent, one entry per task of all (default: request by request).
        ConfigError for a function that the accelerator does not have, an operand that is missing, too many or of a
        wrong shape, and values that are not finite.
        """
        shapes, packets = [], []
        for request in requests:
            shape, raw = self._operands(request)
            shapes.append(shape)
            count = int(np.prod(shape, dtype=int))
            rows = task_rows(self.manifest.tasks, request.function, np.zeros(count, int), raw)
            packets.append([row.tobytes() for row in rows])
        if order is None:
            order = np.repeat(np.arange(len(requests)), [len(p) for p in packets])
        if np.bincount(order, minlength=len(requests)).tolist() != [len(p) for p in packets]:
            raise ConfigError("order: must name each request as many times as it has tasks")
        queues = [iter(p) for p in packets]
        results = self.link.exchange([next(queues[k]) for k in order], self.progress)
        sorted_results: list[list[bytes | None]] = [[] for _ in requests]
        for k, result in zip(order, results, strict=True):
            sorted_results[k].append(result)
        return [
            self._answers(request.function, own, shape)
            for request, own, shape in zip(requests, sorted_results, shapes, strict=True)
        ]

    def _operands(self, request: Request) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """The leading shape and raw operand words (n,) of a request."""
        manifest, name = self.manifest, request.function
        if name not in manifest.tasks.functions:
            raise ConfigError(
                f"function {name}: this accelerator has only {', '.join(manifest.tasks.functions)}; "
                "build one with --functions"
            )
        vectors = manifest.operand_vectors[name]
        for vector in request.operands:
            if vector not in vectors:
                raise ConfigError(f"{vector}: {name} of this accelerator takes none, but {', '.join(vectors)}")
        arrays, batch = {}, None
        for vector in vectors:
            size = manifest.shapes[vector].size
            if vector not in request.operands:
                raise ConfigError(f"{vector}: missing; {name} needs {', '.join(vectors)}")
            x = np.asarray(request.operands[vector], float)
            wanted = f"(..., {', '.join(map(str, size))})"
            if x.shape[max(x.ndim - len(size), 0) :] != size:
                raise ConfigError(f"{vector}: must have shape {wanted}, not {x.shape}")
            if batch is not None and x.shape[: x.ndim - len(size)] != batch:
                raise ConfigError(f"{vector}: must have the leading shape {batch} of the others, not {x.shape}")
            batch = x.shape[: x.ndim - len(size)]
            arrays[vector] = x.reshape(-1, *size)
        assert batch is not None
        values = [arrays[e.vector][(slice(None), *e.index)] for e in manifest.operands[name]]
        return batch, manifest.tasks.functions[name].quantise(values)

    def _answers(self, function: str, packets: list[bytes | None], shape: tuple[int, ...]) -> Answers:
        manifest, f = self.manifest, self.manifest.tasks.functions[function]
        length = manifest.tasks.result.packet_bytes(len(f.results))
        lost = np.array([p is None or len(p) != length for p in packets], bool)
        count = len(packets)
        blank = bytes(length)
        whole = b"".join(blank if p is None or gone else p for p, gone in zip(packets, lost, strict=True))
        rows = np.frombuffer(whole, np.uint8).reshape(count, length)
        results = read_results(manifest.tasks, function, rows)
        values = {v: np.zeros((count, *manifest.shapes[v].size)) for v in manifest.result_vectors[function]}
        for entry, word, raw in zip(manifest.results[function], f.results, results.values, strict=True):
            target = values[entry.vector]
            target[(slice(None), *entry.index)] = word.format.real(raw)
            if manifest.shapes[entry.vector].symmetric:
                target[(slice(None), *entry.index[::-1])] = word.format.real(raw)
        for vector, x in values.items():
            x[lost] = np.nan
            values[vector] = x.reshape(*shape, *x.shape[1:])
        return Answers(values, results.flags.reshape(shape), lost.reshape(shape))


def _flag_text(function: str, flags: np.ndarray) -> str:
    """What a user should know of flagged tasks, in one line."""
    parts = [
        f"{np.count_nonzero(flags & flag)} {text}"
        for flag, text in (
            (Flag.RANGE, "with operands outside the declared ranges"),
            (Flag.OVERFLOW, "with values that saturated inside"),
        )
        if np.any(flags & flag)
    ]
    first = int(np.flatnonzero(flags)[0])
    return f"{function}: of {flags.size} tasks {' and '.join(parts)}; the first is number {first}, see Device.flags"
