"""compute_fk, compute_ik and check_state_validity."""

from __future__ import annotations

from collections.abc import Sequence

from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import Constraints, ContactInformation, MoveItErrorCodes
from moveit_msgs.srv import GetPositionFK, GetPositionIK, GetStateValidity

from robot_cell_planner import msg, srv

from ...errors import InvalidRequestError, NotSupportedError, RobotCellError, UnknownNameError
from ...model.frames import FrameTree
from ...model.mechanism import Variable
from ...model.name_suggestions import unknown_name
from ...model.value import WORLD
from ...scene.scene import Scene
from ..common.node import CellNode
from ..conversions.basic import check_count, duration_from_message
from .constraint_checks import constraint_results
from .error_codes import error_code, refused_as, success
from .goals import interval_of, refuse_visibility
from .group_collisions import pairs_of_group
from .joint_intervals import Interval, excess
from .motion_requests import Start, check_group
from .robot_states import joint_aliases
from .scene_access import SceneAccess
from .scene_messages import SceneWriter
from .suite import Suite

MAX_LINKS = 10_000
MAX_CONTACTS = 100  # colliding pairs of a reply
BODY_TYPES = {
    msg.CollisionPair.LINK: ContactInformation.ROBOT_LINK,
    msg.CollisionPair.TOOL: ContactInformation.ROBOT_ATTACHED,
    msg.CollisionPair.BODY: ContactInformation.WORLD_OBJECT,
}


class KinematicsServices:
    """Services about single states."""

    def __init__(self, node: CellNode, suite: Suite, access: SceneAccess) -> None:
        self._node, self._suite, self._access = node, suite, access
        node.serve(GetPositionFK, "compute_fk", self._forward, fail_with_code)
        node.serve(GetPositionIK, "compute_ik", self._inverse, fail_with_code)
        node.serve(GetStateValidity, "check_state_validity", self._validity, self._fail_validity)

    async def _forward(self, request: GetPositionFK.Request, response: GetPositionFK.Response) -> None:
        check_count(len(request.fk_link_names), MAX_LINKS, "fk_link_names", "links")
        start = await self._access.start(request.robot_state)
        _check_links(start.scene, request.fk_link_names)
        links = list(dict.fromkeys(request.fk_link_names))
        call = srv.ForwardKinematics.Request(state=start.reference, mode=msg.Target.FRAME, frames=links)
        call.reference_frame, call.stamp = request.header.frame_id, request.header.stamp
        with refused_as(MoveItErrorCodes.FRAME_TRANSFORM_FAILURE):
            _check_frame(start.scene, request.header.frame_id)
        reply = await self._suite.forward_kinematics(call)
        poses = dict(zip(reply.frames, reply.poses, strict=True))
        now = self._node.get_clock().now().to_msg()
        for link in request.fk_link_names:
            found = PoseStamped(pose=poses[link])
            found.header.frame_id, found.header.stamp = request.header.frame_id or WORLD, now
            response.pose_stamped.append(found)
        response.fk_link_names = request.fk_link_names
        response.error_code = success()

    async def _inverse(self, request: GetPositionIK.Request, response: GetPositionIK.Response) -> None:
        message = request.ik_request
        start = await self._access.start(message.robot_state)
        group = check_group(start.scene.cell, message.group_name)
        call = srv.InverseKinematics.Request(
            state=start.reference, group=group, targets=_targets(request, start, group)
        )
        call.options.avoid_collisions = message.avoid_collisions
        if duration_from_message(message.timeout) > 0.0:
            call.options.timeout = message.timeout
        call.options.return_all = bool(message.constraints.joint_constraints)
        _check_constraints(message.constraints)
        reply = await self._suite.inverse_kinematics(call)
        rows = [list(found.positions) for found in reply.results[0].solutions]
        row = _first_allowed(start.scene, reply.joint_names, rows, message.constraints)
        state = start.scene.state.with_configuration(dict(zip(reply.joint_names, row, strict=True)))
        response.solution = SceneWriter(Scene(start.scene.cell, state)).robot_state()
        response.error_code = success()

    async def _validity(self, request: GetStateValidity.Request, response: GetStateValidity.Response) -> None:
        start = await self._access.start(request.robot_state)
        group = check_group(start.scene.cell, request.group_name) if request.group_name else ""
        call = srv.CheckStates.Request(state=start.reference)
        call.options.full_report = call.options.contacts = True
        reply = await self._suite.check_states(call)
        held, pairs = set(SceneWriter(start.scene).held_bodies()), pairs_of_group(start.scene, group, reply.reports[0])
        for pair in pairs[:MAX_CONTACTS]:
            response.contacts += _contacts(pair, held)
        response.constraint_result = constraint_results(start.scene, request.constraints)
        satisfied = all(found.result for found in response.constraint_result)
        response.valid = satisfied and not pairs

    def _fail_validity(self, response: GetStateValidity.Response, error: RobotCellError) -> None:
        """The reply has no field for an error: the state is not valid, and the log contains the reason."""
        self._node.get_logger().warning(f"check_state_validity: {error}")
        response.valid = False


