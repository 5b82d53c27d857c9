"""`robot_cell doctor`: what is wrong with the installation and with the nodes that run."""

from __future__ import annotations

import json
import os
from dataclasses import asdict

import click

from ...errors import NotSupportedError
from ...security.environment import CLIENT, OVERRIDE, enclave_path, has_security
from ...setup_assistant.finding import ERROR, Finding
from ...setup_assistant.installation import DOMAIN, RANGE, check_installation
from ..remedies import remedy_of
from ..reporting import import_failure
from .findings import echo_findings, summary

SECURITY_REMEDY = (
    f"`export {OVERRIDE}={enclave_path(CLIENT)}` for this command; if the DDS library has no security, as that of the "
    "Python package index, install one that has. See docs/security.md."
)
ENVIRONMENT = (DOMAIN, RANGE, "RMW_IMPLEMENTATION", "ROS_DISTRO")


def doctor(seconds: float, as_json: bool) -> int:
    """Print the findings about the installation and the running nodes."""
    environment = {name: os.environ.get(name, "") for name in ENVIRONMENT}
    findings = check_installation(os.environ)
    nodes: tuple[str, ...] = ()
    is_searched = bool(seconds) and not any(finding.level == ERROR for finding in findings)
    if is_searched:
        nodes, found = _graph(seconds)
        findings += found
    findings = tuple(sorted(findings, key=lambda finding: finding.level != ERROR))
    if as_json:
        found_entries = [asdict(finding) for finding in findings]
        click.echo(json.dumps({"environment": environment, "nodes": nodes, "findings": found_entries}, indent=1))
    else:
        click.echo(", ".join(f"{name}={value or '(not set)'}" for name, value in environment.items()))
        click.echo(f"nodes: {', '.join(nodes) or ('none was found' if is_searched else 'not searched')}")
        echo_findings(findings)
        click.echo(summary(findings))
    return 1 if any(finding.level == ERROR for finding in findings) else 0


def _graph(seconds: float) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
    """Return the nodes of the graph, and findings about it."""
    try:
        from ...nodes.common.start import shortage
        from ...nodes.doctor.graph import graph_findings
        from ...nodes.doctor.observer import observe
    except ImportError as error:
        failure = import_failure("nodes need ROS 2", error)
        remedy = "Source ROS 2, or `make setup`; without it, the library plans and simulates, but no node runs."
        is_missing = isinstance(failure, NotSupportedError)
        return (), (Finding(ERROR, "ros", failure.message, remedy if is_missing else remedy_of(failure)),)
    text = shortage()
    limits = (Finding(ERROR, "limits", f"no node can start: {text.partition(':')[0]}", f"{text.partition(': ')[2]}."),)
    try:
        graph = observe(seconds)
    except RuntimeError as error:  # an RCLError, which has no public name
        if not has_security(os.environ):
            raise
        reason = f"no node can take part in a domain with security: {' '.join(str(error).split())}"
        return (), (*(limits if text else ()), Finding(ERROR, "security", reason, SECURITY_REMEDY))
    return graph.nodes, (*(limits if text else ()), *graph_findings(graph))
