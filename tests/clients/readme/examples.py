"""The README's examples made into programs.

An example stays as it is printed, except that it gets this cluster's addresses and a group of its
own. Around it goes what it leaves to the reader: imports, a main function where it has none, and
work(), which takes a moment, moves the position on by STEP, and tells what it was given.
"""

import dataclasses
import re
import shutil
import subprocess

import clients

STEP = 10
WORK_MS = 20
PLACE = clients.CACHE / "readme"
NEED = clients.HERE.parent.parent / "deploy/need"
GROUP = "crawlers"  # as the README calls it


@dataclasses.dataclass
class Language:
    name: str
    client: str  # whose packages it needs, as clients.py calls it; none: librdkafka-dev
    fence: str  # the language of its block in the README
    file: str
    around: str  # EXAMPLE in it is replaced
    command: list
    build: list = dataclasses.field(default_factory=list)
    borrowed: dict = dataclasses.field(default_factory=dict)  # name here -> file or folder

    @property
    def place(self):
        return PLACE / self.name

    @property
    def group(self):
        return f"{GROUP}-{self.name}"


PYTHON = f"""
import time

def work(shard, position):
    time.sleep({WORK_MS} / 1000)
    print(shard, position, flush=True)
    return position + {STEP}

EXAMPLE
"""

JAVA = f"""
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.serialization.BytesDeserializer;

class Worker {{
    static long work(int shard, long position) throws InterruptedException {{
        Thread.sleep({WORK_MS});
        System.out.println(shard + " " + position);
        return position + {STEP};
    }}

    public static void main(String[] unused) throws Exception {{
EXAMPLE
    }}
}}
"""

NODE = f"""
async function work(shard, position) {{
  await new Promise(resolve => globalThis.setTimeout(resolve, {WORK_MS}))
  console.log(shard, position)
  return position + {STEP}
}}

EXAMPLE
"""

GO = f"""
package main

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func work(shard int32, position int64) int64 {{
	time.Sleep({WORK_MS} * time.Millisecond)
	fmt.Println(shard, position)
	return position + {STEP}
}}

func main() {{
EXAMPLE
}}
"""

C = f"""
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <unistd.h>

static int64_t work(int32_t shard, int64_t position) {{
    usleep({WORK_MS} * 1000);
    printf("%" PRId32 " %" PRId64 "\\n", shard, position);
    fflush(stdout);
    return position + {STEP};
}}

EXAMPLE
"""

JARS = f"{clients.CACHE}/java/lib/*"
LANGUAGES = [
    Language("python", "confluent-kafka", "python", "worker.py", PYTHON,
             [f"{clients.CACHE}/confluent-kafka/bin/python", "worker.py"]),
    Language("java", "java", "java", "Worker.java", JAVA,
             [*clients.JVM, "-cp", f".:{JARS}", "Worker"],
             ["javac", "-Xlint:all", "-Werror", "-cp", JARS, "Worker.java"]),
    Language("node", "kafkajs", "js", "worker.mjs", NODE, ["node", "worker.mjs"],
             borrowed={"node_modules": clients.CACHE / "kafkajs/node_modules"}),
    Language("go", "franz-go", "go", "main.go", GO, ["./worker"],
             ["go", "build", "-o", "worker", "."],
             {name: clients.HERE / "franz-go" / name for name in ("go.mod", "go.sum")}),
    Language("c", "", "c", "worker.c", C, ["./worker"],
             ["gcc", "-Wall", "-Wextra", "-Werror", "-o", "worker", "worker.c", "-lrdkafka"]),
]


class ExampleError(Exception):
    """The README has no such example, or it is no program."""


def fenced(readme, language):
    """The text of the only fenced block of this language."""
    found = re.findall(rf"^```{language}\n(.*?)\n```$", readme, re.S | re.M)
    if len(found) != 1:
        raise ExampleError(f"the README has {len(found)} blocks of {language}")
    return found[0]


def indented(readme, beginning):
    """The lines of the only indented block whose first line begins so, up to a blank line."""
    found = re.findall(rf"(?<=\n\n)(    {re.escape(beginning)}.*?)(?=\n\n)", readme, re.S)
    if len(found) != 1:
        raise ExampleError(f"the README has {len(found)} blocks that begin with {beginning!r}")
    return "".join(line[4:] + "\n" for line in found[0].splitlines())


def replaced(text, replacements):
    """Each pattern must be there; a text that does not have it would test something else."""
    for pattern, instead in replacements.items():
        text, count = re.subn(pattern, instead, text)
        if count == 0:
            raise ExampleError(f"nothing matches {pattern!r} in:\n{text}")
    return text


def make(language, readme, ports):
    """Writes and builds the language's program."""
    shutil.rmtree(language.place, ignore_errors=True)
    language.place.mkdir(parents=True)
    here = {f"roster-{i}:9092": f"127.0.0.1:{port}" for i, port in ports.items()}
    example = replaced(fenced(readme, language.fence),
                       {**here, rf"(['\"]){GROUP}\1": rf"\1{language.group}\1"})
    (language.place / language.file).write_text(
        language.around.lstrip().replace("EXAMPLE", example))
    for name, source in language.borrowed.items():
        if source.is_dir():
            (language.place / name).symlink_to(source)
        else:
            shutil.copy(source, language.place / name)
    if language.build:
        done = subprocess.run(language.build, cwd=language.place, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise ExampleError(f"{language.name}: {' '.join(language.build)} failed:\n"
                               f"{done.stdout[-3000:]}")


def install(languages):
    wanted = [clients.KAFKA_TOOLS]
    wanted += [c for c in clients.CURRENT if c.name in {found.client for found in languages}]
    lacking = clients.missing_tools(wanted)
    if lacking:
        raise ExampleError("\n".join(lacking))
    for client in wanted:
        clients.install(client)
    if any(not language.client for language in languages):
        subprocess.run([NEED, "gcc", "libc6-dev", "librdkafka-dev"], check=True)
