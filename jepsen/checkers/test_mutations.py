"""What is broken in one place must be noticed, at the rates stated here; what only hides something
must not change the verdict. The history is the beginning of a recorded run."""

import gzip
import json
import pathlib
import unittest

import check
import mutate
from ops import History

RECORDED = pathlib.Path(__file__).resolve().parent / "goldens/recorded/smoke.jsonl.gz"
EACH = 8

# The least share of mutations that must flip the verdict. An older value or none in place of what
# was read can hide among concurrent commits; a generation of one is what the first join of a group
# is told.
RATES = {
    "stale_read": 1.0,
    "none_read": 1.0,
    "other_offset": 1.0,
    "refused_but_read": 1.0,
    "older_generation": 1.0,
    "generation_falls": 1.0,
    "other_assignment": 1.0,
    "evicted": 1.0,
    "unknown_error": 1.0,
}


def recorded():
    with gzip.open(RECORDED, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def is_valid(events):
    result = check.judge(History(events, {"floors": {}}))
    return not result.violations, result.violations


class Mutations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.events = recorded()

    def test_unchanged(self):
        valid, violations = is_valid(self.events)
        self.assertTrue(valid, [v.text for v in violations])

    def test_breaking(self):
        for mutation in mutate.BREAKING:
            flipped, tried = 0, 0
            for seed in range(EACH):
                events = mutate.mutate(self.events, mutation, seed)
                self.assertIsNotNone(events, f"{mutation.__name__} finds no place")
                tried += 1
                flipped += not is_valid(events)[0]
            with self.subTest(mutation=mutation.__name__):
                self.assertGreaterEqual(flipped / tried, RATES[mutation.__name__])

    def test_neutral(self):
        for mutation in mutate.NEUTRAL:
            for seed in range(EACH):
                events = mutate.mutate(self.events, mutation, seed)
                valid, violations = is_valid(events)
                with self.subTest(mutation=mutation.__name__, seed=seed):
                    self.assertTrue(valid, [v.text for v in violations])


if __name__ == "__main__":
    unittest.main()
