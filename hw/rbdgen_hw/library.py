"""Verilog with every component written once.

Amaranth elaborates every instance of a component anew. Here a component that derives from :class:`SharedComponent` is
written as one Verilog module, named by its parameters, and instantiated by that name wherever it occurs; in Amaranth's
own simulator, and wherever no :class:`Library` is the platform, it is an ordinary submodule.

Texts of the modules that any design may have (adders, roundings, multipliers, tables) are kept in the user's cache:
they are about a fifth of what conversion takes, and most of another design's are the same.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from amaranth.hdl import (
    ClockDomain,
    ClockSignal,
    Fragment,
    Instance,
    Module,
    ResetSignal,
    Value,
)
from amaranth.hdl._ir import PortDirection
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rbdgen.caching import cached, code_digest, keep
from rbdgen.errors import UnsupportedError
from rbdgen.processes import without_collections
from rbdgen_hw.rtlil_text import ElaboratedModule, rtlil_texts
from rbdgen_hw.yosys import run_yosys

CACHE, SUFFIX = "modules", ".json.gz"
"""Where they are kept (:mod:`rbdgen.caching`), and how the file's name ends."""
MOST_TEXTS = 10_000
"""Modules that are kept; more than that, and all are dropped."""


class KeptTexts:
    """RTLIL by module name, without the prefix that a design puts before it."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.texts: dict[str, str] = {}
        kept = cached(CACHE, key, SUFFIX)
        if kept is not None:
            self.texts = json.loads(gzip.decompress(kept.content))
        self.saved = len(self.texts)

    def text(self, name: str, full_name: str) -> str | None:
        """The module ``name`` under its ``full_name``; None where it is not known."""
        text = self.texts.get(name)
        return None if text is None else text.replace(_header(""), _header(full_name), 1)

    def add(self, name: str, full_name: str, text: str) -> None:
        """Keep a module's text."""
        # a module below it would have the prefix too; general ones have none
        self.texts[name] = text.replace(_header(full_name), _header(""), 1)

    def save(self) -> None:
        """Write what is new."""
        if len(self.texts) == self.saved:
            return
        if len(self.texts) > MOST_TEXTS:
            self.texts.clear()
        content = json.dumps(self.texts).encode()
        keep(CACHE, self.key, SUFFIX, gzip.compress(content, 1, mtime=0))
        self.saved = len(self.texts)


def _header(name: str) -> str:
    """The line of RTLIL with which a module begins."""
    return f"module \\{name}\n"


def kept_texts() -> KeptTexts:
    """Those that this version of the sources and of Amaranth made; read once in a process."""
    versions = [code_digest("rbdgen"), code_digest("rbdgen_hw"), version("amaranth")]
    return _read(hashlib.sha256("\n".join(versions).encode()).hexdigest()[:32])


@cache
def _read(key: str) -> KeptTexts:
    return KeptTexts(key)


LARGEST = (1 << 16) - 64
"""Bits that the inputs, or the outputs, of an instance may have together: Amaranth numbers them in 16 bits."""
MEMORY_ATTRIBUTES = ("ram_style", "no_rw_check")
"""Attributes that reach the Verilog: what synthesis needs to know about memories. Others are of Yosys's own use."""
_ATTRIBUTE = re.compile(rf"^ *\(\*(?! (?:{'|'.join(MEMORY_ATTRIBUTES)}) ).*?\*\)\n", re.MULTILINE)
_TRIGGER = re.compile(r"^( *)reg (\\\$auto\$verilog_backend\S* ) *= 0;$", re.MULTILINE)
"""A register by whose first value Yosys has every combinational block evaluated once. In SystemVerilog the value of a
declaration is no event (IEEE 1800-2017, section 6.8), and a block whose inputs never change would stay unknown."""
WIDEST = LARGEST
"""Bits that a port may have, whether its component is an instance or a submodule."""


class SharedComponent(wiring.Component):
    """A component whose ``module_name`` says all that its logic depends on (equal names, equal logic).

    Ports must be plain signals at the top level of its signature. ``clocked`` components take ``clk`` and ``rst``. Of a
    ``general`` one the name says all in whatever design, and it has no other below: its text is kept.
    """

    module_name: str
    clocked: bool = True
    general: bool = False

    if TYPE_CHECKING:  # the ports come from the signature, at run time

        def __getattr__(self, name: str) -> Any: ...


class Library:
    """Collects components while a design is elaborated; doubles as Amaranth's platform object.

    Module names are the components' own behind ``prefix``, so that two designs can live in one project.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.components: dict[str, SharedComponent] = {}

    def request(self, component: SharedComponent) -> str:
        """Have ``component`` written once; returns its module's name."""
        name = self.prefix
        if component.module_name:
            name = f"{self.prefix}_{component.module_name}"
        # equal names, equal logic: the first stands for all
        self.components.setdefault(name, component)
        return name


