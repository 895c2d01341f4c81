"""A build with a bug planted, or without one: what the hunts for bugs and for rules share.

All are made in one folder, .build/planted: with another bug only those files are compiled anew that
look at its number (rpc/build.h).
"""

import resource
import subprocess

from bugs import ROOT

BUILD = ROOT / ".build" / "planted"


def build(bug, targets):
    """Makes [targets] with bug [bug]; 0: with none."""
    for command in (["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", f"-DROSTER_BUG={bug}",
                     "-DROSTER_SANITIZE=OFF", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                     "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1"],
                    ["cmake", "--build", BUILD, "-j", "2", "--target", *sorted(targets)]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"bug {bug} does not build:\n{done.stdout[-4000:]}{done.stderr}")
    if "rosterd" in targets:
        check_marker(bug)


def check_marker(bug):
    """What .ci/run looks for in a shipped binary is there if a bug is, and only then."""
    has_marker = b"ROSTER_BUG=" in (BUILD / "server/rosterd").read_bytes()
    version = subprocess.run([BUILD / "server/rosterd", "--version"], capture_output=True,
                             text=True).stdout
    if has_marker != (bug != 0) or (f"ROSTER_BUG={bug}\n" in version) != (bug != 0):
        raise SystemExit(f"bug {bug}: the binary says {version!r}")


def cpu_s():
    """Of all children so far, so that a busy machine does not shorten the hunt."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
