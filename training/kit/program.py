"""The program runnel, which computes features, quantizes and evaluates, so that training and use cannot differ."""
import os
import subprocess
from pathlib import Path


def path():
    """$RUNNEL_PROGRAM, or that of the build folder of this tree."""
    found = Path(os.environ.get('RUNNEL_PROGRAM', Path(__file__).resolve().parents[2] / 'build/runnel'))
    if not found.exists():
        raise SystemExit(f'{found}: expected the program runnel (build it, or name it in RUNNEL_PROGRAM), found nothing')
    return str(found)


def run(*arguments):
    """What it prints; ends this program with its sentence where it fails."""
    done = subprocess.run([path(), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f'runnel {arguments[0]}: {done.stderr[-2000:]}')
    return done.stdout
