"""A simulated cell as an environment of reinforcement learning, with the API of Gymnasium."""

from __future__ import annotations

from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..collision.pairs.allowed_pairs import AllowedPairs, SkippedPair
from ..errors import InvalidRequestError, PlanningError
from ..kinematics.differential import moved_frame
from ..model.cell import RobotCell
from ..model.state import RobotCellState
from ..simulation.multibody.multibodies import Multibodies
from ..simulation.options import SimulationOptions
from ..simulation.simulated_cell import SimulatedCell
from .actions import Actuation
from .options import STAGE, ActionKind, EnvironmentOptions
from .rendering import FRAMES_PER_SECOND, Renderer
from .safety_layer import SafetyLayer, certified_state
from .tasks import Balance, Task

Array = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Observation: TypeAlias = Floats32 | dict[str, Floats32]
AT_REST = SimulationOptions(settle_time=0.0, command_timeout=1.0)
DEFAULTS = EnvironmentOptions()
MAX_DRAWS = 200
BEYOND = 1e3  # bound of observations: positions [m], angles [rad] and their rates


class CellEnvironment(gymnasium.Env[Observation, Floats32]):
    """Environment of a cell and a task.

    Actions are numbers from -1 to 1, see `ActionKind`. Observations are positions and velocities of the acting joints,
    position and orientation (x, y, z, w) of the tool centre point, the task's features, what is left to the goal, and
    the goal.
    `reset(seed=...)` makes an episode that depends on the seed alone, in every process.

    `info` has `is_success`, `distance`, `contacts` (pairs that may not touch, in this step),
    `cost` (1 with such contacts, for constrained learning), and `action_scale` (what the safety layer left of the
    action).

    Args:
        cell: Models of the cell.
        state: State in which episodes start, as far as the task does not change it.
        task: Task of the episodes.
        options: Actions, observations and safety layer.
        render_mode: None, "rgb_array" or "human".
        simulation: Options of the simulation.

    Raises:
        UnknownNameError: A group, tool, body or frame does not exist.
        InvalidRequestError: The render mode does not exist, the period of the actions is not a multiple of the
            simulation's time step, or its commands expire within two time steps.
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": FRAMES_PER_SECOND}  # noqa: RUF012 - Gymnasium's

    def __init__(
        self,
        cell: RobotCell,
        state: RobotCellState,
        task: Task,
        options: EnvironmentOptions = DEFAULTS,
        *,
        render_mode: str | None = None,
        simulation: SimulationOptions = AT_REST,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise InvalidRequestError(f"render mode {render_mode!r}, expected human or rgb_array", stage=STAGE)
        self.cell, self.task, self.options = cell, task, options
        self.render_mode = render_mode
        self._state, self._simulation_options = state, simulation
        self._simulated: SimulatedCell | None = None
        self._renderer = Renderer(render_mode == "human")
        free_joint = task.joint if isinstance(task, Balance) else ""
        self._actuation = Actuation(cell, state, options, simulation, free_joint)
        self._names = self._actuation.names
        self._frame = "" if isinstance(task, Balance) else moved_frame(cell, state, options.group)
        self._layer: SafetyLayer | None = None
        self._goal = np.zeros(task.goal_size)
        self._steps = 0
        self.action_space = spaces.Box(-1.0, 1.0, (self._actuation.size,), np.float32)
        self.observation_space = self._space()

    def _space(self) -> spaces.Space[Any]:
        self._begin(self._state)
        plain, goal = self._plain_observation(), self.task.goal_size
        if self.options.goal_conditioned:
            sizes = {"observation": len(plain), "achieved_goal": goal, "desired_goal": goal}
            return spaces.Dict({name: spaces.Box(-BEYOND, BEYOND, (size,), np.float32) for name, size in sizes.items()})
        return spaces.Box(-BEYOND, BEYOND, (len(plain) + 2 * goal,), np.float32)

    @property
    def simulated(self) -> SimulatedCell:
        """Simulation of the present episode."""
        assert self._simulated is not None
        return self._simulated

    # Episodes.

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode. With a seed, it depends on that alone.

        Raises:
            PlanningError: No free start was found in 200 draws.
        """
        super().reset(seed=seed)
        state = self.task.start(self._state, self.np_random)
        state = state.with_configuration(self._draw_start(state))
        self._goal = self.task.goal(self.np_random)
        self._steps = 0
        self._begin(state)
        if self.render_mode == "human":
            self.render()
        return self._observation(), self._info((), 1.0)

    def _begin(self, state: RobotCellState) -> None:
        if self._simulated is not None:
            self._simulated.close()
        self._simulated = SimulatedCell(self.cell, state, self._simulation_options)
        self._rules = AllowedPairs(self.cell, state)
        self._free = {name for name, body in self.cell.bodies.items() if body.inertial and body.inertial.mass > 0.0}
        self._free.update(Multibodies(self.cell, state).free_bodies)
        self._actuation.start(state)
        if self.options.safety_layer:
            self._layer = self._layer_of(state)

    def _layer_of(self, state: RobotCellState) -> SafetyLayer:
        """Return the safety layer of an episode: the latest one unless something that it depends on is different."""
        options, layer = self.options, self._layer
        if layer is None or layer.state != certified_state(self.cell, state, self._names):
            layer = SafetyLayer(self.cell, state, self._names, options.safety_margin, options.gripper)
        return layer

    def _draw_start(self, state: RobotCellState) -> dict[str, float]:
        """Return a free configuration of the acting joints near the state's."""
        at = np.array([state.configuration[name] for name in self._names])
        if self.task.start_spread == 0.0:
            return dict(zip(self._names, at.tolist(), strict=True))
        self._layer = layer = self._layer_of(state)
        for _ in range(MAX_DRAWS):
            drawn = at + self.np_random.uniform(-self.task.start_spread, self.task.start_spread, len(at))
            drawn = np.clip(drawn, self._actuation.lower, self._actuation.upper)
            if layer.is_free(drawn, drawn):
                return dict(zip(self._names, drawn.tolist(), strict=True))
        raise PlanningError(f"no free start was found in {MAX_DRAWS} draws about the state of the cell", stage=STAGE)

    def step(self, action: Floats32) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Carry out an action (size,).

        Raises:
            InvalidRequestError: The action has another size, or a number that is not finite.
        """
        values = np.asarray(action, dtype=np.float64)
        if values.shape != (self._actuation.size,) or not np.isfinite(values).all():
            text = f"an action of shape {values.shape}, expected {self._actuation.size} finite numbers"
            raise InvalidRequestError(text, stage=STAGE, subjects=("action",))
        begin, scale = self.simulated.time, self._act(np.clip(values, -1.0, 1.0))
        self._steps += 1
        info = self._info(self._forbidden_contacts(begin), scale)
        reward = float(self.task.reward(self.task.achieved(self.simulated), self._goal))
        reward += self.options.success_reward * info["is_success"] - self.options.contact_cost * info["cost"]
        terminated = self.task.failed(self.simulated) or (info["is_success"] and self.task.ends_at_success)
        if self.render_mode == "human":
            self.render()
        return self._observation(), reward, bool(terminated), self._steps >= self.options.episode_steps, info

    def _act(self, action: Array) -> float:
        """Carry out an action, scaled back if it is not certified; return the scale."""
        simulated = self.simulated
        self._actuation.grip(simulated, action)
        if self.options.action in (ActionKind.VELOCITY, ActionKind.EFFORT):
            self._actuation.drive(simulated, action)
            return 1.0
        start, target, scale = self._actuation.commanded, self._actuation.target(action), 1.0
        if self.options.safety_layer:
            assert self._layer is not None
            scale = self._layer.scale(start, target)
            target = start + scale * (target - start)
        self._actuation.move(simulated, target)
        return scale

    def _forbidden_contacts(self, begin: float) -> tuple[tuple[str, str], ...]:
        """Return the pairs that touched since a time although the collision rules check them, without bodies that have
        a mass or move freely."""
        return tuple(
            (record.first, record.second)
            for record in self.simulated.contact_log
            if record.end > begin
            and not self._free & {record.first, record.second}
            and not isinstance(self._rules.pair(record.first, record.second), SkippedPair)
        )

    # Observations and rewards.

    def _plain_observation(self) -> Array:
        states, names = self.simulated.joint_states(), self.simulated.joint_names
        rows = [names.index(name) for name in self._names]
        parts = [states.positions[rows], states.velocities[rows], self.task.features(self.simulated)]
        if self._frame:
            pose = self.simulated.pose(self._frame)
            quaternion = np.array(pose.quaternion)
            parts += [np.array(pose.position), quaternion if quaternion[3] >= 0.0 else -quaternion]
        return np.concatenate(parts)

    def _observation(self) -> Observation:
        plain, achieved = self._plain_observation(), self.task.achieved(self.simulated)
        if self.options.goal_conditioned:
            parts = {"observation": plain, "achieved_goal": achieved, "desired_goal": self._goal}
            return {name: _bounded(part) for name, part in parts.items()}
        return _bounded(np.concatenate((plain, self._goal - achieved, self._goal)))

    def _info(self, contacts: tuple[tuple[str, str], ...], scale: float) -> dict[str, Any]:
        distance = float(np.linalg.norm(self.task.achieved(self.simulated) - self._goal))
        return {
            "distance": distance,
            "is_success": distance <= self.task.tolerance,
            "contacts": contacts,
            "cost": 1.0 if contacts else 0.0,
            "action_scale": scale,
        }

    def compute_reward(self, achieved_goal: Array, desired_goal: Array, info: Any) -> Array:
        """Return the rewards of achieved goals (..., goal_size) for other desired goals, as hindsight replay needs
        them; `info` is not used."""
        achieved, desired = np.asarray(achieved_goal), np.asarray(desired_goal)
        success = np.linalg.norm(achieved - desired, axis=-1) <= self.task.tolerance
        return np.asarray(self.task.reward(achieved, desired) + self.options.success_reward * success)

    # Images.

    def render(self) -> Any:
        """Return an image (height, width, 3) of uint8 in mode "rgb_array"; show it in mode "human"."""
        if self.render_mode is None:
            return None
        return self._renderer.show(self.simulated, None if isinstance(self.task, Balance) else self._goal)

    def close(self) -> None:
        """Release the simulation and the window."""
        if self._simulated is not None:
            self._simulated.close()
            self._simulated = None
        self._renderer.close()


def _bounded(values: Array) -> Floats32:
    return np.clip(values, -BEYOND, BEYOND).astype(np.float32)
