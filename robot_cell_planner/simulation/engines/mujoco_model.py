"""MuJoCo's description of multibodies.

Each part is a body of its own, also where it is fixed to its parent. Motors are not in the description, see
`mujoco_engine`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from ...collision.geometry.collision_geometry import CollisionGeometry, ConvexGeometry, Surface
from ...errors import GeometryError
from ...io.mesh.decomposition import convex_pieces
from ...io.mesh.loading import is_flat
from ...model.geometry import Box, Capsule, Cone, Cylinder, Sphere
from ...model.pose import Pose, normalised
from ..multibody.multibodies import Multibody, Part
from ..multibody.solids import SolidGroup, cone_corners
from .base import Address, PhysicsSettings, end_stops

# Bodies that joints move need a mass; this one is too small to matter beside the parts that are fixed to them [kg].
GRAIN_MASS, GRAIN_MOMENT = 1e-9, 1e-12
ROLLING_FRICTION = 1e-4  # [m]
FRICTION_RATIO = 10.0  # stiffness of friction over that of normal forces; bodies in a gripper slip less
# Constraints are nearly rigid: their error decays within two steps, and this fraction of a force is not softened.
RIGID = (0.9999, 0.9999, 0.001, 0.5, 2.0)
# Contacts are softer, and softest where they begin: in MuJoCo's convex model, those that slide also lift off, the more
# the harder they are. A box that is pushed at 0.45 m/s would jump away.
CONTACT_TIME = 0.008  # [s]
CONTACT = (0.9, 0.9999, 0.001, 0.5, 2.0)
SLIP_ITERATIONS = 5  # after which what a gripper holds does not creep
MAX_HELD = 16  # bodies at a time
HALF_THICKNESS = 1e-5  # [m] of hulls without volume
SPARE_EXCLUSIONS = 512  # pairs of links that may be excluded from collision while the simulation runs

TYPES = mujoco.mjtGeom
Array = NDArray[np.float64]


def new_spec(settings: PhysicsSettings) -> Any:
    """Return an empty description with the options of the engine."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    option = spec.option
    option.timestep = settings.time_step
    option.gravity = settings.gravity
    option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    option.impratio, option.noslip_iterations = FRICTION_RATIO, SLIP_ITERATIONS
    # What may touch whom is decided by the cell alone, and a simulation that diverges is reported, not restarted.
    option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_FILTERPARENT | mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    return spec


def stiff(settings: PhysicsSettings) -> tuple[float, float]:
    """Return time constant [s] and damping ratio of the most rigid constraint that is stable."""
    return 2.0 * settings.time_step, 1.0


def name_of(link: Address) -> str:
    """Return the name of a link's body and joint."""
    return f"{link.body}.{link.link + 1}"


def add_multibody(spec: Any, number: int, multibody: Multibody, settings: PhysicsSettings) -> Iterator[str]:
    """Add a multibody, with the names of `name_of`.

    Yields:
        Assumptions, as sentences.

    Raises:
        GeometryError: A mesh cannot be read or decomposed.
    """
    bodies: list[Any] = []
    for index, part in enumerate(multibody.parts):
        parent = spec.worldbody if part.parent < 0 else bodies[part.parent]
        name = name_of(Address(number, index - 1))
        body = parent.add_body(name=name, pos=part.pose.position, quat=wxyz(part.pose))
        bodies.append(body)
        moves = part.joint is not None or (index == 0 and not multibody.fixed)
        if _set_mass(body, part, moves):
            owner = part.object_name or multibody.name
            yield f"the inertia of {owner} is impossible for a rigid body; its largest moment is lowered"
        if index == 0 and not multibody.fixed:
            body.add_freejoint(name=name)
        if part.joint is not None:
            _add_joint(body, name, part, settings)
        for solid, pose in pieces(part.geometries):
            _add_geometry(spec, body, f"{name}.{len(body.geoms)}", solid, pose, settings)


def add_gear(spec: Any, names: tuple[str, str], multiplier: float, offset: float, time_step: float) -> None:
    """Couple a joint, the first of two, to another one."""
    equality = spec.add_equality(name1=names[0], name2=names[1])
    equality.type = mujoco.mjtEq.mjEQ_JOINT
    equality.objtype = mujoco.mjtObj.mjOBJ_JOINT
    equality.data[:5] = (offset, multiplier, 0.0, 0.0, 0.0)
    equality.solref, equality.solimp = (2.0 * time_step, 1.0), RIGID


def add_spare(spec: Any, names: tuple[str, str], exclusions: int, time_step: float) -> None:
    """Add inactive constraints between two bodies, which are used for bodies that grippers hold, and exclusions."""
    for _ in range(MAX_HELD):
        weld = spec.add_equality(name1=names[0], name2=names[1])
        weld.type = mujoco.mjtEq.mjEQ_WELD
        weld.objtype = mujoco.mjtObj.mjOBJ_BODY
        weld.active = False
        weld.solref, weld.solimp = (2.0 * time_step, 1.0), RIGID
    for _ in range(exclusions):
        spec.add_exclude(bodyname1=names[0], bodyname2=names[1])


