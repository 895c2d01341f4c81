"""A node's wall clock, by libfaketime: CLOCK_REALTIME alone is false, CLOCK_MONOTONIC is not."""

import os
import pathlib

LIBRARIES = ("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
             "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1")


def library():
    """Its path, or None."""
    return next((path for path in LIBRARIES if os.path.exists(path)), None)


class Clock:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.set(0)

    def environment(self):
        """What a process needs to see this clock. It looks at the file at every reading."""
        return {"LD_PRELOAD": library(), "FAKETIME_TIMESTAMP_FILE": str(self.path),
                "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                "FAKETIME_DONT_RESET": "1"}

    def set(self, offset_s):
        """The clock is this much ahead of the truth; negative: behind."""
        new = self.path.with_suffix(".new")
        new.write_text(f"{offset_s:+f}\n", encoding="ascii")
        os.replace(new, self.path)
