"""The rules of the tree that a compiler does not check.

    lint.py ROOT

Prints a line per offence, `file:line: what; what to do instead`, and exits with 1 if there is any.
docs/HACKING.md has the reasons.
"""

import os
import re
import sys

# Which headers of ours a layer may include, by the path's first part(s). Longest prefix wins.
LAYERS = {
    "rpc/": ("rpc/",),
    "server/core/": ("rpc/", "server/core/"),
    "raftlog/": (
        "rpc/build.h", "rpc/span.h", "rpc/ensure.h", "rpc/arena.h", "rpc/buf.h", "rpc/reader.h",
        "raftlog/",
    ),
    "server/": ("rpc/", "server/", "raftlog/raftlog.h"),
}

# System headers that no pure layer may see: no clock, socket, file, thread or chance in them.
PURE = ("rpc/", "server/core/")
IMPURE_HEADERS = re.compile(
    r"<(uv|raft|raft/.*|time|sys/.*|unistd|pthread|fcntl|signal|netdb|arpa/.*|netinet/.*"
    r"|openssl/.*|threads)\.h>")
IMPURE_CALLS = re.compile(
    r"\b(time|clock|clock_gettime|gettimeofday|rand|random|srand|getrandom|getenv|setenv|socket"
    r"|open|fopen|read|write|printf|fprintf|exit|_exit|uv_\w+)\s*\(")

BANNED = {
    "strcpy": "memcpy with a length",
    "strcat": "struct buf",
    "sprintf": "snprintf",
    "vsprintf": "vsnprintf",
    "gets": "fgets",
    "strtok": "a cursor",
    "atoi": "strtol with its errors",
    "atol": "strtol with its errors",
    "alloca": "an arena",
    "rand": "the entropy of the call",
    "gettimeofday": "server/clock.h",
    "localtime": "gmtime_r",
}
BANNED_CALL = re.compile(r"\b(" + "|".join(BANNED) + r")\s*\(")

UNFINISHED = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK")) + r")\b")

FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 70
TEXT = (".c", ".h", ".def", ".txt", ".md", ".py", ".sh", ".java", ".js", ".go", ".cmake")


def allowed(path):
    best = max((p for p in LAYERS if path.startswith(p)), key=len, default=None)
    return LAYERS[best] if best else None


def without_comments(text):
    """The same lines, with comments and string contents blanked."""
    def blank(match):
        word = match.group(0)
        if word.startswith("/"):
            return re.sub(r"[^\n]", " ", word)
        return word[0] + " " * (len(word) - 2) + word[-1]
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", blank, text,
                  flags=re.S)


def check_includes(path, lines):
    may = allowed(path)
    for number, line in enumerate(lines, 1):
        ours = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if ours and may is not None and not ours.group(1).startswith(may):
            yield number, f"includes {ours.group(1)}: a layer sees only those below it"
        system = re.match(r"\s*#\s*include\s+(<[^>]+>)", line)
        if not system:
            continue
        if path.startswith(PURE) and IMPURE_HEADERS.match(system.group(1)):
            yield number, f"includes {system.group(1)}: the layer is pure; make it an input"
        if system.group(1).startswith("<raft") and not path.startswith(("raftlog/", "tests/raftlog/")):
            yield number, "includes <raft.h>: only raftlog/ may"


def check_calls(path, code):
    for number, line in enumerate(code, 1):
        banned = BANNED_CALL.search(line)
        if banned:
            yield number, f"calls {banned.group(1)}; use {BANNED[banned.group(1)]}"
        if path.startswith(PURE) and not line.startswith("#"):
            impure = IMPURE_CALLS.search(line)
            if impure:
                yield number, f"calls {impure.group(1)}: the layer is pure; make it an input"


def check_functions(code):
    start = None
    for number, line in enumerate(code, 1):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start is not None:
            if number - start > FUNCTION_LINES_MAX:
                yield start, f"function of {number - start} lines; at most {FUNCTION_LINES_MAX}"
            start = None


def check_file(path, text):
    """All offences of one file as (line, what); [path] is relative to the root, with slashes."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if UNFINISHED.search(line):
            yield number, "unfinished mark; finish it or say it in an issue"
    if not path.endswith((".c", ".h")):
        return
    if len(lines) > FILE_LINES_MAX:
        yield FILE_LINES_MAX, f"file of {len(lines)} lines; at most {FILE_LINES_MAX}"
    code = without_comments(text).split("\n")
    yield from check_includes(path, lines)
    yield from check_calls(path, code)
    if not path.startswith("tests/"):
        yield from check_functions(code)


def check_listed(path, cmake):
    """Every source is compiled by somebody."""
    if path.endswith(".c") and os.path.basename(path) not in cmake:
        yield 1, "not in any CMakeLists.txt: dead file"


def tree(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in
                            ("__pycache__", "node_modules", "corpus"))
        for name in sorted(files):
            if name.endswith(TEXT):
                yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def main(root):
    paths = list(tree(root))
    texts = {}
    for path in paths:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
            texts[path] = f.read()
    cmake = "\n".join(t for p, t in texts.items() if p.endswith("CMakeLists.txt"))
    bad = 0
    for path in paths:
        for number, what in [*check_file(path, texts[path]), *check_listed(path, cmake)]:
            print(f"{path}:{number}: {what}")
            bad += 1
    print(f"{len(paths)} files, {bad} offences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
