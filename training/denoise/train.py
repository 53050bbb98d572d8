"""Trains the network on mixtures of the clips of render.py, from nothing or from the weights of an earlier call.

usage: train.py WORK_FOLDER SECONDS
The rate rises for a twentieth of the time and falls to zero by a cosine. SECONDS end the training sooner than the steps of denoise.toml do. Writes WORK_FOLDER/denoise.pt with the
averaged weights (also while it runs), and prints the loss and the gain in SI-SDR on clips that were kept out."""
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import torch

from model import Denoise

HERE = Path(__file__).resolve().parent
KEPT_OUT = 24


def settings():
    with open(HERE / 'denoise.toml', 'rb') as f:
        return tomllib.load(f)


def spectra(x, front_end):
    """[clips, samples] -> complex [clips, frames, bins], as `stft n_fft=320 hop_length=160 window_type=sqrt_hann pad_mode=zero` gives."""
    window = torch.hann_window(front_end['n_fft']).sqrt()
    return torch.stft(x, front_end['n_fft'], front_end['hop'], window=window, center=True, pad_mode='constant', return_complex=True).transpose(1, 2)


def features(spectrum, front_end):
    return torch.log(torch.clamp(spectrum.real ** 2 + spectrum.imag ** 2, min=front_end['floor']))


def samples(spectrum, front_end, count):
    window = torch.hann_window(front_end['n_fft']).sqrt()
    return torch.istft(spectrum.transpose(1, 2), front_end['n_fft'], front_end['hop'], window=window, center=True, length=count)


def si_sdr(found, clean):
    """Decibels, of the last axis (Le Roux et al., SDR - half-baked or well done?, 2019), means removed."""
    found, clean = found - found.mean(-1, keepdims=True), clean - clean.mean(-1, keepdims=True)
    target = clean * ((found * clean).sum(-1, keepdims=True) / (clean * clean).sum(-1, keepdims=True))
    return 10 * torch.log10((target ** 2).sum(-1) / ((found - target) ** 2).sum(-1))


class Mixtures:
    """Clips of speech and noise, mixed at drawn ratios and levels."""

    def __init__(self, path, options):
        held = np.load(path)
        self.speech, self.noise = torch.from_numpy(held['speech']), torch.from_numpy(held['noise'])
        self.powers = held['speech_power'] / held['noise_power'].mean(), held['noise_power'] / held['noise_power'].mean()
        self.snr = options['snr']

    def batch(self, speech, noise, random):
        """(noisy, clean) of [clips, samples]."""
        n = len(speech)
        x, y = self.speech[speech].float() / 32768, self.noise[noise].float() / 32768
        y = torch.roll(y, int(random.integers(y.shape[1])), 1)
        gain = np.sqrt(self.powers[0][speech] / self.powers[1][noise] * 10 ** (-random.uniform(*self.snr, n) / 10))
        quiet = random.random(n) < 0.06  # clean speech, which must stay as it is
        gain[quiet] *= 0.01
        level = 10 ** (random.uniform(-30, 4, n) / 20)
        y = y * torch.from_numpy((gain).astype(np.float32))[:, None]
        mixed = x + y
        level = torch.from_numpy(level.astype(np.float32))[:, None] * 0.5 / mixed.abs().amax(1, keepdim=True).clamp(min=1e-4)
        return mixed * level, x * level


def loss_of(mask, noisy, clean, options):
    """Compressed spectra by magnitude and by value (as e.g. Braun and Tashev, 2021), and the ratio of the clean spectrum to the error."""
    found = noisy * mask.permute(1, 2, 0)
    # Levels differ by clip; the loss does not.
    scale = clean.abs().square().mean((1, 2), keepdim=True).sqrt().clamp(min=1e-5)
    s, y, c = clean / scale, found / scale, options['compression']
    s_size, y_size = s.abs().clamp(min=1e-4), (y.real.square() + y.imag.square() + 1e-8).sqrt()
    s_small, y_small = s_size ** c, y_size ** c
    by_size = (s_small - y_small).square().mean()
    by_value = (torch.view_as_real(s) * (s_small / s_size)[..., None] - torch.view_as_real(y) * (y_small / y_size)[..., None]).square().sum(-1).mean()
    error = torch.view_as_real(s - y).square().sum((1, 2, 3)) / s.shape[1]
    sdr = -10 * torch.log10(error / s.shape[2] + 1e-3).mean()
    return 0.7 * by_size + 0.3 * by_value - options['sdr_weight'] * sdr


