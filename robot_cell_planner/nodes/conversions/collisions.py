"""Conversions of collision options, pairs, reports, clearances and collisions along paths."""

from __future__ import annotations

import math

from robot_cell_planner.msg import Clearance as ClearanceMessage
from robot_cell_planner.msg import CollisionContact, TrajectoryCollision
from robot_cell_planner.msg import CollisionOptions as OptionsMessage
from robot_cell_planner.msg import CollisionPair as PairMessage
from robot_cell_planner.msg import CollisionReport as ReportMessage

from ...collision.pairs.allowed_pairs import (
    ALL_PAIR_TYPES,
    AllowedPairs,
    CheckedPair,
    CollisionOptions,
    PairType,
    SkippedPair,
)
from ...collision.pairs.objects import ObjectKind
from ...collision.paths import PathCollision
from ...collision.report import Clearance, CollisionPair, CollisionReport
from ...errors import InvalidRequestError
from .basic import duration_to_message, point_to_message, vector_to_message

MAX_COUNTED = 2**32 - 1
KINDS = {ObjectKind.LINK: PairMessage.LINK, ObjectKind.TOOL: PairMessage.TOOL, ObjectKind.BODY: PairMessage.BODY}


def options_from_message(message: OptionsMessage, field: str) -> CollisionOptions:
    """Return the options of a check; pair types in their order, each once.

    Raises:
        InvalidRequestError: An unknown pair type, or a margin that is negative, too large or not finite.
    """
    try:
        pair_types = tuple(sorted(PairType(number) for number in set(message.pair_types))) or ALL_PAIR_TYPES
        return CollisionOptions(message.extra_margin, pair_types, message.fixed_pairs)
    except ValueError as error:
        raise InvalidRequestError(f"{field}: {error}", subjects=(field,)) from error


def max_pairs_of(message: OptionsMessage, limit: int) -> int:
    """Return the maximum number of pairs in a report: one unless a full report is requested, else `limit` at most."""
    return min(message.max_pairs or limit, limit) if message.full_report or message.verbose else 1


def pair_to_message(pair: CollisionPair, *, contacts: bool = True) -> PairMessage:
    """Return a colliding pair; contacts: with points, normals and depths."""
    return PairMessage(
        pair_type=int(pair.pair_type),
        name_a=pair.first,
        kind_a=KINDS[pair.first_kind],
        name_b=pair.second,
        kind_b=KINDS[pair.second_kind],
        verdict=PairMessage.COLLIDING,
        distance=pair.distance,
        margin=pair.margin,
        contacts=[
            CollisionContact(
                point_a=point_to_message(contact.point_first),
                point_b=point_to_message(contact.point_second),
                normal=vector_to_message(contact.normal),
                depth=contact.depth,
            )
            for contact in (pair.contacts if contacts else ())
        ],
    )


def report_to_message(
    report: CollisionReport, allowed_pairs: AllowedPairs, max_pairs: int, *, contacts: bool = True
) -> ReportMessage:
    """Return colliding pairs, of a verbose report also checked and skipped ones, sorted by type and names.

    max_pairs: maximum number of pairs to list. allowed_pairs: those of the check.
    """
    found = {(pair.first, pair.second): pair_to_message(pair, contacts=contacts) for pair in report.pairs}
    others: list[CheckedPair | SkippedPair] = [*report.checked, *report.skipped]
    rest = [_other(pair, allowed_pairs) for pair in others if (pair.first, pair.second) not in found]
    pairs = sorted([*found.values(), *rest], key=lambda pair: (pair.pair_type, pair.name_a, pair.name_b))
    return ReportMessage(
        in_collision=report.in_collision,
        pairs=pairs[:max_pairs],
        pairs_checked=report.pairs_checked,
        pairs_skipped=min(report.pairs_skipped, MAX_COUNTED),
        truncated=len(pairs) > max_pairs,
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


def path_collision_to_message(found: PathCollision, *, contacts: bool = True) -> TrajectoryCollision:
    return TrajectoryCollision(
        point=found.point,
        place=found.place,
        time=duration_to_message(found.time),
        pair=pair_to_message(found.pair, contacts=contacts),
    )


def _other(pair: CheckedPair | SkippedPair, allowed_pairs: AllowedPairs) -> PairMessage:
    """Return a pair that is free or was skipped; its distance was not computed."""
    return PairMessage(
        pair_type=int(pair.pair_type),
        name_a=pair.first,
        kind_a=KINDS[allowed_pairs.by_name[pair.first].kind],
        name_b=pair.second,
        kind_b=KINDS[allowed_pairs.by_name[pair.second].kind],
        verdict=PairMessage.CLEAR if isinstance(pair, CheckedPair) else PairMessage.SKIPPED,
        reason="" if isinstance(pair, CheckedPair) else pair.reason,
        distance=math.nan,
        margin=pair.margin if isinstance(pair, CheckedPair) else math.nan,
    )
