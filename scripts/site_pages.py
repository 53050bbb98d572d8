#!/usr/bin/env python3
"""The pages of the documentation site.

    site_pages.py stage ROOT PROGRAM FOLDER   copies pages and what they link to into FOLDER/pages, and writes the reference
    site_pages.py check FOLDER                dead links of a finished site: files and anchors
"""
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def run(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"site_pages.py: {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def pages_of(root):
    fixed = [root / "README.md", root / "CONTRIBUTING.md", root / "SECURITY.md"]
    found = [page for pattern in ("docs/**/*.md", "models/*/README.md", "training/*.md", "training/*/README.md", "examples/*/README.md", "tests/*/README.md")
             for page in root.glob(pattern)]
    return sorted({*fixed, *found})


def copy_pages(root, to):
    """Pages, and the files that they link to; what a link names has to be there."""
    faults = []
    for page in pages_of(root):
        name = page.relative_to(root)
        text = page.read_text()
        for target in LINK.findall(re.sub(r"```.*?```", "", text, flags=re.S)):
            path = urllib.parse.unquote(target.split("#")[0])
            if not path or re.match(r"^[a-z]+:", path):
                continue
            place = (page.parent / path).resolve()
            if not place.is_file():
                faults.append(f"{name}: a link to {path}, which is no file")
            elif place.suffix != ".md":
                copied = to / place.relative_to(root)
                copied.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(place, copied)
        made = to / name
        made.parent.mkdir(parents=True, exist_ok=True)
        # What tests read after the language is no language.
        made.write_text(re.sub(r"^(\s*```\w+) .*$", r"\1", text, flags=re.M))
    if faults:
        sys.exit("site_pages.py: " + "\n".join(faults))


DOORS = ("Use it", "Put a model in", "About models and the program")


def verbs_of(text):
    """The names of verbs below the doors of a help."""
    names, inside = [], False
    for line in text.splitlines():
        if line and not line.startswith(" "):
            inside = line.rstrip(":") in DOORS
        elif inside and re.match(r"^  [a-z][\w-]* ", line):
            names.append(line.split()[0])
    return names


def write_verbs(program, to):
    lines = ["# Verbs", "", "What `runnel VERB --help` prints. [Commands](../docs/commands.md) explains them.", ""]
    names = [(verb,) for verb in verbs_of(run(program, "--help"))]
    for name in names:
        text = run(program, *name, "--help")
        inner = [(*name, verb) for verb in verbs_of(text)]
        for one in [name, *inner]:
            shown = text if one == name else run(program, *one, "--help")
            lines += [f"## runnel {' '.join(one)}", "", "```text", shown.strip().replace(program, "runnel"), "```", ""]
    if not names:
        sys.exit("site_pages.py: runnel --help names no verbs")
    (to / "reference").mkdir(parents=True, exist_ok=True)
    (to / "reference/verbs.md").write_text("\n".join(lines))


def write_presets(program, to):
    """Every preset with all of its parameters, as the program has them."""
    text = run(program, "features", "--help").partition("Presets:\n")[2].partition("All parameters")[0]
    names = [line.split()[0] for line in text.splitlines() if line.startswith("  ")]
    if len(names) < 10:
        sys.exit("site_pages.py: runnel features --help names no presets")
    lines = ["# Presets", "", "What `runnel inspect PRESET` prints. [Features](../docs/features.md) compares them.", ""]
    for name in names:
        lines += [f"## {name}", "", "```text", run(program, "inspect", name).strip(), "```", ""]
    (to / "reference/presets.md").write_text("\n".join(lines))


class Document(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.anchors = [], {""}

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if name in ("href", "src") and value and tag in ("a", "img", "script", "link"):
                self.links.append(value)


def check(site):
    documents = {}
    for path in site.rglob("*.html"):
        documents[path] = Document()
        documents[path].feed(path.read_text())
    faults, links = [], 0
    for path, document in documents.items():
        if path.name == "404.html":
            continue  # its links are absolute
        for link in document.links:
            address = urllib.parse.urlsplit(link)
            if address.scheme or address.netloc:
                continue
            links += 1
            target = (path.parent / urllib.parse.unquote(address.path)).resolve() if address.path else path
            if target.is_dir():
                target = target / "index.html"
            anchor = urllib.parse.unquote(address.fragment)
            if not target.exists():
                faults.append(f"{path.relative_to(site)}: a dead link to {link}")
            elif target in documents and anchor not in documents[target].anchors:
                faults.append(f"{path.relative_to(site)}: a link to {link}, where there is no such anchor")
    if faults or links == 0:
        sys.exit("site_pages.py: " + "\n".join(faults or ["no links at all"]))
    print(f"{len(documents)} pages, {links} links", file=sys.stderr)


def main():
    if sys.argv[1:2] == ["stage"]:
        root, program, to = pathlib.Path(sys.argv[2]), sys.argv[3], pathlib.Path(sys.argv[4]) / "pages"
        copy_pages(root, to)
        write_verbs(program, to)
        write_presets(program, to)
    elif sys.argv[1:2] == ["check"]:
        check(pathlib.Path(sys.argv[2]).resolve())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
