"""The workloads of a run: what the witness and the real clients do while nemeses do their part.

    running = workloads.start(lab, suite, seed, history, out)
    running.fault()                 # a fault began or ended: readers read at once
    running.pause(name); running.resume(name); running.kill(name); running.churn()
    running.calm()                  # before the final phase: no churn and no zombies any more
    running.final_reads()           # every group's offsets and members, asked for in every place
    running.stop()                  # ends all; raises if the witness itself failed

[lab] has
    nodes           {"n1": (host, port)}: where clients reach each node
    client_places   [name of a network namespace...], where clients live; [] or absent: here
    client_command(place, argv)     the command that runs argv in that place; absent: argv itself
[suite] has (as attributes or keys)
    workloads       names from WORKLOADS; clients: names from clients.KINDS, for W8
    and, optional, any of Settings' fields
[history] is a history.Writer, [out] the run's directory: client programs log to its clients/

The witness runs on a thread of this process, the programs of real clients are spoken to from
others. Every event is written at the moment that its time says, so the file is in order of time;
for what that means for programs see clients/program.py.
"""

import asyncio
import dataclasses
import pathlib
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
for _path in (HERE.parent, HERE.parent.parent / "tests" / "lib"):
    if str(_path) not in sys.path:
        sys.path.insert(0, str(_path))

import clients  # noqa: E402
import wire  # noqa: E402

from . import abuse, commits, crowds, probe, simple  # noqa: E402
from . import link as links  # noqa: E402
from .admin import Admin  # noqa: E402
from .world import CONNECT_S, World  # noqa: E402
from . import ops  # noqa: E402

WORKLOADS = {
    "P": probe.Probe,
    "W1": commits.Commits,
    "W2": crowds.Churn,
    "W3": crowds.Idle,
    "W4": crowds.Many,
    "W5": crowds.Static,
    "W7": simple.Simple,
    "W8": None,  # real clients: clients.Crew
    "W9": abuse.Abuse,
}
W8_TOPICS = {"w8": 6}
TOPIC_S = 30.0
CALL_S = 60.0
FAMILY_MAX = 8


class WorkloadError(Exception):
    """The witness could not begin, or failed itself: the run says nothing."""


@dataclasses.dataclass
class Settings:
    session_ms: int = 6000  # of members; at least what the nodes allow
    commits_per_s: int = 400  # that W1's owners try to make, all together


def _of(suite, name, default):
    if isinstance(suite, dict):
        return suite.get(name, default)
    return getattr(suite, name, default)


def start(lab, suite, seed, history, out):
    """Declares the topics, starts everything; returns once the witness runs."""
    names = list(_of(suite, "workloads", ["W1"]))
    unknown = [name for name in names if name not in WORKLOADS]
    if unknown:
        raise WorkloadError(f"no such workload: {', '.join(unknown)}")
    fields = [field.name for field in dataclasses.fields(Settings)]
    settings = Settings(**{name: _of(suite, name, getattr(Settings, name)) for name in fields})
    places = list(getattr(lab, "client_places", None) or [None])
    running = Running(World(lab.nodes, places, history, seed, settings), names)
    running.begin()
    if "W8" in names:
        command = getattr(lab, "client_command", lambda _, argv: argv)
        running.crew = clients.Crew(running.world.clerk, lab.nodes, places, command, settings,
                                    list(_of(suite, "clients", [])), seed,
                                    pathlib.Path(out) / "clients")
        running.crew.start()
    return running


