"""Programs of an engine that is on a board once and for all: their files, and which of them the device holds.

A program is loaded in steps, each of which is answered before the next one begins: what it takes the place of is taken
away, then all that it needs is written, then its functions, then its entry in the directory. Cut off anywhere,
functions are those of the old program, of the new one, or none; the directory tells which.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from rbdgen.errors import ConfigError, LinkError
from rbdgen.host.exchanges import Access, DeviceResetError, Progress
from rbdgen.host.held import Held, Link, quietly
from rbdgen.host.manifest import (
    MANIFEST_FILE,
    Manifest,
    ProgramFacts,
    manifest_from,
    programs_tasks,
    read_manifest,
)
from rbdgen.host.parameters import check_parameters, raw_parameters
from rbdgen.protocol.directory import (
    IDENTITY_WORDS,
    SLOT_WORDS,
    SLOTS,
    Entry,
    read_slot,
    told_name,
    values_check,
)
from rbdgen.protocol.loading import (
    BLOCK_BYTES,
    CONSTANT,
    DIRECTORY,
    LOW_BITS,
    PARTS,
    ROUTINE,
    Write,
    block_bytes,
    block_packets,
    blocks,
    load_packets,
    read_block,
    read_packets,
    target_of,
    told_word,
)
from rbdgen.protocol.packets import header
from rbdgen.protocol.tasks import TaskFormat

PROGRAM_FILE = "program.bin"
"""The name of a program's file beside its manifest."""


@dataclass(frozen=True)
class Program:
    """A program for an engine: its ``manifest``, with the ``text`` of that, and the ``blocks`` that write it
    (:mod:`rbdgen.protocol.loading`)."""

    manifest: Manifest
    text: str
    blocks: tuple[bytes, ...]

    @classmethod
    def of(cls, text: str, image: bytes) -> Program:
        """A program from its manifest's text and the bytes of its file. ConfigError where these are not of each
        other."""
        manifest = manifest_from(json.loads(text))
        if manifest.program is None:
            raise ConfigError(
                f"{manifest.name}: is no program, but a design with hardware of its own; give a program"
            )
        if hashlib.sha256(image).hexdigest() != manifest.digest:
            raise ConfigError(
                f"{PROGRAM_FILE}: is not what its manifest was written with; write both again"
            )
        begins = range(0, len(image), BLOCK_BYTES)
        return cls(manifest, text, tuple(image[k : k + BLOCK_BYTES] for k in begins))

    @property
    def facts(self) -> ProgramFacts:
        """The engine that it is for, and what it takes of it."""
        assert self.manifest.program is not None
        return self.manifest.program

    @property
    def entry(self) -> Entry:
        """What stands of it in the directory."""
        name = told_name(self.manifest.robot)
        return Entry(self.manifest.identity, name, self.facts.extent)

    def replaces(self, entries: Iterable[Entry]) -> bool:
        """Whether it takes the place of one of these, and is none of them."""
        own = self.entry
        others = (entry.extent for entry in entries if entry.identity != own.identity)
        return any(own.extent.clashes(extent) for extent in others)

    def given(self, raw: Mapping[int, int]) -> list[Write]:
        """What writes all of its parameters: these raw values by their numbers, and its own."""
        facts, mask = self.facts, (1 << LOW_BITS) - 1
        places = {
            facts.parameter + number * facts.parameter_step: number
            for number in range(len(self.manifest.tasks.parameters))
        }
        writes = []
        for block in self.blocks:
            own = read_block(np.frombuffer(block, "<u4").tolist()) or []
            writes += [w for w in own if w.target == CONSTANT and w.address in places]
        return [
            replace(w, data=raw[number] & mask) if (number := places[w.address]) in raw else w
            for w in writes
        ]

    @property
    def files(self) -> dict[str, str | bytes]:
        """What is in the files of its folder, by their names."""
        return {MANIFEST_FILE: self.text, PROGRAM_FILE: b"".join(self.blocks)}

    @property
    def functions(self) -> list[bytes]:
        """The blocks that write its functions."""
        return [block for block in self.blocks if target_of(block) == ROUTINE]

    @property
    def needed(self) -> list[bytes]:
        """Those that write all that these need."""
        return [block for block in self.blocks if target_of(block) != ROUTINE]


def image_of(writes: Iterable[Write]) -> bytes:
    """A program's file: blocks that write all of it, those of functions last."""
    everything = list(writes)
    entries = [w for w in everything if w.target == ROUTINE]
    others = [w for w in everything if w.target != ROUTINE]
    return b"".join(block_bytes(words) for part in (others, entries) for words in blocks(part))


