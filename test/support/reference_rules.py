"""A slow and obvious reference for the collision rules: for each pair of objects, every rule is evaluated by walking up
the frames."""

from __future__ import annotations

from robot_cell_planner.model.mechanism import JointKind


class ReferenceRules:
    def __init__(self, cell, state):
        self.cell, self.state = cell, state
        self.parent, self.by_joint, self.shapes, self.model, self.kind = {}, {}, {}, {}, {}
        for robot in cell.robots.values():
            self._mechanism(robot.mechanism, robot.name, "link", str, "world")
        for tool in cell.tools.values():
            group = state.tools[tool.name].attached_to
            self._frame(tool.name, cell.tip_link(group) if group else "world", False, (), tool.name, "tool frame")
            self._mechanism(tool.mechanism, tool.name, "tool", tool.frame_of, tool.name)
            link = tool.frame_of(tool.tcp_link or tool.mechanism.root)
            self._frame(tool.tcp_frame, link, False, (), tool.name, "tool frame")
        for body in cell.bodies.values():
            parent_object = state.bodies[body.name].attached_to or "world"
            self._frame(body.name, parent_object, False, body.collisions, body.name, "body")
        for frame in cell.frames.values():
            self._frame(frame.name, frame.attached_to, False, (), frame.name, "frame")
        names = [link for robot in cell.robots.values() for link in robot.mechanism.links]
        names += [tool.frame_of(link) for tool in cell.tools.values() for link in tool.mechanism.links]
        self.objects = [name for name in (*names, *cell.bodies) if self.shapes[name]]

    def _mechanism(self, mechanism, model, kind, name_of, below):
        root = mechanism.root
        self._frame(name_of(root), below, False, mechanism.links[root].collisions, model, kind)
        for joint in mechanism.tree_order:
            link = mechanism.links[joint.child]
            moved = joint.kind is not JointKind.FIXED
            self._frame(name_of(joint.child), name_of(joint.parent), moved, link.collisions, model, kind)

    def _frame(self, name, parent, by_joint, shapes, model, kind):
        self.parent[name], self.by_joint[name], self.shapes[name] = parent, by_joint, shapes
        self.model[name], self.kind[name] = model, kind

    def ancestors(self, name):
        while name != "world":
            name = self.parent[name]
            yield name

    def moves(self, name):
        return any(self.by_joint[frame] for frame in (name, *self.ancestors(name)) if frame != "world")

    def fixed_to(self, name):
        """All frames that are fixed to a frame, upwards."""
        found = [name]
        while name != "world" and not self.by_joint[name]:
            name = self.parent[name]
            found.append(name)
        return found

    def rigid_root(self, name):
        return self.fixed_to(name)[-1]

    def pair_type(self, a, b):
        kinds = (self.kind[a], self.kind[b])
        if kinds == ("tool", "tool") and self.model[a] == self.model[b]:
            return 7
        table = {("link", "link"): 1, ("link", "tool"): 2, ("link", "body"): 3, ("body", "body"): 4}
        return {**table, ("tool", "body"): 5, ("tool", "tool"): 6}[kinds]

    def hidden(self, name):
        if self.kind[name] == "tool":
            return self.state.tools[self.model[name]].hidden
        return self.kind[name] == "body" and self.state.bodies[name].hidden

    def neighbours(self, a, b):
        """Whether b is in the first rigid part with shapes of the same model above a."""
        own = self.rigid_root(a)
        for frame in self.ancestors(a):
            if self.model.get(frame) != self.model[a]:
                return False
            if self.shapes[frame] and self.rigid_root(frame) != own:
                return self.rigid_root(frame) == self.rigid_root(b)
        return False

    def allowed_within(self, a, b):
        if self.kind[a] == "link":
            robot = self.cell.robots[self.model[a]]
            if any({pair.first, pair.second} == {a, b} for pair in robot.disabled_pairs):
                return True
            if robot.disabled_pairs or robot.sources.srdf:
                return self.rigid_root(a) == self.rigid_root(b)
        return self.rigid_root(a) == self.rigid_root(b) or self.neighbours(a, b) or self.neighbours(b, a)

    def parent_object(self, name):
        for frame in self.fixed_to(name)[1:]:
            if self.shapes.get(frame) and self.model[frame] != self.model[name]:
                return frame
        return None

    def holding_tool(self, name):
        if self.kind[name] != "body":
            return None
        frame = self.parent[name]
        while self.kind.get(frame) == "frame":
            frame = self.parent[frame]
        return self.model[frame] if self.kind.get(frame) in ("tool", "tool frame") else None

    def touches(self, a, b):
        if self.kind[a] == "link":
            return False
        state = self.state.tools[self.model[a]] if self.kind[a] == "tool" else self.state.bodies[a]
        return bool({b, self.model[b]} & {*state.touch_links, *state.touch_bodies})

    def groups(self, name):
        """Every ignore group that contains the object, at whatever depth."""
        groups = self.cell.collision.ignore_groups
        found = set()
        for group in groups:
            members, grown = {group}, True
            while grown:
                more = members | {m for g in members if g in groups for m in groups[g]}
                members, grown = more, more != members
            if {name, self.model[name]} & members:
                found.add(group)
        return found

    def margin(self, a, b):
        def fit(name, object_name):
            return 3 if name == object_name else 2 if name == self.model[object_name] else 1 if name == "*" else 0

        fitting = []
        for pair in self.cell.collision.pair_margins:
            for one, other in ((a, b), (b, a)):
                if fit(pair.first, one) and fit(pair.second, other):
                    fitting.append((fit(pair.first, one) * fit(pair.second, other), pair.margin))
        if fitting:
            return max(fitting)[1]
        margins = self.cell.collision.margins
        return sum(margins.get(n, margins.get(self.model[n], margins.get("*", 0.0))) for n in (a, b))

    def allowed(self, a, b):
        if self.hidden(a) or self.hidden(b) or not (self.moves(a) or self.moves(b)):
            return True
        if self.model[a] == self.model[b]:
            if self.allowed_within(a, b):
                return True
        else:
            if self.parent_object(a) == b or self.parent_object(b) == a or self.touches(a, b) or self.touches(b, a):
                return True
            for x, y in ((a, b), (b, a)):
                if self.kind[y] == "tool" and self.holding_tool(x) == self.model[y]:
                    return True
        return bool(self.groups(a) & self.groups(b))

    def pairs(self):
        """(step, first, second) to margin of every pair that is checked."""
        found = {}
        for i, a in enumerate(self.objects):
            for b in self.objects[i + 1 :]:
                if not self.allowed(a, b):
                    found[self.pair_type(a, b), a, b] = self.margin(a, b)
        return found
