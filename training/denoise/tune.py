"""Prints what other scales and offsets of the network's logits would give on the clips that train.py kept out.

usage: tune.py WORK_FOLDER

SI-SDR and STOI less those of the mixture, at -5, 5 and 15 dB, and their means. The value of a pair is what the loss of train.py makes of both:
a point of STOI is worth `envelope_weight` / `sdr_weight` / 100 decibels. denoise.toml has the pair of the highest value."""
import sys
from pathlib import Path

import numpy as np
import torch

import train
from model import Denoise

sys.path.append(str(Path(__file__).resolve().parent.parent / 'kit'))

import stoi

PAIRS = ((1, 0), (1, 0.4), (1, -0.4), (0.8, 0), (0.8, 0.4), (0.6, 0.5), (0.6, 1), (0.4, 1.5))


def main(work):
    torch.set_num_threads(1)
    made, work = train.settings(), Path(work)
    front_end = made['front_end']
    mixtures = train.Mixtures(work / 'clips.npz', made['training'])
    net = Denoise(front_end['n_fft'] // 2 + 1, **made['model'])
    net.load_state_dict(torch.load(work / 'denoise.pt'))
    net.eval()
    chosen = np.arange(len(mixtures.speech) - train.KEPT_OUT, len(mixtures.speech))
    worth = made['training']['envelope_weight'] / made['training']['sdr_weight'] / 100
    rows = {pair: [] for pair in PAIRS}
    for decibels in (-5, 5, 15):
        mixtures.snr = [decibels, decibels]
        x, clean = mixtures.batch(chosen, chosen, np.random.default_rng(3))
        with torch.no_grad():
            noisy = train.spectra(x, front_end)
            z = torch.logit(net(train.features(noisy, front_end)).permute(1, 2, 0).double().clamp(1e-12, 1 - 1e-12)).float()
            before = train.si_sdr(x, clean)
            heard = [stoi.stoi(c.numpy(), n.numpy()) for c, n in zip(clean[::2], x[::2])]
            for scale, offset in PAIRS:
                found = train.samples(noisy * torch.sigmoid(scale * z + offset), front_end, x.shape[1])
                gain = (train.si_sdr(found, clean) - before).mean().item()
                more = np.mean([stoi.stoi(c.numpy(), y.numpy()) - h for c, y, h in zip(clean[::2], found[::2], heard) if h is not None])
                rows[scale, offset].append((gain, 100 * more))
                print(f'{decibels} dB, scale {scale}, offset {offset}: {gain:+.2f} dB, STOI {100 * more:+.2f} points', flush=True)
    for (scale, offset), values in rows.items():
        gain, more = np.mean(values, 0)
        print(f'all, scale {scale}, offset {offset}: {gain:+.2f} dB, STOI {more:+.2f} points, value {gain + worth * more:.2f}')


if __name__ == '__main__':
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