def wxyz(pose: Pose) -> tuple[float, float, float, float]:
    """Return a quaternion in the order of MuJoCo."""
    x, y, z, w = normalised(pose.quaternion)
    return w, x, y, z


def _set_mass(body: Any, part: Part, moves: bool) -> bool:
    """Set the mass of a body; return whether its moments were impossible."""
    found = part.mass_properties
    mass, moments = found.mass, list(found.moments)
    if mass == 0.0 and moves:
        mass, moments = GRAIN_MASS, [GRAIN_MOMENT] * 3
    largest = moments.index(max(moments))
    bound = sum(moments) - moments[largest]
    impossible = moments[largest] > bound * (1.0 + 1e-9)
    if impossible:
        moments[largest] = bound
    body.explicitinertial = True
    body.mass, body.inertia = mass, moments
    body.ipos, body.iquat = found.frame.position, wxyz(found.frame)
    return impossible


def _add_joint(body: Any, name: str, part: Part, settings: PhysicsSettings) -> None:
    model = part.joint
    assert model is not None
    joint = body.add_joint(name=name, axis=model.axis)
    joint.type = mujoco.mjtJoint.mjJNT_HINGE if model.revolute else mujoco.mjtJoint.mjJNT_SLIDE
    joint.frictionloss = model.friction
    # MuJoCo integrates damping implicitly after it has solved the constraints, so that what a hand holds would slip. As
    # inertia, to which the simulation adds -damping * velocity, it gives the same motion, which the constraints know.
    joint.armature = settings.time_step * model.damping
    joint.solref_friction, joint.solimp_friction = stiff(settings), RIGID
    joint.solref_limit, joint.solimp_limit = stiff(settings), RIGID
    stops = end_stops(model)
    joint.limited = mujoco.mjtLimited.mjLIMITED_FALSE if stops is None else mujoco.mjtLimited.mjLIMITED_TRUE
    if stops is not None:
        joint.range = stops


def pieces(group: SolidGroup) -> Iterator[tuple[CollisionGeometry, Pose]]:
    """Yield geometries with their poses; triangle meshes as convex pieces, since MuJoCo collides hulls of meshes."""
    for solid, pose in group:
        if isinstance(solid, Surface) and is_flat(solid.source):
            yield ConvexGeometry(solid.mesh), pose
        elif isinstance(solid, Surface):
            for piece in convex_pieces(solid.source):
                yield ConvexGeometry(piece), pose
        else:
            yield solid, pose


def _add_geometry(
    spec: Any, body: Any, name: str, solid: CollisionGeometry, pose: Pose, settings: PhysicsSettings
) -> None:
    geometry = body.add_geom(name=name, pos=pose.position, quat=wxyz(pose))
    if isinstance(solid, Box):
        geometry.type, geometry.size = TYPES.mjGEOM_BOX, [0.5 * value for value in solid.size]
    elif isinstance(solid, Sphere):
        geometry.type, geometry.size[0] = TYPES.mjGEOM_SPHERE, solid.radius
    elif isinstance(solid, Cylinder | Capsule):
        geometry.type = TYPES.mjGEOM_CYLINDER if isinstance(solid, Cylinder) else TYPES.mjGEOM_CAPSULE
        geometry.size[:2] = solid.radius, 0.5 * solid.length
    else:
        geometry.type, geometry.meshname = TYPES.mjGEOM_MESH, name
        _add_hull(spec, name, solid)
    geometry.condim = 4
    geometry.friction = (settings.friction, settings.spinning_friction, ROLLING_FRICTION)
    geometry.solref, geometry.solimp = (max(CONTACT_TIME, stiff(settings)[0]), 1.0), CONTACT


def _add_hull(spec: Any, name: str, solid: CollisionGeometry) -> None:
    if isinstance(solid, Cone):
        vertices = np.array(list(cone_corners(solid)))
    elif isinstance(solid, ConvexGeometry):
        vertices = with_volume(solid.mesh.vertices)
    else:
        raise TypeError(f"{type(solid).__name__} is no hull")
    mesh = spec.add_mesh(name=name)
    mesh.uservert = vertices.ravel().tolist()
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX


def with_volume(vertices: Array) -> Array:
    """Return the vertices (n, 3) of a hull; if they are in a plane, on both sides of it, since MuJoCo refuses hulls
    without volume."""
    extent = vertices - vertices.mean(axis=0)
    normal = np.linalg.svd(extent, full_matrices=False)[2][-1]
    if np.abs(extent @ normal).max() > HALF_THICKNESS:
        return vertices
    return np.concatenate((vertices - HALF_THICKNESS * normal, vertices + HALF_THICKNESS * normal))


def compiled(spec: Any) -> Any:
    """Return the model of a description.

    Raises:
        GeometryError: The engine refuses a shape.
    """
    try:
        return spec.compile()
    except ValueError as error:
        raise GeometryError(f"the physics engine refuses the cell: {error}", stage="simulation") from error
