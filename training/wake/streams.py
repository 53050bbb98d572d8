"""One pass over the material: streams with the phrase, with what is near it, with other speech or none, in drawn rooms and noise, as features and
labels.

usage: streams.py WORK_FOLDER PASS

Writes WORK_FOLDER/pass_PASS.npz: values [streams, frames, bands] in half precision, and labels of the network's frames of 20 ms: 1 when the phrase has
just been said, 0 otherwise, -1 where neither is asked for. PASS is a part of the seed."""
import os
import sys
from pathlib import Path

import numpy as np

import spoken
from spoken import NEAR, OTHER, PHRASE, SPEECH, WORD, audio

import augment
import features
import material  # of the voice detector: its noises

HOP, WINDOW, FRAME = 160, 400, 320  # samples: of a feature, and of a frame of the network
EARLY, LATE, AFTER = 0.06, 0.30, 0.70  # seconds: the label begins so early before the end of the phrase, ends so late after it, and is not asked for until then
PAUSE = 0.7  # seconds at most between what is said
BANDLIMITED = {'fsdd', 'prompts', 'people'}  # recorded at 8 kHz, or perhaps
PEOPLE = {'an4', 'speech_commands', 'fsdd', 'prompts', 'people'}
ENGINES = {'espeak': 3.0, 'flite': 2.0, 'rhvoice': 3.0, 'pico': 2.0, 'festival': 1.0, 'people': 3.0}  # how often a source says the phrase


