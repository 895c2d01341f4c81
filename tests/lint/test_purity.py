"""purity.py finds what it is for: in archives that are made here, with the compiler and nm."""

import pathlib
import subprocess
import tempfile
import unittest

import purity

ALLOWED = purity.read_allowed("# bytes\nmemcpy\n\n# sanitizers\n__asan_*\n")
PURE = "#include <string.h>\nvoid copy(char *to, const char *from, int n);\n" \
       "void copy(char *to, const char *from, int n) { memcpy(to, from, (unsigned)n); }\n"
CLOCK = "#include <time.h>\nlong now(void);\nlong now(void) { return (long)time(0); }\n"
ABOVE = "void copy(char *to, const char *from, int n);\nvoid twice(char *to, const char *from);\n" \
        "void twice(char *to, const char *from) { copy(to, from, 2); }\n"


class Purity(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)

    def archive(self, name, **units):
        """An archive of these sources, as purity.py reads it."""
        folder = pathlib.Path(self.scratch.name)
        objects = []
        for unit, text in units.items():
            source = folder / f"{unit}.c"
            source.write_text(text)
            objects.append(folder / f"{unit}.c.o")
            subprocess.run(["cc", "-O1", "-c", source, "-o", objects[-1]], check=True)
        subprocess.run(["ar", "rc", folder / name, *objects], check=True)
        return (name, *purity.symbols(folder / name))

    def test_bytes_are_pure(self):
        self.assertEqual(purity.offences([self.archive("low.a", pure=PURE)], ALLOWED), [])

    def test_a_clock_is_not_and_who_reads_it_is_named(self):
        low = self.archive("low.a", pure=PURE, clock=CLOCK)
        self.assertEqual(purity.offences([low], ALLOWED), [("low.a", "clock.c.o", "time")])

    def test_a_layer_may_call_what_is_below_it_and_not_what_is_above(self):
        low, high = self.archive("low.a", pure=PURE), self.archive("high.a", above=ABOVE)
        self.assertEqual(purity.offences([low, high], ALLOWED), [])
        self.assertEqual(purity.offences([high, low], ALLOWED), [("high.a", "above.c.o", "copy")])

    def test_each_name_has_one_place_and_a_reason(self):
        for bad in ("memcpy\n", "# bytes\nmemcpy\nmemcpy\n", "# bytes\nmemcpy\n\nmemset\n"):
            with self.assertRaises(ValueError):
                purity.read_allowed(bad)
        names, _ = purity.read_allowed(purity.ALLOWED.read_text(encoding="utf-8"))
        for impure in ("time", "clock_gettime", "getrandom", "rand", "read", "write", "getenv",
                       "pthread_create", "uv_now", "printf", "socket", "open"):
            self.assertNotIn(impure, names)


if __name__ == "__main__":
    unittest.main()
