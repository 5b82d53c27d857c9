"""XML from outside: parsed without entities and network, and read with errors that name file, line and what was due."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from lxml import etree

from ...errors import FileError, LimitExceededError
from ...model.pose import Pose
from .resources import MAX_TEXT_BYTES

Element = etree._Element
ENTITY = re.compile(r"<!ENTITY\b")
MAX_ELEMENTS = 1_000_000


class XmlReader:
    """One XML document being read.

    source: what to call it in messages, usually its path. stage: of the errors ("read urdf").
    """

    def __init__(self, source: str, stage: str) -> None:
        self.source = source
        self.stage = stage

    def parse(self, text: str) -> Element:
        """The root element. Comments and processing instructions are left out.

        Raises:
            FileError: not well-formed, or it declares entities.
            LimitExceededError: larger or deeper than any robot.
        """
        if len(text) > MAX_TEXT_BYTES:
            raise LimitExceededError(
                f"{self.source} has {len(text)} characters, expected at most {MAX_TEXT_BYTES}",
                stage=self.stage,
                subjects=(self.source,),
            )
        entity = ENTITY.search(text)
        if entity:
            line = text.count("\n", 0, entity.start()) + 1
            raise self._error(line, "declares an XML entity, which is refused")
        parser = etree.XMLParser(
            encoding="utf-8",
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
            remove_comments=True,
            remove_pis=True,
        )
        try:
            root = etree.fromstring(text.encode("utf-8"), parser)
        except etree.XMLSyntaxError as error:
            raise self._error(error.position[0] or 1, f"is not well-formed XML: {error.msg}") from error
        except UnicodeEncodeError as error:
            raise self._error(1, "has a lone surrogate, expected Unicode text") from error
        if sum(1 for _ in root.iter()) > MAX_ELEMENTS:
            raise LimitExceededError(
                f"{self.source} has more than {MAX_ELEMENTS} elements", stage=self.stage, subjects=(self.source,)
            )
        return root

    def _error(self, line: int, text: str, *names: str) -> FileError:
        return FileError(f"{self.source}:{line}: {text}", stage=self.stage, subjects=(self.source, *names))

    def error(self, element: Element, text: str, *names: str) -> FileError:
        """An error at the line of an element; names: what else to blame."""
        line: Any = element.sourceline
        return self._error(line or 0, f"<{tag(element)}> {text}", *names)

    def children(self, element: Element, name: str) -> Iterator[Element]:
        """Child elements of that tag; those with a namespace have other tags."""
        return element.iterchildren(name)

    def child(self, element: Element, name: str) -> Element | None:
        """The only child of that tag, or None.

        Raises:
            FileError: there are several.
        """
        found = list(element.iterchildren(name))
        if len(found) > 1:
            raise self.error(found[1], f"is the second one in <{tag(element)}>, expected one at most")
        return found[0] if found else None

    def required_child(self, element: Element, name: str) -> Element:
        """The only child of that tag.

        Raises:
            FileError: there is none, or there are several.
        """
        found = self.child(element, name)
        if found is None:
            raise self.error(element, f"has no <{name}>")
        return found

    def attribute(self, element: Element, name: str, default: str | None = None) -> str:
        """Value of an attribute; without a default it must be there and not be empty.

        Raises:
            FileError: it is missing.
        """
        value = element.get(name)
        if value is not None and (value.strip() or default is not None):
            return str(value).strip()
        if default is None:
            raise self.error(element, f"has no attribute {name!r}")
        return default

    def number(self, element: Element, name: str, default: float | None = None) -> float:
        """A finite number in an attribute.

        Raises:
            FileError: it is missing without a default, or not a finite number.
        """
        if element.get(name) is None and default is not None:
            return default
        return self._number(element, name, self.attribute(element, name))

    def _number(self, element: Element, name: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError as error:
            raise self.error(element, f"has {name}={text[:80]!r}, expected a number") from error
        # Python's float takes underscores, which no other reader of these files does.
        if not math.isfinite(value) or "_" in text:
            raise self.error(element, f"has {name}={text[:80]!r}, expected a finite number")
        return value

    def numbers(
        self, element: Element, name: str, count: int, default: tuple[float, ...] | None = None
    ) -> tuple[float, ...]:
        """Finite numbers in an attribute, apart by white space.

        Raises:
            FileError: missing without a default, another count, or not finite numbers.
        """
        if element.get(name) is None and default is not None:
            return default
        return self.parse_numbers(element, name, self.attribute(element, name), count)

    def parse_numbers(self, element: Element, what: str, text: str, count: int) -> tuple[float, ...]:
        """`count` finite numbers in a text that belongs to an element.

        Raises:
            FileError: another count, or not finite numbers.
        """
        parts = text.split()
        if len(parts) != count:
            raise self.error(element, f"has {what}={text[:80]!r}, expected {count} numbers")
        return tuple(self._number(element, what, part) for part in parts)

    def text(self, element: Element) -> str:
        """What stands in an element.

        Raises:
            FileError: nothing.
        """
        text = (element.text or "").strip()
        if not text:
            raise self.error(element, "is empty")
        return text

    def text_of_child(self, element: Element, name: str, default: str) -> str:
        """What stands in the only child of that tag; the default without one."""
        child = self.child(element, name)
        return default if child is None else self.text(child)

    def text_numbers(self, element: Element, count: int) -> tuple[float, ...]:
        """Finite numbers that stand in an element, apart by white space.

        Raises:
            FileError: another count, or not finite numbers.
        """
        return self.parse_numbers(element, "its text", element.text or "", count)

    def origin(self, element: Element) -> Pose:
        """Pose in the <origin xyz rpy> child of an element, as URDF has it; identity without one."""
        origin = self.child(element, "origin")
        if origin is None:
            return Pose()
        xyz = self.numbers(origin, "xyz", 3, (0.0, 0.0, 0.0))
        return Pose.from_rpy(xyz, self.numbers(origin, "rpy", 3, (0.0, 0.0, 0.0)))


def tag(element: Element) -> str:
    """Name of an element, without its namespace."""
    return etree.QName(element).localname


def text_of(element: Element) -> str:
    """An element as XML text, without what follows it."""
    return str(etree.tostring(element, encoding="unicode", with_tail=False))
