#!/usr/bin/env python3
"""Runs the commands of a page as printed, or checks that every command of every page is accounted for.

    page_commands.py table                  every command is run, or the table says why it is not
    page_commands.py draft PAGE                   an object for a new page: fill in files, and strike out of not_run what can run
    page_commands.py run PAGE [--build DIR] [--data DIR] [--keep DIR]

commands.json has an object for each page; README.md in this folder says what it may hold. Exit code 77: something was left out because its data are not there.
"""
import argparse
import fnmatch
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import pages

SKIPPED = 77
SECONDS = 120  # for one command
KEYS = {"page", "files", "environment", "not_run", "exit", "until", "instead", "unstable", "label", "run"}
# Values of JSON fields that are another machine's in every run.
UNSTABLE = ["real_time_factor", r"step_\w+_us", "min_us", "median_us", "run_us", "frames_per_second", "times_real_time", "streams_per_core", "runs", "isa",
            r"\w*seconds_per_\w+"]


def load():
    table = json.loads((pathlib.Path(__file__).parent / "commands.json").read_text())
    return {entry["page"]: entry for entry in table}, [entry["page"] for entry in table]


def reason_of(entry, key):
    """Why a command is not run; None: it is."""
    for pattern, why in entry.get("not_run", {}).items():
        if key == pattern or fnmatch.fnmatchcase(key, pattern):
            return why
    return None


def check_table():
    """Faults of the table, one sentence each."""
    entries, order = load()
    faults = [f"commands.json: {page} more than once" for page in {page for page in order if order.count(page) > 1}]
    known = pages.all_pages()
    for page, entry in entries.items():
        faults += [f"commands.json: {page}: unknown field {field}" for field in set(entry) - KEYS]
        if page not in known:
            faults.append(f"commands.json: {page} is not a page")
    for page in known:
        commands = pages.commands_of(page)
        if page not in entries:
            faults += [f"{command.place}: neither run nor said why not, expected an object for {page} in tests/docs/commands.json: {command.text}"
                       for command in commands]
            continue
        keys = [pages.key_of(command.text) for command in commands]
        entry = entries[page]
        for field in ("not_run", "exit", "until"):
            for pattern in entry.get(field, {}):
                if not any(key == pattern or fnmatch.fnmatchcase(key, pattern) for key in keys):
                    faults.append(f"commands.json: {page}: {field}: no command is {pattern!r}")
        faults += [f"commands.json: {page}: not_run: {pattern!r} without a reason" for pattern, why in entry.get("not_run", {}).items() if not why.strip()]
    return faults


class Missing(Exception):
    """Data that are not there."""


