"""C3: runs ../porcupine, the independent third, on a history file."""

import json
import os
import pathlib
import shutil
import subprocess

from verdict import Violation

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "porcupine"
CACHE = pathlib.Path(os.environ.get("ROSTER_CACHE", SOURCE.parent.parent / ".cache")) / "porcupine"
TIMEOUT_S = 60  # of one register


def build():
    """The program's path; raises CalledProcessError or FileNotFoundError where Go cannot build it."""
    if shutil.which("go") is None:
        raise FileNotFoundError("go: Debian's golang-go will do")
    CACHE.mkdir(parents=True, exist_ok=True)
    program = CACHE / "check"
    subprocess.run(["go", "build", "-o", program, "."], cwd=SOURCE, check=True)
    return program


def run(paths, retention_ms=None, timeout_s=TIMEOUT_S):
    """One dict per history: {"file", "registers", "operations", "illegal": [...], "unknown": [...]}."""
    arguments = [build(), f"-timeout={timeout_s}s"]
    if retention_ms is not None:
        arguments.append(f"-retention={retention_ms}ms")
    said = subprocess.run(arguments + [str(p) for p in paths], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in said.stdout.splitlines()]


def check(path, history):
    try:
        result = run([path], history.options.get("retention_ms"))[0]
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        detail = getattr(error, "stderr", None) or error
        yield Violation("FORMAT", "C3", f"Porcupine could not judge: {detail}")
        return
    for register in result["illegal"] or []:
        yield Violation("I1", "C3", f"{register}: not linearizable, says Porcupine")
    for register in result["unknown"] or []:
        yield Violation("I1", "C3", f"{register}: Porcupine did not come to an end")
