"""What a sequencer tells all cores in one cycle: fields of a program's word with rotated addresses, and with the number
of the task that each acts for in place of its stage; and which task begins."""

from __future__ import annotations

from amaranth.lib import data

from rbdgen.machines.engine.core import STAGE_BITS, Core
from rbdgen_hw.engine.lane import CONTROL

TASKS = 1 << STAGE_BITS
"""Tasks that may be under way in a core, by the number of the interval in which they began."""


def lane_issue(core: Core) -> data.StructLayout:
    """A slot: where its words are, what the lane does, and whether its sum ends, for which task."""
    apart = {} if core.lean else {"y_operand": 1}
    return data.StructLayout(
        {
            "x_address": core.address_bits,
            "x_bank": core.told_bank_bits,
            "y_address": core.address_bits,
            "y_bank": core.told_bank_bits,
            **apart,
            "control": CONTROL,
            "last": 1,
            "task": STAGE_BITS,
        }
    )


def bank_issue(core: Core) -> data.StructLayout:
    """A bank's write: of which lane's result, or the special unit's behind them."""
    return data.StructLayout({"write": 1, "source": core.source_bits, "address": core.address_bits})


def issue(core: Core) -> data.StructLayout:
    """All of it."""
    apart = {
        "take_write": 1,
        "take_address": core.address_bits,
        "send_address": core.address_bits,
        "send_bank": core.bank_bits,
    }
    return data.StructLayout(
        {
            "lanes": data.ArrayLayout(lane_issue(core), core.lanes),
            "banks": data.ArrayLayout(bank_issue(core), core.banks),
            "call": 1,
            "call_inverse": 1,
            "call_shift": 2,
            "call_task": STAGE_BITS,
            **({} if core.lean else apart),
        }
    )


def beat(core: Core) -> data.StructLayout:
    """All that cores are told in a cycle: what the datapath does (``issue``), in the interval of a ``number``; ``take``
    an operand for the task that began with it; ``send`` a header or a word of the task numbered ``sender``. With
    ``first`` an interval numbered ``begins`` begins, in the next cycle, behind none if it is ``fresh``."""
    return data.StructLayout(
        {
            "issue": issue(core),
            "number": STAGE_BITS,
            "take": 1,
            "send": 2,
            "sender": STAGE_BITS,
            "first": 1,
            "fresh": 1,
            "begins": STAGE_BITS,
        }
    )
