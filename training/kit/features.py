"""Features of recordings, by the runnel program itself, so that training and use cannot differ."""
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import audio


def program():
    """The program runnel: $RUNNEL_PROGRAM, or that of the build folder of this tree."""
    path = Path(os.environ.get('RUNNEL_PROGRAM', Path(__file__).resolve().parents[2] / 'build/runnel'))
    if not path.exists():
        raise SystemExit(f'{path}: expected the program runnel (build it, or name it in RUNNEL_PROGRAM), found nothing')
    return str(path)


def of_many(front_end, clips, hop=160, window=400):
    """The features [frames, bins] of each clip. The clips run through the program as one recording, each beginning on a hop; a
    front end whose frames depend on their own window alone gives the same values as for each clip apart."""
    padded, starts, at = [], [], 0
    for clip in clips:
        n = -(-(len(clip) + window) // hop) * hop
        padded.append(np.pad(np.asarray(clip, np.float32), (0, n - len(clip))))
        starts.append(at // hop)
        at += n
    with tempfile.TemporaryDirectory() as folder:
        wav, out = f'{folder}/a.wav', f'{folder}/a.npy'
        audio.write(wav, np.concatenate(padded))
        subprocess.run([program(), 'run', f'wav path={wav} ! {front_end} ! npy path={out}'], check=True, stdout=subprocess.DEVNULL)
        values = np.load(out)
    return [values[s:s + max(0, 1 + (len(c) - window) // hop)] for s, c in zip(starts, clips)]
