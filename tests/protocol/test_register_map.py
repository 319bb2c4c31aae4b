"""The description of the registers: each is there once, with bits that fit and do not overlap."""

from __future__ import annotations

from rbdgen.protocol.frames import IDENTITY_BYTES
from rbdgen.protocol.registers import (
    ADDRESS_BITS,
    IDENTITY_WORDS,
    REGISTER_BITS,
    VERSION,
    Access,
    Control,
    Register,
    StreamError,
    function_bits,
    register_map,
)

IDENTITY = bytes(range(IDENTITY_BYTES))


def test_every_register_is_described_once() -> None:
    entries = register_map()
    single = {register.name: int(register) for register in Register}
    first = single.pop("IDENTITY")
    words = {f"IDENTITY{k}": first + 4 * k for k in range(IDENTITY_WORDS)}
    assert {entry.name: entry.address for entry in entries} == single | words
    addresses = [entry.address for entry in entries]
    assert addresses == sorted(set(addresses))
    assert all(address % 4 == 0 and address < 1 << ADDRESS_BITS for address in addresses)
    assert all(entry.summary for entry in entries)


def test_fields_fit_and_do_not_overlap() -> None:
    for entry in register_map():
        masks = [field.mask for field in entry.fields]
        union = 0
        for mask in masks:
            assert not union & mask
            union |= mask
        assert 0 < union < 1 << REGISTER_BITS


def test_single_bits_are_those_of_the_protocol() -> None:
    by_name = {entry.name: entry for entry in register_map()}
    for name, bits in (("CONTROL", Control), ("ERRORS", StreamError)):
        described = {field.name: field.mask for field in by_name[name].fields}
        assert described == {bit.name: bit.value for bit in bits}
    writable = [entry.name for entry in by_name.values() if entry.access != Access.READ]
    assert writable == ["CONTROL", "EPOCH"]


def test_constants_are_the_designs() -> None:
    bits = function_bits([0, 2, 15])
    assert bits == 0x8005
    of_any = {entry.name: entry.reset for entry in register_map() if entry.constant}
    assert of_any == {"VERSION": VERSION, "FUNCTIONS": None} | {
        f"IDENTITY{k}": None for k in range(4)
    }
    of_one = {entry.name: entry.reset for entry in register_map(bits, IDENTITY) if entry.constant}
    assert of_one["FUNCTIONS"] == bits
    assert of_one["IDENTITY1"] == 0x07060504
