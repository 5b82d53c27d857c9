"""Reader of untrusted XML, without entities and network access; errors give file, line and what was expected."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from lxml import etree

from ...errors import FileError, LimitExceededError
from ...errors.remedies import UNEXPANDED
from ...model.pose import Pose, normalised
from .defects import Defects
from .file_kinds import refuse_cell_file
from .resources import check_text_length

Element = etree._Element
ENTITY = re.compile(r"<!ENTITY\b")
MAX_ELEMENTS = 1_000_000
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
UNDEFINED_PREFIX = re.compile(r"Namespace prefix ([A-Za-z_][\w.\-]{0,60}) ")
FIRST_TAG = re.compile(r"<[A-Za-z_][\w:.\-]*")
MAX_PREFIXES = 20
MIN_QUATERNION_LENGTH = 1e-6
XACRO = re.compile(r".*/xacro/?|urn:undefined:xacro")
XACRO_VALUES = ("property", "arg")  # instructions that add no elements
XACRO_EXPRESSION = re.compile(r"\$[{(]")
# Drake's namespace, and that of its prefix in files that do not declare it, which Drake accepts.
DRAKE = ("http://drake.mit.edu", "urn:undefined:drake")


class XmlReader:
    """Reader of one XML document.

    Args:
        source: Name of the document in messages, usually its path.
        stage: Stage of the errors ("read urdf").
        defects: Takes note of defects that do not prevent reading; None: they are errors.
        first_of_several: Whether an element that is repeated is such a defect, and the first one is used.
    """

    def __init__(
        self, source: str, stage: str, defects: Defects | None = None, *, first_of_several: bool = False
    ) -> None:
        self.first_of_several = first_of_several
        self.source = source
        self.stage = stage
        self.defects = Defects(strict=True) if defects is None else defects

    def parse(self, text: str) -> Element:
        """Parse the text and return the root element, without comments and processing instructions.

        Elements in the default namespace of the root element get plain names, as other readers of these files do.

        Raises:
            FileError: The text is not well-formed, declares entities, or has elements of xacro.
            LimitExceededError: The document is larger or deeper than any robot description.
        """
        check_text_length(text, self.source, self.stage)
        entity = ENTITY.search(text)
        if entity:
            line = text.count("\n", 0, entity.start()) + 1
            raise self._error(line, "declares an XML entity, which is refused")
        root = self._tree(text)
        if sum(1 for _ in root.iter()) > MAX_ELEMENTS:
            raise LimitExceededError(
                f"{self.source} has more than {MAX_ELEMENTS} elements", stage=self.stage, subjects=(self.source,)
            )
        self._remove_unused_values(root, text)
        _strip_default_namespace(root)
        return root

    def _remove_unused_values(self, root: Element, text: str) -> None:
        """Remove properties and arguments of xacro that no expression uses; refuse other instructions of xacro."""
        is_expanded = XACRO_EXPRESSION.search(COMMENT.sub("", text)) is None
        instructions = [e for e in root.iter(etree.Element) if XACRO.fullmatch(etree.QName(e).namespace or "")]
        for element in instructions:
            parent = element.getparent()
            if parent is None or not is_expanded or etree.QName(element).localname not in XACRO_VALUES:
                raise self._unexpanded(element, "is an instruction of xacro")
            parent.remove(element)

    def _unexpanded(self, element: Element, text: str) -> FileError:
        error = self.error(element, f"{text}; expand the file with xacro, or give it a name that ends in .xacro")
        error.remedy = UNEXPANDED
        return error

    def _tree(self, text: str) -> Element:
        """Parse the text; "--" in comments and undefined namespace prefixes are mended where the reader allows it."""
        for _ in range(MAX_PREFIXES):
            try:
                return etree.fromstring(text.encode("utf-8"), _parser())
            except etree.XMLSyntaxError as error:
                mended = self._mended(text, error)
                if mended == text:
                    refuse_cell_file(text, self.source, "XML", self.stage)
                    raise self._not_well_formed(error) from error
                text = mended
            except UnicodeEncodeError as error:
                raise self._error(1, "has a lone surrogate, expected Unicode text") from error
        raise self._error(1, f"is not well-formed XML: more than {MAX_PREFIXES} undefined namespace prefixes")

    def _not_well_formed(self, error: etree.XMLSyntaxError) -> FileError:
        return self._error(error.position[0] or 1, f"is not well-formed XML: {error.msg}")

    def _mended(self, text: str, error: etree.XMLSyntaxError) -> str:
        """Return the text without the defect, or the same text if it is of another kind."""
        if "hyphen within comment" in str(error.msg):
            self.defects.note(self._not_well_formed(error), "comments are skipped")
            return COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)  # lines keep their numbers
        undefined = UNDEFINED_PREFIX.search(str(error.msg))
        plain = COMMENT.sub(lambda comment: " " * len(comment[0]), text)
        first = FIRST_TAG.search(plain)
        if undefined is None or first is None:
            return text
        self.defects.note(self._not_well_formed(error), "its elements are of an unknown kind")
        prefix = undefined[1]
        return f'{text[: first.end()]} xmlns:{prefix}="urn:undefined:{prefix}"{text[first.end() :]}'

    def _error(self, line: int, text: str, *names: str) -> FileError:
        message, subjects = f"{self.source}:{line}: {text}", (self.source, *names)
        return FileError(message, stage=self.stage, subjects=subjects)

    def error(self, element: Element, text: str, *names: str) -> FileError:
        """Return an error at the line of an element; `names`: additional subjects."""
        line: Any = element.sourceline
        return self._error(line or 0, f"<{tag(element)}> {text}", *names)

    def children(self, element: Element, name: str) -> Iterator[Element]:
        """Return the child elements with a tag. Elements with a namespace have other tags."""
        return element.iterchildren(name)

    def child(self, element: Element, name: str) -> Element | None:
        """Return the only child with a tag, or None.

        Raises:
            FileError: There are several, and the first one is not used.
        """
        found = list(element.iterchildren(name))
        if len(found) > 1:
            owner = " ".join((f"<{tag(element)}>", element.get("name", ""))).strip()
            error = self.error(found[1], f"is the second one in {owner}, expected one at most")
            if not self.first_of_several:
                raise error
            self.defects.note(error, "the first one is used")
        return found[0] if found else None

    def required_child(self, element: Element, name: str) -> Element:
        """Return the only child with a tag.

        Raises:
            FileError: There is none, or there are several and the first one is not used.
        """
        found = self.child(element, name)
        if found is None:
            raise self.error(element, f"has no <{name}>")
        return found

    def attribute(self, element: Element, name: str, default: str | None = None) -> str:
        """Return an attribute. Without a default it is required and must not be empty.

        Raises:
            FileError: The attribute is missing.
        """
        value = element.get(name)
        if value is not None and (value.strip() or default is not None):
            return str(value).strip()
        if default is None:
            raise self.error(element, f"has no attribute {name!r}")
        return default

    def number(self, element: Element, name: str, default: float | None = None) -> float:
        """Return a finite number from an attribute.

        Raises:
            FileError: The attribute is missing without a default, or not a finite number.
        """
        if element.get(name) is None and default is not None:
            return default
        return self._number(element, name, self.attribute(element, name))

    def _number(self, element: Element, name: str, text: str) -> float:
        name = _written(element, name)
        try:
            value = float(text)
        except ValueError as error:
            self._check_expanded(element, name, text)
            raise self.error(element, f"has {name}={text[:80]!r}, expected a number") from error
        # Python's float accepts underscores; other readers of these files do not.
        if not math.isfinite(value) or "_" in text:
            raise self.error(element, f"has {name}={text[:80]!r}, expected a finite number")
        return value

    def _check_expanded(self, element: Element, what: str, text: str) -> None:
        """Refuse an expression of xacro in place of a number."""
        if XACRO_EXPRESSION.search(text):
            raise self._unexpanded(element, f"has {what}={text[:80]!r}, an expression of xacro")

    def numbers(
        self, element: Element, name: str, count: int, default: tuple[float, ...] | None = None
    ) -> tuple[float, ...]:
        """Return `count` finite numbers, separated by white space, from an attribute.

        Raises:
            FileError: The attribute is missing without a default, has another count, or contains numbers that are not
                finite.
        """
        if element.get(name) is None and default is not None:
            return default
        return self.parse_numbers(element, name, self.attribute(element, name), count)

    def parse_numbers(self, element: Element, what: str, text: str, count: int) -> tuple[float, ...]:
        """Parse `count` finite numbers from a text that belongs to an element.

        Raises:
            FileError: The count differs, or numbers are not finite.
        """
        self._check_expanded(element, what, text)
        parts = text.split()
        if len(parts) != count:
            raise self.error(element, f"has {what}={text[:80]!r}, expected {count} numbers")
        return tuple(self._number(element, what, part) for part in parts)

    def text(self, element: Element) -> str:
        """Return the text of an element.

        Raises:
            FileError: The element has no text.
        """
        text = (element.text or "").strip()
        if not text:
            raise self.error(element, "is empty")
        return text

    def text_of_child(self, element: Element, name: str, default: str) -> str:
        """Return the text of the only child with a tag; the default without one."""
        child = self.child(element, name)
        return default if child is None else self.text(child)

    def text_numbers(self, element: Element, count: int) -> tuple[float, ...]:
        """Return finite numbers, separated by white space, from the text of an element.

        Raises:
            FileError: The count differs, or numbers are not finite.
        """
        return self.parse_numbers(element, "its text", element.text or "", count)

    def origin(self, element: Element) -> Pose:
        """Return the pose of the <origin> child of an element with xyz and either rpy or quat_xyzw, as in URDF.

        The quaternion is normalised. Identity without the child.

        Raises:
            FileError: The numbers are malformed, both rotations are given, or the quaternion is zero.
        """
        origin = self.child(element, "origin")
        if origin is None:
            return Pose()
        xyz = self.numbers(origin, "xyz", 3, (0.0, 0.0, 0.0))
        if origin.get("quat_xyzw") is None:
            return Pose.from_rpy(xyz, self.numbers(origin, "rpy", 3, (0.0, 0.0, 0.0)))
        if origin.get("rpy") is not None:
            raise self.error(origin, "has rpy and quat_xyzw, expected one of them")
        quaternion = self.numbers(origin, "quat_xyzw", 4)
        if math.hypot(*quaternion) < MIN_QUATERNION_LENGTH:
            raise self.error(origin, f"has quat_xyzw={origin.get('quat_xyzw')!r}, which is no rotation")
        x, y, z = xyz
        return Pose((x, y, z), normalised(quaternion))


def _strip_default_namespace(root: Element) -> None:
    namespace = root.nsmap.get(None)
    if namespace is None:
        return
    for element in root.iter(f"{{{namespace}}}*"):
        element.tag = tag(element)
    etree.cleanup_namespaces(root)


def _parser() -> etree.XMLParser:
    return etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )


def tag(element: Element) -> str:
    """Return the name of an element, without its namespace."""
    return etree.QName(element).localname


def _written(element: Element, name: str) -> str:
    """Return the name of an attribute as its file has it: with a prefix in place of a namespace."""
    namespace, _, local = name.removeprefix("{").rpartition("}")
    prefix = next((prefix for prefix, uri in element.nsmap.items() if prefix and uri == namespace), None)
    return f"{prefix}:{local}" if prefix else name


def text_of(element: Element) -> str:
    """Return an element as XML text, without the text that follows it."""
    return str(etree.tostring(element, encoding="unicode", with_tail=False))
