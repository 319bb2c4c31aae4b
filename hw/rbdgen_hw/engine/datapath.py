# amaranth: UnusedElaboratable=no
"""A core's datapath: lanes, a copy of the banks for each of their operands, the special unit, and what is sent."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Const, Module, Mux, Value, signed
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdgen.machines.engine.core import RESULT, STAGE_BITS, Core
from rbdgen_hw.engine.issue import issue
from rbdgen_hw.engine.lane import Lane
from rbdgen_hw.engine.lean import LeanUnit
from rbdgen_hw.engine.special import LOST, SpecialUnit
from rbdgen_hw.library import SharedComponent, instantiate
from rbdgen_hw.logic import delayed, or_of, registered, selected


class Copy(SharedComponent):
    """A copy of a bank: words are written by all copies at once, and are there a cycle after their address where they
    are to be ``read``; else zero is, so that words of several copies only have to be joined. ``init``: what they are
    from the beginning, in the copies called ``name``."""

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
                "read": In(1),
                "data": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # programs read no word in the cycle in which it is written
        attributes = {"ram_style": "block", "no_rw_check": 1}
        memory = Memory(shape=self.width, depth=self.words, init=self.init, attrs=attributes)
        m.submodules.memory = memory
        # with a register behind it that is cleared, which block memories have inside
        writing, reading = memory.write_port(), memory.read_port(domain="comb")
        m.d.comb += [
            writing.en.eq(self.write),
            writing.addr.eq(self.write_address),
            writing.data.eq(self.write_data),
            reading.addr.eq(self.address),
        ]
        m.d.sync += self.data.eq(Mux(self.read, reading.data, 0))
        return m


class Datapath(SharedComponent):
    """Does what ``issue`` says. ``operand`` is the word that ``take_write`` writes, ``sent`` the word that was asked
    for a cycle before; ``lost`` has a bit for each task in which something did not fit. ``load`` writes a constant.
    ``init``: what banks hold from the beginning."""

    def __init__(self, core: Core, init: Sequence[Sequence[int]]) -> None:
        self.core = core
        self.init = init
        kind = "lean_" if core.lean else ""
        self.module_name = f"{kind}datapath_{core.lanes}x{core.banks}_{core.width}x{core.words}"
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
        unit = LeanUnit(core) if core.lean else SpecialUnit(core)
        instantiate(m, platform, "special", unit)
        m.d.comb += [
            unit.argument.eq(lanes[core.calling].result),
            unit.call.eq(now.call),
            unit.inverse.eq(now.call_inverse),
            unit.shift.eq(now.call_shift),
        ]
        results = [*(lane.result for lane in lanes), unit.result]
        if core.lean:
            self._write([*results, self.operand])
            self._read_banks(lanes)
            # words that are sent are what the last lane reads
            m.d.comb += self.sent.eq(lanes[-1].y)
        else:
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
        loaded: Value = Const(0)
        if not core.lean:
            loaded = registered(m, Mux(self.load, self.load_data, 0), "loaded")
        for number in range(core.banks):
            own = self.issue.banks[number]
            loading = self.load & (self.load_bank == number)
            address = Mux(loading, self.load_address, own.address)
            write = registered(m, own.write | loading, f"write{number}")
            address = registered(
                m,
                address,
                f"write{number}_address",
                reset_less=True,
            )
            if core.lean:
                # one register, behind the choice: small devices have more time than room
                chosen = selected([own.source == k for k in range(len(results))], results)
                word = registered(
                    m,
                    Mux(self.load, self.load_data, chosen),
                    f"write{number}_word",
                    reset_less=True,
                )
                self.writes.append((write, address, word))
                continue
            # zero in registers but for one, which then only have to be joined: that takes half as much as a choice
            gated = [loaded]
            for k, result in enumerate(results):
                chosen = own.write & (own.source == k)
                gated.append(
                    registered(
                        m,
                        Mux(chosen, result, 0),
                        f"write{number}_word{k}",
                    )
                )
            word = or_of(gated)
            self.writes.append((write, address, word))

    def _copy(
        self,
        name: str,
        bank: int,
        address: Value,
        read: Value,
    ) -> Value:
        """The word at an address of a copy of a bank, where it is to be read."""
        copy = Copy(self.core.width, self.core.words, f"bank{bank}", self.init[bank])
        instantiate(self.m, self.platform, name, copy)
        write, write_address, word = self.writes[bank]
        self.m.d.comb += [
            copy.write.eq(write),
            copy.write_address.eq(write_address),
            copy.write_data.eq(word),
            copy.address.eq(address),
            copy.read.eq(read),
        ]
        return copy.data

    def _chosen(
        self,
        name: str,
        bank: Value,
        address: Value,
        read: Value,
    ) -> list[Value]:
        """The word at an address of the bank that is told, a cycle later, among zeros."""
        words = []
        for number in range(self.core.banks):
            own = read if self.core.banks == 1 else read & (bank == number)
            words.append(
                self._copy(
                    f"{name}_bank{number}",
                    number,
                    address,
                    own,
                )
            )
        return words

    def _read_banks(self, lanes: list[Lane]) -> None:
        """Words of lanes, where banks have all that they read."""
        for k, lane in enumerate(lanes):
            own = self.issue.lanes[k]
            x = self._chosen(f"x{k}", own.x_bank, own.x_address, Const(1))
            y = self._chosen(f"y{k}", own.y_bank, own.y_address, Const(1))
            self.m.d.comb += [lane.x.eq(or_of(x)), lane.y.eq(or_of(y))]

    def _read(self, lanes: list[Lane]) -> None:
        """Words of lanes, and the one that is sent."""
        m, core, now = self.m, self.core, self.issue
        for k, lane in enumerate(lanes):
            own = now.lanes[k]
            operands = Copy(core.width, core.words)
            instantiate(m, self.platform, f"operands{k}", operands)
            m.d.comb += [
                operands.write.eq(now.take_write),
                operands.write_address.eq(now.take_address),
                operands.write_data.eq(self.operand),
                operands.address.eq(own.y_address),
                operands.read.eq(own.y_operand),
            ]
            x = self._chosen(f"x{k}", own.x_bank, own.x_address, Const(1))
            y = self._chosen(f"y{k}", own.y_bank, own.y_address, ~own.y_operand)
            m.d.comb += [
                lane.x.eq(or_of(x)),
                lane.y.eq(or_of([*y, operands.data])),
            ]
        sent = self._chosen("sent", now.send_bank, now.send_address, Const(1))
        m.d.comb += self.sent.eq(or_of(sent))

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
