"""What a simulation is given, what it gives back, and the interface that every simulator implements.

Not here: how a simulator is built and started (one module per back end), and the streams' protocol
(:mod:`rbdgen_sim.streams`).
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


@dataclass(frozen=True)
class Stimulus:
    """What the source sends and how the two ends behave.

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
    timeout_cycles: int = 10_000

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


@dataclass(frozen=True, eq=False)
class Trace:
    """What a run saw. Cycles count rising clock edges, the first edge without reset being cycle 0.

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
