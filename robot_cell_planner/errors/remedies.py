"""Remedies for causes that are known where an error is raised, in place of those of its type.

They name the option of the command line first: its users are the ones who meet these causes most.
"""

from __future__ import annotations

import errno

MISSING_FILE = (
    "Check the spelling of the path. Paths on the command line start at the current folder, those in a file at the "
    "folder of that file."
)
BACKSLASHES = "Separate the folders of a path by /; a drive such as C: does not exist here."
NO_FILE = "Give a file; this is a folder or a device."
NOT_PERMITTED = "Check the permissions of the file and of its folder, and who owns them."
DISK_FULL = "Make space on the disk."
OTHER_CAUSE = "Check the name of the file, its folder, permissions, and the disk."
EXISTING_FILE = (
    "Choose another name or folder (`--folder`, `--output`), or allow that files are replaced: `--overwrite` on the "
    "command line, `overwrite` in Python."
)
OUTSIDE_FOLDERS = (
    "Allow the folder: `--root FOLDER` on the command line, `resource_folders` of a node, `roots` in Python. Files of "
    "one package, a folder with a package.xml, may refer to each other in any case."
)
UNEXPANDED = (
    "Expand the file with xacro, or give it a name that ends in .xacro. A file in a package is package://NAME/PATH, "
    "which needs no xacro."
)
XACRO_ARGUMENT = (
    "Give the argument a value: `NAME:=VALUE` on the command line, `xacro_arguments` of a cell file or in Python."
)
XACRO_MACRO = (
    "Correct the call, or take all files from one version of their packages: this call was written for another version "
    "of the macro, or the file that has the macro is not included."
)
XACRO_FILE = (
    "Correct the path in the last file that the message names, or the argument that the path depends on. A file of "
    "another package can have another name in each version of it: take versions of the packages that fit together."
)
UNKNOWN_PACKAGE = (
    "Source the workspace that has the package, or name a folder that contains it: `--root FOLDER` on the command "
    "line, `resource_folders` or `resource_packages` of a node."
)
BETWEEN_SAMPLES = (
    "Give samples that are closer to each other, a Cartesian motion by a smaller `max_step_distance` and "
    "`max_step_angle`, or keep the path away from the limit; a lower speed does not help."
)
BARRIER = "Choose a goal on this side, move one of both objects away, or plan with a group that moves it."
OUTSIDE_BOUNDS = "Choose a start and goals within the bounds and constraints of the request, or widen these."
COARSE_SPHERES = (
    "Divide what has coarse spheres into several links or bodies, which have finer ones, or plan without spheres: "
    "`certify: false` in a request, with a planner other than CertifiedRRTConnect; `--planner RRTConnect` on the "
    "command line uses them less. Otherwise raise `state_limit` and `time_limit`."
)
IN_METRES = (
    "Positions are in m: if these are in mm, divide them by 1000, or set `native_scale` of the target in a message to "
    "0.001."
)
IN_RADIANS = "Give velocities of angular joints in rad/s and of linear ones in m/s, within the limits of the joint."
PATHS_IN_ORDER = "Give the paths in their order, each from the end of the one before, or a larger joint tolerance."
LIST_PLANNERS = "docs/planning.md has a table of planners, and `planning/list_planners` of running nodes lists all."
NOTHING_MOVES = "Nothing is to be done: no motion runs. `execution/status` has the state."
GIVE_CASE = "Give a file that `robot_cell plan --case`, `save_case` or the planning node wrote."
GIVE_BAG = "Give the folder of a bag of rosbag2, such as one of `robot_cell record`."
EXISTING_BAG = "Choose a folder that does not exist yet; a bag is not added to another one."
TOGETHER = (
    "Plan one motion of all these robots, with a group of them (`groups` of the cell file): `--group` on the command "
    "line, `group` of a request. In Python, `merge_trajectories` merges the trajectory of the plan with those in "
    "`moving`, and `CellClient.execute` executes the result."
)
OF_THE_SYSTEM = {
    errno.ENOENT: MISSING_FILE,
    errno.ENOTDIR: MISSING_FILE,
    errno.EISDIR: NO_FILE,
    errno.EACCES: NOT_PERMITTED,
    errno.EPERM: NOT_PERMITTED,
    errno.EROFS: NOT_PERMITTED,
    errno.ENOSPC: DISK_FULL,
    errno.EDQUOT: DISK_FULL,
    errno.EEXIST: EXISTING_FILE,
}
