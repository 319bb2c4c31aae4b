"""The facts that every description of an IP core is made from, and free text, such as a robot's name, as a literal of
each language that a description is written in.

A name comes from a file that anybody may have made: no text is put between quotes as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rbdgen.protocol.registers import RegisterEntry
from rbdgen_hw.shells.registers import BUSES

VENDOR = "rbdgen"
LIBRARY = "accelerators"


@dataclass(frozen=True)
class Port:
    """A port of the top module: its ``width`` in bits, and whether it is an output (``out``)."""

    name: str
    width: int
    out: bool


@dataclass(frozen=True)
class Core:
    """An IP core.

    ``name`` is the top module's. ``files`` are its Verilog, ``bench`` the files of its self-checking bench, the source
    first; there is none of several accelerators behind one stream, nor of a shell of registers. ``buses`` are those
    that have a name in IP-XACT, with the side on which the core stands. ``synthesis`` is Yosys's command for its
    device, ``part`` the order code that Vivado gets, ``vivado`` whether its device is one of Vivado's.
    """

    name: str
    summary: str
    version: str
    files: tuple[str, ...]
    bench: tuple[str, ...]
    ports: tuple[Port, ...]
    registers: tuple[RegisterEntry, ...]
    synthesis: str
    part: str
    vivado: bool
    buses: Mapping[str, str]

    def bus(self, prefix: str) -> dict[str, Port]:
        """The ports of one bus, by their names without the bus's."""
        # with the underscore, as s_axis begins with s_axi
        return {
            p.name.removeprefix(f"{prefix}_"): p
            for p in self.ports
            if p.name.startswith(f"{prefix}_")
        }


def register_port(core: Core) -> str:
    """The bus that has the registers."""
    return next(port for *_, port in BUSES.values() if core.bus(port))


STREAMS = {"s_axis": "slave", "m_axis": "master", "s_axi": "slave"}
"""Buses of the AXI shell."""
REGISTERS = {"s_axi": "slave", "irq": "master"}
"""Those of the shell of registers with AXI4-Lite."""


# not among them: quotes, backslashes, $ and [, which some of the languages act on
_PLAIN = re.compile(r"[A-Za-z0-9 .,:;_+=/()<>*-]")
"""Characters that mean themselves between quotes in all of these languages."""
_PLAIN_IN_RDL = " .,:;'_+=()-"
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even escaped (section 2.2)."""


def _escaped(text: str, template: str) -> str:
    """``text`` with every character but plain ones as a numeric escape."""
    return "".join(c if _PLAIN.fullmatch(c) else template.format(ord(c)) for c in text)


def python_literal(text: str) -> str:
    """A string literal of Python, in ASCII and on one line."""
    return ascii(text)


def yaml_literal(text: str) -> str:
    """A double-quoted scalar of YAML (1.2, section 5.7), in ASCII and on one line."""
    return f'"{_escaped(text, chr(92) + "U{:08x}")}"'


def tcl_word(text: str) -> str:
    """A double-quoted word of Tcl in which nothing is substituted.

    Characters beyond U+FFFF become U+FFFD: Tcl 8.6 takes four digits at most.
    """
    plane = re.sub(r"[\U00010000-\U0010ffff]", "\ufffd", text)
    return f'"{_escaped(plane, chr(92) + "u{:04x}")}"'


def xml_text(text: str) -> str:
    """Text that an XML 1.0 document can hold; its markup is escaped by whoever writes the document."""
    return _NOT_XML.sub("\ufffd", text)


def rdl_string(text: str) -> str:
    """A string of SystemRDL (2.0, section 4.5), on one line.

    It has no numeric escapes, and its preprocessor acts on ``<%`` and on backquotes within strings too: what is neither
    a letter, a digit nor plain becomes a question mark.
    """
    kept = [c if c.isalnum() or c in _PLAIN_IN_RDL else "?" for c in text]
    return f'"{"".join(kept)}"'
