"""For the lab's own tests: which programs they use. jepsen/test sets the variable."""

import os

from lab.lab import Programs

PROGRAMS = Programs(os.environ["ROSTER_JEPSEN_BUILD"])
PROGRAMS.disk_writer = PROGRAMS.lossfs.with_name("disk_writer")
