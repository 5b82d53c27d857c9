"""Mesh files that are not whole: pointers of Git LFS, and binary STL files that are cut off."""

from __future__ import annotations

from ...errors import GeometryError

STAGE = "read mesh"
POINTER = b"version https://git-lfs.github.com/spec/"
STL_HEADER, STL_TRIANGLE = 84, 50  # [bytes]


def stl_triangles(content: bytes) -> int:
    """Return the number of triangles that the header of a binary STL file announces; 0 for other content."""
    return int.from_bytes(content[80:84], "little") if len(content) >= STL_HEADER else 0


def stl_bytes(content: bytes) -> int:
    """Return the size of a whole binary STL file [bytes]; 0 for other content. More bytes can follow.

    In a text file, the bytes of the count are characters, so that the size would be more than 25 GB.
    """
    size = STL_HEADER + STL_TRIANGLE * stl_triangles(content)
    return size if STL_HEADER < size <= len(content) else 0


def require_whole(content: bytes, kind: str, path: str) -> None:
    """Check that a mesh file is not a pointer of Git LFS, and no binary STL file that is cut off.

    Raises:
        GeometryError: It is.
    """
    if content.startswith(POINTER):
        text = f"{path} is a pointer of Git LFS, not the mesh"
        raise GeometryError(
            text, stage=STAGE, subjects=(path,), remedy="Get the file itself: `git lfs pull` in its repository."
        )
    count = stl_triangles(content)
    if kind != "stl" or not count or b"solid" in content[:100].lower() or stl_bytes(content):  # text, or whole
        return
    there = (len(content) - STL_HEADER) // STL_TRIANGLE
    text = f"{path} is cut off or no STL file: its header announces {count} triangles, and there are {there}"
    raise GeometryError(text, stage=STAGE, subjects=(path,), remedy="Get the whole file again from its source.")
