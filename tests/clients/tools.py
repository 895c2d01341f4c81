"""Kafka's own tools, kafka-topics and kafka-consumer-groups, against the cluster under test.

They run beside a group of one Java member. What they print is compared line by line, with runs of
blanks taken as one; the tools end with status 0 even after an error, so only their output counts.
"""

import asyncio
import re

from clients import KAFKA_TOOLS
from member import until
from scenes import Scene, Unsettled

TOPICS = "org.apache.kafka.tools.TopicCommand"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
TIMEOUT_S = 60
PARTITIONS = 3
GROUP, TOPIC = "java-tools", "java-tools-jobs"


class Tools:
    def __init__(self, cluster, directory):
        self.bootstrap, self.complaints = cluster.bootstrap(), []
        self.log = open(directory / "kafka-tools.log", "w")

    async def run(self, tool, *words, expect=(), refuse=()):
        """Runs a tool; each regular expression of `expect` must match a line, of `refuse` none."""
        head, *rest = KAFKA_TOOLS.command
        process = await asyncio.create_subprocess_exec(
            head, QUIET, *rest, tool, "--bootstrap-server", self.bootstrap, *words,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT)
        try:
            output, _ = await asyncio.wait_for(process.communicate(), TIMEOUT_S)
        except asyncio.TimeoutError:
            process.kill()
            output = b"no end"
        lines = [" ".join(line.split()) for line in output.decode().splitlines()]
        what = f"{tool.rpartition('.')[2]} {' '.join(words)}"
        print(f"# {what}", *lines, sep="\n", file=self.log, flush=True)
        for pattern in expect:
            if not any(re.fullmatch(pattern, line) for line in lines):
                self.complaints.append(("tools", f"{what}: no line {pattern!r} in {lines[:12]}"))
        for pattern in refuse:
            if any(re.fullmatch(pattern, line) for line in lines):
                self.complaints.append(("tools", f"{what}: a line {pattern!r} in {lines[:12]}"))

    async def topics(self, *words, **expected):
        await self.run(TOPICS, *words, **expected)

    async def groups(self, *words, **expected):
        await self.run(GROUPS, *words, **expected)


async def check_tools(java, cluster, directory):
    """Returns complaints as check.check() does."""
    tools, scene = Tools(cluster, directory), Scene("tools", java, cluster, directory)
    try:
        await declare(tools)
        scene.topics[TOPIC] = PARTITIONS
        member = await scene.start("a")
        await scene.settle("one member joined")
        await member.ask("commit", offsets={f"{TOPIC}:0": 5, f"{TOPIC}:1": 7})
        await with_member(tools)
        await member.leave()
        await until(lambda: not scene.live(), TIMEOUT_S)
        await without_member(tools)
        await tools.topics("--delete", "--topic", TOPIC)
        await tools.topics("--list", refuse=[TOPIC])
    except Unsettled as error:
        tools.complaints.append(("tools", f"{error}: not settled"))
    finally:
        scene.close()
    return tools.complaints


async def declare(tools):
    await tools.topics("--create", "--topic", TOPIC, "--partitions", str(PARTITIONS - 1),
                       expect=[rf"Created topic {TOPIC}\."])
    await tools.topics("--create", "--topic", TOPIC, "--partitions", "1",
                       expect=[r".*TopicExistsException.*"])
    await tools.topics("--alter", "--topic", TOPIC, "--partitions", str(PARTITIONS))
    await tools.topics("--list", expect=[TOPIC])
    await tools.topics("--describe", "--topic", TOPIC, expect=[
        rf"Topic: {TOPIC} TopicId: \S+ PartitionCount: {PARTITIONS} .*",
        *(rf"Topic: {TOPIC} Partition: {p} Leader: [1-9] .*" for p in range(PARTITIONS))])


async def with_member(tools):
    member = r"\S+ /?127\.0\.0\.1\S* java-tools-a"
    await tools.groups("--list", expect=[GROUP])
    await tools.groups("--list", "--state", expect=[f"{GROUP} Stable"])
    await tools.groups("--describe", "--group", GROUP, expect=[
        rf"{GROUP} {TOPIC} 0 5 \d+ \d+ {member}", rf"{GROUP} {TOPIC} 1 7 \d+ \d+ {member}",
        rf"{GROUP} {TOPIC} 2 - \d+ - {member}"])
    await tools.groups("--describe", "--group", GROUP, "--members", "--verbose", expect=[
        rf"{GROUP} {member} {PARTITIONS} - {TOPIC}:0,1,2 - -"])
    await tools.groups("--describe", "--group", GROUP, "--state", expect=[
        rf"{GROUP} 127\.0\.0\.1:\d+ \([1-9]\) range Stable 1"])
    await tools.groups("--delete", "--group", GROUP, expect=[r".*GroupNotEmptyException.*"])
    await tools.groups("--reset-offsets", "--group", GROUP, "--topic", TOPIC, "--to-earliest",
                       "--execute", expect=[r".*can only be reset if the group .* is inactive.*"])


async def without_member(tools):
    await tools.groups("--describe", "--group", GROUP, expect=[
        rf".*Consumer group '{GROUP}' has no active members\.",
        rf"{GROUP} {TOPIC} 0 5 \d+ \d+ - - -", rf"{GROUP} {TOPIC} 1 7 \d+ \d+ - - -"])
    await tools.groups("--reset-offsets", "--group", GROUP, "--topic", f"{TOPIC}:0",
                       "--to-offset", "3", "--execute", expect=[rf"{GROUP} {TOPIC} 0 3"])
    await tools.groups("--reset-offsets", "--group", GROUP, "--topic", f"{TOPIC}:1",
                       "--to-earliest", "--execute", expect=[rf"{GROUP} {TOPIC} 1 0"])
    await tools.groups("--describe", "--group", GROUP, expect=[
        rf"{GROUP} {TOPIC} 0 3 .*", rf"{GROUP} {TOPIC} 1 0 .*"])
    await tools.groups("--delete-offsets", "--group", GROUP, "--topic", f"{TOPIC}:1",
                       expect=[f"{TOPIC} 1 Successful"])
    await tools.groups("--describe", "--group", GROUP, expect=[rf"{GROUP} {TOPIC} 0 3 .*"],
                       refuse=[rf"{GROUP} {TOPIC} 1 .*"])
    await tools.groups("--describe", "--group", GROUP, "--state", expect=[
        rf"{GROUP} 127\.0\.0\.1:\d+ \([1-9]\) (- )?Empty 0"])
    await tools.groups("--delete", "--group", GROUP, expect=[
        rf"Deletion of requested consumer groups \('{GROUP}'\) was successful\."])
    await tools.groups("--list", refuse=[GROUP])
    await tools.groups("--describe", "--group", GROUP, expect=[r".*GroupIdNotFoundException.*"])
