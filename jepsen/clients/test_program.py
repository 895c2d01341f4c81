"""A client program and its history, with a program that says what a test wants."""

import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import workloads  # noqa: E402, F401  (the paths)
from clients.program import Program, ending  # noqa: E402
from workloads.clerk import Clerk  # noqa: E402
from workloads.fake import Book, unpaired  # noqa: E402

TALKER = """
import sys, json
def say(event, **more): print(json.dumps({"event": event, "who": "a-1", **more}), flush=True)
def wait(): return sys.stdin.readline().strip()
"""
COMMIT = 'say("invoke", op=1, f="commit", parts=[["t",0,5,-1,"a-1/1"]], member="m", gen=3, ack=1)\n'


class ProgramTest(unittest.TestCase):
    def run_program(self, script, kind="sarama"):
        self.book = Book()
        argv = [sys.executable, "-c", TALKER + script]
        program = Program(Clerk(self.book), kind, ["a-1"], {"a-1": "g"}, argv, "/dev/null")
        program.start()
        self.addCleanup(program.process.stdin.close)
        self.addCleanup(program.process.stdout.close)
        self.addCleanup(program.kill)
        return program

    def ended(self, program):
        program.reader.join(5)
        self.assertFalse(program.reader.is_alive())
        self.assertEqual(unpaired(self.book.events), [])

    def events(self, *fs):
        return [e for e in self.book.events if e["f"] in fs]

    def test_a_commit(self):
        self.ended(self.run_program(
            COMMIT + 'assert wait() == "ack 1"\nsay("done", op=1, error=None, parts=[["t",0,0]])'))
        invoke, ok = self.events("commit")
        self.assertEqual(invoke["value"], {"group": "g", "gen": 3, "member": "m", "instance": None,
                                           "parts": [["t", 0, 5, -1, "a-1/1"]]})
        self.assertEqual((ok["type"], ok["value"]), ("ok", {"parts": [["t", 0, 0]]}))

    def test_the_ack_follows_the_event(self):
        """What the program does after an ack lies behind the event in the history."""
        self.ended(self.run_program(
            'say("revoked", parts=[["t",[0]]], member="m", gen=3, ack=1)\nwait()\n'
            'say("processed", rows=[["t",0,1]], ack=2)\nwait()'))
        self.assertEqual([e["f"] for e in self.events("revoked", "processed")],
                         ["revoked", "processed"])

    def test_killed_in_the_middle(self):
        program = self.run_program(COMMIT + "wait(); wait()")
        while not self.events("commit"):
            time.sleep(0.01)
        program.kill()
        self.ended(program)
        self.assertEqual([(e["type"], e.get("error")) for e in self.events("commit")],
                         [("invoke", None), ("info", "closed")])
        self.assertEqual([e["value"]["what"] for e in self.events("life")], ["start", "kill"])

    def test_a_pause_is_told(self):
        program = self.run_program("wait()")
        program.pause()
        program.pause()
        program.resume()
        program.kill()
        self.assertEqual([e["value"]["what"] for e in self.events("life")],
                         ["start", "pause", "resume", "kill"])

    def test_close(self):
        program = self.run_program('assert wait() == "close a-1"\nsay("closed")')
        program.close()
        self.ended(program)
        self.assertEqual([e["value"]["what"] for e in self.events("life")], ["start", "close"])

    def test_life_names_the_member_once_it_is_known(self):
        program = self.run_program('say("assigned", parts=[], member="m", gen=1, ack=1)\nwait()')
        self.ended(program)
        self.assertEqual([e["value"]["members"] for e in self.events("life")], [["a-1"], ["m"]])

    def test_noise_is_no_event(self):
        program = self.run_program(
            'print("hello"); print("{}"); print("[]"); print(1, flush=True)\n' + COMMIT + "wait()")
        while not self.events("commit"):
            time.sleep(0.01)
        self.ended(program)
        self.assertIsNone(program.failure)

    def test_a_fault_of_ours_is_kept(self):
        program = self.run_program('say("no-such-event")\nwait()')
        program.reader.join(5)
        self.assertIsInstance(program.failure, AttributeError)


class EndingTest(unittest.TestCase):
    def end(self, is_single=True, **report):
        return ending(report, is_single)[:2]

    def test_success(self):
        self.assertEqual(self.end(error=None, parts=[["t", 0, 22], ["t", 1, 0]]), ("ok", None))
        self.assertEqual(self.end(error=None, parts=[["t", 0, 5, -1, "", 0]]), ("ok", None))

    def test_definite(self):
        self.assertEqual(self.end(error=None, parts=[["t", 0, 22]]), ("fail", 22))
        self.assertEqual(self.end(error=25, parts=None), ("fail", 25))

    def test_a_library_that_repeats_requests_leaves_it_open(self):
        self.assertEqual(self.end(False, error=22, parts=None), ("info", 22))
        self.assertEqual(self.end(False, error=None, parts=[["t", 0, 22]]), ("info", 22))

    def test_open(self):
        self.assertEqual(self.end(error="timeout", parts=None), ("info", "timeout"))
        self.assertEqual(self.end(error=None, parts=[["t", 0, 16], ["t", 1, 22]]), ("info", 16))
        self.assertEqual(self.end(error=None, parts=None), ("info", "exception"))


if __name__ == "__main__":
    unittest.main()
