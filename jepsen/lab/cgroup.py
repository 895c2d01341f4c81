"""A node's cgroups (version 1): its share of the processor, and the freezer."""

import time

from lab import room

PERIOD_US = 100_000
FREEZE_S = 5


class Cgroup:
    def __init__(self, name):
        self.paths = {controller: room.CGROUPS / controller / room.name() / name
                      for controller in room.CONTROLLERS}
        for path in self.paths.values():
            path.mkdir(parents=True)
        (self.paths["cpu"] / "cpu.cfs_period_us").write_text(str(PERIOD_US), encoding="ascii")

    def joining(self):
        """The words before a command that put it in; they become it."""
        script = "".join(f"echo 0 >{path}/cgroup.procs && " for path in self.paths.values())
        return ["sh", "-c", script + 'exec "$@"', "sh"]

    def limit(self, share):
        """At most this share of one processor; None: any."""
        quota = -1 if share is None else int(share * PERIOD_US)
        (self.paths["cpu"] / "cpu.cfs_quota_us").write_text(str(quota), encoding="ascii")

    def freeze(self, is_frozen):
        state = self.paths["freezer"] / "freezer.state"
        wanted = "FROZEN" if is_frozen else "THAWED"
        state.write_text(wanted, encoding="ascii")
        deadline = time.monotonic() + FREEZE_S
        while state.read_text(encoding="ascii").strip() != wanted:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{state} does not become {wanted}")
            time.sleep(0.01)