def fail_with_code(response: GetPositionFK.Response | GetPositionIK.Response, error: RobotCellError) -> None:
    """Fill the code of a response."""
    response.error_code = error_code(error)


def _check_links(scene: Scene, names: Sequence[str]) -> None:
    with refused_as(MoveItErrorCodes.INVALID_LINK_NAME):
        if not names:
            raise InvalidRequestError("fk_link_names is empty", subjects=("fk_link_names",))
        tree = FrameTree(scene.cell, scene.state)
        for name in names:
            if name not in tree:
                raise UnknownNameError(unknown_name(f"link {name!r}", name, list(tree)), subjects=(name,))


def _check_frame(scene: Scene, name: str) -> None:
    """Frames that the cell does not have are looked up in TF by the node that is called."""
    if name.startswith("/"):
        text = f"frame {name!r} begins with a slash, which names of frames in ROS 2 do not"
        raise InvalidRequestError(text, subjects=(name,))


def _targets(request: GetPositionIK.Request, start: Start, group: str) -> list[msg.Target]:
    """Return the targets: one for a group, one for each part of a composite group."""
    message = request.ik_request
    links, poses = list(message.ik_link_names), list(message.pose_stamped_vector)
    if not links and not poses:
        links, poses = [message.ik_link_name], [message.pose_stamped]
    if len(links) != len(poses):
        text = f"ik_link_names has {len(links)} entries and pose_stamped_vector {len(poses)}, expected as many"
        raise InvalidRequestError(text, subjects=("ik_link_names",))
    parts = start.scene.cell.group_parts(group)
    if len(links) != len(parts):
        text = f"{len(links)} poses for group {group}, expected one for each of {', '.join(parts)}"
        raise NotSupportedError(text, subjects=("pose_stamped_vector", *parts))
    with refused_as(MoveItErrorCodes.INVALID_LINK_NAME):
        tree = FrameTree(start.scene.cell, start.scene.state)
        for link in links:
            if link and link not in tree:
                raise UnknownNameError(unknown_name(f"link {link!r}", link, list(tree)), subjects=(link,))
    return [_target(link, placed) for link, placed in zip(links, poses, strict=True)]


def _target(link: str, placed: PoseStamped) -> msg.Target:
    target = msg.Target(mode=msg.Target.FRAME if link else msg.Target.ROBOT, frame=link, pose=placed.pose)
    target.reference_frame, target.stamp = placed.header.frame_id, placed.header.stamp
    return target


def _check_constraints(message: Constraints) -> None:
    """Check that constraints of inverse kinematics can be served: those of joints."""
    with refused_as(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS):
        refuse_visibility(message, "constraints")
        if message.position_constraints or message.orientation_constraints:
            text = "constraints on links are not supported in inverse kinematics; the pose is the constraint"
            raise NotSupportedError(text, subjects=("constraints",))


def _first_allowed(
    scene: Scene, names: Sequence[str], rows: Sequence[Sequence[float]], message: Constraints
) -> Sequence[float]:
    """Return the first solution that satisfies all joint constraints.

    Raises:
        RefusedError: There is none.
    """
    aliases, bounds = joint_aliases(scene.cell), list[tuple[int, Variable, Interval]]()
    with refused_as(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS):
        for index, entry in enumerate(message.joint_constraints):
            name = aliases.get(entry.joint_name, "")
            if name not in names:
                text = unknown_name(f"joint {entry.joint_name!r} of constraints", entry.joint_name, list(names))
                raise UnknownNameError(text, subjects=(entry.joint_name,))
            interval = interval_of(entry, f"constraints.joint_constraints[{index}]")
            bounds.append((list(names).index(name), scene.cell.variables[name], interval))
    for row in rows:
        if all(excess(variable, row[column], interval) <= 0.0 for column, variable, interval in bounds):
            return row
    with refused_as(MoveItErrorCodes.NO_IK_SOLUTION):
        text = f"none of {len(rows)} solutions satisfies the joint constraints"
        raise InvalidRequestError(text, stage="inverse kinematics", subjects=("constraints.joint_constraints",))


def _contacts(pair: msg.CollisionPair, held: set[str]) -> list[ContactInformation]:
    """Return the contacts of a colliding pair; one without a position if the engine reports none."""
    found = []
    for contact in pair.contacts or [msg.CollisionContact()]:
        message = ContactInformation(
            position=contact.point_a,
            depth=max(contact.depth, 0.0),
            contact_body_1=pair.name_a,
            body_type_1=_body_type(pair.name_a, pair.kind_a, held),
            contact_body_2=pair.name_b,
            body_type_2=_body_type(pair.name_b, pair.kind_b, held),
        )
        # MoveIt's normal points from the first body to the second.
        message.header.frame_id = WORLD
        normal = contact.normal
        message.normal.x, message.normal.y, message.normal.z = -normal.x, -normal.y, -normal.z
        found.append(message)
    return found


def _body_type(name: str, kind: int, held: set[str]) -> int:
    return int(ContactInformation.ROBOT_ATTACHED if name in held else BODY_TYPES[kind])
