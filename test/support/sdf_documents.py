"""SDFormat documents for tests, of poses that do not commute with one another."""

import numpy as np

from robot_cell_planner.io.common.resources import ResourceRoots
from robot_cell_planner.io.scene_import.sdformat import read_sdf
from robot_cell_planner.model.placement import Placements, placements
from robot_cell_planner.model.pose import Pose

SHAPE = "<collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision>"
# Poses that do not commute with one another.
TEXTS = {
    "A": "1 2 3 0.1 0.2 0.3",
    "B": "-2 0.5 1 1.2 -0.4 0.9",
    "C": "0.3 -1 2 -0.7 0.6 2.1",
    "D": "0 0 1.5 2 1 -1",
    "E": "4 -3 0.25 0.3 -1.1 0.2",
}
X = {
    name: Pose.from_rpy([float(v) for v in t.split()[:3]], [float(v) for v in t.split()[3:]]).matrix
    for name, t in TEXTS.items()
}


def document(content, version="1.9"):
    for name, text in TEXTS.items():
        content = content.replace(f"{{{name}}}", text)
    return f'<sdf version="{version}">\n{content}\n</sdf>'


def read(content, version="1.9", **options):
    return read_sdf(document(content, version), source="x.sdf", **options)


def link(name, pose="", inner=""):
    return f"<link name='{name}'>{pose}{SHAPE}{inner}</link>"


def world_poses(imported):
    where = Placements(placements(imported.cell, imported.state))
    return {name: where.world(name).matrix for name in (*imported.cell.bodies, *imported.cell.frames)}


def joint(name, parent, child, pose="", kind="fixed"):
    return f"<joint name='{name}' type='{kind}'>{pose}<parent>{parent}</parent><child>{child}</child></joint>"


def at(frame):
    return f"<pose relative_to='{frame}'/>"


def model(*parts):
    return f"<model name='m'>{''.join(parts)}</model>"


def world(*parts):
    return f"<world name='w'>{''.join(parts)}</world>"


def check(content, expected, **options):
    """Poses of objects in the world, as products of the poses above: "AB" is A times B; "" is the world."""
    poses = world_poses(read(content, **options))
    for name, product in expected.items():
        matrix = np.eye(4)
        for factor in product:
            matrix = matrix @ (X[factor] if factor.isupper() else np.linalg.inv(X[factor.upper()]))
        np.testing.assert_allclose(poses[name], matrix, atol=1e-12, err_msg=name)


MUG = (
    """<model name='mug'><pose>{A}</pose>"""
    + link("body", "<pose>{B}</pose>")
    + """
<frame name='bottom' attached_to='body'><pose>{C}</pose></frame></model>"""
)


def fill(folder):
    """Models to include: mug.sdf, placed.sdf, and a folder with a manifest."""
    (folder / "mug.sdf").write_text(document(MUG))
    (folder / "placed.sdf").write_text(document(MUG.replace("name='mug'", "name='mug' placement_frame='bottom'")))
    (folder / "models" / "cup").mkdir(parents=True)
    (folder / "models" / "cup" / "model.config").write_text(
        "<model><name>cup</name><sdf version='1.6'>old.sdf</sdf><sdf version='1.9'>new.sdf</sdf>"
        "<sdf version='2.0'>future.sdf</sdf></model>"
    )
    (folder / "models" / "cup" / "old.sdf").write_text(document(f"<model name='old'>{link('l')}</model>", "1.6"))
    (folder / "models" / "cup" / "new.sdf").write_text(document(f"<model name='new'>{link('l')}</model>"))
    return folder


def options(library):
    return {"folder": str(library), "roots": ResourceRoots(folders=(str(library), str(library / "models")))}


def include(inner, uri="mug.sdf", merge=""):
    return f"<include{merge}><uri>{uri}</uri>{inner}</include>"
