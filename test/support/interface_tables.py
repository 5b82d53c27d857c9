"""The tables of docs/interfaces.md, and how nodes are started that offer all that is in them."""

from dataclasses import dataclass

from running import DEMO, ROOT

DOCUMENT = ROOT / "docs" / "interfaces.md"
SECTIONS = {
    "Scene node": "scene_node",
    "Kinematics node": "kinematics_node",
    "Collision node": "collision_node",
    "Planning node": "planning_node",
    "Execution node": "execution_node",
    "Simulated robot": "simulated_robot_node",
}
GIVEN = {
    "scene_node": {"cell_file": DEMO},
    "execution_node": {"gripper_joint": "finger_joint"},
    "simulated_robot_node": {"cell_file": DEMO, "publish_clock": True},
}
FOLDERS = {"service": "srv", "action": "action"}


@dataclass(frozen=True)
class Interface:
    """kind: "service", "action", "topic, in" or "topic, out". qos: reliability and durability of a topic."""

    name: str
    kind: str
    type: str
    qos: str = ""


def documented(text):
    """The interfaces in the tables, by node."""
    found = {}
    for part in text.split("\n## ")[1:]:
        title = part.splitlines()[0]
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in part.splitlines() if line.startswith("|")]
        if title in SECTIONS:
            header, _, *rows = rows
            found[SECTIONS[title]] = {of_row(dict(zip(header, row, strict=True))) for row in rows}
    return found


def of_row(row):
    kind, name = row["Kind"], row["Name"].strip("`")
    package, _, short = row["Type"].rpartition("/")
    full = f"{package or 'robot_cell_planner'}/{FOLDERS.get(kind, 'msg')}/{short}"
    absolute = name if name.startswith("/") else f"/{name}"
    return Interface(absolute, kind, full, qos_of_text(row["Quality of service"]) if kind.startswith("topic") else "")


def qos_of_text(text):
    """Reliability and durability; the depth of others' queues is not known in DDS."""
    words = "reliable, transient local" if text == "latched" else text
    reliability = "best effort" if words.startswith("best effort") else "reliable"
    assert words.startswith(reliability), text
    return f"{reliability}, {'transient local' if 'transient local' in words else 'volatile'}"
