"""The registers of a history: what was written to and read from each (group, topic, partition).

Values are unique, since each commit's metadata is an op id; so it is known which commit each read
saw. A commit without metadata is told by its offset. Where two commits carry one value, or a
register is deleted, `is_ambiguous` is set and the search (search.py) judges instead of the zones.
"""

import collections

from verdict import Violation

NONE = "none"  # the value of a register without an offset


class Access:
    """One operation's part on one register. [lo], [hi]: it took effect between them; for writes of
    a member they are clipped to the life of its generation."""

    __slots__ = ("op", "lo", "hi", "value", "is_write", "is_sure")

    def __init__(self, op, value, is_write, is_sure, lo=None, hi=None):
        self.op, self.value, self.is_write, self.is_sure = op, value, is_write, is_sure
        self.lo = op.call if lo is None else lo
        self.hi = op.ret if hi is None else hi


class Register:
    """[writes]: by value, without refused ones. [deletes]: accesses with the value NONE."""

    def __init__(self, key):
        self.key = key
        self.writes, self.reads, self.deletes = {}, [], []
        self.extra = []  # further writes of a value
        self.refused = {}

    @property
    def is_ambiguous(self):
        return bool(self.extra or self.deletes)

    def accesses(self):
        yield from self.writes.values()
        yield from self.extra
        yield from self.deletes
        yield from self.reads

    def __str__(self):
        group, topic, partition = self.key
        return f"{group} {topic}/{partition}"


def identity(offset, metadata):
    return metadata if metadata else f"offset {offset}"


def _epoch(epoch):
    return -1 if epoch is None or epoch < 0 else epoch


class Registers:
    """registers: by key. violations: I3, found on the way."""

    def __init__(self, history, generations):
        self.history, self.generations = history, generations
        self.registers, self.violations = {}, []
        self._contents = {}  # (key, value) -> (offset, epoch)
        for op in history.by_f["commit"]:
            self._commit(op)
        for op in history.by_f["delete_offsets"]:
            self._delete_offsets(op)
        keys = collections.defaultdict(list)
        for op in history.by_f["fetch"]:
            if op.kind == "ok" and op.value.get("parts"):
                for topic, partition in op.value["parts"]:
                    self._register((op.group, topic, partition))
        for key in self.registers:
            keys[key[0]].append(key)
        for op in history.by_f["delete_group"]:
            self._delete_group(op, keys[op.group])
        for op in history.by_f["fetch"]:
            if op.kind == "ok":
                self._fetch(op, keys[op.group])

    def _register(self, key):
        if key not in self.registers:
            self.registers[key] = Register(key)
        return self.registers[key]

    def _commit(self, op):
        errors = {
            (topic, partition): error for topic, partition, error in op.answer.get("parts") or []
        }
        lo, hi = self.generations.clip(op)
        for topic, partition, offset, epoch, metadata in op.value["parts"]:
            register = self._register((op.group, topic, partition))
            value = identity(offset, metadata)
            error = errors.get((topic, partition), 0 if op.kind == "ok" else op.error)
            self._contents[register.key, value] = (offset, _epoch(epoch))
            if op.is_refusal(error):
                register.refused.setdefault(value, op)
                continue
            is_sure = op.kind == "ok" and error == 0
            access = Access(op, value, True, is_sure, lo, hi if is_sure else max(hi, lo))
            if not is_sure:
                access.hi = self.generations.last_moment(op)
            if value in register.writes:
                register.extra.append(access)
            else:
                register.writes[value] = access

    def _delete_offsets(self, op):
        errors = {
            (topic, partition): error for topic, partition, error in op.answer.get("parts") or []
        }
        for topic, partition in op.value["parts"]:
            error = errors.get((topic, partition), 0 if op.kind == "ok" else op.error)
            if not op.is_refusal(error):
                self._register((op.group, topic, partition)).deletes.append(
                    Access(op, NONE, True, op.kind == "ok" and error == 0)
                )

    def _delete_group(self, op, keys):
        if op.kind != "fail":
            for key in keys:
                self.registers[key].deletes.append(Access(op, NONE, True, op.kind == "ok"))

    def _fetch(self, op, keys):
        listed = set()
        for topic, partition, offset, epoch, metadata, error in op.answer.get("parts") or []:
            key = (op.group, topic, partition)
            listed.add(key)
            if error == 0:
                self._read(op, key, offset, epoch, metadata)
        if op.value.get("parts") is None:
            for key in keys:
                if key not in listed:
                    self._read(op, key, -1, -1, None)

    def _read(self, op, key, offset, epoch, metadata):
        register = self._register(key)
        if offset < 0:
            register.reads.append(Access(op, NONE, False, True))
            return
        value = identity(offset, metadata)
        story = None
        if value not in register.writes:
            refused = register.refused.get(value)
            if refused is None:
                story, events = "nobody committed that", []
            else:
                codes = [part[2] for part in refused.answer.get("parts") or [] if part[2]]
                why = codes[0] if refused.error is None and codes else refused.error
                story, events = f"that commit was refused with {why}", refused.events()
        elif self._contents[key, value] != (offset, _epoch(epoch)):
            story = "it was committed with (offset, leader epoch) " f"{self._contents[key, value]}"
            events = register.writes[value].op.events()
        if story is None:
            register.reads.append(Access(op, value, False, True))
        else:
            self.violations.append(
                Violation(
                    "I3",
                    "C1",
                    f"{register}: a fetch on {op.node} returned offset {offset}, leader epoch "
                    f"{epoch}, metadata {metadata!r}, but {story}",
                    events + op.events(),
                    op.call,
                    op.ret,
                )
            )


def describe(access):
    """An access in words, short."""
    op = access.op
    what = {"commit": "commit", "fetch": "fetch"}.get(op.f, op.f)
    outcome = "" if op.kind == "ok" else " (outcome unknown)"
    return f"{what} of {access.value} by process {op.process} on {op.node}{outcome}"