def read_program(path: Path | str) -> Program:
    """The program in a folder. ConfigError where there is none, or one that was changed."""
    given = Path(path)
    # first, for its complaints
    read_manifest(given)
    folder = given if given.is_dir() else given.parent
    file = folder / PROGRAM_FILE
    try:
        image = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}; write the program again") from None
    return Program.of((folder / MANIFEST_FILE).read_text(encoding="utf-8"), image)


class EngineLink(Link, Protocol):
    """A link to an engine whose programs come by it."""

    def learn(self, tasks: TaskFormat) -> None:
        """Packets are as long as these ``tasks`` say from now on."""
        ...


class Programs(Held):
    """The programs of the engine of this ``identity`` behind ``link``: loaded, and loaded again where it was reset."""

    def __init__(self, identity: bytes, link: EngineLink, access: Access) -> None:
        super().__init__(link, access)
        self.link: EngineLink = link
        self.identity = identity
        self.held: list[Program] = []
        """In the order in which they were loaded."""
        self.values: dict[bytes, dict[int, int]] = {}
        """Raw values of parameters by their numbers, of programs by their identities."""
        self.slots: list[Entry | None] | None = None
        """What is in each slot of the directory, as this host left it; None where that is not known."""

    def load(self, program: Program, progress: Progress = quietly) -> None:
        """Load a program with its own parameters, unless it is there; whatever is in its way is taken out. LinkError
        for one that is for another engine, and where the device does not answer."""
        if program.facts.engine != self.identity:
            raise LinkError(
                f"device: has engine {self.identity.hex()}, and program {program.manifest.name} is for "
                f"{program.facts.engine.hex()}; make it for this one"
            )
        with self.access.call():
            if self.epoch is None:
                self.epoch = self.link.epoch
            # what was there before a reset is loaded again first
            self.mended(lambda epoch: self._load(program, {}, progress, epoch))
            self.values.pop(program.manifest.identity, None)
            clashing = program.facts.extent.clashes
            others = [p for p in self.held if p != program]
            self.held = [p for p in others if not clashing(p.facts.extent)] + [program]
            self._learn()

    def calibrate(self, program: Program, values: Mapping[str, float]) -> None:
        """Load parameters of a program that is held, by name. Errors are those of :func:`raw_parameters`; LinkError
        where something was lost: then none of the program's functions are there."""
        tasks = program.manifest.tasks
        raw = raw_parameters(tasks, values)
        check_parameters(tasks, raw)
        with self.access.call():
            self.require(program)
            kept = self.values.get(program.manifest.identity, {}) | raw
            self.mended(
                lambda epoch: self._write(
                    program, kept, self.slots or self._slots(epoch), quietly, epoch
                )
            )
            self.values[program.manifest.identity] = kept

    def entries(self) -> list[Entry]:
        """The programs that are there, whoever loaded them."""
        with self.access.call():
            return [entry for entry in self._slots(None) if entry is not None]

    def require(self, program: Program) -> None:
        """LinkError unless a program that was loaded is still there."""
        if program not in self.held:
            raise LinkError(
                f"device: program {program.manifest.name} was taken out by another one, or a load was cut off; load it "
                "again"
            )

    def again(self, epoch: int) -> str:
        names = [program.manifest.robot for program in self.held]
        for program in self.held:
            values = self.values.get(program.manifest.identity, {})
            self._load(program, values, quietly, epoch)
        if not names:
            return ""
        return (
            f"programs ({', '.join(names)}) were" if len(names) > 1 else f"program ({names[0]}) was"
        )

    def _learn(self) -> None:
        """Tell the link how long packets of all functions are."""
        functions = [f for p in self.held for f in p.manifest.tasks.functions.values()]
        coded = [replace(f, name=str(f.code)) for f in functions]
        self.link.learn(programs_tasks(coded))

    def _load(
        self, program: Program, values: Mapping[int, int], progress: Progress, epoch: int | None
    ) -> None:
        """Load a program with these raw values of parameters by their numbers, unless it is there."""
        self.slots = self._slots(epoch)
        if replace(program.entry, values=values_check(values)) not in self.slots:
            self._write(program, values, self.slots, progress, epoch)

    def _write(
        self,
        program: Program,
        values: Mapping[int, int],
        slots: list[Entry | None],
        progress: Progress,
        epoch: int | None,
    ) -> None:
        """The same, of one that is not in these ``slots``, or with other values: then parameters alone are written."""
        entry = replace(program.entry, values=values_check(values))
        there = any(own is not None and own.identity == entry.identity for own in slots)
        slot, gone = _place(slots, entry)
        steps = [
            # the directory tells of nothing that is not whole: first of all, and at last, an identity, which is one
            # packet
            load_packets(w for k in gone for w in _slot_writes(k, [0] * IDENTITY_WORDS)),
            load_packets(_none(slots, gone, entry)),
            [] if there else block_packets(program.needed),
            load_packets(program.given(values)) if there or values else [],
            block_packets(program.functions),
            load_packets(_slot_writes(slot, entry.words())[IDENTITY_WORDS:]),
            load_packets(_slot_writes(slot, entry.words())[:IDENTITY_WORDS]),
        ]
        # until all is written nothing is known, and after a reset all is loaded again
        self.slots = None
        try:
            self._steps(program, steps, progress, epoch)
        except DeviceResetError:
            raise
        except LinkError:
            clashing = entry.extent.clashes
            self.held = [p for p in self.held if not clashing(p.facts.extent)]
            raise
        self.slots = [None if k in gone else own for k, own in enumerate(slots)]
        self.slots[slot] = entry

    def _steps(
        self,
        program: Program,
        steps: Sequence[Sequence[bytes]],
        progress: Progress,
        epoch: int | None,
    ) -> None:
        """Send packets, those of each step when the step before was answered."""
        total = sum(map(len, steps))
        done = 0
        for packets in filter(None, steps):
            begin = done
            results = self.link.exchange(
                packets, lambda own, _, begin=begin: progress(begin + own, total), epoch
            )
            done += len(packets)
            _check(program, results)

    def _slots(self, epoch: int | None) -> list[Entry | None]:
        """What is in each slot of the directory."""
        begins = range(0, SLOTS * SLOT_WORDS, SLOT_WORDS)
        words = self._read([b + k for b in begins for k in range(IDENTITY_WORDS)], epoch)
        used = [b for b in begins if any(words[b + k] for k in range(IDENTITY_WORDS))]
        words |= self._read([b + k for b in used for k in range(IDENTITY_WORDS, SLOT_WORDS)], epoch)
        return [
            read_slot([words[b + k] for k in range(SLOT_WORDS)]) if b in used else None
            for b in begins
        ]

    def _read(self, addresses: Sequence[int], epoch: int | None) -> dict[int, int]:
        """Words of the directory by their addresses."""
        results = self.link.exchange(read_packets(addresses), quietly, epoch)
        found = {}
        for address, result in zip(addresses, results, strict=True):
            if result is None or header(result)[2]:
                raise LinkError(
                    f"device: its directory was lost {self.link.attempts} times; check the cable, then try again"
                )
            found[address] = told_word(result)
        return found


