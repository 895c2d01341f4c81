"""C3: runs ../porcupine, the independent third, on a history file.

The program is built once, where there is a network (`check --prepare`), and again when its source
changes.
"""

import json
import os
import pathlib
import shutil
import subprocess

from verdict import Violation

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "porcupine"
CACHE = pathlib.Path(os.environ.get("ROSTER_CACHE", SOURCE.parent.parent / ".cache")) / "porcupine"
TIMEOUT_S = 60  # of one register


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
        raise Unavailable(f"{command[0]} {command[1]}: {error.stderr.strip()[-500:]}") from None


def run(paths, retention_ms=None, timeout_s=TIMEOUT_S):
    """One dict per history: {"file", "registers", "operations", "illegal": [...], "unknown":
    [...]}."""
    arguments = [str(build()), f"-timeout={timeout_s}s"]
    if retention_ms is not None:
        arguments.append(f"-retention={retention_ms}ms")
    said = _run(arguments + [str(p) for p in paths])
    return [json.loads(line) for line in said.splitlines()]


def check(path, history):
    """Violations; raises Unavailable."""
    result = run([path], history.options.get("retention_ms"))[0]
    for register in result["illegal"] or []:
        yield Violation("I1", "C3", f"{register}: not linearizable, says Porcupine")
    for register in result["unknown"] or []:
        yield Violation("I1", "C3", f"{register}: Porcupine did not come to an end")
