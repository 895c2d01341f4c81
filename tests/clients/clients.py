"""The clients: what each needs, how it is installed and started, what it can do.

Everything installed or built lies below .cache/clients; a client whose files have not changed since
it was installed is not installed again. Each registry is used through its own ordinary client.
"""

import dataclasses
import hashlib
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
CACHE = HERE.parent.parent / ".cache" / "clients"
DEBIAN_PYTHON = "/usr/bin/python3"

# Tool -> what brings it to Debian 12.
TOOLS = {
    "python3": "apt-get install python3 python3-venv",
    "npm": "apt-get install npm",
    "node": "apt-get install nodejs",
    "java": "apt-get install default-jdk-headless",
    "mvn": "apt-get install maven",
    "go": "the current release of Go (Debian 12's golang is older than go.mod asks for)",
    "kcat": "apt-get install kcat",
}
# A small JVM: many of them share the machine for a few minutes.
JVM = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m"]


class InstallError(Exception):
    pass


@dataclasses.dataclass
class Client:
    name: str
    command: list
    can: list
    tools: list = dataclasses.field(default_factory=list)
    steps: list = dataclasses.field(default_factory=list)  # (folder, command), to install it
    environment: dict = dataclasses.field(default_factory=dict)
    source: str = ""  # its folder; the name unless given

    def folder(self):
        return HERE / (self.source or self.name)


def _pip(name):
    venv = CACHE / name
    return [(HERE, ["python3", "-m", "venv", "--clear", str(venv)]),
            (HERE / name, [str(venv / "bin/pip"), "install", "--quiet", "-r", "requirements.txt"])]


def _maven(name, *goals):
    output = CACHE / name
    return (HERE / name, ["mvn", "--batch-mode", "--quiet", f"-Doutput={output}", *goals,
                          "dependency:copy-dependencies", f"-DoutputDirectory={output / 'lib'}"])


# What a client can: commit on command; subscribe by pattern, and notice topics that match later; be a
# static member; follow the coordinator to another node without falling out of its group.
ALL = ["commit", "pattern", "pattern-late", "static", "failover"]

JAVA = Client("java",
              [*JVM, "-cp", f"{CACHE}/java/client-java-1.jar:{CACHE}/java/lib/*", "Client"],
              ALL, ["java", "mvn"], [_maven("java", "package")])

CURRENT = [
    Client("confluent-kafka", [f"{CACHE}/confluent-kafka/bin/python",
                               f"{HERE}/confluent-kafka/client.py"],
           ALL, ["python3"], _pip("confluent-kafka")),
    Client("kafka-python", [f"{CACHE}/kafka-python/bin/python", f"{HERE}/kafka-python/client.py"],
           ALL, ["python3"], _pip("kafka-python")),
    # kafkajs resolves a pattern once, when it subscribes, and knows no static members. It keeps to a
    # coordinator that refuses connections until its retries run out; then it joins anew.
    Client("kafkajs", ["node", f"{HERE}/kafkajs/client.js"], ["commit", "pattern"],
           ["node", "npm"],
           [(HERE / "kafkajs", ["cp", "package.json", f"{CACHE}/kafkajs"]),
            (CACHE / "kafkajs", ["npm", "install", "--silent", "--no-package-lock"])],
           {"NODE_PATH": f"{CACHE}/kafkajs/node_modules"}),
    JAVA,
    Client("franz-go", [f"{CACHE}/franz-go/client"], ALL, ["go"],
           [(HERE / "franz-go", ["go", "build", "-o", f"{CACHE}/franz-go/client", "."])]),
]

# Not a member of groups but Kafka's own tools, used by tools.py.
KAFKA_TOOLS = Client("kafka-tools", [*JVM, "-cp", f"{CACHE}/kafka-tools/lib/*"], [],
                     ["java", "mvn"], [_maven("kafka-tools")])

DEBIAN = [
    Client("confluent-kafka-1.7", [DEBIAN_PYTHON, f"{HERE}/confluent-kafka/client.py"],
           ALL, source="confluent-kafka",
           steps=[(HERE, [DEBIAN_PYTHON, "-c", "import confluent_kafka"])]),
    Client("kafka-python-2.0", [DEBIAN_PYTHON, f"{HERE}/kafka-python/client.py"],
           ["commit", "pattern", "pattern-late", "failover"], source="kafka-python",
           steps=[(HERE, [DEBIAN_PYTHON, "-c", "import kafka"])]),
    Client("kcat", [DEBIAN_PYTHON, f"{HERE}/kcat/client.py"],
           ["pattern", "pattern-late", "static", "failover"], ["kcat"]),
]


def missing_tools(clients):
    """One line for each tool that a client needs and this machine lacks."""
    lines = []
    for client in clients:
        for tool in client.tools:
            if shutil.which(tool) is None:
                lines.append(f"{client.name} needs {tool}: {TOOLS[tool]}")
    if any("go" in client.tools for client in clients) and shutil.which("go"):
        lines += _old_go()
    return lines


def _old_go():
    wanted = re.search(r"^go (\d+)\.(\d+)", (HERE / "franz-go/go.mod").read_text(), re.M)
    said = subprocess.run(["go", "version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"go(\d+)\.(\d+)", said)
    # Since 1.21 Go fetches by itself the release that a go.mod asks for.
    need = min(tuple(map(int, wanted.groups())), (1, 21))
    if tuple(map(int, found.groups())) >= need:
        return []
    return [f"franz-go needs Go {wanted[1]}.{wanted[2]}, found {found[0]}: {TOOLS['go']}"]


def install(client):
    """Installs one client unless that was done; InstallError says what failed."""
    place = CACHE / client.name
    stamp = CACHE / f"{client.name}.installed"
    mark = _mark(client)
    if stamp.exists() and stamp.read_text() == mark:
        return
    stamp.unlink(missing_ok=True)
    place.mkdir(parents=True, exist_ok=True)
    for folder, command in client.steps:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise InstallError(f"{client.name}: {' '.join(command)} failed:\n{done.stdout[-3000:]}")
    stamp.write_text(mark)


def _mark(client):
    """A digest of the client's files and of how it is installed."""
    digest = hashlib.sha256(repr(client.steps).encode())
    for path in sorted(client.folder().rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.read_bytes())
    return digest.hexdigest()
