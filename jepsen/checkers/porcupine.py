"""C3: runs ../porcupine, the independent third, on a history file.

The program is built once, where there is a network (`check --prepare`), and again when its source
changes. It has limits: see ../porcupine/main.go. What it did within them stands in the results.
"""

import json
import os
import pathlib
import resource
import shutil
import subprocess

from verdict import Violation

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "porcupine"
CACHE = pathlib.Path(os.environ.get("ROSTER_CACHE", SOURCE.parent.parent / ".cache")) / "porcupine"
TIMEOUT_S = 10  # of one window of a register
OPERATIONS_MAX = 1_000_000  # of all registers; beyond it the run's seed draws a sample
RUN_S = 300  # of a history
MEMORY_BYTES = 6 << 30  # of addresses; go reserves more than it uses
TOLD = ("registers", "judged", "operations", "windows", "thinned", "widest")


class Unavailable(Exception):
    """It could not be built, or broke down."""


def build():
    """The program's path."""
    program = CACHE / "check"
    sources = [*SOURCE.glob("*.go"), SOURCE / "go.mod", SOURCE / "go.sum"]
    if program.exists() and program.stat().st_mtime > max(s.stat().st_mtime for s in sources):
        return program
    if shutil.which("go") is None:
        raise Unavailable("there is no go; Debian's golang-go will do")
    CACHE.mkdir(parents=True, exist_ok=True)
    _run(["go", "build", "-o", str(program), "."], cwd=SOURCE)
    return program


def _run(command, **more):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout
    except subprocess.CalledProcessError as error:
        # Of a Go program that died the beginning says why, of the compiler the end.
        said = error.stderr.strip()
        raise Unavailable(f"{command[0]} {command[1]}: {said[:200]} ... {said[-300:]}") from None
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command[0]} did not come to an end") from None


def _limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def run(paths, retention_ms=None, timeout_s=TIMEOUT_S, **limits):
    """One dict per history: verdict in ../porcupine/main.go. [limits]: length, width, operations,
    seed, as there."""
    arguments = [str(build()), f"-timeout={timeout_s}s",
                 *(f"-{name}={value}" for name, value in limits.items())]
    if retention_ms is not None:
        arguments.append(f"-retention={retention_ms}ms")
    said = _run(arguments + [str(p) for p in paths], timeout=RUN_S * len(paths),
                preexec_fn=_limit_memory)
    return [json.loads(line) for line in said.splitlines()]


def check(path, history, told):
    """Violations; raises Unavailable. [told] gets what was judged."""
    result = run([path], history.options.get("retention_ms"), operations=OPERATIONS_MAX,
                 seed=history.options.get("seed") or 1)[0]
    told.update({key: result[key] for key in TOLD})
    for register in result["illegal"] or []:
        yield Violation("I1", "C3", f"{register}: not linearizable, says Porcupine")
    for register in result["unknown"] or []:
        yield Violation("I1", "C3", f"{register}: Porcupine did not come to an end")
