"""The simulators by name, and Amaranth's own: slow, but it takes the component itself, without Verilog and without any
program."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rbdgen.errors import ConfigError, ToolError
from rbdgen.installation import require
from rbdgen_sim.interface import Progress, Rtl, Simulator, Stimulus, StreamEnds, Trace

_CLOCK_PERIOD = 2e-9
"""Seconds; as in the other simulators, it only scales the waveforms."""

_SECONDS_PER_REPORT = 0.25


class AmaranthSimulator(Simulator):
    """Simulates ``Rtl.design`` in Python."""

    name = "amaranth"
    wave_suffixes = (".vcd",)

    def __init__(self) -> None:
        self._made: tuple[Any, Any, _Playing] | None = None
        """The component that was simulated last, its engine, and what plays in it."""

    def available(self) -> None:
        """See :class:`Simulator`."""
        require("hw", "amaranth")

    def run(
        self,
        rtl: Rtl,
        stimulus: Stimulus,
        workdir: Path,
        waves: Path | None = None,
        progress: Progress | None = None,
    ) -> Trace:
        """See :class:`Simulator`. There is no reset: an Amaranth design starts from its registers' initial values."""
        self.available()
        self.check(rtl, stimulus, waves)
        if rtl.design is None:
            raise ConfigError(
                f"{rtl.top}: the amaranth simulator needs Rtl.design, an Amaranth component"
            )
        started = time.perf_counter()
        engine, playing = self._engine(rtl)
        playing.streams, playing.progress = StreamEnds(stimulus), progress
        built = time.perf_counter()
        try:
            with engine.write_vcd(str(waves)) if waves is not None else nullcontext():
                engine.run()
        except ToolError as error:
            raise type(error)(f"{self.name}: {error}") from None
        if progress is not None:
            progress(len(playing.streams.payloads), stimulus.expected_beats)
        elapsed = time.perf_counter() - built
        # not after an error, which may leave something waiting in it
        self._made = rtl.design, engine, playing
        return playing.streams.trace(built - started, elapsed, playing.probes)

    def _engine(self, rtl: Rtl) -> tuple[Any, _Playing]:
        """Amaranth's engine for the component, at its start, and what plays in it. That of the last component is
        taken again: it takes as long to make as some hundred cycles take."""
        from amaranth.sim import Simulator as AmaranthEngine

        made, self._made = self._made, None
        if made is not None and made[0] is rtl.design:
            _, engine, playing = made
            engine.reset()
        else:
            engine, playing = AmaranthEngine(rtl.design), _Playing(rtl.design)
            engine.add_clock(_CLOCK_PERIOD)
            engine.add_testbench(playing.play)
        playing.ports = rtl
        return engine, playing


class _Playing:
    """Both ends of a component's streams in one run, which is set before it."""

    streams: StreamEnds
    progress: Progress | None
    ports: Rtl

    def __init__(self, design: Any) -> None:
        self._design = design
        self.probes: dict[str, int] = {}

    async def play(self, context: Any) -> None:
        """The testbench: until all beats have come."""
        from amaranth.hdl import Value

        streams, source, sink = self.streams, self._design.i, self._design.o
        source_payload, sink_payload = Value.cast(source.payload), Value.cast(sink.payload)
        tick = context.tick().sample(source.ready, sink.valid, sink_payload)
        reported, running = time.perf_counter(), not streams.done
        while running:
            context.set(source.valid, streams.valid)
            if streams.valid:
                context.set(source_payload, streams.beats[streams.index])
            context.set(sink.ready, streams.ready)
            _, _, in_ready, out_valid, payload = await tick
            # signed or not, the payload is its bits
            bits = payload & ((1 << self.ports.out_width) - 1)
            running = streams.edge(bool(in_ready), bool(out_valid), lambda bits=bits: bits)
            progress = self.progress
            if progress is not None and time.perf_counter() - reported > _SECONDS_PER_REPORT:
                reported = time.perf_counter()
                progress(len(streams.payloads), streams.expected)
        names = self.ports.probes
        self.probes = {name: context.get(getattr(self._design, name)) for name in names}


SIMULATORS = ("verilator", "icarus", "amaranth")
"""Names that :func:`get_simulator` knows."""


def get_simulator(name: str) -> Simulator:
    """The simulator of that name, one of :data:`SIMULATORS`. Raises ConfigError on any other.

    The back ends are imported here, so that a missing package is reported by ``available`` and hinders no other one.
    """
    if name == "amaranth":
        return AmaranthSimulator()
    if name == "verilator":
        from rbdgen_sim.cocotb_backend import VerilatorSimulator

        return VerilatorSimulator()
    if name == "icarus":
        from rbdgen_sim.cocotb_backend import IcarusSimulator

        return IcarusSimulator()
    raise ConfigError(f"simulator: must be one of {', '.join(SIMULATORS)}, not {name!r}")
