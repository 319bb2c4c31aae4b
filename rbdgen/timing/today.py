"""What a user has today: microseconds per state of the golden model and of Pinocchio, over batches, in one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rbdgen.forking import cores
from rbdgen.functions import registry
from rbdgen.functions.states import States
from rbdgen.model.robot import Robot
from rbdgen.timing import pinocchio
from rbdgen.timing.golden import Others, golden_calls, timing_states
from rbdgen.timing.stopwatch import best_seconds

BATCHES = (1, 4, 16, 64, 256, 1024, 4096)
"""States per call."""
NUMPY, PINOCCHIO = "rbdgen golden model (NumPy)", "Pinocchio from Python"


@dataclass(frozen=True)
class Timing:
    """One measurement on this machine: ``microseconds`` per state, of a call for ``batch`` states by ``workers`` cores.

    ``how`` says how the cores were used. ``microseconds`` is None where nothing could be measured; ``note`` says why.
    """

    implementation: str
    function: str
    workers: int
    batch: int | None
    microseconds: float | None
    how: str = ""
    note: str = ""


def time_today(
    robot: Robot,
    urdf: Path,
    base: str,
    functions: Sequence[str],
    batches: Sequence[int] = BATCHES,
    seed: int = 1,
    rounds: int = 3,
    progress: Callable[[str, int, int], None] = lambda name, done, total: None,
    others: Others = lambda q: {},
) -> list[Timing]:
    """Time ``functions`` of ``robot``, which is that of ``urdf``; the best of ``rounds`` for each batch. ``others``:
    operands that :func:`rbdgen.timing.golden.timing_states` does not know.

    ``progress`` is told a name, how many functions are done, and how many there are.
    """
    taken = {q.name for f in functions for q in registry.function(f).operands}
    states = timing_states(robot, max(batches), seed, "minv" in taken, others)
    result: list[Timing] = []
    for done, function in enumerate(functions):
        progress("time the golden model", done, len(functions))
        for batch in batches:
            call = golden_calls(robot, states.part(slice(batch)))[function]
            call()  # records the text
            each = best_seconds(call, rounds) / batch * 1e6
            result.append(Timing(NUMPY, function, 1, batch, each, "one call for the batch"))
    progress("time the golden model", len(functions), len(functions))
    return result + _pinocchio(urdf, base, functions, batches, states, rounds, progress)


def _pinocchio(
    urdf: Path,
    base: str,
    functions: Sequence[str],
    batches: Sequence[int],
    states: States,
    rounds: int,
    progress: Callable[[str, int, int], None],
) -> list[Timing]:
    def nothing(function: str, note: str) -> Timing:
        return Timing(PINOCCHIO, function, 1, None, None, note=note)

    if not pinocchio.available():
        return [nothing(f, "Pinocchio is not installed: pip install pin") for f in functions]
    model = pinocchio.model_of(urdf, base)
    if not pinocchio.fits(model, states):
        note = f"Pinocchio's model of this file has nq {model.nq} and nv {model.nv}"
        return [
            nothing(f, f"{note}, ours {states.q.shape[1]} and {states.v.shape[1]}")
            for f in functions
        ]
    mine = pinocchio.covered(functions)
    result = [nothing(f, "Pinocchio has no such function") for f in functions if f not in mine]
    data, team = model.createData(), None
    with ExitStack() as stack:
        for done, function in enumerate(mine):
            progress("time Pinocchio", done, len(mine))
            for batch in batches:
                some = states.part(slice(batch))
                alone = (
                    best_seconds(pinocchio.loop(model, data, function, some), rounds) / batch * 1e6
                )
                result.append(
                    Timing(PINOCCHIO, function, 1, batch, alone, "one state after another")
                )
                if cores() < 2:
                    continue
                if team is None:
                    team = stack.enter_context(pinocchio.Team(urdf, base, states, cores()))
                calls: dict[str, Callable[[], object]] = {
                    "a process per core": team.call(function, batch)
                }
                if own := pinocchio.own_parallel(model, function, some, cores()):
                    calls["Pinocchio's own threads"] = own
                times = {
                    how: best_seconds(call, rounds) / batch * 1e6 for how, call in calls.items()
                }
                how = min(times, key=lambda h: times[h])
                result.append(Timing(PINOCCHIO, function, cores(), batch, times[how], how))
        progress("time Pinocchio", len(mine), len(mine))
    return result
