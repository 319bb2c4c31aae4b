"""The shape of an engine's core: what a program may use, and what its hardware is made from. No robot is in it."""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.errors import ConfigError
from rbdgen.ir.number_formats import Format
from rbdgen.passes.formats import WIDEST

STEP = 4
"""Binary points are multiples of so many bits, so that few distances are left between them."""
DISTANCES = (0, 4, 8, 12)
"""Places by which a lane moves a term to the right before it adds it."""
EXTRACTIONS = (4, 8, 12, 16)
"""Places that a lane drops of a sum, rounding half up."""
LIFT = 12
"""Places to the left of a term of two addends, so that moving it right loses nothing of it."""
GUARD = 3
"""Bits of a sum beyond those of a lane's terms."""
LANES = {1: 1, 2: 1, 4: 2, 8: 4}
"""Lanes that a core may have, and the banks that it then has."""
WIDTHS = range(32, WIDEST + 1)
"""Bits that words may have."""
WAITING = 2
"""Tasks whose words are all there, at most, beside the one that begins."""
CIRCLING = 8
"""Tasks that repeat and may be under way at once: beside those in a program's stages some that enter anew."""
LEAN_WAITING = 256
"""Words of operands that may wait before a lean core, at most."""
ROOM = 2
"""Words that may come since there was seen to be room for them."""
STAGE_BITS = 3
"""Bits of a stage: a task takes at most so many intervals as they can number."""
ANGLE_POINT = 28
"""Binary point of angles in quarter turns, of sines and cosines, and of the mantissas of reciprocals."""


