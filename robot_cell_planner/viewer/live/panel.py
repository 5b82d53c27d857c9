"""The panel beside the scene: what is shown, and texts about the state, the plan and the object that was clicked."""

from __future__ import annotations

from html import escape

from ..overlays import COLLIDING
from .marks import CERTIFICATE, CLOSEST, CONTACTS, MARKS, RUNNING, SPEED
from .meshes import COLLISION, LAYERS, MARGINS, NAMES, SPHERE_MODEL, VISUAL
from .server import LocalServer
from .text import block, checks_text, coloured, legend, rows
from .view import LiveView

LABELS = {
    VISUAL: "visual geometry",
    COLLISION: "collision geometry",
    MARGINS: "safety margins",
    SPHERE_MODEL: "sphere approximation",
    NAMES: "frames and names",
    CONTACTS: "contacts",
    CLOSEST: "closest pair",
    SPEED: "path of the plan, by speed",
    CERTIFICATE: "certified intervals",
    RUNNING: "running motion",
}


class Panel:
    """Shows the texts of a view, and has the switches of its layers."""

    def __init__(self, server: LocalServer, view: LiveView) -> None:
        self._view = view
        gui = server.gui
        self._seen: tuple[object, ...] = ()
        self._status = gui.add_html("")
        self._checks = gui.add_html("")
        self._plan = gui.add_html("")
        self._picked = gui.add_html("")
        with gui.add_folder("Show", expand_by_default=False):
            for layer in (*LAYERS, *MARKS):
                self._add_switch(server, layer)
            gui.add_html(block(legend()))

    def _add_switch(self, server: LocalServer, layer: str) -> None:
        checkbox = server.gui.add_checkbox(LABELS[layer], layer == VISUAL or layer in MARKS)

        def switch(_: object) -> None:
            if layer in MARKS:
                with self._view.lock:
                    self._view.marks.show(layer, checkbox.value)
            else:
                self._view.show_layer(layer, checkbox.value)

        checkbox.on_update(switch)

    def refresh(self) -> None:
        """Renew the texts that have changed."""
        view = self._view
        with view.lock:
            seen = (
                view.revision,
                tuple(view.status.items()),
                view.checks_changed,
                view.plan_changed,
                view.problems,
                view.progress,
            )
            if seen == self._seen:
                return
            self._seen = seen
            cell = "no cell received yet" if view.cell is None else f"{view.cell.name}, revision {view.revision}"
            status = {"cell": cell, **view.status}
            texts = (*view.problems[-3:], *((view.progress,) if view.progress else ()))
            problems = "".join(f"<div>{escape(text)}</div>" for text in texts)
            not_checked = "" if view.cell is None else "the state is not checked"
            checks = not_checked if view.checks is None else checks_text(view.checks)
            picked = self._picked_text()
        failure = f"{coloured('Planning failed', COLLIDING)}<div>{escape(view.failure)}</div>" if view.failure else ""
        plan = view.plan_rows()
        self._status.content = block(rows(status) + problems)
        self._checks.content = block(checks)
        self._plan.content = block(failure + (f"<b>Plan</b>{rows(plan)}" if plan else ""))
        self._picked.content = block(picked)

    def _picked_text(self) -> str:
        view = self._view
        if not view.picked:
            return ""
        near = "".join(f"<li>{escape(text)}</li>" for text in view.near_picked)
        name = escape(view.picked)
        return f'<b>{name}</b><ul style="margin: 0; padding-left: 1.2em">{near or "<li>nothing within 1 m</li>"}</ul>'
