"""The documents of DDS Security that a keystore has: who may do what in a domain (permissions), and how messages are
protected there (governance).

DDS Security 1.1, 9.4: https://www.omg.org/spec/DDS-SECURITY/1.1/PDF
"""

from __future__ import annotations

from datetime import datetime

from lxml import etree

from .policy import Enclave

SCHEMAS = "http://www.omg.org/spec/DDS-SECURITY/20170901"
INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
# All implementations of ROS 2 over DDS report here which nodes have which topics.
GRAPH = ("ros_discovery_info",)
# As in SROS 2: no participant without a certificate, everything encrypted, every topic under access control.
DOMAIN_RULES = {
    "allow_unauthenticated_participants": "false",
    "enable_join_access_control": "true",
    "discovery_protection_kind": "ENCRYPT",
    "liveliness_protection_kind": "ENCRYPT",
    "rtps_protection_kind": "SIGN",
}
TOPIC_RULES = {
    "topic_expression": "*",
    "enable_discovery_protection": "true",
    "enable_liveliness_protection": "true",
    "enable_read_access_control": "true",
    "enable_write_access_control": "true",
    "metadata_protection_kind": "ENCRYPT",
    "data_protection_kind": "ENCRYPT",
}


def governance(domain: int) -> bytes:
    """The governance document of a domain."""
    root = _document("omg_shared_ca_governance.xsd")
    rule = _inside(root, "domain_access_rules", "domain_rule")
    _add_domain(rule, domain)
    _add_texts(rule, DOMAIN_RULES)
    _add_texts(_inside(rule, "topic_access_rules", "topic_rule"), TOPIC_RULES)
    return _text(root)


def permissions(enclave: Enclave, domain: int, not_before: datetime, not_after: datetime) -> bytes:
    """The permissions document of an enclave: all that its policy does not allow is denied.

    Args:
        not_before: The times between which it is valid, in UTC.
    """
    root = _document("omg_shared_ca_permissions.xsd")
    grant = _inside(root, "permissions", "grant")
    grant.set("name", enclave.path)
    _add_texts(grant, {"subject_name": f"CN={enclave.path}"})
    times = {"not_before": not_before, "not_after": not_after}
    validity = _inside(grant, "validity")
    _add_texts(validity, {name: time.strftime("%Y-%m-%dT%H:%M:%S") for name, time in times.items()})
    rule = _inside(grant, "allow_rule")
    _add_domain(rule, domain)
    for kind, topics in (("publish", enclave.publishes), ("subscribe", enclave.subscribes)):
        listed = _inside(rule, kind, "topics")
        for topic in sorted((*topics, *GRAPH)):
            etree.SubElement(listed, "topic").text = topic
    _add_texts(grant, {"default": "DENY"})
    return _text(root)


def _document(schema: str) -> etree._Element:
    root = etree.Element("dds", nsmap={"xsi": INSTANCE})
    root.set(f"{{{INSTANCE}}}noNamespaceSchemaLocation", f"{SCHEMAS}/{schema}")
    return root


def _inside(element: etree._Element, *tags: str) -> etree._Element:
    """A new element inside new elements."""
    for tag in tags:
        element = etree.SubElement(element, tag)
    return element


def _add_texts(element: etree._Element, texts: dict[str, str]) -> None:
    for tag, text in texts.items():
        etree.SubElement(element, tag).text = text


def _add_domain(element: etree._Element, domain: int) -> None:
    _add_texts(_inside(element, "domains"), {"id": str(domain)})


def _text(root: etree._Element) -> bytes:
    return etree.tostring(root, pretty_print=True, xml_declaration=True, encoding="UTF-8")
