"""Features of recordings, by the runnel program itself, so that training and use cannot differ."""
import subprocess
import tempfile

import numpy as np

import audio
import program


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
        subprocess.run([program.path(), 'run', f'wav path={wav} ! {front_end} ! npy path={out}'], check=True, stdout=subprocess.DEVNULL)
        values = np.load(out)
    return [values[s:s + max(0, 1 + (len(c) - window) // hop)] for s, c in zip(starts, clips)]
