"""One client program as a member of a group, and the record of what it and the harness did."""

import asyncio
import json
import os
import signal
import time

from check import Owners

POLL_S = 0.05
REPLY_TIMEOUT_S = 40.0


class Record:
    """The events of one group in order of time, as check.py judges them."""

    def __init__(self, scene, can):
        self.began, self.events, self.owners = time.monotonic(), [], Owners()
        self.add("begin", scene=scene, can=can)

    def add(self, event, **fields):
        entry = {"t": round(time.monotonic() - self.began, 3), "event": event, **fields}
        if not self.events or self.events[-1]["event"] != "end":
            self.events.append(entry)
            self.owners.see(entry)
        return entry

    def save(self, path):
        path.write_text("".join(json.dumps(event) + "\n" for event in self.events))


async def until(probe, timeout_s):
    """Waits until probe() is true; returns its last value."""
    deadline = time.monotonic() + timeout_s
    while not (value := probe()) and time.monotonic() < deadline:
        await asyncio.sleep(POLL_S)
    return value


class Member:
    def __init__(self, name, record, command, environment, log):
        self.name, self.record = name, record
        self.command, self.environment, self.log = command, environment, log
        self.process = self.reader = None
        self.calls, self.replies = 0, {}
        self.is_ready = self.is_expected_to_end = False

    async def start(self):
        self.record.add("started", member=self.name)
        with open(self.log, "ab") as log:
            # Its own process group, so that a signal reaches a child of the program as well.
            self.process = await asyncio.create_subprocess_exec(
                *self.command, env={**os.environ, **self.environment}, stderr=log,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                start_new_session=True)
        self.reader = asyncio.create_task(self._read())

    async def _read(self):
        async for line in self.process.stdout:
            self._see(line)
        status = await self.process.wait()
        if not self.is_expected_to_end:
            self.record.add("exited", member=self.name, status=status)

    def _see(self, line):
        try:
            report = json.loads(line)
            event = report.pop("event")
        except (ValueError, KeyError):
            event, report = "error", {"code": None, "text": f"not an event: {line!r}"}
        entry = self.record.add(event, **{**report, "member": self.name})
        if event == "ready":
            self.is_ready = True
        if "id" in report:
            self.replies[report["id"]] = entry

    def is_alive(self):
        return self.process is not None and self.process.returncode is None \
            and not self.is_expected_to_end

    def tell(self, command, **fields):
        """Sends a command without waiting; returns its id."""
        self.calls += 1
        words = [f"{name}={offset}" for name, offset in fields.get("offsets", {}).items()]
        words += fields.get("partitions", [])
        self.record.add("asked", member=self.name, command=command, id=self.calls, **fields)
        self.process.stdin.write(" ".join([command, str(self.calls), *words, "\n"]).encode())
        return self.calls

    async def reply(self, call_id):
        """The event that answers a command, or None."""
        return await until(lambda: self.replies.get(call_id), REPLY_TIMEOUT_S)

    async def ask(self, command, **fields):
        return await self.reply(self.tell(command, **fields))

    def signal(self, number):
        if self.process is not None and self.process.returncode is None:
            os.killpg(self.process.pid, number)

    def stop(self):
        self.signal(signal.SIGSTOP)
        self.record.add("stopped", member=self.name)

    def resume(self):
        self.record.add("continued", member=self.name)
        self.signal(signal.SIGCONT)

    async def kill(self):
        self.is_expected_to_end = True
        self.signal(signal.SIGKILL)
        self.record.add("killed", member=self.name)
        await self.reader

    async def leave(self, timeout_s=30.0):
        """Closes the client in good order."""
        self.is_expected_to_end = True
        self.process.stdin.write(b"leave\n")
        try:
            await asyncio.wait_for(asyncio.shield(self.reader), timeout_s)
        except asyncio.TimeoutError:
            self.record.add("exited", member=self.name, status="did not leave")
            await self.kill()
