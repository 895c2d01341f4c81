"""One client program: its process, and what it says, written into the history.

A program reports on standard output, one JSON object a line, and waits for `ack N` where the line
has an "ack": what it does next then lies behind the event in the history. What ended lies before
its event. So the intervals in the history contain the true ones.
"""

import json
import os
import signal
import subprocess
import threading
import time

from history import DEFINITE

CLOSE_S = 15.0


class Program:
    """[names]: of the consumers that it runs."""

    def __init__(self, clerk, kind, names, groups, argv, log):
        self.clerk, self.kind, self.names, self.groups = clerk, kind, list(names), dict(groups)
        self.name = self.names[0]
        self.argv, self.log_path = argv, log
        self.process = self.reader = None
        self.library = self.failure = None
        self.is_paused = self.is_expected_to_end = False
        self._ids = {name: name for name in names}  # its member id, once that is known
        self._processes = {}  # name -> clerk.Process
        self._open = {}  # (name, op) -> clerk.Process
        self._writing = threading.Lock()
        self._closed = 0

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stderr=log,
                                            stdout=subprocess.PIPE, start_new_session=True)
        for name in self.names:
            self._life("start", name)
        self.reader = threading.Thread(target=self._listen, daemon=True)
        self.reader.start()
        return self

    def is_alive(self):
        return self.process.poll() is None

    def _life(self, what, name):
        self.clerk.write(name, "ok", "life", {"what": what, "members": [self._ids[name]],
                                              "name": name, "group": self.groups[name]},
                         client=self.kind)

    # What it says

    def _listen(self):
        try:
            self._read()
        except Exception as failure:  # ours, not the program's: the run says nothing
            self.failure = failure
            self._signal(signal.SIGKILL)

    def _read(self):
        for line in self.process.stdout:
            try:
                report = json.loads(line)
                event, who = report.pop("event"), report.pop("who")
            except (ValueError, KeyError, AttributeError, TypeError):
                self._note(f"not an event: {line!r}")
                continue
            getattr(self, f"_on_{event}")(who, report)
            if "ack" in report:
                self.tell(f"ack {report['ack']}")
        self.process.wait()
        for process in self._open.values():
            process.complete("info", {}, None, "closed")
        self._open.clear()
        for name in self.names:
            self._life("kill", name)
        if not self.is_expected_to_end:
            self._note(f"ended by itself with {self.process.returncode}")

    def _note(self, text):
        with open(self.log_path, "a", encoding="utf-8") as log:
            log.write(f"# {text}\n")

    def _on_ready(self, _, report):
        self.library = report["library"]

    def _on_error(self, who, report):
        self._note(f"{who}: {report['text']}")

    def _on_closed(self, who, _):
        self._closed += 1
        self.names.remove(who)
        self._life("close", who)

    def _callback(self, f, who, report):
        self._ids[who] = report["member"] or self._ids[who]
        self.clerk.write(who, "ok", f, {"group": self.groups[who], "member": report["member"],
                                        "gen": report["gen"], "parts": report["parts"]},
                         client=self.kind)

    def _on_assigned(self, who, report):
        self._callback("assigned", who, report)

    def _on_revoked(self, who, report):
        self._callback("revoked", who, report)

    def _on_lost(self, who, report):
        self._callback("lost", who, report)

    def _on_processed(self, who, report):
        for topic, partition, offset in report["rows"]:
            self.clerk.write(who, "ok", "processed",
                             {"group": self.groups[who], "topic": topic, "partition": partition,
                              "offset": offset}, client=self.kind)

    def _on_invoke(self, who, report):
        value = {"group": self.groups[who], "parts": report["parts"]}
        if report["f"] == "commit":
            value.update(gen=report["gen"], member=report["member"], instance=None)
        process = self._process_of(who)
        self._open[who, report["op"]] = process
        process.invoke(report["f"], value, None)

    def _process_of(self, who):
        if who not in self._processes:
            self._processes[who] = self.clerk.process(self.kind)
        return self._processes[who]

    def _on_done(self, who, report):
        process = self._open.pop((who, report["op"]))
        kind, error, parts = ending(report, is_single=self.kind == "sarama")
        process.complete(kind, {"parts": parts} if parts else {}, None, error)
        if report.get("text"):
            self._note(f"{who}: {process.number}: {report['text']}")

    # What it is told

    def tell(self, line):
        with self._writing:
            try:
                self.process.stdin.write(f"{line}\n".encode())
                self.process.stdin.flush()
            except (OSError, ValueError):
                pass  # it has ended; its reader says so

    def _signal(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def pause(self):
        if not self.is_paused:
            self._signal(signal.SIGSTOP)
            self.is_paused = True
            for name in self.names:
                self._life("pause", name)

    def resume(self):
        if self.is_paused:
            for name in self.names:
                self._life("resume", name)
            self.is_paused = False
            self._signal(signal.SIGCONT)

    def kill(self):
        self.is_expected_to_end = True
        self._signal(signal.SIGKILL)
        self.reader.join(CLOSE_S)

    def close(self):
        """Lets its consumers leave in good order; kills it where that takes too long."""
        self.is_expected_to_end = True
        self.resume()
        for name in list(self.names):
            self.tell(f"close {name}")
        until = time.monotonic() + CLOSE_S
        while self.is_alive() and self._closed < len(self.groups) and time.monotonic() < until:
            time.sleep(0.1)
        self._end_input()  # one of several consumers ends with it
        self.reader.join(max(0.1, until - time.monotonic()))
        if self.reader.is_alive():
            self.kill()

    def _end_input(self):
        with self._writing:
            try:
                self.process.stdin.close()
            except OSError:
                pass  # it was faster


def ending(report, is_single):
    """(type, error, parts) of a call that ended. [is_single]: the program sent one request, so
    that a definite error is the last word; the other libraries repeat requests by themselves, and
    an error may follow a request that was carried out."""
    parts, error = report.get("parts"), report.get("error")
    if error is None and not parts:
        error = "exception"
    if error is None:
        codes = [row[-1] for row in parts if len(row) != 2]
        if 0 in codes:
            return "ok", None, parts
        error = next((code for code in codes if code not in DEFINITE), codes[0])
    definite = is_single and error in DEFINITE
    return "fail" if definite else "info", error, parts
