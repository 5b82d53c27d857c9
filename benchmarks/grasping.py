"""Bodies that a gripper carries by the friction of its contacts alone, through the demo's motion at full speed."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from frozendict import frozendict

from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.io.mesh.inertia import uniform_inertial
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.geometry import Box, Cylinder, MeshUse, Shape, Sphere, Triangles
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.offline.cell import OfflineCell
from robot_cell_planner.planning.problem.request import PlanningOptions
from robot_cell_planner.scene.state_changes import SetJoints, SetTouch
from robot_cell_planner.simulation.engines.names import ENGINES
from robot_cell_planner.simulation.options import SimulationOptions

from .results import Results

SEED = 1
CELL = "config/demo/cell.yaml"
WIDTH = 0.05  # [m] between the fingers
MASSES, ASSISTED = (0.1, 0.3, 1.0, 3.0, 5.0), 1.0  # [kg]
FINGER, FINGERS = "gripper/finger_joint", ("gripper/left_finger", "gripper/right_finger")
HAND = "gripper/tcp"


def prism(sides: int, draft: float = 0.0) -> Shape:
    """Return the mesh of a prism of WIDTH between its flats, whose faces have a draft angle [rad]."""
    height = WIDTH
    ring = [math.tau * (i + 0.5) / sides for i in range(sides)]
    corners = []
    for z in (-0.5 * height, 0.5 * height):
        radius = (0.5 * WIDTH - z * math.tan(draft)) / math.cos(math.pi / sides)
        corners += [(radius * math.cos(a), radius * math.sin(a), z) for a in ring]
    caps = [(0, i + 1, i) for i in range(1, sides - 1)] + [
        (sides, sides + i, sides + i + 1) for i in range(1, sides - 1)
    ]
    around = [(i, (i + 1) % sides) for i in range(sides)]
    walls = [face for i, j in around for face in ((i, j, sides + j), (i, sides + j, sides + i))]
    return Shape(Triangles(tuple(corners), tuple(caps + walls), MeshUse.HULL))


SHAPES = {
    "box": Shape(Box((WIDTH,) * 3)),
    "cylinder": Shape(Cylinder(0.5 * WIDTH, WIDTH)),
    "hexagon_mesh": prism(6),
    "tapered_mesh": prism(4, math.radians(3.0)),
    "ball": Shape(Sphere(0.5 * WIDTH)),
}


def carry(engine: str, shape: Shape, mass: float, assist: bool) -> tuple[float, float] | None:
    """Carry a body over the crossbar to the bin; return its slip in the hand [m, rad], None if it was lost."""
    cell, state = load_cell(CELL)
    body = msgspec.structs.replace(
        cell.bodies["workpiece"], collisions=(shape,), visuals=(), inertial=uniform_inertial((shape,), mass=mass)
    )
    bodies: dict[str, RigidBody] = {**cell.bodies, "workpiece": body}
    cell = msgspec.structs.replace(cell, bodies=frozendict(bodies))
    options = SimulationOptions(engine=engine, grasp_assist=assist)
    with OfflineCell(cell, state, options=PlanningOptions(seed=SEED), simulation_options=options) as run:
        run.move("above", tool_at="above_pick")
        run.line("down", tool_at="pick")
        run.command("close", {FINGER: 0.0}, duration=0.5)
        held = run.simulation.pose(HAND).inverse() @ run.simulation.body_pose("workpiece")
        run.apply(SetJoints({FINGER: 0.5 * WIDTH}))
        run.attach("workpiece", HAND, touch_links=FINGERS)
        try:
            run.line("up", tool_at="above_pick")
            run.apply(SetTouch("workpiece", touch_bodies=()))
            run.move("over", workpiece_at="over_bin")
        except RobotCellError:
            return None
        after: Pose = run.simulation.pose(HAND).inverse() @ run.simulation.body_pose("workpiece")
    slipped = held.distance_to(after)
    return None if slipped[0] > 0.5 * WIDTH else slipped


def main() -> None:
    """Measure and write all figures; of a body that was lost, they are -1."""
    results = Results("grasping", SEED)
    for engine in ENGINES:
        for name, shape in SHAPES.items():
            for mass in MASSES:
                for assist in (False, True) if mass == ASSISTED else (False,):
                    slip = carry(engine, shape, mass, assist)
                    distance, angle = (-1e-3, -1.0) if slip is None else (slip[0], float(np.degrees(slip[1])))
                    prefix = f"{engine}_{name}_{mass:g}kg{'_assist' if assist else ''}"
                    results.add(f"{prefix}_slip_mm", 1e3 * distance)
                    results.add(f"{prefix}_turn_degrees", angle)
    results.finish()


if __name__ == "__main__":
    main()
