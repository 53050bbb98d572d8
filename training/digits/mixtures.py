"""One pass over the training material with drawn augmentation, as features and labels of frames.

usage: mixtures.py WORK_FOLDER PASS        ($RUNNEL_SPEECH: the folder with the sources, $RUNNEL_PROGRAM: the program runnel)

Writes WORK_FOLDER/pass_PASS.npz: clips of one second with one word or none (A, with a label for each clip), and streams of several words
or of other speech (B); labels of frames: 0 to 9, 10 silence, 11 unknown, -1 not scored. PASS is a part of the seed."""
import os
import sys
from pathlib import Path

import numpy as np

import recordings
from recordings import audio

import augment
import features
import material  # of the voice detector: its noises

SILENCE, UNKNOWN = 10, 11
HOP, WINDOW = 160, 400
SHARES = {'asterisk': 0.8, 'fsdd': 5.0, 'an4': 3.0, 'speech_commands': 2.5, 'espeak': 1.3, 'flite': 1.0, 'festival': 0.5, 'pico': 0.8, 'rhvoice': 0.8}
BANDLIMITED = {'asterisk', 'fsdd', 'prompts'}  # recorded at 8 kHz


def targets(frames, words):
    """The labels of frames; a frame's label is known when its last sample is. words: (label, first sample, last sample, speech or None).

    A digit counts from 60 % of the word to 0.15 s after it, other speech from 0.25 s; before and for 0.2 s after that nothing is scored."""
    now = np.arange(frames) * HOP + WINDOW
    labels = np.full(frames, SILENCE, np.int8)
    for label, first, last, active in words:
        begins = first + (0.6 * (last - first) if label < 10 else min(0.6 * (last - first), 4000))
        earlier = (labels >= 0) & (labels != SILENCE) & (now < first + 0.3 * (last - first))
        labels[(now >= first) & (now < begins) & ~earlier] = -1
        mine = (now >= begins) & (now <= last + 2400)
        labels[mine] = label
        if active is not None:  # pauses within speech
            at = np.clip(now - 200 - first, 0, len(active) - 1).astype(int)
            labels[mine & (now <= last) & ~active[at]] = -1
        labels[(now > last + 2400) & (now <= last + 5600)] = -1
    return labels


def active(x):
    """Samples of speech, by the energy around them."""
    power = np.convolve(x * x, np.ones(480) / 480, 'same')
    return power > power.max() * 10 ** -3.2


def filled(x, random):
    """Sound of 8 kHz with something above 4 kHz: its own band turned over, so that the edge tells nothing."""
    high = np.diff(np.diff(x, prepend=0), prepend=0) * (1 - 2 * (np.arange(len(x)) % 2))
    high *= np.sqrt(np.mean(x * x)) / (np.sqrt(np.mean(high * high)) + 1e-9)
    return (x + high * 10 ** (random.uniform(-30, -6) / 20)).astype(np.float32)


