"""table.py RUNS: the table of docs/security.md from the runs that scripts/fuzz.sh has noted (runs.tsv in its folder), one row a kind.

Executions and findings are sums, executions a second (of the processor) those of all runs together; the date is that of the last one.
"""
import collections
import pathlib
import sys


def main():
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_file():
        sys.exit(f"table.py: expected the runs.tsv of a folder of scripts/fuzz.sh, found {sys.argv[1:]}")
    rows = collections.OrderedDict()
    for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
        date, kind, flags, executions, seconds, processor, peak, slowest, found = line.split("\t")
        row = rows.setdefault(kind, {"flags": set(), "executions": 0, "seconds": 0, "processor": 0, "peak": 0, "slowest": 0, "found": 0, "date": date})
        row["flags"].add(flags)
        for name, value in (("executions", executions), ("seconds", seconds), ("processor", processor), ("found", found)):
            row[name] += int(value)
        for name, value in (("peak", peak), ("slowest", slowest)):
            row[name] = max(row[name], int(value))
        row["date"] = max(row["date"], date)
    print("| kind | build | executions | seconds | of the processor | executions for each of these | slowest s | peak MiB | found | last run |\n|---|---|---|---|---|---|---|---|---|---|")
    for kind, row in rows.items():
        rate = row["executions"] / max(row["processor"], 1)
        print(f"| {kind} | {' '.join(sorted(row['flags']))} | {row['executions']} | {row['seconds']} | {row['processor']} | {rate:.0f} | {row['slowest']} | {row['peak']} | "
              f"{row['found'] or 'nothing'} | {row['date']} |")


if __name__ == "__main__":
    main()
