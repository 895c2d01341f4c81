"""A node's disk: a mount of lossfs."""

import os
import pathlib
import shutil
import subprocess
import time

from lab import control

START_S = 10


def sync_directory(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_file(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())


class Disk:
    def __init__(self, binary, directory):
        """[directory] is made; in it: mount, store, socket."""
        directory = pathlib.Path(directory)
        self.mount, self.store = directory / "mount", directory / "store"
        self.kept = self.store / "kept"  # what was removed, after keep(): NUMBER.NAME
        self.socket = directory / "socket"
        for path in (self.mount, self.store):
            path.mkdir(parents=True)
        self.process = subprocess.Popen([str(binary), str(self.mount), str(self.store),
                                         str(self.socket)])
        deadline = time.monotonic() + START_S
        while not os.path.ismount(self.mount):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("lossfs does not start")
            time.sleep(0.01)

    def _ask(self, line):
        return control.numbers(control.ask(self.socket, line))

    def crash(self):
        """What was not synced is gone; call it when nobody uses the disk. {pages, names}: what."""
        return self._ask("crash")

    def torn(self, seed):
        """The same, but some of it was being written."""
        return self._ask(f"torn {seed}")

    def cut(self, torn=None):
        """The power goes now, under the programs that use it; nothing works until heal(). With a
        seed, torn, also what is written in the next moments."""
        return self._ask("cut" if torn is None else f"cut {torn}")

    def fail(self, operation, times="always"):
        self._ask(f"fail {operation} {times}")

    def limit_space(self, size_bytes, hard=False):
        self._ask(f"space {size_bytes}{' hard' if hard else ''}")

    def delay(self, us):
        self._ask(f"delay {us}")

    def lose_syncs(self):
        self._ask("lose 1")

    def keep(self):
        self._ask("keep 1")

    def heal(self):
        self._ask("heal")

    def counters(self):
        return self._ask("stat")

    def replace(self, name, source):
        """[source], a directory, becomes the directory [name], durably."""
        self.remove(name)
        shutil.copytree(source, self.mount / name, copy_function=self._copy)
        for folder, _, _ in os.walk(self.mount, topdown=False):
            sync_directory(folder)

    @staticmethod
    def _copy(source, target):
        with open(source, "rb") as read, open(target, "wb") as write:
            shutil.copyfileobj(read, write)
            write.flush()
            os.fsync(write.fileno())

    def remove(self, name):
        """A directory is gone, durably."""
        if (self.mount / name).exists():
            shutil.rmtree(self.mount / name)
            sync_directory(self.mount)

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
