"""Makes the material of training once: clips of clean speech and clips of noise, which train.py mixes.

usage: render.py WORK_FOLDER        ($RUNNEL_SPEECH: the folder with the sources)

Writes WORK_FOLDER/clips.npz: speech and noise, int16 of [clips, samples], each with the power of its speech or of all of it in `speech_power`
and `noise_power`. Speech has drawn pauses, speeds, voices, rooms and microphones; what it has is what the network shall keep."""
import os
import sys
from pathlib import Path

import numpy as np
from scipy.signal import resample_poly

sys.path.append(str(Path(__file__).resolve().parent.parent / 'vad'))  # recordings, noises and what is held out are the voice detector's

import importlib.util

import material
from material import audio, augment

import tunes

_spec = importlib.util.spec_from_file_location("vad_render", Path(material.__file__).parent / "render.py")
vad_render = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(vad_render)
kinds_of, line, power_of_speech = vad_render.kinds_of, vad_render.line, vad_render.power_of_speech

HERE = Path(__file__).resolve().parent


def model():
    return material.Model(HERE / 'denoise.toml')


def other_voice(spoken, random):
    """A few of the recordings with other formants and pitch, as if someone else had spoken."""
    out = []
    for _ in range(4):
        u = spoken[int(random.integers(len(spoken)))]
        y = augment.voice(u.samples, random)
        if len(y) > 3200:
            out.append(material.Spoken(u.source, u.speaker, u.name, y, material.labelled(y)))
    return out or spoken


def speech_clip(spoken, seconds, random):
    if random.random() < 0.3:
        spoken = other_voice(spoken, random)
    x, on = line(spoken, seconds, random, random.uniform(0.5, 0.95))
    n = len(x)
    if random.random() < 0.3:
        x = augment.room(x, random)[:n]
    if random.random() < 0.5:
        x = augment.microphone(x, random)[:n]
    return np.pad(x, (0, n - len(x))), on


def one_noise(bank, spoken, kind, n, random):
    """Recorded noise is faster or slower in half of the clips, so that a few pieces of music are not all the music there is."""
    if kind == 'ensemble':
        return tunes.ensemble(n, random)
    if kind == 'babble':
        return tunes.babble(spoken, n, random)
    step = int(random.integers(13, 29))
    if kind in bank.recorded and random.random() < 0.5 and step != 20:
        return material.noises.level(resample_poly(bank.of(kind, n * step // 20 + 1)[1], 20, step)[:n])
    return bank.of(kind, n)[1]


def noise_clip(bank, spoken, kinds, n, random):
    x = np.zeros(n, np.float32)
    for _ in range(1 if random.random() < 0.7 else 2):
        x = x + one_noise(bank, spoken, kinds[int(random.integers(len(kinds)))], n, random) * np.float32(10 ** (random.uniform(-8, 0) / 20))
    _, hiss = bank.of('pink' if random.random() < 0.5 else 'white', n)
    x = x + hiss * np.float32(10 ** (random.uniform(-45, -10) / 20))
    if random.random() < 0.5:
        x = augment.microphone(x, random)[:n]
    return x


def to_int16(x):
    return audio.to_int16(x * (0.5 / (np.abs(x).max() + 1e-6)))


def validation(made, work):
    """WORK_FOLDER/validation.npz: mixtures in parts of speakers that are held out for choices, six of each, with noise of training."""
    random = np.random.default_rng([made.settings['seed'], 3000])
    bank = material.Noises(material.kept(work / 'noise_train.pickle', lambda: material.recorded_noise(made, 'train')), random)
    kinds, by_speaker, clean, noise, powers = sorted(set(kinds_of(bank))), {}, [], [], []
    for u in material.speech(made, 'validation'):
        by_speaker.setdefault((u.source, u.speaker), []).append(u)
    for _, spoken in sorted(by_speaker.items()):
        for _ in range(6):
            x, on = line(spoken, 4.0, random, random.uniform(0.5, 0.95))
            if on.any():
                clean.append(to_int16(x))
                powers.append(power_of_speech(clean[-1] / np.float32(32768), on))
                noise.append(to_int16(bank.of(kinds[len(clean) % len(kinds)], len(x))[1]))
    np.savez(work / 'validation.npz', clean=np.stack(clean), noise=np.stack(noise), speech_power=np.array(powers, np.float32))


def main(work):
    made, work = model(), Path(work)
    work.mkdir(parents=True, exist_ok=True)
    settings = made.settings['training']
    random = np.random.default_rng([made.settings['seed'], 0])
    spoken = material.kept(work / 'speech_train.pickle', lambda: material.speech(made, 'train'))
    bank = material.Noises(material.kept(work / 'noise_train.pickle', lambda: material.recorded_noise(made, 'train')), random)
    by_source = {}
    for u in spoken:
        by_source.setdefault((u.source, u.speaker if u.source == 'prompts' else ''), []).append(u)
    print({k: (len(v), f'{sum(len(u.samples) for u in v) / 16000:.0f} s') for k, v in by_source.items()}, file=sys.stderr, flush=True)
    groups = list(by_source.values())
    share = np.array([{'an4': 4, 'speech_commands': 3, 'prompts': 1}[k[0]] for k in by_source], float)
    kinds = kinds_of(bank) + ['ensemble'] * 4 + ['babble']
    speech, noise, powers = [], [], []
    for i in range(settings['clips']):
        x, on = speech_clip(groups[int(random.choice(len(groups), p=share / share.sum()))], settings['seconds'], random)
        speech.append(to_int16(x))
        powers.append(power_of_speech(speech[-1] / np.float32(32768), on) or 1e-3)
        noise.append(to_int16(noise_clip(bank, spoken, kinds, len(x), random)))
        if i % 200 == 199:
            print(i + 1, end=' ', file=sys.stderr, flush=True)
    noise = np.stack(noise)
    out = work / 'clips.npz'
    np.savez(f'{out}.part.npz', speech=np.stack(speech), noise=noise, speech_power=np.array(powers, np.float32),
             noise_power=np.mean((noise / np.float32(32768)) ** 2, 1))
    os.replace(f'{out}.part.npz', out)
    validation(made, work)


if __name__ == '__main__':
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
