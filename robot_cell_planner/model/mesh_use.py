"""How meshes are checked for collisions. Needs no library: the command line offers these as choices."""

from __future__ import annotations

from enum import Enum


class MeshUse(str, Enum):
    """Collision representation of a mesh; UNCHECKED, for single meshes of a description only, leaves one out."""

    HULL = "hull"  # convex hull: fast, fills concavities
    EXACT = "exact"  # triangles of the mesh
    DECOMPOSITION = "decomposition"  # convex decomposition
    UNCHECKED = "unchecked"  # the mesh is not read: its link is not checked with it


REPRESENTATIONS = (MeshUse.HULL, MeshUse.EXACT, MeshUse.DECOMPOSITION)  # of a mesh that is checked
