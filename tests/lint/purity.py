"""The pure layers call nothing that could make two runs differ.

    purity.py RPC_ARCHIVE CORE_ARCHIVE [--nm PROGRAM]

What the linker would have to find elsewhere for rpc/ and server/core/ must stand in
pure_symbols.txt. Prints a line per offence, `archive(object): symbol`, and exits with 1 if there is
any. Headers and the text of the code are lint.py's; this sees what macros, inline functions and
compilers make of it.
"""

import pathlib
import re
import subprocess
import sys

ALLOWED = pathlib.Path(__file__).resolve().parent / "pure_symbols.txt"


def read_allowed(text):
    """(names, beginnings) of such a list. Each name needs a reason above it, and stands once."""
    names, beginnings, reason = set(), set(), None
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if line.startswith("#"):
            reason = line
        elif not line:
            reason = None
        elif reason is None:
            raise ValueError(f"line {number}: {line} has no reason")
        elif line in names or line[:-1] in beginnings:
            raise ValueError(f"line {number}: {line} stands there twice")
        elif line.endswith("*"):
            beginnings.add(line[:-1])
        else:
            names.add(line)
    return names, beginnings


def symbols(archive, nm="nm"):
    """({symbol: objects that call it}, symbols that others can call) of an archive."""
    text = subprocess.run([nm, "-A", archive], check=True, capture_output=True, text=True).stdout
    called, defined = {}, set()
    for line in text.splitlines():
        match = re.search(r":([^:]+\.o):\s*[0-9a-f]*\s+(\S)\s+(\S+)$", line)
        if match is None:
            raise ValueError(f"not understood: {line}")
        unit, kind, name = match.groups()
        if kind == "U" or kind in "vw":
            called.setdefault(name, set()).add(unit)
        elif kind.isupper():
            defined.add(name)
    return called, defined


def offences(layers, allowed):
    """[(archive, object, symbol)...]; [layers]: (name, called, defined), each may call those before
    it and itself."""
    names, beginnings = allowed
    known, found = set(names), []
    for layer, called, defined in layers:
        known |= defined
        found += [(layer, unit, name) for name, units in called.items() for unit in units
                  if name not in known and not name.startswith(tuple(beginnings))]
    return sorted(found)


def main(*arguments):
    nm = "nm"
    if "--nm" in arguments:
        at = arguments.index("--nm")
        nm, arguments = arguments[at + 1], arguments[:at]
    layers = [(pathlib.Path(path).name, *symbols(path, nm)) for path in arguments]
    if not all(defined for _, _, defined in layers):
        print("an archive that defines nothing")
        return 1
    found = offences(layers, read_allowed(ALLOWED.read_text(encoding="utf-8")))
    for layer, unit, name in found:
        print(f"{layer}({unit}): calls {name}: the layer is pure; make it an input, or give it a"
              f" reason in {ALLOWED.name}")
    print(f"{len(layers)} archives, {len(found)} offences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
