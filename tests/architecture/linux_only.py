#!/usr/bin/env python3
"""linux_only.py SOURCES: what only Linux has is listed in docs/building.md.

Looks for names that no other system has in the code of the program, and at the table "only Linux has it" of that page: a file that uses one
is in the table, itself or its folder, and what the table lists is there. `linux_only.py --test` tries this script on small trees."""
import pathlib
import re
import sys
import tempfile

from sources import uses_of

FOLDERS = ("apps", "base", "bridges", "compiler", "decoding", "embed", "features", "inference", "kernels", "library", "npu", "pipeline", "python",
           "services", "streaming")
# Not what POSIX has, and not what macOS or Windows have, too.
NAMES = re.compile(r"\b(epoll_\w+|eventfd\w*|timerfd_\w+|signalfd|inotify_\w+|io_uring\w*|SYS_\w+|pidfd_\w+|accept4|pipe2|SOCK_CLOEXEC|SOCK_NONBLOCK|"
                   r"MSG_NOSIGNAL|fdatasync|getauxval|prctl|arch_prctl|memfd_create|snd_pcm_\w+|sched_setaffinity)\b|\"/(?:proc|sys)/|"
                   r"#include <(?:linux|asm)/")
PAGE = "docs/building.md"


def faults(root):
    page = (root / PAGE).read_text(encoding="utf-8")
    table = re.search(r"^\|[^\n]*only Linux has it[^\n]*\n\|[-|]*\n((?:\|[^\n]*\n)*)", page, re.M)
    if table is None:
        return [f"{PAGE} has no table \"only Linux has it\""]
    places = []
    for line in table[1].splitlines():
        for place in re.findall(r"`([^`]+)`", line.split("|")[3]):
            if "/" in place:
                places.append(place)
    uses, alone = uses_of(root, FOLDERS, NAMES, places)
    found = [f"{path} uses {name}, which only Linux has: add it to the table of {PAGE}, or use what other systems have" for path, name in alone]
    found += [f"{PAGE} lists {place}, where nothing is that only Linux has" for place, number in uses.items() if number == 0]
    return found


def test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)

        def plant(path, text):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")

        plant(PAGE, "# Building\n")
        assert faults(root) == [f'{PAGE} has no table "only Linux has it"'], faults(root)
        head = "| what | only Linux has it | where |\n|---|---|---|\n"
        plant(PAGE, head + "| a | `eventfd` | `base/host/` |\n")
        plant("base/host/wake.cpp", "int w = eventfd(0, 0);\n")
        plant("services/net/talk.cpp", "// eventfd is not used here\nint f = open(\"/dev/null\", 0);\n")
        assert faults(root) == [], faults(root)
        plant("services/net/talk.cpp", "int s = accept4(l, nullptr, nullptr, 0);\n")
        assert [one.split(",")[0] for one in faults(root)] == ["services/net/talk.cpp uses accept4"], faults(root)
        plant(PAGE, head + "| a | `eventfd` | `base/host/`, `services/net/talk.cpp` |\n")
        assert faults(root) == [], faults(root)
        plant("base/host/wake.cpp", "int w = 0;\n")
        assert faults(root) == [f"{PAGE} lists base/host/, where nothing is that only Linux has"], faults(root)


if len(sys.argv) != 2:
    sys.exit(__doc__)
if sys.argv[1] == "--test":
    test()
else:
    wrong = faults(pathlib.Path(sys.argv[1]))
    print("\n".join(wrong), file=sys.stderr)
    sys.exit(1 if wrong else 0)
