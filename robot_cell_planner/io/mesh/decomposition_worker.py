"""Worker process that runs V-HACD on an OBJ file; arguments: source, target, log.

PyBullet's V-HACD is used where PyBullet is installed, else that of vhacdx, whose pieces differ somewhat.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ...system.physics import has_physics, load_pybullet

RESOLUTION, MAX_CORNERS, MAX_PIECES = 100_000, 64, 32


def main() -> None:
    source, target, log = sys.argv[1:4]
    if has_physics():
        load_pybullet()
        import pybullet

        pybullet.vhacd(source, target, log, resolution=RESOLUTION, concavity=0.001, maxNumVerticesPerCH=MAX_CORNERS)
    else:
        _by_vhacdx(source, target)


def _by_vhacdx(source: str, target: str) -> None:
    """Write the pieces as one OBJ text: the vertices and faces of each, one after the other."""
    import trimesh

    mesh = trimesh.load_mesh(source, process=False)
    options = {"resolution": RESOLUTION, "maxNumVerticesPerCH": MAX_CORNERS, "maxConvexHulls": MAX_PIECES}
    pieces = trimesh.decomposition.convex_decomposition(mesh, **options)
    lines: list[str] = []
    start = 1
    for piece in pieces:
        vertices, faces = piece["vertices"], piece["faces"]
        lines += [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
        lines += [f"f {a + start} {b + start} {c + start}" for a, b, c in faces.tolist()]
        start += len(vertices)
    Path(target).write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
