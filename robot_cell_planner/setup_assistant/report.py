"""Report page of a draft, in Markdown: what was found, how, and how sure it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..model.bodies import Tool
from ..model.mechanism import Mechanism, Variable
from .draft import Draft
from .finding import Finding
from .hands import HandDraft
from .mesh_uses import MeshDraft
from .pairs import DraftedPair

MANY = 12  # joints named in a cell of a table
RATES = {"velocity": "s", "acceleration": "s^2", "jerk": "s^3"}  # unit that that of the position is divided by


def report_text(
    description: str,
    draft: Draft,
    findings: Sequence[Finding],
    meshes: Sequence[MeshDraft] = (),
    tool: tuple[Tool, HandDraft | None] | None = None,
    tool_pairs: Sequence[DraftedPair] = (),
) -> str:
    """Return the page.

    meshes: Collision representations that were chosen.
    tool: Gripper that was added, with the draft of its hand.
    tool_pairs: Pairs of its links that are not checked.
    """
    robot = draft.robot
    parts = [
        f"# {robot.mechanism.name}",
        "",
        f"Drafted from `{description}`. Every entry is a draft: review it, edit the files beside this page, and run "
        "`robot_cell check cell.yaml`.",
        "",
        "## To do",
        "",
        *_findings(findings),
        "",
        "## Planning groups",
        "",
        "| Group | Joints | From | To | How it was found |",
        "|---|---|---|---|---|",
        *_groups(draft),
        *_passive(draft.passive),
        "",
        "## Home",
        "",
        *_home(draft),
        *_hands(draft, tool),
        *_meshes(meshes),
        "",
        "## Pairs that are not checked",
        "",
        *_pairs(draft.pairs, tool_pairs),
        "",
        "## Limits",
        "",
        *_limits(draft),
    ]
    return "\n".join(parts) + "\n"


def _findings(findings: Sequence[Finding]) -> Iterable[str]:
    if not findings:
        yield "Nothing was found."
    for finding in findings:
        yield f"- **{finding.level}** ({finding.topic}): {finding.text}. {finding.remedy}"


def _groups(draft: Draft) -> Iterable[str]:
    for found in draft.groups:
        group = found.group
        names = ", ".join(group.variables[:MANY]) + (", ..." if len(group.variables) > MANY else "")
        ends = f"{group.base_link} | {group.tip_link}"
        yield f"| `{group.name}` | {len(group.variables)}: {names} | {ends} | {found.reason} |"


def _passive(joints: Sequence[str]) -> Iterable[str]:
    if joints:
        yield ""
        yield f"In no group, because they are wheels or move the base: {', '.join(joints)}."


def _home(draft: Draft) -> Iterable[str]:
    home = draft.home
    if home.colliding:
        yield f"**No configuration without collision was found** among {home.tried}; the best one overlaps."
    else:
        clearance = "no pair is near" if home.clearance > 10.0 else f"its clearance is {1e3 * home.clearance:.0f} mm"
        yield f"Free of collisions: {clearance}, and {home.from_limits}."
    yield ""
    units = _units(draft.robot.mechanism)
    values = (f"`{name}` {value:g} {units[name]}" for name, value in home.values.items())
    yield ", ".join(values) or "There is no joint."


def _hands(draft: Draft, tool: tuple[Tool, HandDraft | None] | None) -> Iterable[str]:
    hands, units = dict(draft.hands), _units(draft.robot.mechanism)
    if tool is not None and tool[1] is not None:
        hands[f"tool {tool[0].name}"] = tool[1]
        units |= _units(tool[0].mechanism)
    if hands:
        yield ""
        yield "## Hands"
        yield ""
        yield "| Hand | Open | Closed | Difference of fingertips | Tool centre point |"
        yield "|---|---|---|---|---|"
    for name, hand in hands.items():
        x, y, z = hand.tcp.position
        opened, closed = (
            ", ".join(f"{joint} {value:.4g} {units[joint]}" for joint, value in values.items())
            for values in (hand.opened, hand.closed)
        )
        place = f"{x:g}, {y:g}, {z:g} m in {hand.base}" + (f", at {hand.tcp_link}" if hand.tcp_link else "")
        yield f"| `{name}` | {opened} | {closed} | {1e3 * hand.opening:.0f} mm | {place} |"


def _meshes(meshes: Sequence[MeshDraft]) -> Iterable[str]:
    if meshes:
        yield ""
        yield "## Collision meshes"
        yield ""
        yield "A mesh is checked as its convex hull unless `mesh_uses` in the cell file has another use for it."
        yield ""
        yield "| Mesh | Use | Why |"
        yield "|---|---|---|"
    for found in meshes:
        yield f"| `{found.uri}` | {found.use.value} | {found.reason} |"


def _pairs(of_robot: Sequence[DraftedPair], of_tool: Sequence[DraftedPair]) -> Iterable[str]:
    pairs = (*of_robot, *of_tool)
    counts = Counter(pair.reason for pair in pairs)
    yield ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items())) or "All pairs are checked."
    others = [pair for pair in pairs if pair.reason != "Adjacent" or not pair.sure.startswith("certain")]
    if others:
        yield ""
        yield "| Links | Reason | How sure |"
        yield "|---|---|---|"
    for pair in others:
        yield f"| {pair.first}, {pair.second} | {pair.reason} | {pair.sure} |"
    if of_tool:
        yield ""
        yield "Pairs of the tool are in `ignore_groups` of the cell file, those of the robot in its SRDF."


def _limits(draft: Draft) -> Iterable[str]:
    yield "| Joint | From | To | Velocity | Acceleration | Jerk |"
    yield "|---|---|---|---|---|---|"
    for variable in draft.robot.mechanism.variables:
        limits, unit = variable.limits, _unit(variable)
        rates = []
        for name, per in RATES.items():
            value = getattr(limits, name)
            assumed = " (assumed)" if name in limits.defaulted else ""
            rates.append("" if value is None else f"{value:.4g} {unit}/{per}{assumed}")
        yield f"| {variable.name} | {limits.lower:.4g} {unit} | {limits.upper:.4g} {unit} | {' | '.join(rates)} |"


def _unit(variable: Variable) -> str:
    return "rad" if variable.angular else "m"


def _units(mechanism: Mechanism) -> dict[str, str]:
    """Return the unit of each variable."""
    return {variable.name: _unit(variable) for variable in mechanism.variables}