def main(work, seconds):
    made, work, seconds = settings(), Path(work), float(seconds)
    options, front_end = made['training'], made['front_end']
    torch.set_num_threads(1)
    torch.manual_seed(made['seed'])
    again = (work / 'denoise.pt').exists()
    random = np.random.default_rng([made['seed'], 1 + again])
    mixtures = Mixtures(work / 'clips.npz', options)
    clips = len(mixtures.speech)
    net = Denoise(front_end['n_fft'] // 2 + 1, **made['model'])
    held_random = np.random.default_rng(5)
    held = mixtures.batch(np.arange(clips - KEPT_OUT, clips), np.arange(clips - KEPT_OUT, clips), held_random)
    peak = options['peak_rate']
    if again:
        net.load_state_dict(torch.load(work / 'denoise.pt'))
        peak /= 2
    else:
        first = features(spectra(mixtures.batch(np.arange(64), np.arange(64), random)[0], front_end), front_end).reshape(-1, front_end['n_fft'] // 2 + 1)
        net.mean.copy_(first.mean(0))
        net.deviation.copy_(first.std(0))
    print(f'{sum(p.numel() for p in net.parameters())} parameters', flush=True)
    groups = [{'params': [p for p in net.parameters() if p.dim() > 1], 'weight_decay': 0.01}, {'params': [p for p in net.parameters() if p.dim() <= 1], 'weight_decay': 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=peak)
    average = {k: v.clone() for k, v in net.state_dict().items()}
    began, loss_sum, order = time.monotonic(), 0.0, []

    def judged():
        judge = Denoise(front_end['n_fft'] // 2 + 1, **made['model'])
        judge.load_state_dict(average)
        judge.eval()
        with torch.no_grad():
            noisy = spectra(held[0], front_end)
            clean = spectra(held[1], front_end)
            mask = judge(features(noisy, front_end))
            loss = loss_of(mask, noisy, clean, options).item()
            n = held[0].shape[1]
            return loss, (si_sdr(samples(noisy * mask.permute(1, 2, 0), front_end, n), held[1]) - si_sdr(held[0], held[1]))[:22].median().item()
    step = 0
    while step < options['steps'] and time.monotonic() - began < seconds:
        if len(order) < options['batch']:
            order = np.concatenate([order, random.permutation(clips - KEPT_OUT)]).astype(int)
        chosen, order = order[:options['batch']], order[options['batch']:]
        part = max(step / options['steps'], (time.monotonic() - began) / seconds)
        rate = peak * (part / 0.05 if part < 0.05 else 0.5 * (1 + np.cos(np.pi * (part - 0.05) / 0.95))) + 1e-6
        for group in optimizer.param_groups:
            group['lr'] = rate
        net.train()
        with torch.no_grad():
            x, s = mixtures.batch(chosen, random.integers(0, clips - KEPT_OUT, len(chosen)), random)
            noisy, clean = spectra(x, front_end), spectra(s, front_end)
            f = features(noisy, front_end)
        loss = loss_of(net(f), noisy, clean, options)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        step += 1
        loss_sum += loss.item()
        with torch.no_grad():
            keep = min(0.99, (1 + step) / (10 + step))
            for name, value in net.state_dict().items():
                if value.dtype.is_floating_point:
                    average[name].mul_(keep).add_(value, alpha=1 - keep)
        if step % 200 == 0:
            loss, gain = judged()
            print(f'step {step} loss {loss_sum / 200:.4f} kept out {loss:.4f} {gain:.2f} dB, processor {time.process_time():.0f} s', flush=True)
            loss_sum = 0.0
            torch.save(average, work / 'denoise.pt.part')
    torch.save(average, work / 'denoise.pt')
    print(f'{step} steps, kept out {judged()}, processor {time.process_time():.0f} s')


if __name__ == '__main__':
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