class Material:
    """What a pass draws from."""

    def __init__(self, model, work, random, part='train'):
        self.random = random
        spoken = recordings.of(model, part, work)
        self.digits, self.words = {}, {}
        for u in spoken:
            if 0 <= u.label < 10:
                self.digits.setdefault(u.source, {}).setdefault(u.speaker if u.source == 'fsdd' else '', []).append(u)
            elif u.label == UNKNOWN:
                self.words.setdefault(u.source, []).append(u)
        self.speech = {}
        for u in spoken:
            if u.label == -1:
                self.speech.setdefault((u.source, u.speaker if u.source == 'prompts' else ''), []).append(u)
        recorded = recordings.kept(work / f'noise_{part}.pickle', lambda: material.recorded_noise(material.Model(), part).items())
        self.bank = material.Noises(dict(recorded), random)
        talkers = [u for u in spoken if u.label == -1 and len(u.samples) > 16000]
        self.bank.plain = augment.Noises(random, talkers, seconds=20).kinds
        self.kinds = ['environment'] * 5 + ['music'] * 2 + ['tones'] + ['background'] * 5 + ['babble'] * 6 + ['engine', 'knocks', 'wind', 'alarm'] + list(self.bank.plain)
        self.alone = ['environment'] * 5 + ['music'] * 5 + ['tones'] * 3 + ['background'] * 2 + list(material.noises.MADE) * 2 + list(augment.Noises(random, seconds=1).kinds)
        self.kinds = [k for k in self.kinds if k in self.bank.recorded or k in self.bank.plain or k in material.noises.MADE]

    def one(self, options):
        return options[int(self.random.integers(len(options)))]

    def by_share(self, table):
        names = [n for n in SHARES if n in table]
        share = np.array([SHARES[n] for n in names])
        return names[int(self.random.choice(len(names), p=share / share.sum()))]

    def dressed(self, u, x=None):
        random, x = self.random, u.samples if x is None else x
        if u.source in ('flite', 'festival', 'pico', 'rhvoice', 'espeak') and random.random() < 0.5:
            x = augment.voice(x, random)
        elif random.random() < 0.75:
            x = augment.speed(x, random)
        if u.source in BANDLIMITED:
            if random.random() < 0.35:
                x = filled(x, random)
        elif random.random() < 0.35:
            x = augment.telephone(x, random)
        return np.asarray(x / (np.abs(x).max() + 1e-6), np.float32)

    def digit(self, source=None):
        source = source or self.by_share(self.digits)
        u = self.one(self.one(list(self.digits[source].values())))
        return u.label, self.dressed(u), None

    def unknown(self, long=False):
        random = self.random
        kind = 1.0 if long else random.random()
        if kind < 0.55:
            u = self.one(self.words[self.by_share(self.words)])
            return UNKNOWN, self.dressed(u), None
        if kind < 0.65:  # a digit backwards: same person, same channel, another word
            source = self.by_share(self.digits)
            u = self.one(self.one(list(self.digits[source].values())))
            if u.label not in (0, 6, 9):
                return UNKNOWN, self.dressed(u, u.samples[::-1].copy()), None
        u = self.one(self.speech[self.one(list(self.speech))])
        n = int(random.uniform(1, 2.5) * audio.RATE) if long else int(random.uniform(0.25, 1) * audio.RATE)
        x, first = u.samples, 0
        if len(x) > n:
            first = int(random.integers(len(x) - n))
        x = recordings.faded(x[first:first + n])
        if np.abs(x).max() < 3e-3:
            return self.unknown(long)
        x = self.dressed(u, x)
        return UNKNOWN, x, active(x)

    def channel(self, x, spoken):
        """Room, noises, microphone and level, of what is spoken where `spoken` says so."""
        random, n = self.random, len(x)
        some = bool(spoken.any())
        if some and random.random() < 0.35:
            x = augment.room(x, random)[:n]
        power = float(np.mean(x[spoken] ** 2)) if some else 1.0
        decibels = random.uniform(0, 25) if random.random() < 0.7 else random.uniform(25, 50)
        _, noise = self.bank.of(self.one(self.kinds if some else self.alone), n)
        x = x + noise * np.float32(np.sqrt(power) * 10 ** (-decibels / 20))
        _, hiss = self.bank.of('pink' if random.random() < 0.5 else 'white', n)
        x = x + hiss * np.float32(np.sqrt(power) * 10 ** (-random.uniform(25, 60) / 20))
        if random.random() < 0.65:
            x = augment.microphone(x, random)
        level = random.uniform(-32, 0) if some else random.uniform(-70, -6)
        return x * np.float32(10 ** (level / 20) / (np.abs(x).max() + 1e-6))

    def clip(self):
        """One second: (samples, label, words)."""
        kind, n = self.random.random(), audio.RATE
        label, x, on = (SILENCE, None, None) if kind < 0.10 else self.unknown() if kind < 0.34 else self.digit()
        y, spoken, words = np.zeros(n, np.float32), np.zeros(n, bool), []
        if x is not None:
            if len(x) > n:
                first = (len(x) - n) // 2 if label < 10 else int(self.random.integers(len(x) - n + 1))
                x, on = x[first:first + n], None if on is None else on[first:first + n]
            first = int(self.random.integers(0, n - len(x) + 1))
            y[first:first + len(x)] = x
            spoken[first:first + len(x)] = True
            words = [(label, first, first + len(x), on)]
        return self.channel(y, spoken), label, words

    def stream(self, seconds):
        """Several words behind each other, or other speech alone: (samples, words)."""
        random, n = self.random, int(seconds * audio.RATE)
        y, spoken, words, at = np.zeros(n, np.float32), np.zeros(n, bool), [], int(random.uniform(0, 0.4) * audio.RATE)
        negative, long = random.random() < 0.45, random.random() < 0.6
        source = self.by_share(self.digits)
        if random.random() < 0.16:  # no speech at all
            at = n
        while at < n - 4000:
            label, x, on = self.unknown(long) if negative or random.random() < 0.35 else self.digit(source)
            if label == UNKNOWN:
                x = x[:n - at]
            elif at + len(x) > n:
                break
            y[at:at + len(x)] += x * 10 ** (random.uniform(-8, 0) / 20)
            spoken[at:at + len(x)] = True
            words.append((label, at, at + len(x), None if on is None else on[:len(x)]))
            at += len(x) + int((random.uniform(0, 0.06) if random.random() < 0.4 else random.uniform(0.06, 0.8)) * audio.RATE)
        return self.channel(y, spoken), words


def featured(model, sounds, words, batch=250):
    """(features, labels of frames) of sounds, by the program itself."""
    values, labels = [], []
    for first in range(0, len(sounds), batch):
        for v, w in zip(features.of_many(model.settings['front_end'], sounds[first:first + batch]), words[first:first + batch]):
            values.append(v.astype(np.float16))
            labels.append(targets(len(v), w))
    return np.stack(values), np.stack(labels)


def main(work, number):
    model, work = recordings.Model(), Path(work)
    settings, random = model.settings['training'], np.random.default_rng([model.settings['seed'], int(number)])
    found = Material(model, work, random)
    clips = [found.clip() for _ in range(settings['clips'])]
    print('clips', file=sys.stderr, flush=True)
    a, a_frames = featured(model, [audio.to_int16(c[0]).astype(np.float32) / 32768 for c in clips], [c[2] for c in clips])
    streams = [found.stream(settings['stream_seconds']) for _ in range(settings['streams'])]
    print('streams', file=sys.stderr, flush=True)
    b, b_frames = featured(model, [s[0] for s in streams], [s[1] for s in streams])
    out = work / f'pass_{int(number)}.npz'
    np.savez(f'{out}.part.npz', A=a, A_label=np.array([c[1] for c in clips]), A_frame=a_frames, B=b, B_frame=b_frames)
    os.replace(f'{out}.part.npz', out)
    print(f'{out.name}: {len(a)} clips, {len(b)} streams', file=sys.stderr)


if __name__ == '__main__':
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
