"""The tables of the documents are true: docs/RECORDS.md has the rows of the record tables in their
order, docs/INVARIANTS.md names only functions, files and tests that exist, and every row 1 to 37 of
the protocol's behaviours is named by a test, and by the one that the table says."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
ROWS = range(1, 38)
# What the documents call the kinds of the tables.
KINDS = {"i8": "int8", "i32": "int32", "i64": "int64"}


def text_of(*patterns):
    """All files of these patterns as one text, the build's folders left out."""
    found = [p for pattern in patterns for p in ROOT.glob(pattern)]
    return "\n".join(p.read_text(encoding="utf-8", errors="replace") for p in found)


def defined_rows(path, word):
    """[(number or '', name, body as the documents write it)] of a table of records."""
    pattern = re.compile(
        rf"^(?:{word}\((\w+),\s*\w+,\s*(\d+),|STRUCT\((\w+)\))"
        r"|^\s+(FIELD|ARRAY|LIST)\((\w+),\s*(\w+),\s*0,\s*LAST,\s*(\w+),", re.M)
    rows = []
    for match in pattern.finditer(path.read_text(encoding="utf-8")):
        record, number, struct, shape, kind, field, null = match.groups()
        if shape is None:
            rows.append((number or "", short(record or struct), []))
            continue
        kind = KINDS.get(kind, kind) if shape != "ARRAY" else short(kind)
        described = ("list of " if shape != "FIELD" else "") + kind
        rows[-1][2].append(f"{field} {described}" + (" or null" if null == "0" else ""))
    return [(number, name, ", ".join(fields)) for number, name, fields in rows]


def short(name):
    return re.sub(r"^(record|snapshot)_", "", name)


def documented_rows():
    text = (DOCS / "RECORDS.md").read_text(encoding="utf-8")
    return re.findall(r"^\| +(\d*) *\| (\w+) \| (.+ \w+) \|$", text, re.M)


class Records(unittest.TestCase):
    def test_every_record_and_row_is_documented_as_it_is(self):
        folder = ROOT / "server/core/records"
        defined = (defined_rows(folder / "records.def", "RECORD") +
                   defined_rows(folder / "snapshot.def", "SNAPSHOT"))
        self.assertGreater(len(defined), 25)
        documented = [row for row in documented_rows() if re.search(r"\b(uvarint|string)\b|int",
                                                                    row[2])]
        self.assertEqual(documented, defined)


class Invariants(unittest.TestCase):
    def setUp(self):
        self.text = (DOCS / "INVARIANTS.md").read_text(encoding="utf-8")
        self.words = set(re.findall(r"`([^`]+)`", self.text))

    def test_functions_exist(self):
        code = text_of("rpc/*.[ch]", "server/**/*.[ch]", "raftlog/*.[ch]")
        named = {word[:-2] for word in self.words if re.fullmatch(r"\w+\(\)", word)}
        self.assertGreater(len(named), 40)
        missing = [name for name in named if not re.search(rf"\b{name}\(", code)]
        self.assertEqual(missing, [])

    def test_files_exist(self):
        paths = {word for word in self.words if "/" in word}
        self.assertGreater(len(paths), 40)
        self.assertEqual([path for path in paths if not (ROOT / path).exists()], [])

    def test_tests_exist(self):
        registered = text_of("tests/**/CMakeLists.txt")
        named = {word for word in self.words if re.match(r"(core|raftlog|cluster|lint|server)\.\w", word)
                 and "/" not in word}
        self.assertGreater(len(named), 5)
        for name in named:
            loop = re.escape(name.rpartition(".")[0]) + r"\.\$\{\w+\}"  # foreach() makes the rest
            self.assertTrue(re.search(rf"NAME {re.escape(name)}\b", registered) or
                            re.search(rf"NAME {loop}", registered), name)

    def table(self, heading):
        """{row: [paths]} of the table under a heading."""
        part = self.text.split(heading, 1)[1].split("\n## ", 1)[0]
        return {int(row): re.findall(r"`([^`]+)`", tests)
                for row, tests in re.findall(r"^\| (\d+) \|[^|]*\|(.*)\|$", part, re.M)}

    def test_every_row_has_a_test_that_names_it(self):
        table = self.table("## Protocol behaviours, by row")
        self.assertEqual(sorted(table), list(ROWS))
        for row, paths in table.items():
            self.assertTrue(paths, f"row {row} names no test")
            for path in paths:
                self.assertIn(row, rows_named_by(ROOT / path), f"row {row}: {path}")

    def test_every_behaviour_is_named_by_its_tests(self):
        table = self.table("## What users of other coordinators complained about")
        self.assertGreater(len(table), 15)
        for behaviour, paths in table.items():
            ours = [p for p in paths if p.startswith("tests/cluster/")]
            for path in ours:
                self.assertIn(behaviour, named(ROOT / path, "behaviours?"), f"{behaviour}: {path}")
            self.assertTrue(paths, f"behaviour {behaviour} names no test")


def named(path, word):
    """The numbers behind a word: "row 7", "rows 16, 17", "rows 16 to 19", "row_7"."""
    text = path.read_text(encoding="utf-8").lower()
    numbers = set()
    for found in re.findall(rf"\b{word}[ _]((?:\d+(?:, | and | to )?)+)|_{word}_(\d+)_", text):
        words = "".join(found)
        for first, last in re.findall(r"(\d+) to (\d+)", words):
            numbers.update(range(int(first), int(last) + 1))
        numbers.update(int(n) for n in re.findall(r"\d+", words))
    return numbers


def rows_named_by(path):
    return named(path, "rows?")


if __name__ == "__main__":
    unittest.main()
