"""The table and the plan: what they must not let pass."""

import re
import subprocess
import sys
import tempfile
import types
import unittest

import bugs
import hunt_rules
import rules
import table

RESULT = {"bug": 6, "suite": "coordinators", "seeds": 1, "seconds": 0.1, "words": "a | b"}


class Planted(unittest.TestCase):
    def test_the_code_has_the_bugs_of_the_table_and_no_others(self):
        text = "\n".join(path.read_text(encoding="utf-8") for folder in ("rpc", "server", "raftlog")
                         for path in (bugs.ROOT / folder).rglob("*.[ch]"))
        planted = {int(number) for number in re.findall(r"ROSTER_BUG\s*[!=]=\s*(\d+)", text)}
        self.assertEqual(planted, {*bugs.BUGS, *rules.RULES})

    def test_the_build_knows_the_parts_of_rules_and_no_others(self):
        text = (bugs.ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        pattern = "".join(re.findall(r'"([^"]*)"', text.split("CONCAT parts", 1)[1].split(")\n", 1)[0]))
        self.assertEqual({number for number in range(2000, 3000) if re.fullmatch(pattern, str(number))},
                         {rules.WHOLE, *rules.RULES})

    def test_each_rule_is_taken_out_or_comes_later(self):
        of_parts = [rules.RULES[bug].rule for bug in rules.RULES]
        self.assertEqual({*of_parts, *rules.LATER}, {f"R{n}" for n in range(1, 23)})
        for bug, part in rules.RULES.items():
            self.assertEqual(part.rule, f"R{bug // 10 % 100}")
            self.assertTrue(part.checks, bug)
            for check in part.checks:
                rules.program_of(check)
        self.assertTrue(set(rules.SHORT) <= set(rules.RULES))

    def test_the_rules_table_of_the_invariants_names_each_test(self):
        text = (bugs.ROOT / "docs/INVARIANTS.md").read_text(encoding="utf-8")
        rows = dict(re.findall(r"^\| (R\d+) (.*)$", text, re.M))
        for part in rules.RULES.values():
            for check in part.checks:
                test = check.split()[0]
                name = test.removeprefix(rules.SCENARIO)
                name = test if name == test else f"tests/scenarios/{name}.txt"
                self.assertIn(f"`{name}`", rows[part.rule], f"{part.rule}: {check}")

    def test_a_rule_without_a_result_is_named(self):
        self.assertRegex(table.made_of_rules([]), r"\| R1 \| 2011 \|.* not noticed \|")
        result = {"bug": 2011, "suite": rules.RULES[2011].checks[0], "seconds": 0.1, "words": "a"}
        self.assertRegex(table.made_of_rules([result]), r"\| R1 \| 2011 \|.*\| 0.1 \| a \|")

    def test_what_a_test_said(self):
        transcript = ("/x/g.txt:7: not as expected\nexpected:\n1 a\n1 b\ngot:\n1 a\n1 c\n\n"
                      "/x/g.txt:9: not as expected\nexpected:\ngot:\n\n")
        self.assertEqual(hunt_rules.words_of(transcript), "g.txt:7: '1 c' for '1 b'")
        unit = "[----] ./a/test_a.c:3: Assertion Failed\n[----]   \n[----]   1 is not 2\n[FAIL] a::b"
        self.assertEqual(hunt_rules.words_of(unit), "test_a.c:3: 1 is not 2")
        self.assertEqual(hunt_rules.words_of("FAIL: test_a (t.A)\nAssertionError: 1 != 2"),
                         "AssertionError: 1 != 2")
        self.assertEqual(hunt_rules.words_of("nothing"), "fails")

    def test_each_bug_has_a_suite_and_the_short_plan_is_part_of_the_long(self):
        for bug, about in bugs.BUGS.items():
            self.assertTrue(about.suites and set(about.suites) <= set(bugs.SUITES), bug)
        for bug, suite in bugs.SHORT:
            self.assertIn(suite, bugs.BUGS[bug].suites)

    def test_a_bug_without_a_result_is_named(self):
        self.assertIn("| 7 | JoinGroup is answered before the generation is a fact | not noticed |",
                      table.made([RESULT]))

    def test_a_row_per_suite_and_the_bug_once(self):
        text = table.made([{**RESULT, "suite": "chaos: churn"}, RESULT])
        rows = [row for row in text.splitlines() if "a \\| b" in row]
        self.assertTrue(rows[0].startswith("| 6 | OffsetCommit"), rows)
        self.assertTrue(rows[1].startswith("|  |  | chaos: churn | 1 | 0.1 |"), rows)

    def test_marks_that_are_missing(self):
        with self.assertRaises(ValueError):
            table.parts("no table here")
        before, inside, behind = table.parts(f"a\n{table.OF_BUGS.begin}\nrow\n{table.OF_BUGS.end}\nb\n")
        self.assertEqual((before, inside, behind), ("a\n", "row\n", "\nb\n"))

    def suite(self, program):
        suite = bugs.Suite("", "tests", "none", None, r"^seed \d+: (.+)$")
        suite.command = types.MethodType(lambda *_: [sys.executable, "-c", program], suite)
        return suite

    def test_what_a_seed_said(self):
        run = lambda program: self.suite(program).run(bugs.ROOT, 1, 5)  # noqa: E731
        self.assertIsNone(run("print('seed 1: nothing')"))
        self.assertEqual(run("print('seed 1: it  broke'); exit(1)"), "it broke")
        self.assertEqual(run("import os; os.kill(os.getpid(), 6)"), "ended by signal 6")
        with self.assertRaises(RuntimeError):
            run("exit(2)")
        self.assertEqual(self.suite("import time; time.sleep(9)").run(bugs.ROOT, 1, 0.2),
                         "does not end")

    def configure(self, *options):
        with tempfile.TemporaryDirectory() as place:
            return subprocess.run(["cmake", "-S", bugs.ROOT, "-B", place, "-G", "Ninja",
                                   "-DROSTER_TESTS=OFF", *options], capture_output=True, text=True)

    def test_an_unknown_number_and_a_release_do_not_configure(self):
        for options, words in ((["-DROSTER_BUG=21"], "there is no such planted bug"),
                               (["-DROSTER_BUG=6", "-DCMAKE_BUILD_TYPE=Release"],
                                "a release has no planted bug")):
            done = self.configure(*options)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
