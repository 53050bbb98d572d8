"""Prints what other scales and offsets of the network's logits would give on the mixtures of speakers of validation.

usage: tune.py WORK_FOLDER

SI-SDR and STOI less those of the mixture, at each level, and their means. The value of a pair is what the loss of train.py makes of both: a point
of STOI is worth `envelope_weight` / `sdr_weight` / 100 decibels. denoise.toml has the pair of the highest value."""
import sys
from pathlib import Path

import numpy as np
import torch

import train
from model import Denoise

PAIRS = ((1, 0), (1, 0.4), (1, -0.4), (0.8, 0), (0.8, 0.4), (0.6, 0.5), (0.6, 1), (0.4, 1.5))


def main(work):
    torch.set_num_threads(1)
    made, work = train.settings(), Path(work)
    front_end, options = made['front_end'], made['training']
    validation = train.Validation(work / 'validation.npz', front_end, options, train.bands(front_end))
    net = Denoise(front_end['n_fft'] // 2 + 1, **made['model'])
    net.load_state_dict(torch.load(work / 'denoise.pt'))
    net.eval()
    worth = options['envelope_weight'] / options['sdr_weight'] / 100
    for scale, offset in PAIRS:
        _, gains, points = validation.judged(net, scale, offset)
        gain, more = np.mean(gains), np.mean(points)
        print(f'scale {scale}, offset {offset}: {gain:+.2f} dB {gains}, STOI {more:+.2f} points {points}, value {gain + worth * more:.2f}', flush=True)


if __name__ == '__main__':
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
