"""One pass over the training material: mixtures with drawn augmentation, as features and labels.

usage: render.py WORK_FOLDER PASS        ($RUNNEL_SPEECH: the folder with the sources, $RUNNEL_PROGRAM: the program runnel)

Writes WORK_FOLDER/shard_PASS.npz: values [clips, frames, bands] in half precision, labels [clips, frames]. PASS is a part of the seed."""
import os
import sys
from pathlib import Path

import numpy as np

import material
from material import audio, augment, frames, labelled

import features


def line(spoken, seconds, random, busy):
    """Recordings with pauses between them, cut to so many seconds, and their labels. `busy`: the share of speech, about; 0: none."""
    n = int(seconds * audio.RATE)
    x, on = np.zeros(n, np.float32), np.zeros(frames(n), bool)
    at = int(random.exponential(0.8) * audio.RATE)
    while busy and at < n - 8000:
        u = spoken[int(random.integers(len(spoken)))]
        y = augment.speed(u.samples, random) if random.random() < 0.5 else u.samples
        labels = u.labels if y is u.samples else labelled(y)
        first = int(random.integers(0, max(1, len(y) - 16000))) // 160 * 160 if random.random() < 0.3 else 0  # some begin within speech
        y, labels = y[first:first + n - at], labels[first // 160:]
        y = y / (np.abs(y).max() + 1e-4) * 10 ** (random.uniform(-10, 0) / 20)
        at = at // 160 * 160
        x[at:at + len(y)] += y
        k = min(len(labels), len(on) - at // 160)
        on[at // 160:at // 160 + k] |= labels[:k]
        at += len(y) + int(random.exponential(0.3 + 2.5 * (1 - busy)) * audio.RATE)
    return x, on


def power_of_speech(x, on):
    e = 10 ** (material.energies(x) / 10)
    return float(e[on].mean()) if on.any() else 0.0


def mixture(spoken, bank, kinds, seconds, random):
    """(samples, labels) of a clip of training."""
    x, on = line(spoken, seconds, random, 0 if random.random() < 0.15 else random.uniform(0.3, 0.9))
    n = len(x)
    power = power_of_speech(x, on) or 1e-3
    if random.random() < 0.4:
        x = augment.room(x, random)[:n]
    for _ in range(1 if random.random() < 0.75 else 2):
        _, noise = bank.of(kinds[int(random.integers(len(kinds)))], n)
        x = x + noise * np.float32(np.sqrt(power) * 10 ** (-random.uniform(-4, 32) / 20))
    _, hiss = bank.of('pink' if random.random() < 0.5 else 'white', n)  # no microphone is silent
    x = x + hiss * np.float32(np.sqrt(power) * 10 ** (-random.uniform(30, 60) / 20))
    if random.random() < 0.6:
        x = augment.microphone(x, random)
    if random.random() < 0.25:
        x = augment.telephone(x, random)[:n]
    x = x * np.float32(10 ** (random.uniform(-34, 0) / 20) / (np.abs(x).max() + 1e-6))
    return np.pad(x, (0, n - len(x))), on


def kinds_of(bank):
    """The kinds of noise, as often as they are drawn: recorded ones for more than half."""
    return ['environment'] * 6 + ['music'] * 3 + ['tones'] * 3 + ['background'] * 4 + list(material.noises.MADE) + list(bank.plain)


def main(work, number):
    model, work = material.Model(), Path(work)
    work.mkdir(parents=True, exist_ok=True)
    settings = model.settings['training']
    random = np.random.default_rng([model.settings['seed'], int(number)])
    spoken = material.kept(work / 'speech_train.pickle', lambda: material.speech(model, 'train'))
    recorded_noise = material.kept(work / 'noise_train.pickle', lambda: material.recorded_noise(model, 'train'))
    by_source = {}
    for u in spoken:
        by_source.setdefault((u.source, u.speaker if u.source == 'prompts' else ''), []).append(u)
    print({k: (len(v), f'{sum(len(u.samples) for u in v) / 16000:.0f} s', f'{np.mean(np.concatenate([u.labels for u in v])):.2f}') for k, v in by_source.items()}, file=sys.stderr, flush=True)
    groups = list(by_source.values())
    share = np.array([{'an4': 3, 'speech_commands': 3, 'prompts': 1}[k[0]] for k in by_source], float)
    bank = material.Noises(recorded_noise, random)
    kinds = kinds_of(bank)
    values, labels, clips = [], [], []

    def flush():
        for v, (_, on) in zip(features.of_many(model.settings['front_end'], [c for c, _ in clips]), clips):
            values.append(v.astype(np.float16))
            labels.append(on)
        clips.clear()
    for i in range(settings['clips']):
        clips.append(mixture(groups[int(random.choice(len(groups), p=share / share.sum()))], bank, kinds, settings['seconds'], random))
        if len(clips) == 100:
            flush()
            print(i + 1, end=' ', file=sys.stderr, flush=True)
    if clips:
        flush()
    out = work / f'shard_{int(number):02}.npz'
    np.savez(f'{out}.part.npz', values=np.stack(values), labels=np.stack(labels))
    os.replace(f'{out}.part.npz', out)
    print(f'{out.name}: {len(values)} clips, {np.mean(labels):.2f} of the frames speech', file=sys.stderr)


if __name__ == '__main__':
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
