# amaranth: UnusedElaboratable=no
"""Packets between words of 32 bits and beats: in words every beat starts on a new byte, and packets are padded to whole
words. Both directions move a word per cycle, and every beat begins and ends in a cycle of its own."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen.protocol.datagrams import WORD_BYTES, padded
from rbdgen.protocol.tasks import HEADER_BITS, Packing
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.logic import cut
from rbdgen_hw.shells.lengths import Packets

WORD_BITS = 8 * WORD_BYTES
_BYTES = [8] * WORD_BYTES


@dataclass(frozen=True)
class Shape:
    """A packet in words: how many ``words``, how many ``beats``, and into how many words its last beat reaches, counted
    from where that begins (``last``)."""

    words: int
    beats: int
    last: int


def shape(packing: Packing, values: int) -> Shape:
    """The shape of a packet of a header and ``values`` words of its own."""
    size = packing.packet_bytes(values)
    beats = packing.beats(values)
    last = size - (beats - 1) * packing.beat_bytes
    return Shape(padded(size) // WORD_BYTES, beats, padded(last) // WORD_BYTES)


class WordsToBeats(SharedComponent):
    """``i``: words of whole packets, one after the other; ``beats``: their beats, ``last`` with a packet's last one.
    ``busy``: amid a packet. What a packet asks for is looked up in the cycle before its first word is used."""

    module_name = "words_to_beats"

    def __init__(self, packets: Packets) -> None:
        self.packets = packets
        self.packing = packets.packing
        super().__init__(
            {
                "i": In(stream.Signature(WORD_BITS)),
                "beats": Out(stream.Signature(self.packing.beat_bits)),
                "last": Out(1),
                "busy": Out(1),
                **packets.ports,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self.packing.beat_bytes
        steps = padded(size) // WORD_BYTES
        # bytes of a full beat in its last step
        rest = size - (steps - 1) * WORD_BYTES
        packing = self.packing
        wanted = {
            "words": lambda n: shape(packing, n).words,
            "behind": lambda n: shape(packing, n).beats - 1,
            "last_top": lambda n: shape(packing, n).last - 1,
        }
        words, behind, last_top = self.packets.several(m, self, self.i.payload, wanted)

        # the present word, and what it says of its packet if it is a first one
        word, there = Signal(WORD_BITS, reset_less=True), Signal()
        word_words, word_behind, word_last = (
            Signal.like(words),
            Signal.like(behind),
            Signal.like(last_top),
        )
        word_top, word_final = Signal(range(steps)), Signal()
        fetched = Signal()
        m.d.comb += self.i.ready.eq(~there | fetched)
        with m.If(self.i.ready):
            m.d.sync += [
                there.eq(self.i.valid),
                word.eq(self.i.payload),
                word_words.eq(words),
                word_behind.eq(behind),
                word_last.eq(last_top),
                word_final.eq(behind == 0),
                word_top.eq(Mux(behind == 0, last_top, steps - 1)),
            ]

        # the packet: begun, words that have not come, beats behind the present one, the last step of its last beat
        begun, words_left = Signal(), Signal.like(words)
        beats_left, last_step = Signal.like(behind), Signal.like(last_top)
        # the beat: its present step and its last one, whether it is the packet's last, and whether this step needs
        # another word; of the word before, ``spare`` bytes are left
        step, top_left, final_left = Signal(range(steps)), Signal(range(steps)), Signal()
        needs_left, spare = Signal(), Signal(range(WORD_BYTES))
        held = Signal(WORD_BITS, reset_less=True)
        top = Mux(begun, top_left, word_top)
        final = Mux(begun, final_left, word_final)
        needs = ~begun | needs_left
        ends, goes, full = Signal(), Signal(), Signal()
        free = ~full | self.beats.ready
        m.d.comb += [
            ends.eq(step == top),
            goes.eq(free & (there | ~needs)),
            fetched.eq(goes & needs),
        ]
        with m.If(fetched):
            m.d.sync += held.eq(word)

        left = Mux(begun, words_left, word_words)
        left_after = Signal.like(words)
        behind_after = Signal.like(behind)
        spare_after, step_after = Signal.like(spare), Signal.like(step)
        top_after, final_after = Signal.like(step), Signal()
        # a beat's last step goes along with the one before where the bytes for it are there
        along, closes = Signal(), Signal()
        if steps > 1:
            fits = Mux(final, left == 1, spare >= rest)
            m.d.comb += along.eq((step == steps - 2) & (top == steps - 1) & fits)
        m.d.comb += closes.eq(ends | along)
        behind_now = Mux(begun, beats_left, word_behind)
        last_now = Mux(begun, last_step, word_last)
        next_final = behind_now == 1
        used = Mux(closes & ~final, rest, 0)
        m.d.comb += [
            left_after.eq(left - needs),
            behind_after.eq(behind_now - closes),
            spare_after.eq(spare - used),
            step_after.eq(Mux(closes, 0, step + 1)),
            final_after.eq(Mux(closes, next_final, final)),
            top_after.eq(Mux(closes, Mux(next_final, last_now, steps - 1), top)),
        ]
        # all but a beat's last step need a word; that of a packet does if one is left, that of others if the bytes
        # that are spare are too few
        is_last_step = step_after == top_after
        short = Mux(final_after, left_after != 0, spare_after < rest)
        over = closes & final
        with m.If(goes):
            m.d.sync += [
                begun.eq(~over),
                words_left.eq(left_after),
                beats_left.eq(behind_after),
                last_step.eq(last_now),
                step.eq(step_after),
                top_left.eq(top_after),
                final_left.eq(final_after),
                needs_left.eq(~is_last_step | short),
                spare.eq(Mux(over, 0, spare_after)),
                self.last.eq(final),
            ]
        with m.If(free):
            m.d.sync += full.eq(goes & closes)
        # behind a packet's last word there are zeros
        following = Mux(needs, word, 0)
        self._write_beat(m, goes, step, self._aligned(held, following, spare))
        # the bytes of the word that are left behind it
        with m.If(goes & along), m.Switch(spare):
            for k in range(1, WORD_BYTES):
                with m.Case(k):
                    m.d.sync += self.parts[-1].eq(following >> 8 * (WORD_BYTES - k))
        m.d.comb += [
            self.beats.valid.eq(full),
            self.busy.eq(there | begun | full),
        ]
        return m

    def _aligned(self, held: Signal, word: Value, spare: Signal) -> Value:
        """The last ``spare`` bytes of ``held`` and, behind them, those of ``word`` that make a word with them."""
        both = cut(Cat(held, word), _BYTES * 2)
        choices = [Cat(*both[WORD_BYTES - k : 2 * WORD_BYTES - k]) for k in range(WORD_BYTES)]
        low = Mux(spare[0], choices[1], choices[0])
        high = Mux(spare[0], choices[3], choices[2])
        return Mux(spare[1], high, low)

    def _write_beat(self, m: Module, goes: Value, step: Signal, aligned: Value) -> None:
        """A word of the present beat; its first one clears the others."""
        bits = self.packing.beat_bits
        parts = []
        for k, begin in enumerate(range(0, bits, WORD_BITS)):
            width = min(WORD_BITS, bits - begin)
            part = Signal(width, name=f"part{k}", reset_less=True)
            parts.append(part)
            with m.If(goes & (step == k)):
                m.d.sync += part.eq(aligned[:width])
            if k:
                with m.If(goes & (step == 0)):
                    m.d.sync += part.eq(0)
        m.d.comb += self.beats.payload.eq(Cat(*parts))
        self.parts = parts


class BeatsToWords(SharedComponent):
    """``beats``: those of whole packets, whose unused bits are zero; ``left`` strobes with the last one of each. ``o``:
    their words, ``last`` with a packet's last one. ``busy``: amid a packet."""

    module_name = "beats_to_words"

    def __init__(self, packets: Packets) -> None:
        self.packets = packets
        self.packing = packets.packing
        super().__init__(
            {
                "beats": In(stream.Signature(self.packing.beat_bits)),
                "left": Out(1),
                "o": Out(stream.Signature(WORD_BITS)),
                "last": Out(1),
                "busy": Out(1),
                **packets.ports,
            }
        )

    def _last_bytes(self, values: int) -> int:
        """Bytes of the last beat of a packet of so many values, in its last step."""
        own = shape(self.packing, values)
        before = (own.beats - 1) * self.packing.beat_bytes + (own.last - 1) * WORD_BYTES
        return self.packing.packet_bytes(values) - before

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self.packing.beat_bytes
        steps = padded(size) // WORD_BYTES
        rest = size - (steps - 1) * WORD_BYTES
        packing = self.packing
        # a packet's shape is looked up in the cycle in which its first beat is there and taken apart from the next one
        # on, unless the packet before ends in the same cycle
        wanted = {
            "behind": lambda n: shape(packing, n).beats - 1,
            "tops": lambda n: shape(packing, n).last - 1,
            "rests": self._last_bytes,
        }
        head = self.beats.payload[:HEADER_BITS]
        behind, tops, rests = self.packets.several(m, self, head, wanted)
        beats_left = Signal.like(behind)
        last_top, last_bytes = Signal(range(steps)), Signal(range(WORD_BYTES + 1))
        known = Signal()
        step, moves = Signal(range(steps)), Signal()
        final = beats_left == 0
        ends = step == Mux(final, last_top, steps - 1)
        over = Signal()
        takes = Signal()
        m.d.comb += [
            takes.eq(known & self.beats.valid & moves),
            self.beats.ready.eq(known & moves & ends),
            over.eq(ends & final),
            self.left.eq(takes & over),
        ]
        with m.If(~known):
            m.d.sync += [
                known.eq(self.beats.valid),
                beats_left.eq(behind),
                last_top.eq(tops),
                last_bytes.eq(rests),
            ]
        with m.If(takes):
            m.d.sync += step.eq(Mux(ends, 0, step + 1))
            with m.If(ends):
                m.d.sync += [
                    beats_left.eq(beats_left - 1),
                    known.eq(~final),
                ]

        # a piece of a beat: up to a word
        piece, there = Signal(WORD_BITS, reset_less=True), Signal()
        count, piece_last = Signal(range(WORD_BYTES + 1)), Signal()
        parts = cut(self.beats.payload, [WORD_BITS] * steps)
        with m.If(moves):
            m.d.sync += [
                there.eq(takes),
                piece_last.eq(over),
                count.eq(Mux(over, last_bytes, Mux(ends, rest, WORD_BYTES))),
            ]
            with m.Switch(step):
                for k, part in enumerate(parts):
                    with m.Case(k):
                        m.d.sync += piece.eq(part)
        self._join(m, piece, there, count, piece_last, moves)
        m.d.comb += self.busy.eq(known | self.beats.valid | there | self.o.valid)
        return m

    def _join(
        self, m: Module, piece: Signal, there: Signal, count: Signal, last: Signal, moves: Signal
    ) -> None:
        """Pieces become words; the bytes behind a packet's last whole word go in a cycle of their own."""
        held, spare = Signal(WORD_BITS, reset_less=True), Signal(range(WORD_BYTES))
        flushes, free = Signal(), Signal()
        total = Signal(range(2 * WORD_BYTES))
        room = 2 * WORD_BITS - 8
        shifted = Signal(room)
        with m.Switch(spare):
            for k in range(WORD_BYTES):
                with m.Case(k):
                    m.d.comb += shifted.eq(piece << 8 * k)
        joined = Mux(spare == 0, 0, held) | shifted
        whole = total >= WORD_BYTES
        exact = total <= WORD_BYTES
        m.d.comb += [
            free.eq(~self.o.valid | self.o.ready),
            moves.eq(free & ~flushes),
            total.eq(spare + count),
        ]
        with m.If(free):
            m.d.sync += [
                self.o.valid.eq(flushes | (there & (whole | last))),
                self.o.payload.eq(Mux(flushes, held, joined[:WORD_BITS])),
                self.last.eq(flushes | (last & exact)),
                flushes.eq(~flushes & there & last & ~exact),
            ]
            with m.If(~flushes & there):
                m.d.sync += [
                    held.eq(Mux(whole, joined[WORD_BITS:], joined[:WORD_BITS])),
                    spare.eq(Mux(last, 0, total[: len(spare)])),
                ]
