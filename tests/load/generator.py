"""Runs roster_load and the floor programs, and reads what processes cost, for bench, failover and
power."""

import os
import pathlib
import re
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "lib"))

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
TOPIC = "load-topic-1"
START_WAIT_S = 300


class Programs:
    """Where the built programs are."""

    def __init__(self, build):
        self.build = pathlib.Path(build)
        load = self.build / "tests" / "load"
        self.rosterd = self.build / "server" / "rosterd"
        self.load = load / "roster_load"
        self.floor_echo = load / "floor_echo"
        self.floor_commit = load / "floor_commit"
        self.malloc_count = load / "libmalloc_count.so"
        missing = [p for p in (self.rosterd, self.load, self.floor_echo) if not p.exists()]
        if missing:
            sys.exit(f"not built: {', '.join(map(str, missing))}")


def default_build():
    return os.environ.get("ROSTER_BUILD", ROOT / ".build" / "shipped")


def pairs(line):
    """The key=value pairs of a line; numbers where they are."""
    found = {}
    for key, value in re.findall(r"(\w+)=(\S+)", line):
        try:
            found[key] = float(value)
        except ValueError:
            found[key] = value
    return found


def cpu_s(pid):
    """User and system time of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def options_of(settings):
    """['--a-b', '1'] from {'a_b': 1}."""
    made = []
    for name, value in settings.items():
        made.append("--" + name.replace("_", "-"))
        if value is not True:
            made.append(str(value))
    return made


class Generator:
    """One roster_load process; lines of its output are read as they come."""

    def __init__(self, programs, mode, bootstrap, **settings):
        command = [str(programs.load), mode, "--bootstrap", bootstrap, *options_of(settings)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def lines(self):
        """Lines until the output ends."""
        for line in self.process.stdout:
            yield line.rstrip("\n")

    def wait_for(self, word):
        """The first line that begins with the word."""
        for line in self.lines():
            if line.split(" ", 1)[0] == word:
                return line
        raise RuntimeError(f"roster_load ended with {self.process.wait()} before '{word}'")

    def end(self):
        self.process.stdin.close()
        return self.process.wait()


def measure(programs, mode, bootstrap, pids, **settings):
    """A closed loop's result line, with cpu_us: what the processes spent per operation."""
    with Generator(programs, mode, bootstrap, **settings) as generator:
        generator.wait_for("start")
        before = sum(map(cpu_s, pids))
        result = pairs(generator.wait_for("done"))
        spent = sum(map(cpu_s, pids)) - before
    if result["errors"] or not result["ops"]:
        raise RuntimeError(f"{mode}: {result}")
    result["cpu_s"] = spent
    result["cpu_us"] = spent * 1e6 / result["ops"]
    return result


def wait_for_port(port):
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


class Floor:
    """The floor programs as context managers: .bootstrap, .pids."""

    def __init__(self, commands, port):
        self.bootstrap = f"127.0.0.1:{port}"
        self.processes = []
        for command in commands:
            self.processes.append(subprocess.Popen([str(part) for part in command]))
        wait_for_port(port)

    @property
    def pids(self):
        return [process.pid for process in self.processes]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def floor_echo(programs, port):
    return Floor([[programs.floor_echo, port]], port)


def floor_commit(programs, port, directory):
    files = [pathlib.Path(directory) / f"floor{i}" for i in range(3)]
    followers = [port + 1, port + 2]
    commands = [[programs.floor_commit, "follower", files[i], followers[i]] for i in range(2)]
    commands.append([programs.floor_commit, "leader", files[2], port, *followers])
    return Floor(commands, port)
