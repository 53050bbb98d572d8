"""The runner itself: what it takes for a command, and that it sees what is wrong."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import page_commands
import pages


class Pages(unittest.TestCase):
    def commands(self, text):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "page.md").write_text(text)
            root = pages.root
            pages.root = lambda: pathlib.Path(folder)
            try:
                return pages.commands_of("page.md")
            finally:
                pages.root = root

    def test_commands_in_indented_and_fenced_blocks(self):
        found = self.commands("Text.\n\n    runnel a    # why\n    {\"type\":1}\n\n```sh\nrunnel b\n```\n\n```cmake\nrunnel c\n```\n\n- list:\n\n      $ d x\n      out\n")
        self.assertEqual([pages.key_of(one.text) for one in found], ["runnel a", "runnel b", "d x"])
        self.assertEqual([one.shown for one in found], [None, None, ["out"]])
        self.assertEqual([one.line for one in found], [3, 7, 16])

    def test_commands_of_several_lines(self):
        found = self.commands("    runnel run 'a\n      ! b'\n    runnel c \\\n      --d\n")
        self.assertEqual([pages.key_of(one.text) for one in found], ["runnel run 'a ! b'", "runnel c --d"])

    def test_prose_is_no_command(self):
        self.assertEqual(self.commands("runnel is a program.\n    runnel in the middle of a paragraph\n"), [])


class Output(unittest.TestCase):
    def lines(self, shown, printed, unstable=()):
        return list(page_commands.differences(shown, printed, unstable))

    def test_equal_lines_and_wildcards(self):
        self.assertEqual(self.lines(["a 1", "b ... c", "..."], "a   1\nb 2 3 c\n"), [])
        self.assertEqual(self.lines(["a 2"], "a 1\n"), ["a 2"])
        self.assertEqual(self.lines(["x (stderr)"], "x\n"), [])

    def test_values_that_differ_in_every_run(self):
        self.assertEqual(self.lines(['{"real_time_factor":0.1,"events":9}'], '{"real_time_factor":0.2,"events":9}'), [])
        self.assertEqual(len(self.lines(['{"real_time_factor":0.1,"events":9}'], '{"real_time_factor":0.2,"events":8}')), 1)
        self.assertEqual(self.lines(["took 5 s"], "took 6 s", [r"\d+ s"]), [])

    def test_a_record_in_several_lines_is_one(self):
        self.assertEqual(self.lines(['{"a":1,', ' "b":2}'], '{"a":1,"b":2}'), [])


class Runs(unittest.TestCase):
    def page(self, entry, folder):
        page = page_commands.Page({"page": "p", **entry}, pathlib.Path(folder), pathlib.Path("/bin"), None)
        page.prepare()
        return page

    def test_exit_codes_files_and_what_ends_when_told(self):
        with tempfile.TemporaryDirectory() as folder:
            page = self.page({"files": {"a.txt": "text:hello"}, "exit": {"exit 3": 3}, "until": {"sleep.sh": "ready"}}, folder)
            script = pathlib.Path(folder) / "sleep.sh"
            page.run(pages.Command("p", 1, "cat a.txt", ["hello"]))
            page.run(pages.Command("p", 2, "exit 3", None))
            self.assertEqual(page.failures, [])
            page.run(pages.Command("p", 3, "exit 4", None))
            page.run(pages.Command("p", 4, "echo other", ["hello"]))
            self.assertEqual(len(page.failures), 2)
            script.write_text("trap 'exit 0' TERM; echo ready; while :; do read -t 1 < <(:) || :; done")
            page.entry["until"] = {"bash sleep.sh": "ready"}
            page.run(pages.Command("p", 5, "bash sleep.sh", ["ready"]))
            self.assertEqual(len(page.failures), 2)

    def test_missing_data_are_known_by_name(self):
        with tempfile.TemporaryDirectory() as folder:
            page = self.page({"files": {"m.onnx": "data:m.onnx", "x": "run:cat m.onnx > x"}}, folder)
            self.assertEqual(page.missing, {"m.onnx", "x"})
            self.assertTrue(page.needs_missing("runnel import m.onnx"))
            self.assertFalse(page.needs_missing("runnel import mm.onnx m.onnxx"))


if __name__ == "__main__":
    unittest.main()
