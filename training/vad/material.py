"""The recordings of the model: speech with labels by the energy of the clean recording, and noises, as parts train and test."""
import os
import pickle
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / 'kit'))  # last: this folder has a render.py and a train.py, too

import audio
import augment
import noises
import sources

HOP, WINDOW = 160, 400


@dataclass
class Spoken:
    """A clean recording: who, samples, and for each frame whether it is speech."""
    source: str
    speaker: str
    name: str
    samples: np.ndarray
    labels: np.ndarray


class Model:
    def __init__(self, path=HERE / 'vad.toml'):
        with open(path, 'rb') as f:
            self.settings = tomllib.load(f)
        self.held_out = {}
        for line in (HERE / self.settings['held_out']).read_text(encoding='utf-8').splitlines():
            if line.strip() and not line.startswith('#'):
                source, speaker, use = line.split()
                self.held_out[source, speaker] = use


def root():
    return Path(os.environ.get('RUNNEL_SPEECH', '.'))


def frames(count):
    """Frames of so many samples: windows of 25 ms every 10 ms, whole ones alone, as the front end makes them."""
    return max(0, 1 + (count - WINDOW) // HOP)


def energies(x):
    """Decibels of each frame."""
    total = np.concatenate([[0.0], np.cumsum(np.square(x, dtype=np.float64))])
    at = np.arange(frames(len(x))) * HOP
    return 10 * np.log10((total[at + WINDOW] - total[at]) / WINDOW + 1e-12)


def span(x):
    """Decibels between the loud and the quiet frames."""
    e = energies(x)
    return float(np.percentile(e, 95) - np.percentile(e, 5)) if len(e) else 0.0


def runs(flags):
    """(first, end) of each run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(flags, np.int8), [0]])))
    return list(zip(edges[::2], edges[1::2]))


def labelled(x):
    """True for frames of speech: those that rise from the floor of the recording by a third of its range and are at most 35 dB below its
    loud frames. Pauses of less than 200 ms (closures of stops, between words) belong to the speech, bursts of less than 40 ms do not."""
    e = energies(x)
    if not len(e):
        return np.zeros(0, bool)
    top, floor = np.percentile(e, 95), np.percentile(e, 5)
    on = e > max(top - 35, floor + (top - floor) / 3)
    for first, end in runs(on):
        if end - first < 4:
            on[first:end] = False
    for first, end in runs(~on):
        if end - first < 20 and first > 0 and end < len(on):
            on[first:end] = True
    return on


def prompts(folder):
    """Folders of prompts by one voice; sounds and silences among them are left out."""
    for path in sorted(sources.need(folder).rglob('*.wav')):
        if 'silence' not in path.parts and path.stem not in ('beep', 'beeperr', 'ascending-2tone', 'descending-2tone'):
            yield sources.Utterance('prompts', folder.name, '', str(path.relative_to(folder).with_suffix('')), audio.read(path))


def each(model, part):
    """The clean recordings of a part: train, test or validation."""
    speech = model.settings['speech']
    if part == 'train' or part == 'test':
        for folder in speech[f'prompts_{part}']:
            yield from prompts(root() / folder)
    kinds = [('an4', sources.an4, [speech['an4']]), ('speech_commands', sources.speech_commands, speech['speech_commands'])]
    for source, reader, folders in kinds:
        for folder in folders:
            for u in reader(root() / folder):
                if u.speaker != '_silence_' and model.held_out.get((source, u.speaker), 'train') == part:
                    yield u


def kept(path, make):
    """What `make` gives, or what an earlier call has kept in the file."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(f'{path}.part', 'wb') as f:
            pickle.dump(make(), f)
        os.replace(f'{path}.part', path)
    with open(path, 'rb') as f:
        return pickle.load(f)


def speech(model, part):
    """Labelled recordings whose loud frames are far enough above their quiet ones for labels by energy."""
    least = model.settings['labels']['test_range' if part == 'test' else 'range']
    out = []
    for u in each(model, part):
        x = np.asarray(u.samples, np.float32)
        if len(x) < 3200 or span(x) < least:
            continue
        out.append(Spoken(u.source, u.speaker, u.name, x, labelled(x)))
    return out


def without_zeros(x):
    """Clips are filled up with zeros at their ends."""
    loud = np.flatnonzero(np.abs(x) > 1e-4)
    return x[loud[0]:loud[-1] + 1] if len(loud) else x[:0]


def recorded_noise(model, part):
    """name -> samples at power 1 of the noises of a part."""
    settings, out = model.settings['noise'], {}
    for path in sorted(sources.need(root() / settings['environment']).glob('*.wav')):
        kind, clip = path.stem.split('_')
        held = int(clip[0]) == settings['environment_test_fold']
        if held == (part == 'test') and clip not in settings['environment_left_out']:
            x = without_zeros(audio.read(path))
            if len(x) > 3200:
                out[f'environment/{kind}_{clip}'] = noises.level(x)
    for key in ('music', 'tones'):
        for path in sorted(sources.need(root() / settings[key]).glob('*.wav')):
            if (path.stem in settings[f'{key}_test']) == (part == 'test'):
                x = without_zeros(audio.read(path))
                # Music of minutes: at most 90 s of it from the middle, so that no piece outweighs the others.
                middle = max(0, len(x) // 2 - 45 * audio.RATE)
                out[f'{key}/{path.stem}'] = noises.level(x[middle:middle + 90 * audio.RATE])
    if part == 'train':
        for u in sources.background(root() / settings['backgrounds']):
            out[f'background/{u.name}'] = noises.level(u.samples)
    return out


class Noises:
    """Pieces of noise of a part by kind; made ones are drawn anew each time."""

    def __init__(self, recorded, random):
        self.recorded, self.random = {}, random
        for name, x in recorded.items():
            self.recorded.setdefault(name.split('/')[0], []).append((name, x))
        self.plain = augment.Noises(random, seconds=20).kinds

    def of(self, kind, n):
        """(name, n samples at power 1)."""
        random = self.random
        if kind in self.recorded:
            parts, length, first = [], 0, ''
            while length < n:  # clips of one kind behind each other
                name, x = self.recorded[kind][int(random.integers(len(self.recorded[kind])))]
                first = first or name
                parts.append(x)
                length += len(x)
            x = np.concatenate(parts)
            start = int(random.integers(len(x) - n + 1))
            return first, noises.level(x[start:start + n])
        if kind in noises.MADE:
            return f'made/{kind}', noises.MADE[kind](n, random)
        x = self.plain[kind]
        start = int(random.integers(len(x)))
        return f'made/{kind}', np.take(x, np.arange(start, start + n), mode='wrap')
