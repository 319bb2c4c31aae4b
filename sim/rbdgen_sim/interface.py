"""The interface that every simulator implements: its input, its answer, and the two ends of a simulated design, a
source of input beats and a sink of output beats, advanced once per clock edge.

The ends are the one home of the protocol and of the stalls, so that every simulator drives a design in the same way.
They run inside the simulator, once per cycle: they are written for speed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rbdgen.errors import ConfigError, ToolError

Progress = Callable[[int, int], None]
"""Called now and then with (result beats so far, result beats expected)."""


class DeadlockError(ToolError):
    """The design neither takes nor gives a beat any more; the message says how many beats came."""


class ProtocolError(ToolError):
    """The design breaks the stream protocol: takes back a valid beat, changes it, or drives an unknown value."""


@dataclass(frozen=True)
class Rtl:
    """A design with one stream in and one stream out, both of ``valid``, ``ready`` and ``payload``.

    ``top`` is a Verilog module with the ports ``clk``, ``rst`` (synchronous, active high), ``in_valid``, ``in_ready``,
    ``in_payload`` (``in_width`` bits), ``out_valid``, ``out_ready`` and ``out_payload`` (``out_width`` bits). A beat is
    transferred in every cycle in which valid and ready are both high. ``design`` is the same as an Amaranth component
    with the members ``i = In(stream.Signature(in_width))`` and ``o = Out(stream.Signature(out_width))``; only the
    Amaranth simulator needs it, and it needs no ``sources``. ``probes`` are further outputs, which are read once, when
    the run is over; in an Amaranth design they are attributes.

    Raises ConfigError if a width is not positive.
    """

    top: str
    sources: tuple[Path, ...]
    in_width: int
    out_width: int
    design: object | None = None
    probes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, width in (("in_width", self.in_width), ("out_width", self.out_width)):
            if width < 1:
                raise ConfigError(f"{name}: must be at least 1 bit, not {width}")


QUIET = 10_000
"""Cycles without a transfer after which nothing more is expected, of hardware that answers within half as many."""


@dataclass(frozen=True)
class Stimulus:
    """Beats that the source sends, and the behaviour of both ends.

    ``beats`` are the payloads to send, unsigned; ``expected_beats`` is how many come back. ``input_stall`` is the
    probability, per cycle, that a source with nothing on offer holds valid low; ``output_stall`` the probability, per
    cycle, that the sink holds ready low. Once raised, valid stays until its beat is accepted. The same ``seed`` stalls
    in the same way on every simulator. After ``timeout_cycles`` cycles without a transfer the run ends with
    DeadlockError.

    Raises ConfigError on a probability outside [0, 1), a negative count or a timeout below one cycle.
    """

    beats: Sequence[int]
    expected_beats: int
    input_stall: float = 0.0
    output_stall: float = 0.0
    seed: int = 0
    timeout_cycles: int = QUIET

    def __post_init__(self) -> None:
        for name, stall in (("input_stall", self.input_stall), ("output_stall", self.output_stall)):
            if not 0.0 <= stall < 1.0:
                raise ConfigError(f"{name}: must be a probability below 1, not {stall}")
        for name, count, least in (
            ("expected_beats", self.expected_beats, 0),
            ("seed", self.seed, 0),
            ("timeout_cycles", self.timeout_cycles, 1),
        ):
            if count < least:
                raise ConfigError(f"{name}: must be at least {least}, not {count}")


# arrays compare entry by entry: == of two traces would be neither true nor false
@dataclass(frozen=True, eq=False)
class Trace:
    """Record of a run. Cycles count rising clock edges, the first edge without reset being cycle 0.

    ``accepted`` (n,) is the cycle in which each input beat was transferred; ``offered`` (m,) the first cycle in which
    each output beat was valid, ``taken`` (m,) the cycle in which it was transferred, ``payloads`` what it carried.
    m exceeds the expected count if the design gave more before the last input beat was accepted. ``cycles`` is the
    length of the run, ``build_seconds`` (0 for a build that was reused) and ``run_seconds`` are wall-clock times.
    ``probes`` gives what the design's probes showed, unsigned, after the last transfer.
    """

    accepted: np.ndarray
    offered: np.ndarray
    taken: np.ndarray
    payloads: list[int]
    cycles: int
    build_seconds: float
    run_seconds: float
    probes: dict[str, int] = field(default_factory=dict)


class Simulator(ABC):
    """One way to simulate an :class:`Rtl`."""

    name: str
    wave_suffixes: tuple[str, ...]
    """Kinds of waveform file that it writes, the one to prefer first."""

    @abstractmethod
    def available(self) -> None:
        """Return if the simulator can run here; else raise ToolError: what is missing and how to install it."""

    @abstractmethod
    def run(
        self,
        rtl: Rtl,
        stimulus: Stimulus,
        workdir: Path,
        waves: Path | None = None,
        progress: Progress | None = None,
    ) -> Trace:
        """Reset ``rtl``, play ``stimulus`` and return what was seen.

        ``workdir`` is made if absent, gets logs, and is this run's own: two runs at a time need two. Nothing in it is
        run. Nothing else is written, but for ``waves``, the waveform file, and temporary files. Raises ConfigError on a
        request that cannot be met, ToolError if a program is missing or fails, DeadlockError and ProtocolError if the
        design misbehaves.
        """

    def check(self, rtl: Rtl, stimulus: Stimulus, waves: Path | None) -> None:
        """ConfigError unless the payloads fit their port and ``waves`` is of a kind that this simulator writes."""
        for k, beat in enumerate(stimulus.beats):
            if beat < 0 or beat >> rtl.in_width:
                raise ConfigError(
                    f"input beat {k}: must fit {rtl.in_width} unsigned bits, not {beat}"
                )
        if waves is not None and waves.suffix not in self.wave_suffixes:
            raise ConfigError(
                f"{waves}: {self.name} writes {' or '.join(self.wave_suffixes)} files"
            )


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
        # cycles to wait, where each is one of stalling with this probability
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
        # a payload is read only where it counts: a wide one takes long
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
        """The trace so far, with the probes."""
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
