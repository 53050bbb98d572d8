"""table.py FOLDER [--page PAGE]: tables of what all runs of scripts/fuzz.sh with this folder have done: fuzzers, and mutations from fixed seeds.

Executions, mutations and findings are sums; executions and mutations a second (of the processor) are those of all runs together; the date is that
of the last one. --page puts them into a page, between its marks.
--note LOG KIND BUILD: adds a run of mutations, from what it printed. --next-seed KIND: the first seed that no run of this kind has used.
"""
import argparse
import collections
import datetime
import pathlib
import re
import sys

from page import put_into

# The last line of a run (tests/robustness/many_mutations.cpp).
SUMMARY = re.compile(r"^(\d+) mutations, (\d+) with structure, (\d+) refused, ([\d.]+) s of the processor, .* longest ([\d.]+) s .* at most (\d+) MiB; "
                     r"go on with RUNNEL_MUTATION_SEED=(\d+)$", re.MULTILINE)
BATCH = 500   # mutations with one seed


class Table:
    """Rows of a file of tab-separated values: sums over its runs, of one kind and build each."""

    def __init__(self, path, columns, sums, maxima):
        self.path, self.columns, self.sums, self.maxima = path, columns, sums, maxima
        self.runs = []
        if path.is_file():
            self.runs = [dict(zip(columns, line.split("\t"))) for line in path.read_text().splitlines()]

    def rows(self):
        rows = collections.OrderedDict()
        for run in self.runs:
            row = rows.setdefault((run["kind"], run["build"]), dict.fromkeys(self.sums + self.maxima, 0.0) | {"date": ""})
            for name in self.sums:
                row[name] += float(run[name])
            for name in self.maxima:
                row[name] = max(row[name], float(run[name]))
            row["date"] = max(row["date"], run["date"])
        return rows.items()


def fuzzers(folder):
    return Table(folder / "runs.tsv", ["date", "kind", "build", "executions", "seconds", "processor", "peak", "slowest", "found"],
                 ["executions", "processor", "found"], ["peak", "slowest"])


def mutations(folder):
    return Table(folder / "mutations.tsv", ["date", "kind", "build", "mutations", "structure", "refused", "processor", "longest", "peak", "found", "next"],
                 ["mutations", "structure", "refused", "processor", "found"], ["longest", "peak"])


def found(row):
    return f"{row['found']:.0f}" if row["found"] else "nothing"


def table_of_fuzzers(folder):
    lines = ["| kind | build | executions | s of the processor | a second | slowest s | peak MiB | found | last run |", "|---|---|---|---|---|---|---|---|---|"]
    for (kind, build), row in fuzzers(folder).rows():
        lines.append(f"| {kind} | {build} | {row['executions']:.0f} | {row['processor']:.0f} | {row['executions'] / max(row['processor'], 1):.0f} | "
                     f"{row['slowest']:.0f} | {row['peak']:.0f} | {found(row)} | {row['date']} |")
    return lines


def table_of_mutations(folder):
    lines = ["| kind | build | mutations | with structure | refused | s of the processor | a second | longest s | peak MiB | found | last run |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    for (kind, build), row in mutations(folder).rows():
        lines.append(f"| {kind} | {build} | {row['mutations']:.0f} | {row['structure']:.0f} | {row['refused']:.0f} | {row['processor']:.0f} | "
                     f"{row['mutations'] / max(row['processor'], 1):.0f} | {row['longest']:.3f} | {row['peak']:.0f} | {found(row)} | {row['date']} |")
    return lines


def note(folder, log, kind, build):
    """A run that ended early counts the batches that it had begun, but the last one."""
    text = pathlib.Path(log).read_text(errors="replace")
    runs = SUMMARY.findall(text)
    done, structure, refused = (sum(int(run[i]) for run in runs) for i in range(3))
    processor = sum(float(run[3]) for run in runs)
    longest, peak = max([float(run[4]) for run in runs] or [0]), max([int(run[5]) for run in runs] or [0])
    seeds = [int(seed) for seed in re.findall(r"^seed (\d+): ", text, re.MULTILINE)]
    tests = len(re.findall(r"^\[ RUN ", text, re.MULTILINE))
    failed = not re.search(r"^\[  PASSED  \]", text, re.MULTILINE) or "[  FAILED  ]" in text
    if len(runs) < tests:
        done += max(BATCH * (len(seeds) - 1) - done, 0)
    after = max([int(run[6]) for run in runs] + [seed + 1 for seed in seeds[-1:]] + [1])
    row = [datetime.date.today().isoformat(), kind, build, done, structure, refused, f"{processor:.1f}", longest, peak, int(failed), after]
    with open(folder / "mutations.tsv", "a", encoding="utf-8") as out:
        out.write("\t".join(map(str, row)) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--page", type=pathlib.Path)
    what.add_argument("--note", nargs=3, metavar=("LOG", "KIND", "BUILD"))
    what.add_argument("--next-seed", metavar="KIND")
    arguments = parser.parse_args()
    if not arguments.folder.is_dir():
        sys.exit(f"table.py: expected a folder of scripts/fuzz.sh, found {arguments.folder}")
    if arguments.note:
        note(arguments.folder, *arguments.note)
        return
    if arguments.next_seed:
        print(max([int(run["next"]) for run in mutations(arguments.folder).runs if run["kind"] == arguments.next_seed] or [1]))
        return
    tables = {"fuzzers": table_of_fuzzers(arguments.folder), "mutations": table_of_mutations(arguments.folder)}
    for name, table in tables.items():
        if len(table) > 2:
            print("\n".join(table) + "\n")
            if arguments.page:
                put_into(arguments.page, name, table)


if __name__ == "__main__":
    main()
