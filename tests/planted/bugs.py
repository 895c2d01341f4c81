"""The planted bugs (-DROSTER_BUG=n), and the suites that must catch each of them."""

import collections
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What is wrong, which suites must notice, and which may: a fault that is rare, or that needs what a
# suite seldom does. The numbers are those of the code (#if ROSTER_BUG).
Bug = collections.namedtuple("Bug", "what suites also", defaults=((),))

CORE, LOG = ("lives", "coordinators"), ("lives", "guard")

BUGS = {
    1: Bug("OffsetCommit is answered when it is proposed, not when it is applied", CORE),
    2: Bug("a write to the log counts as done before it is on the disk", LOG),
    3: Bug("term and vote are not written down", LOG),
    4: Bug("OffsetFetch reads this node's state without a barrier", ("coordinators",), ("lives",)),
    5: Bug("a new leader serves before its barrier has committed", CORE),
    6: Bug("OffsetCommit does not check generation and member", CORE),
    7: Bug("JoinGroup is answered before the generation is a fact", CORE),
    8: Bug("a new leader does not re-arm the sessions", CORE),
    9: Bug("sessions end by the wall clock", ("lives",)),
    10: Bug("apply depends on an address", CORE),
    11: Bug("a snapshot leaves out a field", CORE),
    12: Bug("a JoinGroup that is sent again makes a second member", CORE),
    13: Bug("SyncGroup answers with somebody else's assignment", CORE),
    14: Bug("an unknown outcome is told as a refusal", CORE),
    15: Bug("a deposed leader forgets its parked calls", CORE),
    16: Bug("offsets of a group with members expire", CORE),
    17: Bug("a failed write to the log stops nothing", LOG),
    18: Bug("damaged segments are put aside in silence", ("disk",), ("lives",)),
    19: Bug("guard without G3: acks are not clamped to what is verified", ("guard",), ("lives",)),
    20: Bug("guard without G4: refused pre-votes do not tell the real term", ("guard",),
            ("lives",)),
    22: Bug("one bad partition of a commit makes all of them \"ok\"", CORE),
    99: Bug("the raft library as it is, without the guard", LOG),
}

# Layers as different as can be, each by the suite that is quickest there.
SHORT = ((3, "guard"), (6, "coordinators"), (9, "lives"), (11, "coordinators"), (18, "disk"),
         (19, "guard"))


class Suite:
    """Runs one seed of a bug's build: None, or the words with which it failed."""

    def __init__(self, what, folder, program, arguments, failure, seeds_max=None):
        self.what = what
        self.folder = folder            # where the program is made
        self.program = program          # also the target's name
        self.arguments = arguments      # of a seed
        self.failure = re.compile(failure, re.M)
        self.seeds_max = seeds_max

    def exists(self):
        """Whether this tree makes the program."""
        return any(re.search(rf"add_executable\({self.program}\b", cmake.read_text(encoding="utf-8"))
                   for cmake in (ROOT / self.folder).rglob("CMakeLists.txt"))

    def programs(self, build):
        return [path for path in (build / self.folder).rglob(self.program) if path.is_file()]

    def command(self, build, seed):
        [program] = self.programs(build)
        return [program, *self.arguments(seed)]

    def run(self, build, seed, timeout_s):
        environment = {**os.environ, "ROSTERD": str(build / "server/rosterd")}
        try:
            done = subprocess.run(self.command(build, seed), capture_output=True, text=True,
                                  errors="replace", timeout=timeout_s, env=environment,
                                  cwd=ROOT / "tests/cluster")
        except subprocess.TimeoutExpired:
            return "does not end"
        if done.returncode == 0:
            return None
        output = done.stdout + "\n" + done.stderr
        found = self.failure.search(output)
        if found is None and done.returncode < 0:
            return f"ended by signal {-done.returncode}"
        if found is None:
            raise RuntimeError(f"{self.what}, seed {seed}: status {done.returncode} without a "
                               f"verdict:\n{output[-2000:]}")
        return " ".join(found.group(1).split())


class Unittest(Suite):
    def command(self, build, seed):
        return [sys.executable, "-W", "ignore", "-m", "unittest", *self.arguments(seed)]


SUITES = {
    "lives": Suite(
        "whole nodes over a simulated machine each", "tests/sim", "sim",
        lambda seed: ["--seed", str(seed)], r"^FAILED seed=\d+[^:]*: (.+)$"),
    "coordinators": Suite(
        "coordinators alone over a log in memory", "tests/core/random", "sim_random",
        lambda seed: ["--seed", str(seed)], r"^seed \d+ at \d+ ms: (.+)$"),
    "guard": Suite(
        "raft and guard over a simulated disk and network", "tests/raftlog", "raftlog_sim",
        lambda seed: [str(seed), str(seed), "60", "3", "faults=3f", "one=1", "hostile=2"],
        r"^seed \d+(?: t=[\d.]+ |: )(.+)$"),
    "disk": Unittest(
        "one real node and a flipped bit, tests/cluster/test_disk.py", "server", "rosterd",
        lambda seed: ["test_disk.Damage.test_closed_segment"],
        r"^((?:AssertionError|FAIL|ERROR).+)$", seeds_max=1),
}
