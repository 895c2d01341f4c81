"""The room in which a lab runs: namespaces of its own for processes, mounts and the network.

enter() starts the calling program again inside them, as their first process. When that ends,
however it ends, the kernel kills every process in the room and with them goes all that they held:
mounts, namespaces, TAP devices. What remains are cgroups and scratch files, which are recorded and
removed at the orderly end, or by clean().

Two rooms at a time do not meet: each has its own network, mounts and scratch directory.
"""

import fcntl
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import time

SCRATCH = pathlib.Path("/var/tmp/roster-jepsen")
CGROUPS = pathlib.Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "freezer")
DEVICES = (pathlib.Path("/dev/fuse"), pathlib.Path("/dev/net/tun"))
ENTERED = "ROSTER_JEPSEN_ROOM"
BUSY_S = 5  # how long the kernel may take to end the processes of a room
NEEDED = ("setpriv", "unshare", "nsenter", "ip", "mount", "fusermount3")


def is_inside():
    return ENTERED in os.environ


def name():
    """Of this room; also of its cgroups."""
    return os.environ[ENTERED]


def scratch():
    return SCRATCH / name()


def demand_root():
    """Says what is wanting and ends, where a lab cannot be."""
    missing = ["root"] if os.geteuid() != 0 else []
    missing += [str(path) for path in (*DEVICES, *(CGROUPS / name for name in CONTROLLERS))
                if not path.exists()]
    if missing:
        sys.exit("the lab makes namespaces, mounts, TAP devices and cgroups of version 1, for "
                 f"which it needs root; missing: {' '.join(missing)}")


def enter(argv=None):
    """Does not return outside of a room: there it ends with the status of the program inside."""
    if is_inside():
        _furnish()
        return
    demand_root()
    missing = [program for program in NEEDED if not shutil.which(program)]
    if missing:
        sys.exit(f"the lab needs {', '.join(NEEDED)}; missing: {' '.join(missing)}")
    room = f"roster-jepsen-{os.getpid()}-{secrets.token_hex(3)}"
    directory = SCRATCH / room
    directory.mkdir(parents=True)
    lock = open(directory / "lock", "w", encoding="utf-8")
    fcntl.flock(lock, fcntl.LOCK_EX)
    inside = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "private",
         "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
         sys.executable, *(argv or sys.argv)],
        env={**os.environ, ENTERED: room})
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: inside.kill())
    try:
        status = inside.wait()
    except KeyboardInterrupt:
        status = _await_end(inside)
    _sweep(directory)
    sys.exit(status if status >= 0 else 128 - status)


def _await_end(inside):
    try:
        return inside.wait(30)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        inside.kill()
        return inside.wait()


def _furnish():
    """Once inside: somewhere for network namespaces to have names, and a loopback device."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def _sweep(directory):
    """Removes what the kernel does not."""
    for controller in CONTROLLERS:
        top = CGROUPS / controller / directory.name
        if top.is_dir():
            for group in [*top.iterdir(), top]:
                if group.is_dir():
                    _remove_group(group)
    shutil.rmtree(directory, ignore_errors=True)


def _remove_group(path):
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            path.rmdir()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def clean():
    """Removes what rooms left behind whose program was killed. Rooms in use are left alone. Returns
    the names of those removed."""
    removed = []
    for directory in sorted(SCRATCH.glob("roster-jepsen-*")):
        try:
            with open(directory / "lock", encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _sweep(directory)
        except FileNotFoundError:
            _sweep(directory)
        except BlockingIOError:
            continue
        removed.append(directory.name)
    return removed