def _place(slots: Sequence[Entry | None], entry: Entry) -> tuple[int, list[int]]:
    """The slot of a program, and those of programs that it takes the place of. LinkError where all are taken."""
    gone = [k for k, own in enumerate(slots) if own and own.extent.clashes(entry.extent)]
    free = [k for k, own in enumerate(slots) if own is None]
    if not gone and not free:
        raise LinkError(
            f"device: has {SLOTS} programs and no room for the name of another; reset it, or load one that takes "
            "another's place"
        )
    return (gone or free)[0], gone


def _none(slots: Sequence[Entry | None], gone: Sequence[int], entry: Entry) -> list[Write]:
    """That there are none of the functions that are in the way, nor of those that come."""
    writes = []
    extents = [entry.extent, *(own.extent for k in gone if (own := slots[k]) is not None)]
    for code in sorted({c for extent in extents for c in range(*extent.spans[0])}):
        writes += [Write(ROUTINE, code * PARTS + part, 0) for part in range(PARTS)]
    return writes


def _slot_writes(slot: int, words: Sequence[int]) -> list[Write]:
    return [Write(DIRECTORY, slot * SLOT_WORDS + k, word) for k, word in enumerate(words)]


def _check(program: Program, results: Sequence[bytes | None]) -> None:
    """That all of a step was written."""
    lost = sum(result is None for result in results)
    refused = sum(result is not None and bool(header(result)[2]) for result in results)
    if lost or refused:
        raise LinkError(
            f"device: of program {program.manifest.name} {lost} packets were lost for good and {refused} refused; "
            "nothing of it is there, nor what it takes the place of; check the cable, then load it again"
        )