class Page:
    def __init__(self, entry, folder, build, data):
        self.entry, self.folder, self.build, self.data = entry, folder, build, data
        self.environment = {**os.environ, "PATH": f"{build}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "TMPDIR": str(folder),
                            # The build's own element, and a registry that nobody else uses.
                            "GST_PLUGIN_PATH": str(build / "lib/gstreamer-1.0"), "GST_REGISTRY": str(folder / "gstreamer.registry")}
        self.environment.pop("RUNNEL_KEY", None)
        self.environment.pop("RUNNEL_TRUST", None)
        self.missing = set()  # names on the page whose files are not there
        self.failures = []

    def place(self, source):
        kind, _, path = source.partition(":")
        if kind == "data":
            if self.data is None:
                raise Missing(source)
            place = self.data / path
        elif kind == "build":
            place = self.build / path
        elif kind == "source":
            place = pages.root() / path
        else:
            raise SystemExit(f"commands.json: {self.entry['page']}: {source!r}, expected data:, build:, source:, text:, some: or run:")
        if not place.exists():
            if kind != "source" and kind != "build":
                raise Missing(source)
            raise SystemExit(f"commands.json: {self.entry['page']}: there is no {place}")
        return place

    def put(self, name, source):
        """Makes the file that the page calls `name`."""
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        kind, _, rest = source.partition(":")
        if kind == "text":
            target.write_text(rest)
        elif kind == "some":
            count, _, folder = rest.partition(":")
            target.mkdir()
            for one in sorted(self.place(folder).iterdir())[:int(count)]:
                (target / one.name).symlink_to(one)
        elif kind in ("run", "try"):
            if self.needs_missing(rest) or ("{data}" in rest and self.data is None):
                raise Missing(source)
            done = self.call(rest.replace("{source}", str(pages.root())).replace("{build}", str(self.build)).replace("{data}", str(self.data)))
            if done.returncode != 0 and kind == "try":
                raise Missing(source)
            if done.returncode != 0:
                raise SystemExit(f"commands.json: {self.entry['page']}: {name}: {rest}\n{done.stdout}")
        else:
            target.symlink_to(self.place(source))

    def call(self, text):
        return subprocess.run(["bash", "-o", "pipefail", "-c", text], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=SECONDS * 5)

    def call_until(self, text, wanted):
        """Runs what ends only when it is told to: as soon as it prints `wanted`."""
        process = subprocess.Popen(["bash", "-c", "exec " + text], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace")
        timer = subprocess.Popen(["sleep", str(SECONDS)])
        output = ""
        while not re.search(wanted, output) and timer.poll() is None:
            line = process.stdout.readline()
            if not line:
                break
            output += line
        timer.kill()
        timer.wait()
        process.send_signal(signal.SIGTERM)
        output += process.stdout.read()
        process.stdout.close()
        code = process.wait()
        if not re.search(wanted, output):
            output += f"\n(it never printed {wanted})"
            code = code or 1
        return subprocess.CompletedProcess(text, code, output)

    def prepare(self):
        for name, source in self.entry.get("environment", {}).items():
            try:
                self.environment[name] = str(self.place(source))
            except Missing:
                self.missing.add("$" + name)
        for name, source in self.entry.get("files", {}).items():
            try:
                self.put(name, source)
            except Missing:
                self.missing.add(name.rstrip("/"))

    def run(self, command):
        text = command.text
        for old, new in self.entry.get("instead", {}).items():
            text = text.replace(old, new)
        key = pages.key_of(command.text)
        wanted = self.entry.get("until", {}).get(key)
        print(f"{command.place}: {key}", flush=True)
        began = time.monotonic()
        done = self.call_until(text, wanted) if wanted else self.call(text)
        expected = self.entry.get("exit", {}).get(key, 0)
        if done.returncode != expected:
            self.failures.append(f"{command.place}: exit code {done.returncode}, expected {expected}\n  {text}\n{indented(done.stdout)}")
        for line in differences(command.shown or [], done.stdout, self.entry.get("unstable", [])):
            self.failures.append(f"{command.place}: the page shows a line that is not printed:\n  {line}\nprinted:\n{indented(done.stdout)}")
        print(f"  {time.monotonic() - began:.1f} s")

    def needs_missing(self, text):
        return [name for name in self.missing if re.search(r"(?<![\w.-])" + re.escape(name) + r"(?![\w.-]*\w)", text)]


def indented(text):
    lines = [line if len(line) < 400 else line[:397] + "..." for line in text.rstrip("\n").split("\n")]
    return "\n".join("  | " + line for line in (lines[:20] + ["..."] + lines[-20:] if len(lines) > 40 else lines))


def pattern_of(line, unstable):
    """What a printed line must look like: `...` stands for anything, unstable values for any value."""
    line = re.sub(r"\s+\(stderr\)$", "", line)
    marked = line
    for field in UNSTABLE:
        marked = re.sub(rf'("{field}":)("[^"]*"|[-\w.]+)', r"\1...", marked)
    for one in unstable:
        marked = re.sub(one, "...", marked)
    words = re.split(r"\s+", marked.strip())
    return re.compile(r"\s*" + r"\s+".join(".*".join(re.escape(part) for part in word.split("...")) for word in words) + r"\s*$")


def differences(shown, printed, unstable):
    """Lines of the page that the program does not print, in any order of its two outputs."""
    lines = printed.split("\n")
    # A record that a page shows in several lines is one line.
    joined = []
    for line in shown:
        if joined and line.startswith(" ") and joined[-1].lstrip().startswith("{") and not joined[-1].rstrip().endswith("}"):
            joined[-1] = joined[-1].rstrip() + line.strip()
        else:
            joined.append(line)
    for line in joined:
        if line.strip() in ("", "...") or re.match(r"^\((one|each|then)\b", line.strip()):
            continue
        pattern = pattern_of(line, unstable)
        if not any(pattern.match(one) for one in lines):
            yield line


def run_page(name, build, data, keep):
    entries, _ = load()
    entry = entries[name]
    with tempfile.TemporaryDirectory() as folder:
        page = Page(entry, pathlib.Path(keep or folder), build, data)
        page.prepare()
        left_out = []
        for command in pages.commands_of(name):
            if reason_of(entry, pages.key_of(command.text)) is not None:
                continue
            lacking = page.needs_missing(command.text)
            if lacking:
                left_out.append(f"{command.place}: {', '.join(lacking)}")
                # What it would have made is missing as well.
                for made in re.findall(r"-o (\S+)", command.text):
                    page.missing.add(made.rstrip("/"))
                continue
            page.run(command)
        for failure in page.failures:
            print("FAILED " + failure)
        for one in left_out:
            print(f"SKIPPED WITHOUT TEST DATA: {one}")
        if page.failures or (left_out and "RUNNEL_TEST_DATA_REQUIRED" in os.environ):
            return 1
        return SKIPPED if left_out else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["table", "draft", "run"])
    parser.add_argument("page", nargs="?")
    parser.add_argument("--build", type=pathlib.Path, default=pages.root() / "build")
    parser.add_argument("--data", type=pathlib.Path, default=os.environ.get("RUNNEL_TEST_DATA"))
    parser.add_argument("--keep", type=pathlib.Path, help="run in this folder, and leave it there")
    call = parser.parse_args()
    if call.what == "table":
        faults = check_table()
        print("\n".join(faults))
        return 1 if faults else 0
    if call.what == "draft":
        print(json.dumps({"page": call.page, "files": {}, "not_run": {pages.key_of(one.text): "" for one in pages.commands_of(call.page)}}, indent=2))
        return 0
    data = pathlib.Path(call.data).resolve() if call.data and pathlib.Path(call.data).is_dir() else None
    if call.keep:
        call.keep.mkdir(parents=True, exist_ok=True)
    return run_page(call.page, call.build.resolve(), data, call.keep and call.keep.resolve())


if __name__ == "__main__":
    sys.exit(main())
