"""Reads the XML of robots' files into trees: what is well-formed, and what tinyxml2 reads besides, with a remark.

urdfdom, Pinocchio and MuJoCo read with tinyxml2, so files exist that no XML parser takes: a blank line before the
declaration, ``--`` in a comment, a bare ``&``, prefixes that nothing declares, bytes that are not UTF-8. A document
type is refused, and with it every entity but XML's own five.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from rbdgen.errors import UrdfError, listed

_XML = "http://www.w3.org/XML/1998/namespace"
_NAME = r"(?:[^\W\d]|:)[\w:.\-]*+"
_ONE = rf"\s*+({_NAME})\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)')"
_ATTRIBUTE = re.compile(_ONE)
_OPENED = re.compile(f"<({_NAME})")
# atomic: before Python 3.11.5 a possessive repeat of a group takes parts of one that does not match
_START = re.compile(rf"<({_NAME})((?>(?:{_ONE})*))\s*+(/?)>")
_END = re.compile(rf"</({_NAME})\s*>")
_REFERENCE = re.compile(r"&(?:#([0-9]{1,7})|#x([0-9a-fA-F]{1,6})|(lt|gt|amp|quot|apos));")
_CHARACTERS = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_SKIPPED = (("<?", "?>"), ("<!--", "-->"))
"""Parts without a meaning, by their begins and ends."""
_CDATA = ("<![CDATA[", "]]>")
_DOCTYPE = ("<!DOCTYPE", "<!ENTITY")


@dataclass(frozen=True)
class Document:
    """A file's ``root`` element, and ``remarks`` on what was read although it is not well-formed."""

    root: Element
    remarks: tuple[str, ...] = ()


class _MalformedError(Exception):
    """Text that tinyxml2 does not read either."""


class _DoctypeError(Exception):
    """A document type."""


def read_xml(text: str | bytes, source: str) -> Document:
    """The document of a ``text``, called ``source`` in errors. Names are as they stand, prefixes included.

    UrdfError for what cannot be read, or has a document type."""
    try:
        return _well_formed(text)
    except expat.ExpatError as error:
        fault = error
    except _DoctypeError:
        raise _doctype_error(source) from None
    except (ValueError, LookupError) as error:  # encodings that the parser cannot read
        raise UrdfError(f"{source}: not readable XML: {error}; save the file as UTF-8") from None
    try:
        root = _Lenient(_decoded(text)).root()
    except _DoctypeError:
        raise _doctype_error(source) from None
    except _MalformedError:
        raise UrdfError(
            f"{source}: not well-formed XML: {fault}; mend the file at that place"
        ) from None
    return Document(root, (f"not well-formed XML, read as urdfdom reads it: {fault}",))


def first_element(text: str | bytes) -> str:
    """The name of the first element of a text, without its address; empty where none can be read."""
    try:
        return _Lenient(_decoded(text)).first()
    except (_MalformedError, _DoctypeError):
        return ""


def with_addresses(document: Document) -> Document:
    """The same with names as ``{address}name`` where they have a prefix. A prefix that nothing declares is its own
    address, with a remark."""
    unknown: dict[str, None] = {}
    root = document.root
    known = {"xml": _XML}
    # elements to visit, the next one last; behind what is in an element, addresses to go back to
    ahead: list[Element | dict[str, str | None]] = [root]
    while ahead:
        element = ahead.pop()
        if isinstance(element, dict):
            _restore(known, element)
            continue
        declared = _declared(element)
        if declared:
            ahead.append({prefix: known.get(prefix) for prefix in declared})
            known.update(declared)
        _address(element, known, unknown)
        ahead += reversed(element)
    if not unknown:
        return document
    remark = f"prefixes of names that no xmlns declares: {listed(unknown)}"
    return Document(root, (*document.remarks, remark))


def _restore(known: dict[str, str], before: dict[str, str | None]) -> None:
    """Go back to addresses of ``before`` an element; None where there was none."""
    for prefix, address in before.items():
        if address is None:
            del known[prefix]
        else:
            known[prefix] = address


def _address(element: Element, known: dict[str, str], unknown: dict[str, None]) -> None:
    """Give an element's names their addresses."""
    element.tag = _addressed(element.tag, known, unknown, known.get("", ""))
    named = {}
    for key, value in element.attrib.items():
        if key != "xmlns" and not key.startswith("xmlns:"):
            named[_addressed(key, known, unknown, "")] = value
    element.attrib.clear()
    element.attrib.update(named)


def _doctype_error(source: str) -> UrdfError:
    return UrdfError(
        f"{source}: has a document type or entities, which are not read; expand and remove them"
    )


