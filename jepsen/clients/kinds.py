"""The real clients: how each is installed and started. What they do is the same: README.md.

Installed below .cache/clients by tests/clients/clients.py, each with its own registry's client.
"""

import dataclasses
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def _installer():
    """tests/clients/clients.py, whose name is also this package's."""
    import importlib.util
    path = ROOT / "tests" / "clients" / "clients.py"
    spec = importlib.util.spec_from_file_location("client_installer", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


installer = _installer()
CACHE = installer.CACHE


@dataclasses.dataclass
class Kind:
    name: str
    command: list
    needs: object  # an installer.Client
    is_shared: bool = False  # one process has all its consumers


def _go(name):
    needs = installer.Client("jepsen-go", [], [], ["go"], [
        (HERE / "go", ["go", "build", "-o", f"{CACHE}/jepsen-go/", "./franz-go", "./sarama"])],
        source=str(HERE / "go"))
    return Kind(name, [f"{CACHE}/jepsen-go/{name}"], needs)


def _java():
    output = CACHE / "jepsen-java"
    goals = ["mvn", "--batch-mode", "--quiet", f"-Doutput={output}", "package",
             "dependency:copy-dependencies", f"-DoutputDirectory={output / 'lib'}"]
    needs = installer.Client("jepsen-java", [], [], ["java", "mvn"], [(HERE / "java", goals)],
                             source=str(HERE / "java"))
    command = [*installer.JVM, "-cp", f"{output}/jepsen-client-java-1.jar:{output}/lib/*", "Driver"]
    return Kind("java", command, needs, is_shared=True)


def _librdkafka():
    needs = next(c for c in installer.CURRENT if c.name == "confluent-kafka")
    return Kind("librdkafka", [f"{CACHE}/confluent-kafka/bin/python",
                               f"{HERE}/librdkafka/worker.py"], needs)


KINDS = {kind.name: kind for kind in (_librdkafka(), _go("franz-go"), _go("sarama"), _java())}


def prepare(names):
    """Installs what is not there yet, from the network; installer.InstallError."""
    needs = {KINDS[name].needs.name: KINDS[name].needs for name in names}
    missing = installer.missing_tools(list(needs.values()))
    if missing:
        raise installer.InstallError("\n".join(missing))
    for client in needs.values():
        installer.install(client)
