"""What a board is on a network: its addresses, as they are given and as they are checked."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from rbdgen.errors import ConfigError
from rbdgen.protocol.datagrams import DEFAULT_PORT

DEFAULT_ADDRESS = "192.168.1.50"
LOCAL = 0x02
"""Of a MAC address's first byte: it is administered locally, and is no vendor's."""
GROUP = 0x01
"""Of a MAC address's first byte: it is one of many stations."""
MAC_BYTES = 6
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")


@dataclass(frozen=True)
class Station:
    """A board's IPv4 ``address`` and ``mac`` address as numbers, the first byte highest, and its UDP ``port``."""

    address: int
    mac: int
    port: int = DEFAULT_PORT

    def as_dict(self) -> dict[str, str | int]:
        """As reports have it."""
        return {"address": self.address_text, "port": self.port, "mac": self.mac_text}

    @property
    def address_text(self) -> str:
        """The IPv4 address as people write it."""
        return str(ipaddress.IPv4Address(self.address))

    @property
    def mac_text(self) -> str:
        """The MAC address as people write it."""
        return self.mac.to_bytes(MAC_BYTES, "big").hex(":")


@dataclass(frozen=True)
class Addresses:
    """Addresses as they are given: an IPv4 ``address``, and a ``mac`` address or none. ConfigError for one that no
    single station can have."""

    address: str = DEFAULT_ADDRESS
    mac: str | None = None

    def __post_init__(self) -> None:
        read_address(self.address)
        if self.mac is not None:
            read_mac(self.mac)

    def station(self, identity: bytes) -> Station:
        """The station of a design of this ``identity``, from which it has a MAC address where none is given."""
        mac = own_mac(identity) if self.mac is None else read_mac(self.mac)
        return Station(read_address(self.address), mac)


def own_mac(identity: bytes) -> int:
    """A MAC address for a design: locally administered, and the same whenever it is built."""
    first = identity[0] & ~GROUP | LOCAL
    return int.from_bytes(bytes([first]) + identity[1:MAC_BYTES], "big")


def read_address(text: str) -> int:
    """An IPv4 address of one station, as a number."""
    try:
        found = ipaddress.IPv4Address(text)
    except ValueError:
        raise ConfigError(
            f"ip: {text!r} is no IPv4 address; give four numbers such as {DEFAULT_ADDRESS}"
        ) from None
    several = found.is_multicast or found.is_unspecified or found.is_reserved
    if several or found.is_loopback or int(found) & 0xFF in (0, 0xFF):
        raise ConfigError(
            f"ip: {text} is no address of a single station; give one such as {DEFAULT_ADDRESS}"
        )
    return int(found)


def read_mac(text: str) -> int:
    """A MAC address of one station, as a number."""
    if not _MAC.fullmatch(text.lower()):
        raise ConfigError(
            f"mac: {text!r} is no MAC address; give six bytes in hexadecimal such as 02:00:00:00:00:01"
        )
    data = bytes.fromhex(text.replace(":", ""))
    if data[0] & GROUP or not any(data):
        raise ConfigError(
            f"mac: {text} is no address of a single station; the first byte must be even, such as 02"
        )
    return int.from_bytes(data, "big")