def _declared(element: Element) -> dict[str, str]:
    """Addresses that an element declares, by prefix; the default one by none."""
    found = {}
    for key, value in element.attrib.items():
        head, _, prefix = key.partition(":")
        if head == "xmlns":
            found[prefix] = value
    return found


def _addressed(name: str, known: dict[str, str], unknown: dict[str, None], default: str) -> str:
    """``name`` with its address; ``default`` is that of names without a prefix."""
    prefix, colon, local = name.partition(":")
    if not colon or not prefix or not local:
        return f"{{{default}}}{name}" if default else name
    if prefix not in known:
        unknown[prefix] = None
    return f"{{{known.get(prefix, prefix)}}}{local}"


def _well_formed(text: str | bytes) -> Document:
    """A well-formed document. Names are as they stand: whether prefixes are declared is asked elsewhere."""
    builder = TreeBuilder()

    def refuse(*declaration: object) -> None:
        raise _DoctypeError

    is_text = isinstance(text, str)
    parser = expat.ParserCreate("utf-8" if is_text else None)
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(text.encode() if isinstance(text, str) else text, True)
    return Document(builder.close())


def _decoded(text: str | bytes) -> str:
    """Bytes as text: UTF-8, or UTF-16 with its mark; else each byte is a character, as no other encoding fails."""
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return text.decode("utf-16")
        except UnicodeDecodeError:
            return ""
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError:
        return text.decode("latin-1")


class _Lenient:
    """One pass over a text, in tinyxml2's manner: names are whatever stands there, references that are none stay."""

    def __init__(self, text: str) -> None:
        if "\0" in text:
            raise _MalformedError
        self.text = text
        self.at = 0
        self.open: list[Element] = []
        self.tops: list[Element] = []

    def root(self) -> Element:
        """The first <robot>, or the first element of all."""
        while self._step(self._start):
            pass
        if self.open or not self.tops:
            raise _MalformedError
        robots = [element for element in self.tops if element.tag == "robot"]
        return (robots or self.tops)[0]

    def first(self) -> str:
        """The first element's name without its prefix."""
        while self._step(self._only_name):
            if self.tops:
                return self.tops[0].tag.rpartition(":")[2]
        return ""

    def _step(self, start: Callable[[], bool]) -> bool:
        """Read what comes next, an element's start by ``start``; whether something may follow."""
        text = self.text
        place = text.find("<", self.at)
        if place < 0:
            if text[self.at :].strip():
                raise _MalformedError
            return False
        self.at = place
        for begin, end in _SKIPPED:
            if text.startswith(begin, place):
                return self._skip(begin, end)
        if text.startswith(_CDATA[0], place):
            return self._skip(*_CDATA)
        if text.startswith("<!", place):
            if text[place : place + 9].upper().startswith(_DOCTYPE):
                raise _DoctypeError
            return self._skip("<!", ">")
        if text.startswith("</", place):
            return self._end()
        return start()

    def _skip(self, begin: str, end: str) -> bool:
        """Go behind the ``end`` of what begins here."""
        place = self.text.find(end, self.at + len(begin))
        if place < 0:
            raise _MalformedError
        self.at = place + len(end)
        return True

    def _end(self) -> bool:
        """Close an element; a stray end behind the root ends the text."""
        match = _END.match(self.text, self.at)
        if not self.open and self.tops:
            return False
        if match is None or not self.open or self.open.pop().tag != match.group(1):
            raise _MalformedError
        self.at = match.end()
        return True

    def _start(self) -> bool:
        """Open an element."""
        match = _START.match(self.text, self.at)
        if match is None:
            raise _MalformedError
        name, inside, closed = match.group(1), match.group(2), match.group(match.re.groups)
        element = Element(name)
        for key, double, single in _ATTRIBUTE.findall(inside):
            if key in element.attrib:
                raise _MalformedError
            element.set(key, _REFERENCE.sub(_character, double or single))
        (self.open[-1] if self.open else self.tops).append(element)
        if not closed:
            self.open.append(element)
        self.at = match.end()
        return True

    def _only_name(self) -> bool:
        """Take an element's name, whatever follows it."""
        match = _OPENED.match(self.text, self.at)
        if match is None:
            raise _MalformedError
        self.tops.append(Element(match.group(1)))
        return True


def _character(reference: re.Match[str]) -> str:
    """The character that a reference stands for; the reference where there is no such character."""
    decimal, hexadecimal, name = reference.groups()
    if name:
        return _CHARACTERS[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    allowed = 0 < code < 0xD800 or 0xDFFF < code <= 0x10FFFF
    return chr(code) if allowed else reference.group()
