"""A worker of a simulation that hangs: after it has closed its connection with `HANGS=closed`, or before it reads."""

import os
import signal
import sys

from robot_cell_planner.system.lifeline import end_when_closed

end_when_closed(int(sys.argv[2]))
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.environ["HANGS"] == "closed":
    os.close(int(sys.argv[1]))
while True:
    signal.pause()
