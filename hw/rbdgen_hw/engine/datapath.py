# amaranth: UnusedElaboratable=no
"""A core's datapath: lanes, a copy of the banks for each of their operands, the special unit, and what is sent."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdgen.machines.engine.core import RESULT, STAGE_BITS, Core
from rbdgen_hw.engine.issue import issue
from rbdgen_hw.engine.lane import Lane
from rbdgen_hw.engine.special import LOST, SpecialUnit
from rbdgen_hw.library import SharedComponent, instantiate
from rbdgen_hw.logic import delayed, registered, selected


class Copy(SharedComponent):
    """A copy of a bank: words are written by all copies at once, and read a cycle after their address. ``init``: what
    they are from the beginning, in the copies called ``name``."""

    def __init__(
        self,
        width: int,
        words: int,
        name: str = "operands",
        init: Sequence[int] = (),
    ) -> None:
        self.width = width
        self.words = words
        self.init = init
        self.module_name = f"{name}_{width}x{words}"
        address = max(words - 1, 1).bit_length()
        super().__init__(
            {
                "write": In(1),
                "write_address": In(address),
                "write_data": In(width),
                "address": In(address),
                "data": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # programs read no word in the cycle in which it is written
        attributes = {"ram_style": "block", "no_rw_check": 1}
        memory = Memory(shape=self.width, depth=self.words, init=self.init, attrs=attributes)
        m.submodules.memory = memory
        writing, reading = memory.write_port(), memory.read_port()
        m.d.comb += [
            writing.en.eq(self.write),
            writing.addr.eq(self.write_address),
            writing.data.eq(self.write_data),
            reading.addr.eq(self.address),
            self.data.eq(reading.data),
        ]
        return m


class Datapath(SharedComponent):
    """Does what ``issue`` says. ``operand`` is the word that ``take_write`` writes, ``sent`` the word that was asked
    for a cycle before; ``lost`` has a bit for each task in which something did not fit. ``load`` writes a constant.
    ``init``: what banks hold from the beginning."""

    def __init__(self, core: Core, init: Sequence[Sequence[int]]) -> None:
        self.core = core
        self.init = init
        self.module_name = f"datapath_{core.lanes}x{core.banks}_{core.width}x{core.words}"
        super().__init__(
            {
                "issue": In(issue(core)),
                "operand": In(signed(core.width)),
                "sent": Out(signed(core.width)),
                "lost": Out(1 << STAGE_BITS),
                "load": In(1),
                "load_bank": In(core.bank_bits),
                "load_address": In(core.address_bits),
                "load_data": In(signed(core.width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.m, self.platform = m, platform
        core, now = self.core, self.issue
        lanes = [self._lane(k) for k in range(core.lanes)]
        unit = SpecialUnit(core)
        instantiate(m, platform, "special", unit)
        argument = Signal(signed(core.width))
        with m.Switch(now.call_lane):
            for k, lane in enumerate(lanes):
                with m.Case(k):
                    m.d.comb += argument.eq(lane.result)
        m.d.comb += [
            unit.argument.eq(argument),
            unit.call.eq(now.call),
            unit.inverse.eq(now.call_inverse),
            unit.shift.eq(now.call_shift),
        ]
        results = [*(lane.result for lane in lanes), unit.result]
        self._write(results)
        self._read(lanes)
        self._flags(lanes, unit)
        return m

    def _lane(self, number: int) -> Lane:
        lane = Lane(self.core)
        instantiate(self.m, self.platform, f"lane{number}", lane)
        control = registered(
            self.m, self.issue.lanes[number].control.as_value(), f"control{number}"
        )
        self.m.d.comb += lane.control.eq(control)
        return lane

    def _write(self, results: list[Value]) -> None:
        """What each bank takes."""
        m, core = self.m, self.core
        self.writes: list[tuple[Value, Value, Value]] = []
        for number in range(core.banks):
            own = self.issue.banks[number]
            loading = self.load & (self.load_bank == number)
            strobes = [own.write & (own.source == k) for k in range(len(results))]
            word = Signal(signed(core.width), name=f"word{number}")
            m.d.comb += word.eq(selected([*strobes, loading], [*results, self.load_data]))
            address = Mux(loading, self.load_address, own.address)
            # behind a register: the copies are far apart
            write = registered(m, own.write | loading, f"write{number}")
            address = registered(
                m,
                address,
                f"write{number}_address",
                reset_less=True,
            )
            word = registered(
                m,
                word,
                f"write{number}_word",
                reset_less=True,
            )
            self.writes.append((write, address, word))

    def _copy(
        self,
        name: str,
        bank: int,
        address: Value,
    ) -> Value:
        """The word at an address of a copy of a bank."""
        copy = Copy(self.core.width, self.core.words, f"bank{bank}", self.init[bank])
        instantiate(self.m, self.platform, name, copy)
        write, write_address, word = self.writes[bank]
        self.m.d.comb += [
            copy.write.eq(write),
            copy.write_address.eq(write_address),
            copy.write_data.eq(word),
            copy.address.eq(address),
        ]
        return copy.data.as_signed()

    def _chosen(
        self,
        name: str,
        bank: Value,
        address: Value,
    ) -> Value:
        """The word at an address of the bank that is told, a cycle later."""
        words = [self._copy(f"{name}_bank{b}", b, address) for b in range(self.core.banks)]
        if len(words) == 1:
            return words[0]
        number = registered(self.m, bank, f"{name}_bank")
        word = Signal(signed(self.core.width), name=f"{name}_word")
        with self.m.Switch(number):
            for b, own in enumerate(words):
                with self.m.Case(b):
                    self.m.d.comb += word.eq(own)
        return word

    def _read(self, lanes: list[Lane]) -> None:
        """Words of lanes, and the one that is sent."""
        m, core, now = self.m, self.core, self.issue
        for k, lane in enumerate(lanes):
            own = now.lanes[k]
            inputs = Copy(core.width, core.words)
            instantiate(m, self.platform, f"operands{k}", inputs)
            m.d.comb += [
                inputs.write.eq(now.take_write),
                inputs.write_address.eq(now.take_address),
                inputs.write_data.eq(self.operand),
                inputs.address.eq(own.y_address),
            ]
            y = self._chosen(f"y{k}", own.y_bank, own.y_address)
            is_operand = registered(m, own.y_operand, f"y{k}_operand")
            m.d.comb += [
                lane.x.eq(self._chosen(f"x{k}", own.x_bank, own.x_address)),
                lane.y.eq(Mux(is_operand, inputs.data.as_signed(), y)),
            ]
        m.d.comb += self.sent.eq(self._chosen("sent", now.send_bank, now.send_address))

    def _flags(self, lanes: list[Lane], unit: SpecialUnit) -> None:
        """Tasks in which a sum that ended, or a call, did not fit."""
        m, now = self.m, self.issue
        strobes = []
        for k, lane in enumerate(lanes):
            own = now.lanes[k]
            last = delayed(
                m,
                own.last,
                RESULT,
                f"last{k}_",
            )
            task = delayed(
                m,
                own.task,
                RESULT,
                f"task{k}_",
            )
            lost = registered(m, last & lane.lost, f"lost{k}")
            strobes.append((lost, registered(m, task, f"lost{k}_task")))
        strobes.append(
            (
                unit.lost,
                delayed(
                    m,
                    now.call_task,
                    LOST,
                    "call_task_",
                ),
            )
        )
        for number in range(1 << STAGE_BITS):
            bits = [strobe & (task == number) for strobe, task in strobes]
            lost = bits[0]
            for bit in bits[1:]:
                lost = lost | bit
            m.d.comb += self.lost[number].eq(lost)
