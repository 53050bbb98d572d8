"""run.py TEST...: runs pytest on these files. Ends with 77 (skipped), loudly, where pytest or a module is missing.

A file may name what it needs in a line `# needs: MODULE MODULE`.
"""

import importlib.util
import os
import re
import sys

def main():
    needed = ["pytest", "numpy"]
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            for line in re.findall(r"^# needs: (.*)$", file.read(), re.M):
                needed += line.split()
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        print(f"SKIPPED: {sys.executable} has no {', '.join(missing)}: none of {', '.join(sys.argv[1:])} was run "
              "(scripts/install.sh python installs them)", file=sys.stderr)
        return 1 if os.environ.get("RUNNEL_TEST_DATA_REQUIRED") == "1" and "torch" not in missing else 77
    import pytest
    # Nothing is written into the source tree.
    return pytest.main(["-q", "-p", "no:cacheprovider", "--tb=short", "-rs", *sys.argv[1:]])


sys.exit(main())
