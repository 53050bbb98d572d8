#!/usr/bin/env python3
"""threads.py SOURCES: ThreadSanitizer sees everything that has threads.

Looks for what starts threads, waits for them or guards what they share, in the code of the program. Each file with such a name is in the table
threads.txt, itself or its folder, with the test programs that run it under ThreadSanitizer (label `threads`), or with the reason why none does.
Each program of the table has that label, and each place has something with threads. `threads.py --test` tries this script on small trees."""
import pathlib
import re
import sys
import tempfile

from sources import uses_of

FOLDERS = ("apps", "base", "bridges", "compiler", "decoding", "embed", "examples", "features", "inference", "kernels", "library", "npu", "pipeline",
           "python", "services", "streaming")
NAMES = re.compile(r"\bstd::(?:j?thread|async|(?:shared_|recursive_|timed_)*mutex|condition_variable\w*|atomic\w*|once_flag|call_once|latch|barrier|"
                   r"\w+_semaphore|promise|(?:shared_)?future|packaged_task)\b|\bJoinedThread\b|\bThreadPool\b|\bpthread_\w+|\bpw_thread_loop\w*|"
                   r"\bhttplib::|\bnats(?:Connection|Subscription|Options)_\w+|\bmosquitto_\w+_callback_set\b")
TABLE = "tests/architecture/threads.txt"
# Of a test program: its name and its labels, however the call is broken into lines.
PROGRAM = re.compile(r"\brunnel_(?:apps_)?test\((\w+)\s([^()]*(?:\([^()]*\)[^()]*)*)\)")


def labelled(root):
    """The test programs with the label `threads`."""
    found = set()
    for file in (root / "tests").rglob("CMakeLists.txt"):
        text = re.sub(r"^\s*#[^\n]*", "", file.read_text(encoding="utf-8"), flags=re.M)
        for name, words in PROGRAM.findall(text):
            labels = re.search(r"\bLABELS\b(.*)", words, re.S)
            if labels and "threads" in re.split(r"[\s;\"]+", labels[1]):
                found.add(name)
    return found


def read_table(root):
    """Places with their lines and programs; a reason instead of programs gives none."""
    places, found = {}, []
    for number, line in enumerate((root / TABLE).read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        place, _, rest = line.partition(":")
        reason = rest.strip().startswith("not, ")
        programs = [] if reason else rest.split()
        if place in places:
            found.append(f"{TABLE}:{number} has {place} again")
        if not reason and not programs:
            found.append(f"{TABLE}:{number} names no test program for {place}; expected some, or \"not, \" and the reason")
        places[place] = (number, programs)
    return places, found


def faults(root):
    places, found = read_table(root)
    programs = labelled(root)
    uses, alone = uses_of(root, FOLDERS, NAMES, places)
    found += [f"{path} has {name}: add it to {TABLE} with a test program that has the label threads and runs it" for path, name in alone]
    for place, (number, wanted) in places.items():
        if uses[place] == 0:
            found.append(f"{TABLE}:{number} lists {place}, where nothing has threads")
        for program in wanted:
            if program not in programs:
                found.append(f"{TABLE}:{number} names {program}, which is no test program with the label threads")
    return found


def test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)

        def plant(path, text):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")

        plant("tests/CMakeLists.txt", "# runnel_test(pool_tests SOURCES pool.cpp LABELS threads)\n"
              "runnel_test(pool_tests SOURCES $<IF:$<BOOL:A>,a,b>.cpp DEPENDS runnel::net\n            LABELS long threads)\n"
              "runnel_apps_test(apps_tests SOURCES a.cpp LABELS native threads)\nrunnel_test(plain_tests SOURCES threads.cpp LABELS long)\n")
        plant(TABLE, "# A comment.\n\nservices/net/: pool_tests apps_tests\n")
        plant("services/net/pool.cpp", "std::mutex guard;\n")
        plant("services/net/plain.cpp", "// a std::thread is not used here\nint plain = 0;\n")
        assert faults(root) == [], faults(root)
        plant("base/late.h", "std::atomic<int> number;\n")
        assert [one.split(":")[0] for one in faults(root)] == ["base/late.h has std"], faults(root)
        plant(TABLE, "services/net/: pool_tests\nbase/late.h: not, nobody calls it\n")
        assert faults(root) == [], faults(root)
        plant(TABLE, "services/net/: plain_tests\nbase/late.h:\n")
        assert faults(root) == [f'{TABLE}:2 names no test program for base/late.h; expected some, or "not, " and the reason',
                                f"{TABLE}:1 names plain_tests, which is no test program with the label threads"], faults(root)
        plant(TABLE, "services/net/: pool_tests\nbase/late.h: pool_tests\nbase/gone.h: pool_tests\nbase/late.h: pool_tests\n")
        assert faults(root) == [f"{TABLE}:4 has base/late.h again", f"{TABLE}:3 lists base/gone.h, where nothing has threads"], faults(root)


if len(sys.argv) != 2:
    sys.exit(__doc__)
if sys.argv[1] == "--test":
    test()
else:
    wrong = faults(pathlib.Path(sys.argv[1]))
    print("\n".join(wrong), file=sys.stderr)
    sys.exit(1 if wrong else 0)
