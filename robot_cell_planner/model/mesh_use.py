"""How meshes are checked for collisions. Needs no library: the command line offers these as choices."""

from __future__ import annotations

from enum import Enum


class MeshUse(str, Enum):
    """Collision representation of a mesh."""

    HULL = "hull"  # convex hull: fast, fills concavities
    EXACT = "exact"  # triangles of the mesh
    DECOMPOSITION = "decomposition"  # convex decomposition
