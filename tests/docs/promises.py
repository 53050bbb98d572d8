#!/usr/bin/env python3
"""promises.py SOURCES: every test that docs/security.md names for a promise is there.

A name is `Suite.Test` in a cell of a table. `promises.py --test` tries this script on small trees."""
import pathlib
import re
import sys
import tempfile

PAGE = "docs/security.md"
NAME = re.compile(r"`([A-Z]\w+\.[A-Z]\w+)`")
TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.M)


def faults(root):
    text = (root / PAGE).read_text(encoding="utf-8")
    there = set()
    for file in (root / "tests").rglob("*.cpp"):
        there.update(f"{suite}.{test}" for suite, test in TEST.findall(file.read_text(encoding="utf-8", errors="replace")))
    found, named, in_table = [], 0, False
    for number, line in enumerate(text.splitlines(), 1):
        for name in NAME.findall(line):
            named += 1
            if name not in there:
                found.append(f"{PAGE}:{number} names the test {name}, which is not there")
        cells = [cell.strip() for cell in line.split("|")]
        if not line.startswith("|"):
            in_table = False
        elif len(cells) == 4 and cells[2] == "test":
            in_table = True
        elif in_table and not re.fullmatch(r"[-|]+", line) and not NAME.search(cells[2]):
            found.append(f"{PAGE}:{number} has a promise without a test: {cells[1]}")
    if named == 0:
        found.append(f"{PAGE} names no test at all")
    return found


def test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "docs").mkdir()
        (root / "tests").mkdir()
        (root / "tests/a_test.cpp").write_text("TEST_F(Sand, Box) {}\nTEST(Long,\n     Name) {}\n", encoding="utf-8")
        page = root / PAGE
        head = "| promise | test |\n|---|---|\n"
        page.write_text(head + "| it holds | `Sand.Box`, `Long.Name` |\n", encoding="utf-8")
        assert faults(root) == [], faults(root)
        page.write_text(head + "| it holds | `Sand.Castle` |\n", encoding="utf-8")
        assert len(faults(root)) == 1, faults(root)
        page.write_text(head + "| it holds | hopefully |\n| and | `Sand.Box` |\n", encoding="utf-8")
        assert len(faults(root)) == 1, faults(root)
        page.write_text("no table\n", encoding="utf-8")
        assert len(faults(root)) == 1, faults(root)


if __name__ == "__main__":
    if sys.argv[1] == "--test":
        test()
        sys.exit(0)
    wrong = faults(pathlib.Path(sys.argv[1]))
    for fault in wrong:
        print(fault, file=sys.stderr)
    sys.exit(1 if wrong else 0)