def frames_of(samples):
    """The frames of the network for so many samples."""
    features_of = max(0, 1 + (samples - WINDOW) // HOP)
    return (features_of + 1) // 2


def targets(frames, phrases):
    """Labels of frames from the phrases' (first, last) samples; a frame is known when its last sample is."""
    now = np.arange(frames) * FRAME + WINDOW
    labels = np.zeros(frames, np.int8)
    for first, last in phrases:
        labels[(now > first + 0.5 * (last - first)) & (now <= last + AFTER * audio.RATE)] = -1
    for first, last in phrases:
        labels[(now >= last - EARLY * audio.RATE) & (now <= last + LATE * audio.RATE)] = 1
    return labels


def recorded_noise(model, part):
    """Noises of the voice detector by kind; none where its recordings are not there."""
    if not model.settings.get('noise', True):
        return []
    try:
        return list(material.recorded_noise(material.Model(), 'test' if part == 'test' else 'train').items())
    except SystemExit as absent:
        spoken.missing('recorded noise', absent)
        return []


class Material:
    """What a pass draws from."""

    def __init__(self, model, work, random, part='train'):
        self.model, self.random = model, random
        said = spoken.of(model, part, work)
        self.by_kind = {}
        for u in said + list(spoken.joined(model, said, random, 600)):
            if not spoken.is_phrase(model, u):
                self.by_kind.setdefault(u.kind, {}).setdefault(u.source, []).append(u)
        noise = spoken.kept(work / f'noise_{part}.pickle', lambda: recorded_noise(model, part))
        self.bank = material.Noises(dict(noise), random)
        talkers = [u for some in self.by_kind.get(SPEECH, {}).values() for u in some if len(u.samples) > 16000] or \
                  [u for some in self.by_kind.get(OTHER, {}).values() for u in some]
        self.bank.plain = augment.Noises(random, talkers, seconds=20).kinds
        kinds = ['environment'] * 5 + ['music'] * 3 + ['tones'] + ['background'] * 5 + ['babble'] * 5 + list(material.noises.MADE) + list(self.bank.plain)
        self.kinds = [k for k in kinds if k in self.bank.recorded or k in self.bank.plain or k in material.noises.MADE]

    def one(self, options):
        return options[int(self.random.integers(len(options)))]

    def draw(self, kind):
        """A recording of a kind, sources as often as they say."""
        there = self.by_kind.get(kind)
        if not there:
            return self.draw(OTHER) if kind != OTHER else self.draw(NEAR)
        names = sorted(there)
        share = np.array([ENGINES[n] if n in ENGINES and kind in (PHRASE, NEAR, OTHER) else len(there[n]) ** 0.7 for n in names])
        return self.one(there[names[int(self.random.choice(len(names), p=share / share.sum()))]])

    def dressed(self, u, x=None):
        """Another voice for synthesizers, another speed, sometimes another line."""
        random, x = self.random, u.samples if x is None else x
        if u.source not in PEOPLE and random.random() < 0.65:
            x = augment.voice(x, random)
        elif random.random() < 0.7:
            x = augment.speed(x, random)
        if u.source not in BANDLIMITED and random.random() < 0.2:
            x = augment.telephone(x, random)
        return np.asarray(x / (np.abs(x).max() + 1e-6) * 10 ** (random.uniform(-6, 0) / 20), np.float32)

    def phrase(self):
        x = self.dressed(self.draw(PHRASE))
        x = audio.trim(x, -38, 0.02)  # what the room of a synthesizer leaves
        return x

    def cut(self):
        """The phrase without its end or without its beginning."""
        x, at = self.phrase(), self.random.uniform(0.35, 0.62)
        n = int(len(x) * at)
        x = np.array(x[:n] if self.random.random() < 0.6 else x[n:])
        edge = min(160, len(x) // 4)
        x[:edge] *= np.linspace(0, 1, edge)
        x[len(x) - edge:] *= np.linspace(1, 0, edge)
        return x

    def else_(self, most):
        """Anything but the phrase, of at most so many samples."""
        random, share = self.random, self.model.settings['else']
        kind = list(share)[int(random.choice(len(share), p=np.array(list(share.values())) / sum(share.values())))]
        if kind == 'cut':
            x = self.cut()
        elif kind in (NEAR, WORD):
            x = self.dressed(self.draw(kind))
        else:
            u = self.draw(kind)
            x = u.samples
            n = int(random.uniform(0.8, 3.2) * audio.RATE)
            if len(x) > n:
                first = int(random.integers(len(x) - n))
                x = x[first:first + n]
            x = self.dressed(u, x)
        return x[:most]

    def stream(self, seconds, with_phrase, silent=0.0):
        """(samples, phrases' first and last samples)."""
        random, n = self.random, int(seconds * audio.RATE)
        y, on, phrases = np.zeros(n, np.float32), np.zeros(n, bool), []
        kind = random.random()
        at = int((random.uniform(0, 0.5) if random.random() < 0.8 else 0.0) * audio.RATE)

        def put(x):
            nonlocal at
            y[at:at + len(x)] += x
            on[at:at + len(x)] = True
            at += len(x) + int((random.uniform(0, 0.08) if random.random() < 0.35 else random.uniform(0.08, PAUSE)) * audio.RATE)
        if kind < with_phrase:
            x = self.phrase()
            room = n - len(x) - at - int(0.3 * audio.RATE)
            while room > 4000 + PAUSE * audio.RATE and random.random() < 0.65:  # a pause follows, and the phrase must still have room
                put(self.else_(room - int(PAUSE * audio.RATE)))
                room = n - len(x) - at - int(0.3 * audio.RATE)
            if room >= 0:
                phrases.append((at, at + len(x)))
                put(x)
        elif kind > 1 - silent:  # noise alone
            at = n
        while at < n - 4000 and not (phrases and random.random() < 0.5):
            put(self.else_(n - at))
        return self.channel(y, on), phrases

    def channel(self, x, on):
        """Room, noises, microphone and level; `on`: where something is said."""
        random, n = self.random, len(x)
        some = bool(on.any())
        if some and random.random() < 0.35:
            x = augment.room(x, random)[:n]
        power = float(np.mean(x[on] ** 2)) if some else 1.0
        decibels = random.uniform(0, 25) if random.random() < 0.65 else random.uniform(25, 50)
        _, noise = self.bank.of(self.one(self.kinds), n)
        x = x + noise * np.float32(np.sqrt(power) * 10 ** (-decibels / 20))
        _, hiss = self.bank.of('pink' if random.random() < 0.5 else 'white', n)
        x = x + hiss * np.float32(np.sqrt(power) * 10 ** (-random.uniform(30, 60) / 20))
        if random.random() < 0.6:
            x = augment.microphone(x, random)
        level = random.uniform(-34, 0) if some else random.uniform(-70, -6)
        return x * np.float32(10 ** (level / 20) / (np.abs(x).max() + 1e-6))


def featured(model, sounds, batch=250):
    """Features of sounds of one length, by the program itself."""
    values = []
    for first in range(0, len(sounds), batch):
        values += [v.astype(np.float16) for v in features.of_many(model.settings['front_end'], sounds[first:first + batch])]
    return np.stack(values)


def render(model, work, number):
    out = work / f'pass_{int(number)}.npz'
    if out.exists():
        return
    settings, random = model.settings['training'], np.random.default_rng([model.settings['seed'], int(number)])
    found = Material(model, work, random)
    values, labels, waiting = [], [], []
    for i in range(settings['streams']):
        x, phrases = found.stream(settings['seconds'], settings['with_phrase'], settings['silent'])
        waiting.append(x)
        labels.append(targets(frames_of(len(x)), phrases))
        if len(waiting) == 250 or i + 1 == settings['streams']:
            values.append(featured(model, waiting))
            waiting = []
            print(i + 1, end=' ', file=sys.stderr, flush=True)
    np.savez(f'{out}.part.npz', values=np.concatenate(values), labels=np.stack(labels))
    os.replace(f'{out}.part.npz', out)
    print(f'{out.name}: {len(labels)} streams, {np.mean(np.any(np.stack(labels) == 1, 1)):.2f} of them with the phrase', file=sys.stderr)


if __name__ == '__main__':
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    render(spoken.Model(), Path(sys.argv[1]), sys.argv[2])