@dataclass(frozen=True)
class Core:
    """A core: ``lanes`` that multiply and add, and ``banks`` of ``words`` values of ``width`` bits that take a result a
    cycle each; the memory of operands has as many words, a power of two. ``depth``: words of program memory;
    ``results``: words of results that may wait to leave; ``limits``: operands whose limits there is room for;
    ``kept``: words of tasks that repeat, which are kept from step to step (none: no task does).

    ``lean``: with as few memories and as little logic as will do, for small devices. Operands stand in banks, results
    are read where the last lane reads its second value, and the special unit only looks up what lanes make sines and
    reciprocals of."""

    lanes: int = 4
    banks: int = 2
    width: int = 32
    words: int = 512
    depth: int = 2560
    results: int = 1024
    limits: int = 256
    kept: int = 0
    lean: bool = False

    @property
    def waiting(self) -> int:
        """Words of operands that may wait."""
        return min(self.words, LEAN_WAITING) if self.lean else self.words

    @property
    def depth_bits(self) -> int:
        """Bits of the number of a program's word."""
        return max(self.depth - 1, 1).bit_length()

    @property
    def address_bits(self) -> int:
        """Bits of a word's address in a bank."""
        return max(self.words - 1, 1).bit_length()

    @property
    def bound_bits(self) -> int:
        """Bits of an operand's limits, of which the upper one is the first number beyond the declared range: a lean
        core has none that is beyond words."""
        return self.width if self.lean else self.width + 1

    @property
    def limit_bits(self) -> int:
        """Bits of the number of an operand's limits."""
        return max(self.limits - 1, 1).bit_length()

    @property
    def bank_bits(self) -> int:
        """Bits of a bank's number."""
        return max(self.banks - 1, 1).bit_length()

    @property
    def told_bank_bits(self) -> int:
        """The same in a program's words, where there may be nothing to say."""
        return 0 if self.lean and self.banks == 1 else self.bank_bits

    @property
    def calling(self) -> int:
        """The lane whose results the special unit takes: the last, which has most room, as others are asked first."""
        return self.lanes - 1

    @property
    def source_bits(self) -> int:
        """Bits of a lane's number, or of those behind them: the special unit's, and that of operands."""
        return (self.lanes + self.lean).bit_length()

    @property
    def operand_source(self) -> int:
        """The number of operands among what banks take, where they stand in banks."""
        return self.lanes + 1

    @property
    def cut(self) -> int:
        """Low bits of a product that are dropped before anything else: those that no sum of its size shows."""
        return -(-self.width // 2 // STEP) * STEP

    @property
    def term_bits(self) -> int:
        """Width of a product without its low bits, of which one factor may be doubled."""
        return 2 * self.width + 1 - self.cut

    @property
    def sum_bits(self) -> int:
        """Width of an accumulator."""
        return self.term_bits + GUARD

    @property
    def power_point(self) -> int:
        """The place of the highest bit of what is inverted, plus the place of the bit of the power of two that comes of
        it. What is multiplied by the power keeps most of its bits, and 2^14 may be between the largest and the smallest
        number that is inverted."""
        return -(-self.width // STEP) * STEP + LIFT

    def format(self, head: int) -> Format:
        """The format of a value with at least ``head`` bits before the point, without the sign."""
        return Format(self.width, self.point(head))

    def point(self, head: int) -> int:
        """The largest binary point, a multiple of :data:`STEP`, that leaves ``head`` bits before it."""
        return (self.width - 1 - head) // STEP * STEP


class RoomError(ConfigError):
    """Something does not fit a core's memories; one with as many words as are ``needed``, by its fields, would do."""

    def __init__(self, message: str, **needed: int) -> None:
        super().__init__(message)
        self.needed = needed

    def fits(self, core: Core) -> bool:
        """Whether a core has as many."""
        return all(getattr(core, name) >= count for name, count in self.needed.items())


def core_of(lanes: int, width: int) -> Core:
    """The core with so many lanes, for words of so many bits."""
    return Core(lanes, LANES[lanes], width)


def intake_cycles(operands: int) -> int:
    """Cycles from a task's header to that of the next where a task has so many operands: each word is compared with
    two limits, and the last one's comparisons end before the next task begins."""
    return 2 * (operands + 1) + CLOSING


def dealing_cycles(operands: int) -> int:
    """Cycles from a task's header to that of the next where cores get tasks in turn: a beat every second cycle, and one
    to see that a task has ended."""
    return 2 * operands + 3


def asking_cycles(operands: int) -> int:
    """Cycles from a task's header to that of the next where some functions repeat, of one that does not: which is
    looked up."""
    return intake_cycles(operands) + 2


def whole_cycles(operands: int) -> int:
    """The same of a task that repeats, which is taken whole, and goes to its core before the next one comes."""
    return operands + 2 + entering_cycles(operands)


def entering_cycles(operands: int) -> int:
    """Cycles in which a task that repeats, of so many operands, goes to its core from where all of it was taken."""
    return 2 * (operands + 1)


def aligning_point(core: Core, frac: int, point: int) -> int:
    """The binary point of a power of two that moves a factor with ``frac`` bits behind its own to ``point``, at one of
    the distances of a lane. ValueError where none does."""
    exact = point + core.cut - frac
    for distance in DISTANCES:
        if 0 <= exact + distance <= core.width - 2:
            return exact + distance
    raise ValueError(f"no power of two moves a value by {point - frac} places")


# times, in cycles from that in which a slot's addresses are given to the memories

RESULT = 5
"""Cycle in which a lane's result is on the bus."""
STORED = 1
"""Cycles from the bus to the banks, whose copies are far apart."""
NEXT = RESULT + STORED + 1
"""First cycle in which it can be read."""
SINE, COSINE = 12, 13
"""Cycles after its argument was on the bus in which the special unit's results of an angle are on its own."""
MANTISSA, POWER = 14, 5
"""The same of a number that is inverted."""
SIGNED = 2
"""The same of a number whose sign is asked for."""
LEAN_SINES = (2, 3, 4)
"""Cycles after its argument was on the bus in which a lean unit's entries of an angle are on its own: the sine and the
cosine of the middle of its interval, and how far it is from there."""
LEAN_INVERSE = (3, 4, 5)
"""The same of a number that is inverted: the reciprocal of the middle of its mantissa's interval, the power of two,
and the mantissa's distance from the middle."""
LEAN_CALL = (0, 1, 2, 3, 4)
"""Cycles in which a lean unit has nothing but one call, whose argument stands still for it."""
SINE_STEPS = (2, 5, 6, 9, 10)
"""Cycles after its argument was on the bus in which an angle takes the special unit's multiplier."""
INVERSE_STEPS = (5, 8, 11)
"""The same of a number that is inverted."""
FLAGGED = 2
"""Cycles after a result was on the bus in which a header says whether it fitted."""
AROUND = 14
"""Cycles from taking a lone task's last beat to offering its result's last word, beyond those of its program."""
RETURNED = 13
"""Cycles from a step's results to its next step, beyond those of its program and of taking it in again."""
ASKED = 3
"""Cycles from a task's beats to the next task's at another core, where it is looked up whether functions repeat."""
CLOSING = 2
"""Cycles beyond two for each beat in which a task is taken in."""
WRITTEN = 2
"""Cycles from taking an operand's word of the stream to that in which it is written."""
ARRIVAL = WRITTEN + 1
"""The same to the first in which it can be read."""
