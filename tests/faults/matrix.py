"""matrix.py PROGRAM MODEL SOURCE SHIM [--most N] [--scene NAME] [--fault NAME] [--table PAGE]: one fault at a time in a program at work (docs/security.md).

For every verb and fault, the fault is injected at its occasions: all, or at most N of them spread over the run. A run ends in one of these
ways, or the promise is broken and the exit code is 1:

  * exit code 0, and everything is as in an undisturbed run;
  * another exit code below 128 with a sentence, and what is there is whole: a file or none, a record or none; what was acknowledged is kept;
  * the signal that was sent ended it, and the same holds.

--table: writes the table into the page, between its marks. Exit code 77: not here, and why."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import types

import injectors
import scenes

BEGIN, END = "<!-- faults: made by tests/faults/matrix.py -->", "<!-- end of faults -->"


def spread(numbers, most):
    """At most `most` of these, among them the first and the last."""
    numbers = list(numbers)
    if most == 0 or len(numbers) <= most:
        return numbers
    return sorted({numbers[round(i * (len(numbers) - 1) / (most - 1))] for i in range(most)})


class Cell:
    """What a fault did to a verb."""

    def __init__(self):
        self.unharmed = self.said = self.ended = 0
        self.codes, self.words, self.broken = set(), "", []

    def text(self):
        parts = []
        if self.unharmed:
            parts.append(f"{self.unharmed} unharmed")
        if self.said:
            parts.append(f"{self.said} said ({', '.join(map(str, sorted(self.codes)))})")
        if self.ended:
            parts.append(f"{self.ended} ended")
        return ", ".join(parts) or "no occasion"


def disturbed(scene, call, folder, fault, nth, shim, expected, cell):
    around, environment = fault.around(call, nth, shim)
    where = f"{scene.name}, {fault.name} at {nth}"
    try:
        done = scene.go(around, environment)
    except subprocess.TimeoutExpired:
        cell.broken.append(f"{where}: hangs")
        return
    stdout, stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    code = done.returncode
    by = -code if code < 0 else code - 128 if code > 128 else None
    try:
        if "terminate called" in stderr or "Sanitizer" in stderr or (by is not None and by not in [int(one) for one in fault.ends_by]):
            raise scenes.Broken(f"crashes: exit code {code}, {stderr[-300:]!r}")
        if code == 0:
            if scene.kept(folder, stdout) != expected:
                raise scenes.Broken("exit code 0 with another result")
            cell.unharmed += 1
        else:
            if by is None and not scenes.sentence(stderr):
                raise scenes.Broken(f"exit code {code} without a sentence")
            left = {name for name in os.listdir(folder) if name not in scene.inputs}
            unknown = left - set(scene.may_leave) - scene.outputs
            # Nobody can clean up after a kill.
            if unknown and by != injectors.signal.SIGKILL:
                raise scenes.Broken(f"leaves {', '.join(sorted(unknown))}")
            scene.check_failed(folder, stdout, expected)
            if by is None:
                cell.said += 1
                cell.codes.add(code)
                cell.words = cell.words or scenes.sentence(stderr)
            else:
                cell.ended += 1
    except scenes.Broken as broken:
        cell.broken.append(f"{where}: {broken}")
    except (ValueError, KeyError, OSError) as error:  # the files are not what the scene reads
        cell.broken.append(f"{where}: {type(error).__name__}: {error}")


def fill(scene_type, faults, paths, shim, most, out):
    scene = scene_type(paths)
    if scene.missing() is not None:
        print(f"SKIPPED: {scene.name}: {scene.missing()}", file=sys.stderr)
        return []

    def fresh():
        folder = tempfile.mkdtemp(prefix="faults_", dir=out)
        return folder, scene.prepare(folder)

    folder, call = fresh()
    scene.inputs = set(os.listdir(folder))
    done = scene.go(call, {})
    if done.returncode != 0:
        sys.exit(f"{scene.name}: {done.stderr.decode()}")
    expected = scene.kept(folder, done.stdout.decode())
    scene.outputs = set(os.listdir(folder)) - scene.inputs
    shutil.rmtree(folder)
    cells = []
    for fault in faults:
        cell = Cell()
        if fault.missing() is not None:
            cell.text = lambda: "not here"
            cells.append(cell)
            continue
        folder, call = fresh()
        occasions = fault.occasions(call, shim, scene.go)
        shutil.rmtree(folder)
        for nth in spread(occasions, most):
            folder, call = fresh()
            disturbed(scene, call, folder, fault, nth, shim, expected, cell)
            shutil.rmtree(folder)
        print(f"{scene.name:9} {fault.name:20} {cell.text()}{'  BROKEN: ' + str(len(cell.broken)) if cell.broken else ''}   {cell.words}", flush=True)
        cells.append(cell)
    return cells


def page_table(rows, faults):
    lines = ["| fault | " + " | ".join(name for name, _ in rows) + " |", "|---" * (len(rows) + 1) + "|"]
    for i, fault in enumerate(faults):
        lines.append(f"| {fault.what} ({fault.name}) | " + " | ".join(cells[i].text() for _, cells in rows) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("source")
    parser.add_argument("shim")
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--scene", action="append")
    parser.add_argument("--fault", action="append")
    parser.add_argument("--table")
    given = parser.parse_args()
    os.environ["RUNNEL_CONFIG"] = ""
    models = os.path.join(given.source, "models", "digits")
    paths = types.SimpleNamespace(program=os.path.abspath(given.program), model=os.path.abspath(given.model), onnx=os.path.join(models, "digits.onnx"),
                                  table=os.path.join(models, "digits.table.json"), recording=os.path.join(given.source, "tests", "models", "digits.wav"))
    faults = [one for one in injectors.FAULTS if not given.fault or one.name in given.fault]
    for fault in faults:
        if fault.missing() is not None:
            print(f"SKIPPED: {fault.name}: {fault.missing()}", file=sys.stderr)
    if all(fault.missing() is not None for fault in faults):
        sys.exit(77)
    rows, broken = [], []
    with tempfile.TemporaryDirectory() as out:
        for scene in scenes.SCENES:
            if given.scene and scene.name not in given.scene:
                continue
            cells = fill(scene, faults, paths, os.path.abspath(given.shim), given.most, out)
            if cells:
                rows.append((scene.name, cells))
            broken += [one for cell in cells for one in cell.broken]
    for one in broken:
        print(f"FAILED: {one}", file=sys.stderr)
    if given.table and not broken:
        with open(given.table, encoding="utf-8") as file:
            before, rest = file.read().split(BEGIN)
        _, after = rest.split(END)
        with open(given.table, "w", encoding="utf-8") as file:
            file.write(f"{before}{BEGIN}\n\n{page_table(rows, faults)}\n\n{END}{after}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
