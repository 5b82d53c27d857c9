"""The live viewer: a page that follows a running cell, drawn by viser. It knows no ROS; `nodes/viewer` feeds it."""
