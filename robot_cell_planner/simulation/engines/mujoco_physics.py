"""State of a compiled model of MuJoCo: motors, held bodies, contacts and forces, by the address of links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from ...errors import LimitExceededError, Value
from ...model.pose import Pose, normalised
from ...model.value import Vector3
from .base import Address
from .mujoco_model import MAX_HELD, name_of, wxyz

FREE_POSITIONS, FREE_VELOCITIES = 7, 6  # of a body that moves freely
UNUSED = np.iinfo(np.int32).max  # an exclusion of no pair
EQUALITY = int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
SOFT = 1e-9  # factor of the stiffness of a constraint that is not to count
NO_ROWS = np.zeros(0, dtype=np.int64)

Array = NDArray[np.float64]
Pair = tuple[Address, Address]

mujoco.set_mju_user_warning(lambda _: None)  # MuJoCo would write a file; that a simulation diverged is seen elsewhere


class MujocoPhysics:
    """State of a compiled model, in which each link is a body with the name of its address, see `name_of`.

    Attributes:
        model, data: Of MuJoCo.
        watched: Force [N] and torque [Nm] that the parent of a link exerts on it, at its origin and in its axes.
    """

    def __init__(self, model: Any, links: Iterable[Address], damping: Mapping[Address, float]) -> None:
        self.model, self.data = model, mujoco.MjData(model)
        # MuJoCo makes a new view at each access, which costs more than the value that is read from it.
        self._qpos, self._qvel, self._applied = self.data.qpos, self.data.qvel, self.data.qfrc_applied
        self._friction = model.dof_frictionloss
        self._ahead = mujoco.MjData(model)
        self._ids = {link: int(model.body(name_of(link)).id) for link in links}
        self._links = {number: link for link, number in self._ids.items()}
        self._values: dict[Address, tuple[int, int]] = {}  # of joints: indices of position and velocity
        for link, body in self._ids.items():
            if model.body_jntnum[body]:
                joint = int(model.body_jntadr[body])
                self._values[link] = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        self._damping = np.zeros(model.nv)
        for link, value in damping.items():
            self._damping[self._values[link][1]] = value
        self._jointed = set(damping)
        free = [dof for link, (_, dof) in self._values.items() if link not in self._jointed]
        self._free = np.array([dof + axis for dof in free for axis in range(FREE_VELOCITIES)], dtype=np.int64)
        jointed = {link.body for link in damping}
        driven = [self.link_of(number).body in jointed for number in range(model.ngeom)]
        self._driven = np.array(driven, dtype=bool)  # geometries of multibodies with joints
        self._references = np.zeros(model.nv)  # velocities to which motors drive
        self._motor_efforts = np.zeros(model.nv)
        self._strengths: dict[int, float] = {}  # of welds in use [N]
        self._held: dict[int, tuple[Address, Address, Pose]] = {}  # by welds in use: hand, body and hand_T_body
        self._wrenches = self.data.xfrc_applied
        self._stepped = False  # contacts are those of steps
        self.watched: dict[Address, tuple[Array, Array]] = {}
        mujoco.mj_forward(model, self.data)

    def take_over(self, other: MujocoPhysics) -> None:
        """Go on from the state of another model, for the links of both."""
        for link in self._ids.keys() & other._ids.keys():
            self.model.body_mass[self._ids[link]] = other.model.body_mass[other._ids[link]]
            if link not in self._values:
                continue
            (to, dof), (from_, other_dof) = self._values[link], other._values[link]
            is_free = link not in self._jointed
            positions, velocities = (FREE_POSITIONS, FREE_VELOCITIES) if is_free else (1, 1)
            self.data.qpos[to : to + positions] = other.data.qpos[from_ : from_ + positions]
            for name in ("qvel", "qacc_warmstart"):
                getattr(self.data, name)[dof : dof + velocities] = getattr(other.data, name)[
                    other_dof : other_dof + velocities
                ]
            self.model.dof_frictionloss[dof] = other.model.dof_frictionloss[other_dof]
            self._references[dof] = other._references[other_dof]
            self._motor_efforts[dof] = other._motor_efforts[other_dof]
        mujoco.mj_setConst(self.model, mujoco.MjData(self.model))
        self.data.time = other.data.time
        self.watched = other.watched
        shift = min(self._welds(), default=0) - min(other._welds(), default=0)
        assert shift == 0, "numbers of welds are those of the gears before them"
        for number, held in other._held.items():
            self._weld(number, *held, other._strengths[number])
        mujoco.mj_kinematics(self.model, self.data)

    def pose(self, link: Address) -> Pose:
        """Return world_T_link."""
        body = self._ids[link]
        x, y, z = self.data.xpos[body].tolist()
        qw, qx, qy, qz = self.data.xquat[body].tolist()
        return Pose((x, y, z), normalised((qx, qy, qz, qw)))

    def position(self, link: Address) -> float:
        """Return the value of a link's joint [rad or m]."""
        return float(self._qpos[self._values[link][0]])

    def joint_values(self, body: int, links: Iterable[int]) -> list[tuple[float, float, float]]:
        """Return position, velocity and effort of the motors of the joints of links of a multibody."""
        positions, velocities, efforts = self._qpos.tolist(), self._qvel.tolist(), self._motor_efforts.tolist()
        # A plain tuple finds what its address does, in less time than it takes to make one.
        indices = [self._values[body, link] for link in links]  # type: ignore[index]
        return [(positions[position], velocities[dof], efforts[dof]) for position, dof in indices]

    def drive(self, link: Address, effort: float, velocity: float) -> None:
        """Drive a joint to a velocity [rad/s or m/s] by at most an effort [Nm or N]; to rest, this is friction."""
        index = self._values[link][1]
        self._friction[index], self._references[index] = effort, velocity

    def drive_positions(
        self, body: int, links: Iterable[int], rows: Iterable[tuple[float, float, float]], gain: float
    ) -> None:
        """Drive joints of a multibody to positions, with velocities, by at most efforts; `gain`: of the error [1/s]."""
        for link, (position, velocity, effort) in zip(links, rows, strict=True):
            place, dof = self._values[body, link]  # type: ignore[index]
            self._friction[dof] = effort
            self._references[dof] = velocity + gain * (position - self._qpos.item(place))

    def apply(self, link: Address, effort: float) -> None:
        """Apply an effort [Nm or N] to a joint in the next step."""
        self._applied[self._values[link][1]] = effort

    def put(self, link: Address, position: float, velocity: float) -> None:
        """Set position [rad or m] and velocity [rad/s or m/s] of the joint of a link."""
        place, dof = self._values[link]
        self._qpos[place], self._qvel[dof] = position, velocity
        mujoco.mj_kinematics(self.model, self.data)

    def step(self) -> None:
        """Advance by one time step."""
        model, data = self.model, self.data
        mujoco.mj_step1(model, data)
        rows = slice(data.ne, data.ne + data.nf)  # friction of joints comes after equality constraints
        joints = data.efc_id[rows]
        data.efc_aref[rows] += data.efc_KBIP[rows, 1] * self._references[joints]
        self._follow_curves()
        self._applied -= self._damping * self._qvel
        mujoco.mj_fwdActuation(model, data)
        mujoco.mj_fwdAcceleration(model, data)
        mujoco.mj_fwdConstraint(model, data)
        if self._bound_welds():
            mujoco.mj_fwdAcceleration(model, data)
            mujoco.mj_fwdConstraint(model, data)
        mujoco.mj_Euler(model, data)
        self._motor_efforts[:] = 0.0
        self._motor_efforts[joints] = data.efc_force[rows]
        self._applied[:] = 0.0
        self._stepped = True
        if self.watched:
            self._measure()
        self._wrenches[:] = 0.0
        mujoco.mj_kinematics(model, data)  # poses after the step; what else depends on them is of the step's begin

    def bodies_are_slower(self, speed: float) -> bool:
        """Return whether everything that moves freely is slower than a speed [m/s and rad/s]."""
        return bool((np.abs(self._qvel[self._free]) < speed).all())

    def _follow_curves(self) -> None:
        """Let the friction of links hold bodies on curves: MuJoCo demands that surfaces in contact have equal
        velocities at the begin of a step, with which a body would leave the circle on which a hand carries it.

        The reference of friction is shifted by the tangential distance by which the surfaces would part in the step.
        """
        model, data, ahead, step = self.model, self.data, self._ahead, self.model.opt.timestep
        contact = data.contact
        driven = self._driven[contact.geom]
        if not driven.any():
            return
        chosen = np.flatnonzero((contact.efc_address >= 0) & driven.any(axis=1))
        if not chosen.size:
            return
        ahead.qpos[:] = data.qpos
        mujoco.mj_integratePos(model, ahead.qpos, data.qvel, step)
        mujoco.mj_kinematics(model, ahead)
        first, second = model.geom_bodyid[contact.geom[chosen]].T
        points = contact.pos[chosen]
        parting = self._carried(points, second) - self._carried(points, first)
        tangents = contact.frame[chosen].reshape(-1, 3, 3)[:, 1:]
        rows = contact.efc_address[chosen][:, None] + np.array((1, 2))
        curved = np.einsum("nij,nj->ni", tangents, parting) - step * data.efc_vel[rows]
        # The same distance per step is also in the velocities, of which a step corrects only a part.
        data.efc_aref[rows] -= (2.0 - step * data.efc_KBIP[rows, 1]) * curved / step**2

    def _carried(self, points: Array, bodies: NDArray[np.int32]) -> Array:
        """Return where points (n, 3) of bodies (n,) are at the end of the step [m] if velocities stay."""
        data, ahead = self.data, self._ahead
        now, then = data.xmat[bodies].reshape(-1, 3, 3), ahead.xmat[bodies].reshape(-1, 3, 3)
        local = np.einsum("nji,nj->ni", now, points - data.xpos[bodies])
        moved: Array = ahead.xpos[bodies] + np.einsum("nij,nj->ni", then, local)
        return moved

    def _measure(self) -> None:
        """Record the wrenches at the watched links, before these move to their new poses."""
        model, data = self.model, self.data
        mujoco.mj_rnePostConstraint(model, data)
        for link in self.watched:
            body = self._ids[link]
            to_link = data.xmat[body].reshape(3, 3).T
            torque, force = data.cfrc_int[body, :3], data.cfrc_int[body, 3:]
            arm = data.subtree_com[model.body_rootid[body]] - data.xpos[body]
            self.watched[link] = to_link @ force, to_link @ (torque + np.cross(arm, force))

    def _bound_welds(self) -> bool:
        """Bound the forces of welds that transmit more than their strength; return whether there are any.

        Such a force becomes an applied one, and the rows of its constraint too soft to count.
        """
        model, data, bounded = self.model, self.data, False
        rows = np.flatnonzero(data.efc_type == EQUALITY) if self._strengths else NO_ROWS
        for number, strength in self._strengths.items():
            linear = rows[data.efc_id[rows] == number][:3]
            forces = data.efc_force[linear]
            size = float(np.linalg.norm(forces))
            if size > strength:
                applied, by_row = np.zeros(model.nv), np.zeros(len(data.efc_force))
                by_row[linear] = forces * (strength / size)
                mujoco.mj_mulJacTVec(model, data, applied, by_row)
                data.qfrc_applied += applied
                data.efc_D[linear] *= SOFT
                data.efc_R[linear] /= SOFT
                data.efc_aref[linear] = 0.0
                if data.nisland:  # the solver has copies, by groups of bodies that touch
                    copies = data.map_efc2iefc[linear]
                    data.iefc_D[copies], data.iefc_R[copies] = data.efc_D[linear], data.efc_R[linear]
                bounded = True
        return bounded

    def contacts(self) -> list[tuple[int, int, float, float, list[float]]]:
        """Return geometries, penetration [m], normal force [N] and normal towards the first geometry of the contacts of
        the latest step."""
        if not self._stepped:
            return []
        contact, forces = self.data.contact, self.data.efc_force
        towards_first = -contact.frame[:, :3]
        columns = contact.geom.tolist(), contact.dist.tolist(), contact.efc_address.tolist(), towards_first.tolist()
        found = []
        for (one, other), distance, row, normal in zip(*columns, strict=True):
            force = forces.item(row) if row >= 0 else 0.0
            if distance <= 0.0 or force > 0.0:
                found.append((one, other, -distance, force, normal))
        return found

    def link_of(self, geometry: int) -> Address:
        """Return the link of a geometry."""
        return self._links[int(self.model.geom_bodyid[geometry])]

    def exclude(self, pairs: Iterable[Pair]) -> None:
        """Exclude exactly these pairs of links from collision.

        Raises:
            LimitExceededError: There are more than the model has room for.
        """
        numbers = [sorted((self._ids[one], self._ids[other])) for one, other in pairs]
        signatures = np.sort(np.array([(one << 16) + other for one, other in numbers], dtype=np.int32))
        room = len(self.model.exclude_signature)
        if len(signatures) > room:
            raise LimitExceededError(
                "too many pairs of links are excluded from collision while the simulation runs",
                stage="simulation",
                values=(Value("pairs", len(signatures), room),),
            )
        self.model.exclude_signature[:] = UNUSED
        self.model.exclude_signature[: len(signatures)] = signatures

    def weld(self, hand: Address, body: Address, hand_T_body: Pose, strength: float) -> int:
        """Hold a body at a pose in a link by forces up to a strength [N]; return the number of the weld.

        Raises:
            LimitExceededError: Too many bodies are held.
        """
        unused = [number for number in self._welds() if number not in self._strengths]
        if not unused:
            values = (Value("held bodies", MAX_HELD + 1, MAX_HELD),)
            raise LimitExceededError("too many bodies are held", stage="simulation", values=values)
        self._weld(unused[0], hand, body, hand_T_body, strength)
        return unused[0]

    def _weld(self, number: int, hand: Address, body: Address, hand_T_body: Pose, strength: float) -> None:
        model = self.model
        model.eq_obj1id[number], model.eq_obj2id[number] = self._ids[hand], self._ids[body]
        model.eq_data[number, :3] = 0.0
        model.eq_data[number, 3:6], model.eq_data[number, 6:10] = hand_T_body.position, wxyz(hand_T_body)
        model.eq_data[number, 10] = 1.0
        self.data.eq_active[number] = 1
        self._strengths[number] = strength
        self._held[number] = hand, body, hand_T_body

    def unweld(self, number: int) -> None:
        """Let go what a weld holds."""
        del self._strengths[number], self._held[number]
        self.data.eq_active[number] = 0

    def _welds(self) -> list[int]:
        found: list[int] = np.flatnonzero(self.model.eq_type == int(mujoco.mjtEq.mjEQ_WELD)).tolist()
        return found

    def push(self, link: Address, at: Vector3, force: Vector3, torque: Vector3) -> None:
        """Add a force [N] at a point and a torque [Nm] in the next step, all in the world."""
        body = self._ids[link]
        arm = np.array(at) - self.data.xipos[body]
        self.data.xfrc_applied[body, :3] += force
        self.data.xfrc_applied[body, 3:] += np.array(torque) + np.cross(arm, force)

    def set_mass(self, link: Address, mass: float) -> None:
        """Change the mass of a link [kg], at its centre of mass."""
        self.model.body_mass[self._ids[link]] = mass
        mujoco.mj_setConst(self.model, mujoco.MjData(self.model))

    def bounds(self, multibodies: set[int]) -> tuple[Array, Array]:
        """Return the corners of the box around multibodies [m]; around all if there are none."""
        model, data = self.model, self.data
        chosen = [
            number for number in range(model.ngeom) if not multibodies or self.link_of(number).body in multibodies
        ]
        rotation = data.geom_xmat[chosen].reshape(-1, 3, 3)
        centre = data.geom_xpos[chosen] + np.einsum("nij,nj->ni", rotation, model.geom_aabb[chosen, :3])
        half = np.einsum("nij,nj->ni", np.abs(rotation), model.geom_aabb[chosen, 3:])
        return (centre - half).min(axis=0), (centre + half).max(axis=0)

    def place(self, bodies: Mapping[Address, Pose], joints: Mapping[Address, float]) -> None:
        """Place bodies that move freely, and joints, at rest."""
        for link, pose in bodies.items():
            index = self._values[link][0]
            self.data.qpos[index : index + 3], self.data.qpos[index + 3 : index + 7] = pose.position, wxyz(pose)
        for link, value in joints.items():
            self.data.qpos[self._values[link][0]] = value
        self.data.qvel[:] = 0.0
        mujoco.mj_kinematics(self.model, self.data)
