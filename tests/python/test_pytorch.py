"""The tutorial (docs/tutorials/pytorch.md) as it is printed: its file runs, and the page quotes it."""
# needs: torch

import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["RUNNEL_SOURCE"])
EXAMPLE = SOURCE / "examples" / "python" / "pytorch.py"


def test_the_file_runs(tmp_path):
    done = subprocess.run([sys.executable, EXAMPLE, tmp_path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout
    events = re.findall(r"^ *[0-9.]+ s  (\w+)  0\.\d+$", done.stdout, re.M)
    assert events == ["rising", "falling", "rising"], done.stdout


def test_the_page_quotes_the_file():
    """Calls of the page are in the file, but for spaces, folders and what the page leaves out."""
    page = (SOURCE / "docs" / "tutorials" / "pytorch.md").read_text(encoding="utf-8")
    flat = re.sub(r"\s+", "", EXAMPLE.read_text(encoding="utf-8")).replace('f"{FOLDER}/', '"')
    for block in re.findall(r"```python\n(.*?)```", page, re.S):
        for line in block.splitlines():
            quoted = re.sub(r"\s+", "", line.split("#")[0]).split("...")[0]
            if not quoted:
                continue
            for part in quoted.split(","):
                assert part in flat, line