class Running:
    def __init__(self, world, names):
        self.world, self.crew = world, None
        self.workloads = [WORKLOADS[name](world) for name in names if WORKLOADS[name]]
        self.topics = {}
        for load in self.workloads:
            self.topics.update(load.topics)
        if "W8" in names:
            self.topics.update(W8_TOPICS)
        self.chance = world.chance("hooks")
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="witness", daemon=True)

    def _run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def _call(self, coroutine, timeout_s=CALL_S):
        """Runs it on the witness's thread; its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout_s)

    def begin(self):
        self.thread.start()
        self._call(self._begin())

    async def _begin(self):
        await asyncio.wait_for(self._declare(), TOPIC_S)
        for load in self.workloads:
            load.start()

    async def _declare(self):
        place = self.world.place(0)
        for topic, count in self.topics.items():
            while not await self._create(place, topic, count):
                await asyncio.sleep(0.2)

    async def _create(self, place, topic, count):
        """True: it exists."""
        link = await self.world.coordinator(place)
        try:
            error = await link.call("create_topic", topic, count, timeout_s=CONNECT_S * 5)
            return error in (0, 36)
        except links.Lost:
            return False
        finally:
            link.drop()

    # Hooks for nemeses; each returns what it did, for the nemesis's event

    def members(self):
        """Names of some that may be paused or killed now: a few of every workload and kind of
        client, so that the many of W4 are not all that is ever hit."""
        async def names():
            return sorted(self.world.members)
        found = self._call(names()) + (self.crew.names() if self.crew is not None else [])
        families = {}
        for name in found:
            families.setdefault(name.split("-")[0], []).append(name)
        return [name for family in families.values()
                for name in self.chance.sample(family, min(FAMILY_MAX, len(family)))]

    def fault(self):
        self.loop.call_soon_threadsafe(self.world.fault)

    def pause(self, name=None):
        return self._to(name, "pause")

    def resume(self, name=None):
        return self._to(name, "resume")

    def kill(self, name=None):
        """The workload replaces it where its group needs one."""
        return self._to(name, "kill")

    def _to(self, name, what):
        name = name or self.chance.choice(self.members())
        if self.crew is not None and name in self.crew.names():
            getattr(self.crew, what)(name)
        else:
            self._call(self._to_member(name, what))
        return name

    async def _to_member(self, name, what):
        member = self.world.members.get(name)
        if member is None:
            return
        done = getattr(member, what)()
        if done is not None:
            await done
        if what == "kill":
            self._replace(member)

    def _replace(self, member):
        for load in self.workloads:
            if member in getattr(load, "members", ()):
                load.replace(member)

    def churn(self):
        """One change of members in every workload that knows such, and among the programs."""
        async def churn():
            for load in self.workloads:
                if isinstance(load, (crowds.Churn, crowds.Static)):
                    await load.churn()
        self._call(churn())
        if self.crew is not None:
            self.crew.churn()

    def calm(self):
        self.loop.call_soon_threadsafe(setattr, self.world, "is_calm", True)
        if self.crew is not None:
            self.crew.calm()

    def final_reads(self):
        """In every place: each group's offsets from the coordinator, and what each node says."""
        groups = sorted({group for load in self.workloads for group in load.groups()})
        if self.crew is not None:
            groups += self.crew.groups()
        self._call(self._read_all(groups), CALL_S * 2)

    async def _read_all(self, groups):
        for place in self.world.places:
            admin = Admin(self.world, place)
            for group in groups:
                for operation, args in ((ops.fetch, (group, None)), (ops.describe, (group,))):
                    while (await admin.ask(operation, *args)).type == "info":
                        pass
            admin.close()
        process = self.world.clerk.process()
        for node, address in sorted(self.world.nodes.items()):
            try:
                link = await links.connect(self.world.place(0), node, address, CONNECT_S)
            except links.Lost:
                continue
            for group in groups[:20]:
                await ops.fetch(process, link, group, None, CONNECT_S * 5)
            link.drop()

    def stop(self):
        """Ends the witness and the programs; open requests become info."""
        if self.crew is not None:
            self.crew.stop()
        self._call(self._stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
        self.world.close()
        failures = self.world.failures + (self.crew.failures() if self.crew is not None else [])
        if failures:
            raise WorkloadError(f"{len(failures)} faults of the clients' drivers") from failures[0]

    async def _stop(self):
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for member in list(self.world.members.values()):
            member.link and member.link.drop()
