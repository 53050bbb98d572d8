"""A model's configuration, and clips with their features, which the program runnel computes."""
import sys
import tempfile
import tomllib
import wave
from pathlib import Path

import numpy as np

import generator

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / 'kit'))  # last: it has a train.py and an export.py, too

from program import run


class Model:
    def __init__(self, config):
        with open(config, 'rb') as file:
            self.settings = tomllib.load(file)
        self.name, self.front_end = self.settings['name'], self.settings['front_end']
        self.window, self.hop = self.settings['window'], self.settings['hop']  # samples
        self.worlds = generator.worlds()


def write_wav(path, samples):
    with wave.open(str(path), 'wb') as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(generator.RATE)
        out.writeframes(samples.astype('<i2').tobytes())


def through(chain, clips, window, hop):
    """The frames of each clip behind `chain`, in one run of the program: the clips follow each other as one recording, each beginning on a
    frame; frames whose window reaches into the next clip are left out. All clips are equally long, and their length is a multiple of the hop."""
    with tempfile.TemporaryDirectory() as folder:
        write_wav(f'{folder}/a.wav', np.concatenate([*clips, np.zeros(window, np.int16)]))
        run('run', f'wav path={folder}/a.wav ! {chain} ! npy path={folder}/a.npy')
        values = np.load(f'{folder}/a.npy')
    each, own = len(clips[0]) // hop, (len(clips[0]) - window) // hop + 1
    return [values[i * each:i * each + own] for i in range(len(clips))]


def clips(model, world, states, count, seed, seconds, clip=0):
    """`count` clips of as many machines, the states in turn: (samples, [count] numbers of the states)."""
    chosen = [states[i % len(states)] for i in range(count)]
    made = [generator.signal(s, model.worlds[world], [seed, i], seconds, clip) for i, s in enumerate(chosen)]
    return made, np.array([generator.STATES.index(s) for s in chosen])


def features(model, made, at_once=200):
    values = [f for i in range(0, len(made), at_once) for f in through(model.front_end, made[i:i + at_once], model.window, model.hop)]
    return np.stack(values).astype(np.float32)
