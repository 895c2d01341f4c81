"""On generated histories the zones agree with the search, which finds no fault with a correct
server and most of the bugs. (agree.py does the same with Porcupine, on 1,000 histories.)"""

import collections
import unittest

import check
import generate
import search
import zones
from generations import Generations
from ops import History
from registers import Registers

SEEDS = 20
OPERATIONS = 300

# The share of histories with a bug that must be found. What was lost or wrong and never read before
# the next commit cannot be seen in a history: that is what the log is for (C2).
RATES = {
    "lost": 0.3,
    "rollback": 0.8,
    "stale": 0.8,
    "nofence": 1.0,
    "refused": 0.4,
    "invented": 1.0,
}


def judge(events):
    """(found by zones or search, found by the search alone, all violations)."""
    history = History(events)
    generations = Generations(history)
    registers = Registers(history, generations)
    by_zones, by_search = False, False
    for register in registers.registers.values():
        if not register.is_ambiguous:
            by_zones |= zones.check_register(register) is not None
            by_search |= search.check_register(register) is not None
    registers = Registers(history, generations)
    found = history.problems + registers.violations
    found += list(check.check_registers(history, registers))
    found += [v for v in generations.check() if v.invariant == "I4"]
    return by_zones, by_search, found


class Generated(unittest.TestCase):
    def test_correct(self):
        for kind in ("members", "simple"):
            for seed in range(SEEDS):
                events, _ = generate.generate(seed, None, OPERATIONS, kind)
                _, _, found = judge(events)
                with self.subTest(kind=kind, seed=seed):
                    self.assertEqual([v.text for v in found], [])

    def test_bugs(self):
        for bug in generate.MEMBERS_BUGS:
            counts = collections.Counter()
            for seed in range(SEEDS):
                events, fired = generate.generate(seed, bug, OPERATIONS)
                by_zones, by_search, found = judge(events)
                with self.subTest(bug=bug, seed=seed):
                    self.assertEqual(by_zones, by_search, "zones and search differ")
                counts["fired"] += fired
                counts["found"] += fired and bool(found)
            with self.subTest(bug=bug):
                self.assertGreaterEqual(counts["fired"], SEEDS // 2)
                self.assertGreaterEqual(counts["found"] / counts["fired"], RATES[bug])

    def test_simple_bugs(self):
        """Of these few are visible; all kinds together must be."""
        found = collections.Counter()
        for bug in generate.SIMPLE_BUGS:
            for seed in range(SEEDS):
                events, fired = generate.generate(seed, bug, OPERATIONS, "simple")
                found[bug] += fired and bool(judge(events)[2])
        for bug in generate.SIMPLE_BUGS:
            self.assertGreater(found[bug], 0, bug)


if __name__ == "__main__":
    unittest.main()
