"""A design's accelerator in a shell, as what a simulator takes: files of Verilog, and the manifest that they answer
to, which is that of the design's models (:mod:`rbdgen.emulation`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rbdgen.compiler import Design
from rbdgen.emulation import manifest_of
from rbdgen.host.manifest import Manifest
from rbdgen.protocol.links import Addresses, Station
from rbdgen_hw.emit import design_verilog, udp_verilog
from rbdgen_hw.shells.ethernet import GMII


@dataclass(frozen=True)
class Shelled:
    """Files ``sources`` of an accelerator and its shell, module ``top``, and the ``manifest``."""

    manifest: Manifest
    sources: tuple[Path, Path]
    top: str


def write_shelled(
    design: Design, shell: str, make: Callable[[Design, bytes], str], work: Path
) -> Shelled:
    """Write ``design`` and what ``make`` has for it and its identity into folder ``work``; the shell's module is
    ``<name>_<shell>``."""
    manifest = manifest_of(design)
    texts = design_verilog(design), make(design, manifest.identity)
    sources = work / "accelerator.v", work / f"{shell}.v"
    for path, text in zip(sources, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    return Shelled(manifest, sources, f"{design.name}_{shell}")


def write_station(
    design: Design, clock: float, addresses: Addresses, work: Path
) -> tuple[Shelled, Station]:
    """The same on Ethernet with the pins of GMII, for a clock of ``clock`` Hz; and the station that it is there."""

    def shell(design: Design, identity: bytes) -> str:
        return udp_verilog(design, identity, clock, addresses.station(identity), GMII)

    written = write_shelled(design, "udp", shell, work)
    return written, addresses.station(written.manifest.identity)
