"""Conversions of collision pairs, reports and clearances."""

from __future__ import annotations

import math

from robot_cell_planner.msg import Clearance as ClearanceMessage
from robot_cell_planner.msg import CollisionContact
from robot_cell_planner.msg import CollisionPair as PairMessage
from robot_cell_planner.msg import CollisionReport as ReportMessage

from ...collision.owners import OwnerKind
from ...collision.report import Clearance, CollisionPair, CollisionReport
from ...collision.rules import CheckedPair, SkippedPair
from .basic import point_to_message, vector_to_message

KINDS = {OwnerKind.LINK: PairMessage.LINK, OwnerKind.TOOL: PairMessage.TOOL, OwnerKind.BODY: PairMessage.BODY}


def pair_to_message(pair: CollisionPair) -> PairMessage:
    contacts = [
        CollisionContact(
            point_a=point_to_message(contact.point_first),
            point_b=point_to_message(contact.point_second),
            normal=vector_to_message(contact.normal),
            depth=contact.depth,
        )
        for contact in pair.contacts
    ]
    return PairMessage(
        step=int(pair.step),
        name_a=pair.first,
        kind_a=KINDS[pair.first_kind],
        name_b=pair.second,
        kind_b=KINDS[pair.second_kind],
        verdict=PairMessage.COLLIDING,
        distance=pair.distance,
        margin=pair.margin,
        contacts=contacts,
    )


def report_to_message(report: CollisionReport) -> ReportMessage:
    """Pairs that collide; with a verbose report those that were checked or skipped too."""
    pairs = [pair_to_message(pair) for pair in report.pairs]
    colliding = {(pair.first, pair.second) for pair in report.pairs}
    for checked in report.checked:
        if (checked.first, checked.second) not in colliding:
            pairs.append(_other(checked, PairMessage.CLEAR, ""))
    pairs.extend(_other(skipped, PairMessage.SKIPPED, skipped.reason) for skipped in report.skipped)
    return ReportMessage(
        in_collision=report.in_collision,
        pairs=pairs,
        pairs_checked=report.pairs_checked,
        pairs_skipped=len(report.skipped),
        engine=report.engine,
        decomposed=list(report.decomposed),
    )


def clearance_to_message(clearance: Clearance) -> ClearanceMessage:
    return ClearanceMessage(
        distance=clearance.distance,
        margin=clearance.margin,
        name_a=clearance.first,
        kind_a=KINDS[clearance.first_kind],
        name_b=clearance.second,
        kind_b=KINDS[clearance.second_kind],
        point_a=point_to_message(clearance.point_first),
        point_b=point_to_message(clearance.point_second),
    )


def _other(pair: CheckedPair | SkippedPair, verdict: int, reason: str) -> PairMessage:
    """A pair that was checked and is clear, or was skipped; its distance was not computed."""
    margin = pair.margin if isinstance(pair, CheckedPair) else math.nan
    return PairMessage(
        step=int(pair.step),
        name_a=pair.first,
        name_b=pair.second,
        verdict=verdict,
        reason=reason,
        distance=math.nan,
        margin=margin,
    )
