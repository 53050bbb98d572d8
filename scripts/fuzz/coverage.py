"""coverage.py --llvm FILE | --gcov BUILD [--missed] [--page PAGE]: a table of the lines of parsers (tests/fuzz/parsers.txt) that were executed.

FILE is the output of `llvm-cov export`, BUILD a folder of a build by GCC with its counters. --missed (gcov only) also names the
lines that were not. --page puts the table into a page, between its marks. Exit code 1 when a file is below its bar, or has no counters.
"""
import argparse
import collections
import glob
import json
import pathlib
import subprocess
import sys

from page import put_into

ROOT = pathlib.Path(__file__).resolve().parents[2]


def bars():
    """File to (bar in percent, remark)."""
    found = {}
    for line in (ROOT / "tests/fuzz/parsers.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        pattern, bar, *remark = line.split(" ", 2)
        files = glob.glob(pattern, root_dir=ROOT)
        if not files:
            sys.exit(f"coverage.py: tests/fuzz/parsers.txt: {pattern}: there is no such file")
        for file in files:
            found[file] = (float(bar), remark[0].lstrip("# ") if remark else "")
    return found


def from_llvm(path):
    """File to (lines, executed, None)."""
    counts = {}
    for unit in json.loads(pathlib.Path(path).read_text())["data"]:
        for file in unit["files"]:
            lines = file["summary"]["lines"]
            name = file["filename"]
            if name.startswith(str(ROOT)):
                counts[str(pathlib.Path(name).relative_to(ROOT))] = (lines["count"], lines["covered"], None)
    return counts


def from_gcov(build):
    """File to (lines, executed, lines that were not)."""
    executed = collections.defaultdict(lambda: collections.defaultdict(int))
    folder = pathlib.Path(build).resolve()
    for notes in folder.rglob("*.gcno"):
        result = subprocess.run(["gcov", "--json-format", "--stdout", str(notes)], capture_output=True, cwd=folder, check=False)
        for text in result.stdout.splitlines():
            unit = json.loads(text)
            for file in unit["files"]:
                path = (pathlib.Path(unit["current_working_directory"]) / file["file"]).resolve()
                if not path.is_relative_to(ROOT):
                    continue
                for line in file["lines"]:
                    number = line["line_number"]
                    of = executed[str(path.relative_to(ROOT))]
                    of[number] = max(of[number], line["count"])
    return {name: (len(lines), sum(count > 0 for count in lines.values()), sorted(n for n, count in lines.items() if count == 0))
            for name, lines in executed.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--llvm")
    source.add_argument("--gcov")
    parser.add_argument("--missed", action="store_true")
    parser.add_argument("--page", type=pathlib.Path)
    arguments = parser.parse_args()
    counts = from_llvm(arguments.llvm) if arguments.llvm else from_gcov(arguments.gcov)
    below, table, all_lines, all_executed = [], ["| file | lines | executed | % | bar |", "|---|---|---|---|---|"], 0, 0
    for name, (bar, remark) in sorted(bars().items()):
        if name not in counts:
            below.append(f"{name} has no counters")
            continue
        lines, executed, missed = counts[name]
        share = 100 * executed / max(lines, 1)
        all_lines += lines
        all_executed += executed
        table.append(f"| `{name}` | {lines} | {executed} | {share:.1f} | {bar:g}{': ' + remark if remark else ''} |")
        if arguments.missed and missed:
            print(f"{name}: not executed: " + " ".join(map(str, missed)))
        if share < bar:
            below.append(f"{name}: {share:.1f} %, expected at least {bar:g} %")
    table.append(f"| all | {all_lines} | {all_executed} | {100 * all_executed / max(all_lines, 1):.1f} | 90 |")
    print("\n".join(table))
    if arguments.page:
        put_into(arguments.page, "coverage", table)
    if all_executed < 0.9 * all_lines:
        below.append("all together are below 90 %")
    for sentence in below:
        print(f"coverage.py: {sentence}", file=sys.stderr)
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
