#!/usr/bin/env python3
"""libcxx_check.py [PATTERN]...: compiles the sources of the preset `libcxx` (Clang with LLVM's standard library) as far as their meaning,
without writing code: whatever only GCC's standard library has is found in a minute or two. PATTERN: only sources whose path has one of them.

Headers of the standard library and of packages are precompiled once. Kernels for vector units of x86 are left to the preset `fuzz`,
which compiles them by Clang. Ends with 77, and the reason, where Clang or the library is missing (scripts/install.sh libcxx, scripts/libcxx_sysroot.sh).
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-libcxx"
LIBRARY = ROOT / "build-libcxx-sysroot/usr/lib/llvm-16/include/c++/v1"
USES = ["-nostdinc++", "-isystem", str(LIBRARY)]
# What large parts of the program include.
HEADERS = """algorithm array atomic chrono cmath cstdint cstring filesystem fstream functional map memory mutex optional set span sstream string
string_view thread unordered_map utility variant vector fmt/format.h nlohmann/json.hpp flatbuffers/flatbuffers.h""".split()


def say(text):
    print(f"libcxx_check.py: {text}", file=sys.stderr)


def run(*arguments, **more):
    return subprocess.run(arguments, capture_output=True, text=True, check=False, **more)


def commands():
    """The command of each source, without what is about code, and its folder."""
    out = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        if not entry["file"].endswith((".cpp", ".cxx")) or not os.path.exists(entry["file"]) or any(word.startswith("-mavx") for word in words):
            continue
        at = words.index("-o")
        del words[at:at + 2]
        drop = ("-c", "-O1", "-O2", "-O3", "-Os", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-DNDEBUG")
        out.setdefault(entry["file"], ([word for word in words if word not in drop], entry["directory"]))
    return out


def main():
    if not shutil.which("clang++-16") or run("clang++-16", *USES, "-fsyntax-only", "-x", "c++", "-", input="#include <charconv>").returncode != 0:
        say("SKIPPED: Clang or LLVM's standard library is missing (scripts/install.sh libcxx, scripts/libcxx_sysroot.sh)")
        return 77
    begun = time.monotonic()
    made = run("cmake", "--preset", "libcxx", "-D", "RUNNEL_EXAMPLES=OFF", cwd=ROOT)
    if made.returncode == 0:
        # Readers of schemas. Sources that the build makes of texts are left out: their targets would build libraries first.
        targets = [line.split(":")[0] for line in run("ninja", "-C", BUILD, "-t", "targets", "all").stdout.splitlines()
                   if line.startswith("generated/") and line.endswith(": CUSTOM_COMMAND")]
        made = run("ninja", "-C", BUILD, *targets)
    if made.returncode != 0:
        say(made.stdout + made.stderr)
        return 1
    sources = {path: how for path, how in commands().items() if not sys.argv[1:] or any(part in path for part in sys.argv[1:])}
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        common = pathlib.Path(folder) / "common.h"
        common.write_text("".join(f"#include <{each}>\n" for each in HEADERS))
        precompiled = str(common) + ".pch"
        flags = ["-std=c++20", *USES, "-ffp-contract=off", "-DFMT_HEADER_ONLY=1"]
        pch = run("clang++-16", *flags, "-x", "c++-header", str(common), "-o", precompiled)
        if pch.returncode != 0:
            say(pch.stderr)
            return 1

        def check(item):
            path, (words, where) = item
            done = run(*words, "-DFMT_HEADER_ONLY=1", "-fsyntax-only", "-include-pch", precompiled, cwd=where)
            return path, done

        with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("RUNNEL_JOBS", os.cpu_count()))) as pool:
            for path, done in pool.map(check, sources.items()):
                if done.returncode != 0:
                    failed.append(path)
                    say(f"FAILED: {os.path.relpath(path, ROOT)}\n{done.stderr}")
    say(f"{len(sources)} sources, {len(failed)} failed, {time.monotonic() - begun:.0f} s")
    return 1 if failed or not sources else 0


sys.exit(main())
