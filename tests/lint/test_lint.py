"""Each rule of lint.py catches what it is for, and lets the neighbour pass."""

import unittest

import lint


def offences(path, text):
    return [what for _, what in lint.check_file(path, text)]


class Rules(unittest.TestCase):
    def test_core_must_not_see_raftlog(self):
        self.assertTrue(offences("server/core/a.c", '#include "raftlog/raftlog.h"\n'))
        self.assertFalse(offences("server/core/a.c", '#include "rpc/span.h"\n'))

    def test_rpc_must_not_see_core(self):
        self.assertTrue(offences("rpc/a.c", '#include "server/core/call.h"\n'))

    def test_raftlog_sees_only_the_plain_part_of_rpc(self):
        self.assertTrue(offences("raftlog/a.c", '#include "rpc/codec.h"\n'))
        self.assertFalse(offences("raftlog/a.c", '#include "rpc/buf.h"\n'))

    def test_server_sees_only_the_contract_of_raftlog(self):
        self.assertTrue(offences("server/a.c", '#include "raftlog/guard.h"\n'))
        self.assertFalse(offences("server/a.c", '#include "raftlog/raftlog.h"\n'))

    def test_pure_layers_have_no_loop_or_clock(self):
        self.assertTrue(offences("rpc/a.c", "#include <uv.h>\n"))
        self.assertTrue(offences("server/core/a.c", "#include <time.h>\n"))
        self.assertTrue(offences("server/core/a.c", "int64_t t = time(NULL);\n"))
        self.assertFalse(offences("server/core/a.c", "/* time(NULL) */ int64_t a_time(void);\n"))
        self.assertFalse(offences("server/a.c", "#include <uv.h>\n"))

    def test_only_raftlog_includes_the_library(self):
        self.assertTrue(offences("server/a.c", "#include <raft.h>\n"))
        self.assertFalse(offences("raftlog/a.c", "#include <raft.h>\n"))

    def test_banned_calls(self):
        self.assertTrue(offences("server/a.c", "    strcpy(a, b);\n"))
        self.assertFalse(offences("server/a.c", '    log("strcpy(a)");\n'))

    def test_unfinished_marks(self):
        self.assertTrue(offences("docs/a.md", "TO" + "DO: write this\n"))

    def test_long_function(self):
        body = "int f(void)\n{\n" + "    g();\n" * 71 + "}\n"
        self.assertTrue(offences("server/a.c", body))
        self.assertFalse(offences("server/a.c", body.replace("    g();\n", "", 5)))

    def test_long_file(self):
        self.assertTrue(offences("server/a.c", "int a;\n" * 801))
        self.assertFalse(offences("server/a.c", "int a;\n" * 799))

    def test_dead_file(self):
        self.assertTrue(list(lint.check_listed("server/a.c", "add_library(x b.c)")))
        self.assertFalse(list(lint.check_listed("server/b.c", "add_library(x b.c)")))


if __name__ == "__main__":
    unittest.main()
