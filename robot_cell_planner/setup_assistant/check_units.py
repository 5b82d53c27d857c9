"""Check of numbers that are probably in other units, such as degrees, mm or kg mm2, and of inertias that cannot be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from ..io.common.defects import Defects
from ..io.common.xml_reader import XmlReader, tag
from ..io.mesh.body_sizes import doubtful_sizes
from ..model.angles import degrees_doubt
from ..model.bodies import Tool
from ..model.cell import RobotCell
from ..model.mechanism import Inertial, Mechanism
from ..model.name_suggestions import listed
from ..model.robot import Robot
from ..model.sources import ModelSources
from .finding import UNITS, WARNING, Finding

STAGE = "check units"
DEGREES = (20.0, 1000.0)  # [rad] range of a position limit that is probably one in degrees
MAX_GYRATION = 10.0  # [m] radius of gyration of a link
IN_METRES = "Write lengths in m; `native_scale: 0.001` is for files in mm, `scale: 0.001` for meshes in mm."
MAX_EXCESS = 1.05  # ratio of the largest principal moment of inertia to the sum of the others; plates have 1
IN_KG_M2 = "Write inertias in kg m2 about the centre of mass; 1 kg mm2 is 1e-6 kg m2."
SUM_OF_OTHERS = "Correct the inertia: a principal moment is at most the sum of the other two."


def unit_findings(cell: RobotCell) -> Iterator[Finding]:
    """Find sizes of bodies, and limits, angles and inertias of robots and tools that are probably in other units; and
    inertias that no body has."""
    for name, body in cell.bodies.items():
        if body.inertial is not None:
            yield from _inertias(f"body {name}", {name: body.inertial})
        yield from (Finding(WARNING, UNITS, text, IN_METRES) for text in doubtful_sizes([body]))
    models: list[Robot | Tool] = [*cell.robots.values(), *cell.tools.values()]
    for model in models:
        name = f"{'robot' if isinstance(model, Robot) else 'tool'} {model.name}"
        yield from _limits(name, model.mechanism)
        links = model.mechanism.links.values()
        yield from _inertias(name, {link.name: link.inertial for link in links if link.inertial is not None})
        yield from _angles(name, model.sources)


def _limits(name: str, mechanism: Mechanism) -> Iterator[Finding]:
    low, high = DEGREES
    found = [
        f"{variable.name} {variable.limits.lower:g} to {variable.limits.upper:g} rad"
        for variable in mechanism.variables
        if variable.angular and low < max(abs(variable.limits.lower), abs(variable.limits.upper)) < high
    ]
    if found:
        text = f"{name}: position limits that may be in degrees: {listed(found)}"
        yield Finding(WARNING, UNITS, text, "Write angles in rad; pi rad are 180 degrees.")


def _inertias(name: str, inertials: Mapping[str, Inertial]) -> Iterator[Finding]:
    """Find inertias that no body has, by the name of the link or body."""
    found = [f"{link} {_gyration(inertial):.3g} m" for link, inertial in inertials.items() if _is_too_large(inertial)]
    if found:
        text = f"{name}: inertias that cannot be right, by their radius of gyration: {listed(found)}"
        yield Finding(WARNING, UNITS, text, IN_KG_M2)
    moments = {link: _principal_moments(inertial) for link, inertial in inertials.items()}
    found = [f"{link} {_in_words(row)}" for link, row in moments.items() if row[2] > MAX_EXCESS * (row[0] + row[1])]
    if found:
        text = f"{name}: inertias of which one principal moment is above the sum of the others: {listed(found)}"
        yield Finding(WARNING, "masses", text, SUM_OF_OTHERS)


def _principal_moments(inertial: Inertial) -> list[float]:
    """Return the principal moments of inertia [kg m2], smallest first."""
    xx, xy, xz, yy, yz, zz = inertial.inertia
    moments: list[float] = np.linalg.eigvalsh(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))).tolist()
    return moments


def _in_words(moments: list[float]) -> str:
    return f"({', '.join(f'{moment:.3g}' for moment in moments)}) kg m2"


def _is_too_large(inertial: Inertial) -> bool:
    return inertial.mass > 0.0 and _gyration(inertial) > MAX_GYRATION


def _gyration(inertial: Inertial) -> float:
    """Return the largest radius of gyration [m], at most."""
    xx, _, _, yy, _, zz = inertial.inertia
    return math.sqrt(max(xx, yy, zz, 0.0) / inertial.mass)


def _angles(name: str, sources: ModelSources) -> Iterator[Finding]:
    """Find roll, pitch, yaw of a description of which one is larger than a turn."""
    if not sources.urdf:
        return
    root = XmlReader(sources.urdf_uri or name, STAGE, Defects()).parse(sources.urdf)
    for element in root.iter():
        try:
            doubt = degrees_doubt([float(word) for word in str(element.get("rpy", "")).split()] or [0.0])
        except ValueError:
            continue  # reported when the description was read
        if doubt:
            owner = next((above for above in element.iterancestors() if above.get("name")), element)
            where = " ".join((tag(owner), owner.get("name", "")))
            yield Finding(WARNING, UNITS, f"{name}: origin of {where}: {doubt}", "Write angles in rad.")
