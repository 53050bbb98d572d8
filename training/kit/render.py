"""One pass over the training material with drawn augmentation: features and phones, as a shard for train.py.

usage: render.py MODEL.toml WORK_FOLDER PASS [synthetic]
PASS: a number, which is part of the seed; with `synthetic`, the synthetic phrases alone."""
import os
import sys
from pathlib import Path

import numpy as np

import audio
import augment
import features
from collect import Model, load

LONGEST = 9.0  # seconds of a rendered clip
RECORDED = ('an4', 'speech_commands', 'fsdd')


def floats(utterance):
    return np.asarray(utterance.samples, np.float32) / 32768


def groups(recorded, synthetic, random):
    """What is spoken together: recordings alone, and words of one speaker (or of several) as connected speech."""
    by_speaker = {}
    for u in recorded:
        by_speaker.setdefault((u.source, u.speaker if u.source == 'fsdd' else ''), []).append(u)
    out = [[u] for u in synthetic]
    for (source, _), mine in by_speaker.items():
        mine = [mine[i] for i in random.permutation(len(mine))]
        alone = {'an4': 0.9, 'speech_commands': 0.45, 'fsdd': 0.1}[source]
        most = {'an4': 2, 'speech_commands': 4, 'fsdd': 7}[source]
        while mine:
            count = 1 if random.random() < alone else int(random.integers(2, most + 1))
            out.append(mine[:count])
            mine = mine[count:]
    return [out[i] for i in random.permutation(len(out))]


def spoken(group, random):
    """The recordings of a group behind each other, with drawn pauses before, between and after, and a drawn speed."""
    parts = [np.zeros(int(random.uniform(0.05, 0.5) * audio.RATE), np.float32)]
    factor = random.uniform(0.85, 1.2) if random.random() < 0.12 else None
    for i, u in enumerate(group):
        x = floats(u)
        if len(group) > 1:
            x = audio.trim(x, -35, 0.02)
            x = x / (np.abs(x).max() + 1e-3) * random.uniform(0.4, 1)
            if i:
                parts.append(np.zeros(int(random.exponential(0.12) * audio.RATE), np.float32))
        parts.append(x)
    parts.append(np.zeros(int(random.uniform(0.15, 0.6) * audio.RATE), np.float32))
    x = np.concatenate(parts)
    if group[0].source not in RECORDED and random.random() < 0.6:
        x = augment.voice(x, random)  # synthesizers have few voices
    elif factor:
        x = augment.tempo(x, factor)
    elif random.random() < 0.6:
        x = augment.speed(x, random)
    return x


def clips(model, work, random, limit=None, only_synthetic=False):
    """(samples, phones as numbers) of the pass."""
    dictionary = model.dictionary()
    number = {t: i for i, t in enumerate(model.tokens)}
    recorded = load(work / 'train')
    noises = augment.Noises(random, [u for u in recorded if u.source == 'an4'], load(work / 'background'))
    if not (work / 'synthetic.npy').exists():
        print('without synthetic phrases, which are not there yet', file=sys.stderr)
    synthetic = load(work / 'synthetic') if (work / 'synthetic.npy').exists() else []
    for group in groups([] if only_synthetic else recorded, synthetic, random)[:limit]:
        x = spoken(group, random)
        if len(x) > LONGEST * audio.RATE:
            continue
        phones = [number[p] for u in group for p in dictionary.phones(u.text, random)]
        yield augment.way_to_the_model(x, random, noises), phones


def main(config, work, number, only=''):
    model, work = Model(config), Path(work)
    random = np.random.default_rng([model.settings['seed'], int(number)])
    values, lengths, labels, counts = [], [], [], []
    waiting = []

    def flush():
        for frames, (_, phones) in zip(features.of_many(model.settings['front_end'], [c for c, _ in waiting]), waiting):
            values.append(frames.astype(np.float16))
            lengths.append(len(frames))
            labels.extend(phones)
            counts.append(len(phones))
        waiting.clear()
    for clip in clips(model, work, random, only_synthetic=bool(only)):
        waiting.append(clip)
        if len(waiting) == 200:
            flush()
    if waiting:
        flush()
    out = work / f'shard_{int(number):02}.npz'
    np.savez(f'{out}.part.npz', values=np.concatenate(values), lengths=np.array(lengths), labels=np.array(labels, np.uint8), counts=np.array(counts))
    os.replace(f'{out}.part.npz', out)
    print(f'{out.name}: {len(lengths)} clips, {sum(lengths) / 360000:.2f} hours', file=sys.stderr)


if __name__ == '__main__':
    if len(sys.argv) not in (4, 5) or sys.argv[4:] not in ([], ['synthetic']):
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
