"""Files that change while their node is down."""

import re

from nemesis.base import DISK, NODES, Bringing
from lab.disk import sync_file

HEADER_BYTES = 8  # of a segment: its format


class Damage(Bringing):
    """A file of one node is harmed, then the node is started: it must refuse the directory and say
    what to do; that is done in the end."""

    claims = frozenset({DISK, NODES})
    seconds = (3, 8)
    must_refuse = True
    explains = [r"fatal message=", r"cannot_start reason="]

    def files(self, folder):
        """Those that can be harmed, the newest last."""
        raise NotImplementedError

    def harm(self, path):
        raise NotImplementedError

    def prepare(self):
        self.one = self.victim()
        return bool(self.files(self.folder()))

    def folder(self):
        return self.lab.data(self.one) / "raft/raft"

    def begin(self):
        self.hit = [self.one]
        self.lab.kill(self.one)
        more = {"file": None}
        found = self.files(self.folder())
        if found:
            more = {"file": found[-1].name, **self.harm(found[-1])}
            sync_file(found[-1])
        self.lab.impair(self.one, self.name)
        self.lab.run(self.one)
        return {"targets": self.names(self.hit), "explains": self.explains,
                "must_refuse": self.must_refuse and more["file"] is not None, **more}

    def end(self):
        self.lab.relieve(self.one, self.name)


def closed_segments(folder):
    return sorted(path for path in folder.glob("*") if re.fullmatch(r"\d{16}-\d{16}", path.name))


def snapshots(folder):
    return sorted((path for path in folder.glob("snapshot-*") if path.suffix != ".meta"),
                  key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)])


def flip(path, chance, size_bytes):
    """One bit of the first [size_bytes] is another one."""
    at, bit = chance.randrange(size_bytes), chance.randrange(8)
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1 << bit]))
    return {"at": at, "bit": bit, "size": size_bytes}


class Flip(Damage):
    def harm(self, path):
        return flip(path, self.chance, path.stat().st_size)


class FlipSegment(Flip):
    name = "flip-segment"

    def files(self, folder):
        return closed_segments(folder)


class FlipSnapshot(Flip):
    name = "flip-snapshot"

    def files(self, folder):
        return snapshots(folder)


class FlipBallot(Flip):
    """In one of the three places where term and vote stand: the others must make it good."""

    name = "flip-ballot"
    must_refuse = False

    def files(self, folder):
        found = [path for path in (folder / "metadata1", folder / "metadata2",
                                   folder.parent / "ballot") if path.exists()]
        return [self.chance.choice(found)] if found else []


class TruncateSegment(Damage):
    name = "truncate-segment"

    def files(self, folder):
        return closed_segments(folder)

    def harm(self, path):
        size_bytes = path.stat().st_size
        kept = self.chance.randrange(size_bytes)
        with open(path, "r+b") as file:
            file.truncate(kept)
        return {"size": size_bytes, "kept": kept}


class TruncateSnapshot(TruncateSegment):
    name = "truncate-snapshot"

    def files(self, folder):
        return snapshots(folder)


def open_segments(folder):
    """Those with something in them, by their counters."""
    found = [path for path in folder.glob("open-*") if used_bytes(path) > HEADER_BYTES]
    return sorted(found, key=lambda path: int(path.name.split("-")[1]))


def used_bytes(path):
    """What is in front of the zeros that a segment ends with."""
    return len(path.read_bytes().rstrip(b"\0"))


class OpenSegment(Damage):
    """What ends there looks like a torn write. The node may start, if what it lost is noticed: by
    what follows the damage, or by what its peers remember."""

    must_refuse = False

    def files(self, folder):
        return open_segments(folder)


class FlipOpenSegment(OpenSegment):
    name = "flip-open-segment"

    def harm(self, path):
        return flip(path, self.chance, used_bytes(path))


class CutOpenSegment(OpenSegment):
    """Its end reads as zeros."""
    name = "cut-open-segment"

    def harm(self, path):
        used = used_bytes(path)
        kept = self.chance.randrange(HEADER_BYTES, used)
        with open(path, "r+b") as file:
            file.seek(kept)
            file.write(bytes(used - kept))
        return {"used": used, "kept": kept}


class LoseDirectory(Bringing):
    """All of it is gone: the node rejoins by itself, from the others."""
    name = "lose-directory"
    claims = frozenset({DISK, NODES})
    seconds = (1, 5)

    def prepare(self):
        return len(self.lab.alive()) == len(self.lab.ids)

    def begin(self):
        self.hit = [self.victim()]
        self.lab.kill(self.hit[0])
        self.lab.disks[self.hit[0]].remove("data")
        self.since = self.lab.log(self.hit[0]).stat().st_size
        return {"targets": self.names(self.hit)}

    def end(self):
        self.lab.run(self.hit[0])

    def recover(self):
        super().recover()
        self.lab.wait_line(self.hit[0], "raftlog_rejoined", self.since)


FAULTS = [FlipSegment, FlipSnapshot, FlipBallot, FlipOpenSegment, CutOpenSegment,
          TruncateSegment, TruncateSnapshot, LoseDirectory]
