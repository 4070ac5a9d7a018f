#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each rule of tools/tidy finds the fault it is for, and nothing in a clean tree."""

import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
LOADER = importlib.machinery.SourceFileLoader("tidy", str(HERE / "tidy"))
tidy = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", LOADER))
LOADER.exec_module(tidy)

HEAD = "// SPDX-License-Identifier: Apache-2.0\n"
MARKER = "TO" + "DO"


def findings(files, rule):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tidy.check(root, [rule])[1]


class TidyTest(unittest.TestCase):
    def assert_found(self, files, rule, text):
        found = findings(files, rule)
        self.assertEqual(len(found), 1, found)
        self.assertIn(text, found[0])

    def assert_clean(self, files, rule):
        self.assertEqual(findings(files, rule), [])

    def test_core_may_include_base_only(self):
        self.assert_found({"src/core/a.cc": '#include "env/clock.h"\n'}, "include-direction",
                          "core may not include env")
        self.assert_clean({"src/core/a.cc": '#include "base/status.h"\n'}, "include-direction")

    def test_an_include_does_not_point_up(self):
        self.assert_found({"src/store/a.cc": '#include "engine/lane.h"\n'}, "include-direction", "lies above")
        self.assert_clean({"src/engine/a.cc": '#include "store/store.h"\n'}, "include-direction")

    def test_modules_of_one_layer_form_no_circle(self):
        found = findings({"src/log/a.h": '#include "store/a.h"\n', "src/store/a.h": '#include "log/a.h"\n'},
                         "include-direction")
        self.assertEqual(len(found), 2, found)
        self.assertIn("include each other", found[0])

    def test_a_conformance_page_names_tests_that_exist(self):
        page = "docs/reference/conformance-x.md"
        tests = {"src/a/a_test.cc": "TEST_F(Suite, Name) {\n", "tests/a_test.py": "    def test_name(self):\n"}
        self.assert_clean({page: "| 1 | `Suite.Name`, `Suite.*`; `test_name` |\n", **tests}, "named-test")
        for wrong in ("`Suite.Other`", "`Other.Name`", "`Other.*`", "`test_other`"):
            self.assert_found({page: f"| 1 | {wrong} |\n", **tests}, "named-test", "no such test")

    def test_a_conformance_page_has_every_line(self):
        page = "docs/reference/conformance-tasks.md"
        self.assert_clean({page: "| 1, 2 | a |\n| 3-128 | b |\n"}, "named-test")
        self.assert_found({page: "| 1 | a |\n| 3-127 | b |\n"}, "named-test", "lines 2, 128")

    def test_product_code_includes_no_test_code(self):
        self.assert_found({"src/log/a.cc": '#include "sim/world.h"\n'}, "include-direction", "must not include")

    def test_calls_to_the_outside_world_are_for_env(self):
        for call in ("std::chrono::system_clock::now()", "time(nullptr)", "std::rand()", "absl::Now()",
                     "std::this_thread::sleep_for(x)", "usleep(10)", "std::getenv(\"X\")"):
            self.assert_found({"src/engine/a.cc": f"auto x = {call};\n"}, "banned-call", "only src/env may")
            self.assert_clean({"src/env/a.cc": f"auto x = {call};\n"}, "banned-call")

    def test_words_in_comments_and_names_are_no_calls(self):
        self.assert_clean({"src/engine/a.cc": "// never sleep(1) here\nauto y = create_time(0); z.time(0);\n"},
                          "banned-call")

    def test_tests_may_do_what_their_place_needs(self):
        deadline = "auto x = std::chrono::system_clock::now();\n"
        self.assert_clean({"src/front/a_test.cc": deadline}, "banned-call")
        self.assert_found({"src/core/a_test.cc": deadline}, "banned-call", "clock")
        self.assert_clean({"src/log/a_test.cc": 'x = getenv("SLUICE_SOAK_ROUNDS");\n'}, "banned-call")
        self.assert_found({"src/log/a_test.cc": 'x = getenv("DBG");\n'}, "banned-call", "environment")
        self.assert_found({"src/log/a_test.cc": "sleep(1);\n"}, "banned-call", "sleeps")

    def test_settings_enter_through_the_command_line(self):
        self.assert_clean({"src/cli/a.cc": 'x = std::getenv("X");\n'}, "banned-call")

    def test_an_excuse_needs_a_reason(self):
        line = 'auto x = getenv("X");  // tidy: allow(banned-call)'
        self.assert_clean({"src/engine/a.cc": line + " read once at start\n"}, "banned-call")
        self.assert_found({"src/engine/a.cc": line + "\n"}, "banned-call", "environment")

    def test_the_deterministic_modules_read_no_clock_at_all(self):
        call = "auto x = std::chrono::steady_clock::now();\n"
        self.assert_found({"src/log/a.cc": call}, "banned-call", "argument")
        self.assert_clean({"src/dispatch/a.cc": call}, "banned-call")

    def test_sources_name_their_licence(self):
        self.assert_found({"src/base/a.cc": "int x;\n"}, "licence-line", "SPDX")
        self.assert_clean({"src/base/a.cc": HEAD}, "licence-line")

    def test_headers_are_guarded(self):
        self.assert_found({"src/base/a.h": HEAD}, "pragma-once", "pragma once")
        self.assert_clean({"src/base/a.h": HEAD + "#pragma once\n"}, "pragma-once")

    def test_open_ends_have_a_number(self):
        self.assert_found({"src/base/a.cc": f"// {MARKER}: later\n"}, "marker", "issue number")
        self.assert_clean({"src/base/a.cc": f"// {MARKER}(#12): later\n"}, "marker")

    def test_long_files_are_named(self):
        self.assert_found({"src/base/a.cc": "\n" * 801}, "file-length", "801 lines")
        self.assert_clean({"src/base/a.cc": "\n" * 800}, "file-length")

    def test_machine_paths_are_named(self):
        self.assert_found({"docs/a.md": "see /home/" + "ann/x\n"}, "machine-path", "only this machine")
        self.assert_clean({"docs/a.md": "see docs/work/x\n"}, "machine-path")

    def test_a_lock_file_has_no_addresses(self):
        self.assert_found({"package-lock.json": '{"resolved": "x"}\n'}, "machine-path", "resolved")

    def test_an_unlisted_test_is_found(self):
        files = {"src/base/a_test.cc": HEAD, "src/base/CMakeLists.txt": "b_a_test.cc\n"}
        self.assert_found(files, "test-registered", "never runs")
        self.assert_clean({"src/core/x/a_test.cc": HEAD, "src/core/CMakeLists.txt": "x/a_test.cc\n"},
                          "test-registered")

    def test_an_unlisted_decision_is_found(self):
        self.assert_found({"docs/adr/0001-a.md": "x\n"}, "decision-listed", "not listed")

    def test_a_broken_link_is_found(self):
        self.assert_found({"docs/a.md": "[b](b.md)\n"}, "document-link", "does not exist")
        self.assert_clean({"docs/a.md": "[b](../b.md#part) [c](https://example.com)\n", "b.md": "\n"},
                          "document-link")


if __name__ == "__main__":
    unittest.main()
