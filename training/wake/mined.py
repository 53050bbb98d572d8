"""What a half-trained network takes for the phrase in unbroken sound of the training side: speech of people and synthesizers, single words, noise, each
at three speeds, some of it as narrow as old recordings are.

usage: mined.py WORK_FOLDER

Needs WORK_FOLDER/part.pt of train.py. Writes WORK_FOLDER/mined.npz, from which the training goes on beside the passes of streams.py: values and
labels as there, all labels 0. Windows that the network is sure about are left out but for a fifth, what comes near an alarm is there three times."""
import os
import sys
from pathlib import Path

import numpy as np
import torch
from scipy.signal import resample_poly

import evaluate
import spoken
import streams
from model import Wake
from spoken import NEAR, OTHER, SPEECH, WORD, audio

import material

SPEEDS = (20, 18, 22)        # twentieths
SURE, NEARLY = 0.03, 0.2     # probabilities: below the first a window is easy, above the second it is hard
EASY, HARD = 0.2, 3          # the part of easy windows that stays; how often a hard one is there


def unbroken(model, work, random):
    """(kind, samples) of everything that is not the phrase."""
    said = spoken.of(model, 'train', work)
    for kind in (SPEECH, OTHER, WORD, NEAR):
        some = [u for u in said if u.kind == kind]
        if some:
            yield kind, evaluate.pieces(evaluate.in_order(model.phrase, some, random), random, (0.05, 0.5))
    by_kind = {}
    for name, x in spoken.kept(work / 'noise_train.pickle', lambda: streams.recorded_noise(model, 'train')):
        by_kind.setdefault(name.split('/')[0], []).append(x)
    for kind, make in material.noises.MADE.items():
        by_kind.setdefault(kind, []).extend(make(20 * audio.RATE, random) for _ in range(model.settings['mined']['made']))
    for kind, some in by_kind.items():
        yield kind, np.concatenate([x * np.float32(10 ** (random.uniform(-40, -6) / 20) / (np.abs(x).max() + 1e-6)) for x in some])


def windows(x, samples, random):
    """Windows of x at all speeds; half of those at another speed have nothing above 5.5 kHz."""
    for speed in SPEEDS:
        y = x if speed == 20 else resample_poly(x, speed, 20).astype(np.float32)
        for first in range(int(random.integers(samples)), len(y) - samples + 1, samples):
            z = y[first:first + samples]
            if speed != 20 and random.random() < 0.5:
                z = resample_poly(resample_poly(z, 11, 16), 16, 11)[:samples].astype(np.float32)
            yield np.pad(z, (0, samples - len(z)))


def chosen(highest, random):
    """Which windows stay, and how often, by the highest probability that the network gives in each."""
    keep = np.flatnonzero((highest > SURE) | (random.random(len(highest)) < EASY))
    return np.concatenate([keep, *[np.flatnonzero(highest > NEARLY)] * (HARD - 1)])


def render(model, work):
    out = work / 'mined.npz'
    if out.exists():
        return
    torch.set_num_threads(1)
    net = Wake(model.settings['bins'], **model.settings['model'])
    net.load_state_dict(torch.load(work / 'part.pt')['average'])
    net.eval()
    random, values = np.random.default_rng([model.settings['seed'], 2000]), []
    samples, smoothing = int(model.settings['training']['seconds'] * audio.RATE), model.settings['decision']['smoothing']
    for kind, x in unbroken(model, work, random):
        some = list(windows(x, samples, random))
        if not some:
            continue
        found, highest = streams.featured(model, some), []
        with torch.no_grad():
            for first in range(0, len(found), 64):
                p = torch.softmax(net(torch.from_numpy(found[first:first + 64].astype(np.float32))), 0)[1]
                highest.append(p.unfold(1, smoothing, 1).mean(2).amax(1).numpy())
        highest = np.concatenate(highest)
        values.append(found[chosen(highest, random)])
        print(f'{kind}: {len(some)} windows, {int((highest > SURE).sum())} above {SURE}, {int((highest > NEARLY).sum())} above {NEARLY}', file=sys.stderr, flush=True)
    values = np.concatenate(values)
    np.savez(f'{out}.part.npz', values=values, labels=np.zeros((len(values), streams.frames_of(samples)), np.int8))
    os.replace(f'{out}.part.npz', out)


if __name__ == '__main__':
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    render(spoken.Model(), Path(sys.argv[1]))
