"""Writes a recording of machines in every state, three seconds each, in the order of generator.STATES: tests/models/machines.wav.

usage: recording.py OUT.wav"""
import sys

import numpy as np

import generator
import material


def states(seed=9003):
    return [generator.signal(s, generator.worlds()['train'], [seed, 0]) for s in generator.STATES]


if __name__ == '__main__':
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    material.write_wav(sys.argv[1], np.concatenate(states()))
