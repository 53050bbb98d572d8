"""The commands that pages print, with what they print under them."""
import dataclasses
import pathlib
import re
import shlex

# First words of lines in code blocks that are commands, besides those after "$ ".
PROGRAMS = ("runnel", "cmake", "ctest", "git", "python3", "pip", "sudo", "apt", "dpkg", "ssh", "scp", "nc", "curl", "parallel", "sbatch", "srun",
            "mpirun", "qemu-system-arm", "openssl", "arecord", "aplay", "ffmpeg", "sox", "mosquitto_sub", "systemctl", "journalctl", "export",
            "clang-format-14", "clang-tidy-14", "unzip", "cp", "ls", "cmp", "mkdir", "cd", "tail", "head", "cat", "echo", "man", "arm-none-eabi-gcc", "idf.py",
            "west", "docker", "gh", "awk", "cc", "gcc", "g++", "perf", "taskset", "gst-launch-1.0",
            "gst-inspect-1.0", "pw-link")
ASSIGNMENT = re.compile(r"^[A-Z_]+=\S+ +")
SYNOPSIS = re.compile(r"\b[A-Z]{4,}\b|\.\.\.")


@dataclasses.dataclass
class Command:
    page: str  # path from the root of the tree
    line: int
    text: str  # without the prompt; continued lines are joined by newlines
    shown: list  # lines printed under it

    @property
    def place(self):
        return f"{self.page}:{self.line}"


def root():
    return pathlib.Path(__file__).resolve().parents[2]


def all_pages():
    """Pages for people: the documentation, and what it links to as such."""
    top = root()
    found = [top / "README.md", top / "CONTRIBUTING.md", top / "SECURITY.md", *top.glob("docs/**/*.md"), *top.glob("models/*/README.md"),
             *top.glob("examples/*/README.md"), *top.glob("training/*/README.md")]
    return sorted(str(page.relative_to(top)) for page in found if page.exists())


def is_command(line):
    rest = ASSIGNMENT.sub("", line)
    words = rest.split()
    if not words:
        return False
    first = words[0]
    return first in PROGRAMS or first.startswith(("/usr/bin/", "$RUNNEL")) or (re.match(r"^(\./)?(scripts|build[a-z-]*|bin|examples)/[\w./-]+$", first) is not None and not first.endswith(":"))


def is_open(text):
    """Whether a command goes on in the next line."""
    if text.endswith("\\"):
        return True
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return True
    return False


def code_blocks(text):
    """(number of the first line, lines) of indented and fenced blocks; fenced ones of languages other than the shell's are left out."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        fence = re.match(r"^(\s*)```(\w*)", lines[at])
        if fence:
            end = at + 1
            while end < len(lines) and not lines[end].strip().startswith("```"):
                end += 1
            if fence.group(2) in ("", "sh", "bash", "console", "shell"):
                yield at + 2, [line[len(fence.group(1)):] for line in lines[at + 1:end]]
            at = end + 1
            continue
        if lines[at].startswith("    ") and (at == 0 or not lines[at - 1].strip()):
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            block = lines[at:end]
            indent = min(len(line) - len(line.lstrip()) for line in block if line.strip())
            yield at + 1, [line[indent:] for line in block]
            at = end
            continue
        at += 1


def commands_of(page):
    """All commands of a page, in order."""
    found = []
    for first, lines in code_blocks((root() / page).read_text()):
        at = 0
        while at < len(lines):
            line = lines[at].rstrip()
            prompt = line.startswith("$ ")
            if not prompt and not is_command(line):
                if found and found[-1].line >= first and line and found[-1].shown is not None:
                    found[-1].shown.append(line)
                at += 1
                continue
            text = line[2:] if prompt else line
            number = first + at
            while is_open(text) and at + 1 < len(lines) and lines[at + 1].strip():
                at += 1
                text += "\n" + lines[at].rstrip()
            found.append(Command(page, number, text, [] if prompt else None))
            at += 1
    return found


def key_of(text):
    """How tables name a command: without its comment, blanks as one."""
    kept = []
    for line in text.split("\n"):
        quote = None
        for i, letter in enumerate(line):
            if quote:
                quote = None if letter == quote else quote
            elif letter in "'\"":
                quote = letter
            elif letter == "#" and (i == 0 or line[i - 1] == " "):
                line = line[:i]
                break
        kept.append(line.rstrip(" \\"))
    return " ".join(" ".join(kept).split())
