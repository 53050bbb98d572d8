"""matrix.py PROGRAM MODEL SOURCE TRACER SHIM [--most N] [--short] [--scene NAME] [--fault NAME] [--keep FILE]... [--table PAGE]: one fault at a time in a program at work (docs/security.md).

For every verb and fault, the fault is injected at its occasions: all, or at most N of them spread over the run. A run ends in one of these
ways, or the promise is broken and the exit code is 1:

  * exit code 0, and everything is as in an undisturbed run;
  * another exit code below 128 with a sentence, and what is there is whole: a file or none, a record or none; what was acknowledged is kept;
  * the signal that was sent ended it, and the same holds;
  * where its input changed: exit code 0 or a sentence, and what is there is whole, though it may be that of the other input.

--short: two places, and in slow scenes one of some faults. --keep FILE: adds what it has found to
this file, and to the table what further such files have. --table: writes the table into the page, between its marks. Exit code 77: not here, and why."""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types

import disturbances
import fleet_scenes
import injectors
import scenes

BEGIN, END = "<!-- faults: made by tests/faults/matrix.py -->", "<!-- end of faults -->"


def spread(numbers, most):
    """At most `most` of these, among them the first and the last."""
    if most == 0 or len(numbers) <= most:
        return numbers
    if most == 1:
        return [numbers[len(numbers) // 2]]
    return [numbers[at] for at in sorted({round(i * (len(numbers) - 1) / (most - 1)) for i in range(most)})]


class Cell:
    """What a fault did to a verb."""

    def __init__(self):
        self.unharmed = self.early = self.other = self.said = self.ended = 0
        self.codes, self.words, self.broken = set(), "", []

    def text(self):
        parts = []
        if self.unharmed:
            parts.append(f"{self.unharmed} unharmed")
        if self.early:
            parts.append(f"{self.early} ended well")
        if self.other:
            parts.append(f"{self.other} of the other input")
        if self.said:
            parts.append(f"{self.said} said ({', '.join(map(str, sorted(self.codes)))})")
        if self.ended:
            parts.append(f"{self.ended} ended")
        return ", ".join(parts) or "no occasion"


def judge(scene, fault, folder, done, expected, cell):
    """Adds the end of a run to its cell. Raises Broken, or what a file that is not as it should be makes of who reads it."""
    stdout, stderr = done.stdout.decode(errors="replace").replace(folder, ""), done.stderr.decode(errors="replace")
    code = done.returncode
    by = -code if code < 0 else code - 128 if code > 128 else None
    if "tracer: " in stderr:
        raise scenes.Broken(f"is not disturbed: {stderr[-300:]!r}")
    if "terminate called" in stderr or "Sanitizer" in stderr or (by is not None and by not in [int(one) for one in fault.ends_by]):
        raise scenes.Broken(f"crashes: exit code {code}, {stderr[-300:]!r}")
    if by is None and code != 0 and not scenes.sentence(stderr):
        raise scenes.Broken(f"exit code {code} without a sentence")
    if fault.other_input:
        same = False
        if code == 0:
            try:
                same = scene.kept(folder, stdout) == expected
            except (scenes.Broken, ValueError, KeyError, OSError):
                pass
        if not same:
            scene.check_other(folder, stdout, expected, code)
    elif code == 0 and fault.ends_by and scene.ends_well:
        scene.check_ended_early(folder, stdout, expected)
        cell.early += 1
        return
    elif code == 0:
        same = True
        if scene.kept(folder, stdout) != expected:
            raise scenes.Broken("exit code 0 with another result")
    else:
        scene.check_failed(folder, stdout, expected)
    if code == 0:
        cell.unharmed += same
        cell.other += not same
    elif by is None:
        cell.said += 1
        cell.codes.add(code)
        cell.words = cell.words or scenes.sentence(stderr)
    else:
        cell.ended += 1


class Row:
    """All faults of one scene."""

    def __init__(self, scene, out):
        self.scene, self.out = scene, out

    def fresh(self, fault=None):
        folder = tempfile.mkdtemp(prefix="faults_", dir=self.out)
        if fault is not None:
            fault.before(self.scene, folder)
        call = self.scene.prepare(folder)
        self.scene.inputs = {os.path.join(where, name) for where, _, names in os.walk(folder) for name in names}
        return folder, call

    def away(self, folder, fault=None):
        if fault is not None:
            fault.done(self.scene, folder)
        shutil.rmtree(folder)

    def undisturbed(self):
        folder, call = self.fresh()
        inputs = set(os.listdir(folder))
        done = self.scene.go(call, {})
        if done.returncode != 0:
            sys.exit(f"{self.scene.name}: {done.stderr.decode()}")
        self.expected = self.scene.kept(folder, done.stdout.decode().replace(folder, ""))
        self.scene.outputs = set(os.listdir(folder)) - inputs
        self.away(folder)

    def occasions(self, fault):
        folder, call = self.fresh(fault)
        try:
            return list(fault.occasions(self.scene, call, folder))
        finally:
            self.away(folder, fault)

    def disturbed(self, fault, place, cell):
        folder, call = self.fresh(fault)
        try:
            inputs = set(os.listdir(folder))
            try:
                done = fault.play(self.scene, call, folder, place)
            finally:
                fault.after(self.scene, folder)
            left = set(os.listdir(folder)) - inputs - set(self.scene.may_leave) - self.scene.outputs - {self.scene.stdout_name}
            # Nobody can clean up after a kill, or where nothing can be removed.
            if left and done.returncode not in (0, 128 + injectors.signal.SIGKILL, -injectors.signal.SIGKILL) and fault.name != "disk: EROFS":
                raise scenes.Broken(f"leaves {', '.join(sorted(left))}")
            judge(self.scene, fault, folder, done, self.expected, cell)
        except subprocess.TimeoutExpired:
            cell.broken.append(f"{self.scene.name}, {fault.name} at {place}: hangs")
        except scenes.Broken as broken:
            cell.broken.append(f"{self.scene.name}, {fault.name} at {place}: {broken}")
        except (ValueError, KeyError, OSError) as error:  # the files are not what the scene reads
            cell.broken.append(f"{self.scene.name}, {fault.name} at {place}: {type(error).__name__}: {error}")
        finally:
            self.away(folder, fault)

    def fill(self, faults, most):
        self.undisturbed()
        cells = {}
        if most:
            most = max(1, round(most * self.scene.share))
        for fault in faults:
            cell = cells[fault] = Cell()
            if fault.missing() is not None:
                cell.text = lambda: "not here"
                continue
            if not fault.suits(self.scene):
                continue
            begin = time.monotonic()
            for place in spread(self.occasions(fault), most):
                self.disturbed(fault, place, cell)
            print(f"{self.scene.name:12} {fault.name:20} {time.monotonic() - begin:6.1f} s  {cell.text()}{'  BROKEN: ' + str(len(cell.broken)) if cell.broken else ''}   {cell.words}", flush=True)
            for one in cell.broken:
                print(f"  {one}", flush=True)
        return cells


def fill(scene_type, faults, paths, given, out):
    scene = scene_type(paths)
    if scene.missing() is not None:
        print(f"SKIPPED: {scene.name}: {scene.missing()}", file=sys.stderr)
        return {}
    scene.begin()
    try:
        if given.short and scene.short is not None:
            faults = [one for one in faults if one.name in scene.short]
        return Row(scene, out).fill(faults, given.most)
    finally:
        scene.end()


def page_table(rows, faults):
    lines = ["| fault | " + " | ".join(name for name, _ in rows) + " |", "|---" * (len(rows) + 1) + "|"]
    for fault in faults:
        lines.append(f"| {fault.what} ({fault.name}) | " + " | ".join(texts.get(fault.name, "not here") for _, texts in rows) + " |")
    return "\n".join(lines)


def with_mounts():
    """Starts this program anew in a namespace of its own for mounts, where that is allowed: full disks are made there."""
    if "RUNNEL_FAULTS_MOUNTS" in os.environ:
        return
    alone = ["unshare", "--mount", "--propagation", "private"]
    with tempfile.TemporaryDirectory() as folder:
        may = shutil.which("unshare") is not None and subprocess.run([*alone, "mount", "-t", "tmpfs", "tmpfs", folder], stderr=subprocess.DEVNULL, check=False).returncode == 0
    os.environ["RUNNEL_FAULTS_MOUNTS"] = "1" if may else "0"
    if may:
        os.execvp(alone[0], [*alone, sys.executable, "-B", *sys.argv])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("source")
    parser.add_argument("tracer")
    parser.add_argument("shim")
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--scene", action="append")
    parser.add_argument("--fault", action="append")
    parser.add_argument("--keep", action="append")
    parser.add_argument("--table")
    given = parser.parse_args()
    # A program that was started in the background ignores them, and so would all that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with_mounts()
    os.environ["RUNNEL_CONFIG"] = ""
    models = os.path.join(given.source, "models", "digits")
    paths = types.SimpleNamespace(program=os.path.abspath(given.program), model=os.path.abspath(given.model), onnx=os.path.join(models, "digits.onnx"),
                                  table=os.path.join(models, "digits.table.json"), recording=os.path.join(given.source, "tests", "models", "digits.wav"))
    injectors.Fault.tools = types.SimpleNamespace(tracer=given.tracer if given.tracer == "none" else os.path.abspath(given.tracer), shim=os.path.abspath(given.shim))
    if given.short:
        given.most = 2
    faults = [one for one in disturbances.FAULTS if not given.fault or one.name in given.fault]
    for fault in faults:
        if fault.missing() is not None:
            print(f"SKIPPED: {fault.name}: {fault.missing()}", file=sys.stderr)
    if all(fault.missing() is not None for fault in faults):
        sys.exit(77)
    rows, broken = [], []
    with tempfile.TemporaryDirectory() as out:
        for scene in scenes.SCENES + fleet_scenes.SCENES:
            if given.scene and scene.name not in given.scene:
                continue
            cells = fill(scene, faults, paths, given, out)
            if cells:
                rows.append((scene.name, {fault.name: cell.text() for fault, cell in cells.items()}))
            broken += [one for cell in cells.values() for one in cell.broken]
    for one in broken:
        print(f"FAILED: {one}", file=sys.stderr)
    if given.keep:
        for path in given.keep:
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    kept = json.load(file)
                    rows += [(name, texts) for name, texts in kept.items() if name not in dict(rows)]
        with open(given.keep[0], "w", encoding="utf-8") as file:
            json.dump(dict(rows), file, indent=1)
    order = [scene.name for scene in scenes.SCENES + fleet_scenes.SCENES]
    rows.sort(key=lambda row: order.index(row[0]))
    if given.table and not broken:
        with open(given.table, encoding="utf-8") as file:
            before, rest = file.read().split(BEGIN)
        _, after = rest.split(END)
        with open(given.table, "w", encoding="utf-8") as file:
            file.write(f"{before}{BEGIN}\n\n{page_table(rows, faults)}\n\n{END}{after}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
