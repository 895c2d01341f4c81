"""docs/CONFIGURATION.md is what the program says of itself.

    configuration.py ROSTERD DOCUMENT           exits with 1 where they differ
    configuration.py ROSTERD DOCUMENT --write   makes the document anew
"""

import pathlib
import subprocess
import sys

HEAD = """# Configuration

`key=value` lines in the file given with `--config`; every key is also a flag (`--node.id=1`) and an
environment variable (`ROSTER_NODE_ID=1`). A flag wins over the environment, that over the file, that
over the default. An unknown key is an error that names the nearest known one. `rosterd
--check-config` checks all of it and starts nothing.

These tables are made from the program's own (`server/config.def`) by `tests/lint/configuration.py`.

"""


def main(rosterd, document, *options):
    wanted = HEAD + subprocess.run([rosterd, "--docs"], check=True, capture_output=True,
                                   text=True).stdout
    path = pathlib.Path(document)
    if "--write" in options:
        path.write_text(wanted)
        return 0
    if path.exists() and path.read_text() == wanted:
        return 0
    print(f"{document} is not what rosterd --docs says; make it anew with --write")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