def instantiate(m: Module, platform: object, name: str, component: SharedComponent) -> None:
    """Put ``component`` into module ``m`` as ``name``: an instance of its one Verilog module, or a submodule. One with
    too many bits for an instance becomes a submodule as well; UnsupportedError if that is so of a single port."""
    _check_ports(name, component)
    if not isinstance(platform, Library) or _widest_side(component) > LARGEST:
        m.submodules[name] = component
        return
    module = platform.request(component)
    pins = {}
    for path, member, value in component.signature.flatten(component):
        direction = "i" if member.flow == In else "o"
        pins[f"{direction}_{_port_name(path)}"] = Value.cast(value)
    if component.clocked:
        pins.update(i_clk=ClockSignal(), i_rst=ResetSignal())
    m.submodules[name] = Instance(module, **pins)


def forward(m: Module, source: stream.Interface, sink: stream.Interface) -> None:
    """Connect two streams in ``m``: what ``source`` offers goes to ``sink``."""
    m.d.comb += [
        sink.valid.eq(source.valid),
        sink.payload.eq(source.payload),
        source.ready.eq(sink.ready),
    ]


def _check_ports(name: str, component: SharedComponent) -> None:
    """UnsupportedError if a port of ``component``, called ``name``, has more bits than a port may have."""
    for path, _, value in component.signature.flatten(component):
        bits = len(Value.cast(value))
        if bits > WIDEST:
            port = ".".join(map(str, path))
            raise UnsupportedError(
                f"{name}: {port} has {bits} bits, and a port may have {WIDEST}; use fewer "
                "--functions, a shorter --word, or leave results out"
            )


def _widest_side(component: SharedComponent) -> int:
    """Bits of the inputs, or of the outputs if they are more."""
    bits = {In: 0, Out: 0}
    for _, member, value in component.signature.flatten(component):
        bits[member.flow] += len(Value.cast(value))
    return max(bits.values())


def _port_name(path: Iterable[str | int]) -> str:
    """Name of a port in the Verilog of a component that is instantiated."""
    return "__".join(map(str, path))


def to_verilog(top: SharedComponent, name: str, header: str, streams: Mapping[str, str]) -> str:
    """Verilog of ``top`` as module ``name`` and every component below it, preceded by ``header`` (comment lines).

    ``streams`` gives the prefixes of the top's stream ports by member name: ``{"i": "in"}`` makes in_valid of i.valid.

    The same design gives the same text: there are no dates, paths or source positions in it.
    """
    library = Library(name)
    library.components[name] = top
    kept = kept_texts()
    known: dict[str, str] = {}
    # a collection would look at all expressions again and again, and find nothing
    with without_collections():
        converted = rtlil_texts(_modules(top, library, streams, kept, known))
    for full_name, component in library.components.items():
        if component.general and full_name not in known:
            kept.add(component.module_name, full_name, converted[full_name])
    kept.save()
    texts = known | converted
    script = [
        "read_rtlil design.il",
        "proc -nomux -norom",
        "memory_collect",
        "write_verilog -norename design.v",
    ]
    design = "\n".join(texts[full_name] for full_name in library.components)
    verilog = run_yosys(script, {"design.il": design}, "design.v")
    # the first line says how Yosys itself was compiled, which is not the same on every machine
    _, body = verilog.split("\n", 1)
    plain = _ATTRIBUTE.sub("", body.lstrip("\n"))
    return header + _TRIGGER.sub(r"\1reg \2;\n\1initial \2= 0;", plain)


def _modules(
    top: SharedComponent,
    library: Library,
    streams: Mapping[str, str],
    kept: KeptTexts,
    known: dict[str, str],
) -> Iterator[tuple[str, ElaboratedModule]]:
    """All modules with their names, each elaborated when it is asked for: which ones there are shows on the way. Those
    whose texts are ``kept`` are put among the ``known`` ones instead."""
    done: set[str] = set()
    while missing := [name for name in library.components if name not in done]:
        for name in missing:
            done.add(name)
            component = library.components[name]
            text = kept.text(component.module_name, name) if component.general else None
            if text is not None:
                known[name] = text
                continue
            prefixes = streams if component is top else {}
            yield name, _elaborated(component, library, prefixes)


def _elaborated(
    component: SharedComponent, library: Library, streams: Mapping[str, str]
) -> ElaboratedModule:
    """One module. A clocked one has its clock and reset ports even if nothing in it is registered."""
    ports = {}
    for path, member, value in component.signature.flatten(component):
        first, *rest = map(str, path)
        direction = PortDirection.Input if member.flow == In else PortDirection.Output
        # the top's streams are named for people, all others as instantiate() connects them
        port = _port_name(path)
        if first in streams:
            port = "_".join([streams[first], *rest])
        ports[port] = (Value.cast(value), direction)
    fragment = Fragment.get(component, library)
    if component.clocked:
        domain = ClockDomain("sync")
        fragment.add_domains(domain)
        ports["clk"] = (domain.clk, PortDirection.Input)
        ports["rst"] = (domain.rst, PortDirection.Input)
    return ElaboratedModule(fragment, ports)
