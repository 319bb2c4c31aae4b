"""Amaranth's own simulator: slow, but it takes the component itself, without Verilog and without any program."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rbdgen.errors import ConfigError, ToolError
from rbdgen.extras import require
from rbdgen_sim.interface import Progress, Rtl, Simulator, Stimulus, Trace
from rbdgen_sim.streams import StreamEnds

_CLOCK_PERIOD = 2e-9
"""Seconds; as in the other simulators, it only scales the waveforms."""

_SECONDS_PER_REPORT = 0.25


class AmaranthSimulator(Simulator):
    """Simulates ``Rtl.design`` in Python."""

    name = "amaranth"
    wave_suffixes = (".vcd",)

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
        from amaranth.hdl import Value
        from amaranth.sim import Simulator as AmaranthEngine

        design: Any = rtl.design
        streams = StreamEnds(stimulus)
        probes: dict[str, int] = {}
        started = time.perf_counter()
        engine = AmaranthEngine(design)
        engine.add_clock(_CLOCK_PERIOD)
        source, sink = design.i, design.o
        source_payload, sink_payload = Value.cast(source.payload), Value.cast(sink.payload)

        async def play(context: Any) -> None:
            tick = context.tick().sample(source.ready, sink.valid, sink_payload)
            reported, running = time.perf_counter(), not streams.done
            while running:
                context.set(source.valid, streams.valid)
                if streams.valid:
                    context.set(source_payload, streams.beats[streams.index])
                context.set(sink.ready, streams.ready)
                _, _, in_ready, out_valid, payload = await tick
                # signed or not, the payload is its bits
                bits = payload & ((1 << rtl.out_width) - 1)
                running = streams.edge(bool(in_ready), bool(out_valid), lambda bits=bits: bits)
                if progress is not None and time.perf_counter() - reported > _SECONDS_PER_REPORT:
                    reported = time.perf_counter()
                    progress(len(streams.payloads), stimulus.expected_beats)
            probes.update((name, context.get(getattr(design, name))) for name in rtl.probes)

        engine.add_testbench(play)
        built = time.perf_counter()
        try:
            with engine.write_vcd(str(waves)) if waves is not None else nullcontext():
                engine.run()
        except ToolError as error:
            raise type(error)(f"{self.name}: {error}") from None
        if progress is not None:
            progress(len(streams.payloads), stimulus.expected_beats)
        return streams.trace(built - started, time.perf_counter() - built, probes)
