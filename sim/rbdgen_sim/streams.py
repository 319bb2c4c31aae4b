"""The two ends of a simulated design: a source of input beats and a sink of output beats, advanced once per clock edge.

This is the one home of the protocol and of the stalls, so that every simulator drives a design in the same way. It runs
inside the simulator, once per cycle: it is written for speed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rbdgen_sim.interface import DeadlockError, ProtocolError, Stimulus, Trace

_CHUNK = 4096
"""Cycles of output stalls that are drawn at a time."""


class StreamEnds:
    """Source and sink of one run.

    Before each rising edge the design sees ``valid``, ``beats[index]`` (while ``valid``) and ``ready``; :meth:`edge`
    is given the design's answer and moves on to the next cycle.
    """

    def __init__(self, stimulus: Stimulus) -> None:
        self.beats = stimulus.beats
        self.expected = stimulus.expected_beats
        self.timeout = stimulus.timeout_cycles
        # one generator per end, so that the stalls of one do not depend on the traffic of the other
        source = np.random.default_rng([stimulus.seed, 0])
        sink = np.random.default_rng([stimulus.seed, 1])
        gaps = source.geometric(1.0 - stimulus.input_stall, len(self.beats)) - 1
        self._gaps: list[int] = gaps.tolist()
        self._sink = sink
        self._output_stall = stimulus.output_stall
        self._ready: list[bool] = []

        self.cycle = 0
        self.index = 0
        self.valid = False
        self._wait = 0
        self._next_beat()
        self.ready = True
        self._next_ready()

        self.accepted: list[int] = []
        self.offered: list[int] = []
        self.taken: list[int] = []
        self.payloads: list[int] = []
        self._held = False
        self._payload = 0
        self._last_transfer = -1

    @property
    def done(self) -> bool:
        """Whether every input beat was accepted and every expected output beat came."""
        return len(self.payloads) >= self.expected and self.index == len(self.beats)

    def edge(self, in_ready: bool, out_valid: bool, read_payload: Callable[[], int]) -> bool:
        """Account for one rising edge, with the design's outputs as they were just before it.

        Returns whether the run goes on. Raises DeadlockError and ProtocolError.
        """
        cycle = self.cycle
        self.cycle = cycle + 1
        if self.valid:
            if in_ready:
                self.accepted.append(cycle)
                self._last_transfer = cycle
                self.index += 1
                self._next_beat()
        elif self._wait:
            self._wait -= 1
            self.valid = not self._wait
        if out_valid:
            if not self._held:
                self.offered.append(cycle)
                self._payload = read_payload()
            elif read_payload() != self._payload:
                beat = len(self.payloads)
                raise ProtocolError(
                    f"out_payload of beat {beat} changed in cycle {cycle}, before out_ready"
                )
            self._held = not self.ready
            if self.ready:
                self.taken.append(cycle)
                self.payloads.append(self._payload)
                self._last_transfer = cycle
        elif self._held:
            raise ProtocolError(
                f"out_valid of beat {len(self.payloads)} fell in cycle {cycle}, before out_ready"
            )
        if self._output_stall:
            self._next_ready()
        if self.done:
            return False
        if cycle - self._last_transfer >= self.timeout:
            raise DeadlockError(
                f"no transfer for {self.timeout} cycles, up to cycle {cycle}: {self.index} of {len(self.beats)} input "
                f"beats were accepted, {len(self.payloads)} of {self.expected} output beats came"
            )
        return True

    def trace(self, build_seconds: float, run_seconds: float, probes: dict[str, int]) -> Trace:
        """What was seen so far, and on the probes."""
        return Trace(
            accepted=np.array(self.accepted, np.int64),
            offered=np.array(self.offered, np.int64),
            taken=np.array(self.taken, np.int64),
            payloads=self.payloads,
            cycles=self.cycle,
            build_seconds=build_seconds,
            run_seconds=run_seconds,
            probes=probes,
        )

    def _next_beat(self) -> None:
        """Offer the next beat, or wait for as many cycles as its gap says."""
        self.valid = False
        if self.index < len(self.beats):
            self._wait = self._gaps[self.index]
            self.valid = not self._wait

    def _next_ready(self) -> None:
        if not self._ready:
            self._ready = (self._sink.random(_CHUNK) >= self._output_stall).tolist()
        self.ready = self._ready.pop()
