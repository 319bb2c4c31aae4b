"""Files by which back end, launcher and the bench inside the simulator exchange job, stimulus, progress and trace.

Arrays go in NumPy's ``npz`` form without pickles; payloads, which may be wider than a machine word, as rows of bytes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rbdgen_sim.interface import DeadlockError, ProtocolError, Stimulus, Trace

WORKDIR_VARIABLE = "RBDGEN_SIM_WORKDIR"
"""Environment variable that names the exchange's folder to the bench."""

_STIMULUS, _TRACE, _PROGRESS = "stimulus.npz", "trace.npz", "progress"
_ERRORS = {error.__name__: error for error in (DeadlockError, ProtocolError)}


@dataclass(frozen=True)
class Job:
    """One call of cocotb's runner: "build" or "run" as ``action``; ``waves`` is the waveform file, or empty."""

    action: str
    simulator: str
    top: str
    sources: tuple[str, ...]
    control_files: tuple[str, ...]
    build_args: tuple[str, ...]
    build_dir: str
    workdir: str
    waves: str


def write_job(path: Path, job: Job) -> None:
    """Write ``job`` to the file ``path``."""
    path.write_text(json.dumps(asdict(job), indent=1), encoding="utf-8")


def read_job(path: Path) -> Job:
    """The job that :func:`write_job` wrote."""
    fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for name, value in fields.items():
        if isinstance(value, list):
            # JSON has lists where records have tuples
            fields[name] = tuple(value)
    return Job(**fields)


def write_stimulus(workdir: Path, stimulus: Stimulus, probes: Sequence[str]) -> None:
    """Write ``stimulus`` and the names of the design's ``probes`` for the bench."""
    np.savez(
        workdir / _STIMULUS,
        beats=_to_rows(stimulus.beats),
        expected_beats=stimulus.expected_beats,
        input_stall=stimulus.input_stall,
        output_stall=stimulus.output_stall,
        seed=stimulus.seed,
        timeout_cycles=stimulus.timeout_cycles,
        # with its type: none would be an array of floats, objects would need pickles
        probes=np.array(probes, np.str_),
    )


def read_stimulus(workdir: Path) -> tuple[Stimulus, list[str]]:
    """The stimulus that :func:`write_stimulus` wrote."""
    with np.load(workdir / _STIMULUS) as data:
        stimulus = Stimulus(
            beats=_from_rows(data["beats"]),
            expected_beats=int(data["expected_beats"]),
            input_stall=float(data["input_stall"]),
            output_stall=float(data["output_stall"]),
            seed=int(data["seed"]),
            timeout_cycles=int(data["timeout_cycles"]),
        )
        return stimulus, [str(name) for name in data["probes"]]


def write_outcome(workdir: Path, trace: Trace, error: Exception | None) -> None:
    """Write what the bench saw, and the error that ended the run if one did."""
    caught = [type(error).__name__, str(error)] if error else []
    np.savez(
        workdir / _TRACE,
        accepted=trace.accepted,
        offered=trace.offered,
        taken=trace.taken,
        payloads=_to_rows(trace.payloads),
        cycles=trace.cycles,
        run_seconds=trace.run_seconds,
        probes=np.array(list(trace.probes), np.str_),
        probed=_to_rows(list(trace.probes.values())),
        error=np.array(caught, np.str_),
    )


def read_outcome(
    workdir: Path, build_seconds: float
) -> tuple[Trace, DeadlockError | ProtocolError | None] | None:
    """The outcome that :func:`write_outcome` wrote; None if the bench did not come to its end."""
    path = workdir / _TRACE
    if not path.exists():
        return None
    with np.load(path) as data:
        error = [str(part) for part in data["error"]]
        names = [str(name) for name in data["probes"]]
        probed = _from_rows(data["probed"])
        trace = Trace(
            accepted=data["accepted"],
            offered=data["offered"],
            taken=data["taken"],
            payloads=_from_rows(data["payloads"]),
            cycles=int(data["cycles"]),
            build_seconds=build_seconds,
            run_seconds=float(data["run_seconds"]),
            probes=dict(zip(names, probed, strict=True)),
        )
    if not error:
        return trace, None
    name, message = error
    return trace, _ERRORS[name](message)


def write_progress(workdir: Path, beats: int) -> None:
    """Tell whoever waits how many output beats came."""
    # renamed into place, so that a reader never sees half of it
    fresh = workdir / f"{_PROGRESS}.new"
    fresh.write_text(str(beats), encoding="ascii")
    fresh.replace(workdir / _PROGRESS)


def read_progress(workdir: Path) -> int:
    """The number that :func:`write_progress` wrote last, 0 before that."""
    try:
        return int((workdir / _PROGRESS).read_text(encoding="ascii"))
    except FileNotFoundError:
        return 0


def _to_rows(values: Sequence[int]) -> np.ndarray:
    """Unsigned numbers as rows of bytes, as many as the largest has."""
    bits = max((value.bit_length() for value in values), default=0)
    # at least a byte each: rows of no bytes would lose how many they are
    size = max(1, -(-bits // 8))
    data = b"".join(value.to_bytes(size, "little") for value in values)
    return np.frombuffer(data, np.uint8).reshape(len(values), size)


def _from_rows(rows: np.ndarray) -> list[int]:
    """The integers that :func:`_to_rows` made rows of."""
    size, data = rows.shape[1], rows.tobytes()
    starts = range(0, len(data), size)
    return [int.from_bytes(data[start : start + size], "little") for start in starts]
