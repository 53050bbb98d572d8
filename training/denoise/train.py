"""Trains the network on mixtures of the clips of render.py, from nothing or from the weights of an earlier call.

usage: train.py WORK_FOLDER SECONDS
The rate rises for a twentieth of the time and falls to zero by a cosine; from earlier weights on its peak is half. The training ends after SECONDS
or the steps of denoise.toml. Writes WORK_FOLDER/denoise.pt with the averaged weights (while it runs: denoise.pt.part), and prints the loss and the
gain in SI-SDR on clips that were kept out."""
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


def bands(front_end):
    """[bands, bins]: one-third octaves from 150 Hz, those of STOI."""
    bins = np.arange(front_end['n_fft'] // 2 + 1) * 16000 / front_end['n_fft']
    out = np.zeros((15, len(bins)), np.float32)
    for i, centre in enumerate(150 * 2 ** (np.arange(15) / 3)):
        low, high = (int(np.argmin(np.abs(bins - centre * 2 ** e))) for e in (-1 / 6, 1 / 6))
        out[i, low:max(high, low + 1)] = 1
    return torch.from_numpy(out)


def envelope_correlation(found, clean, filters):
    """Of powers [bins, clips, frames]: the mean of what STOI compares, on segments of 380 ms, here with frames of 10 ms; silence has no weight."""
    def cut(x):
        return (filters @ x.reshape(x.shape[0], -1)).view(-1, *x.shape[1:]).add(1e-8).sqrt().unfold(2, 38, 9)
    with torch.no_grad():
        level = clean.sum(0)
        weight = (level > level.amax(1, keepdim=True) * 1e-4).float().unfold(1, 38, 9)
        count = weight.sum(-1, keepdim=True).clamp(min=1)
        x = cut(clean) * weight
        x_size = x.square().sum(-1, keepdim=True).sqrt()
        x_rest = (x - x.sum(-1, keepdim=True) / count) * weight
        x_unit = x_rest / (x_rest.square().sum(-1, keepdim=True).sqrt() + 1e-6)
    y = cut(found) * weight
    y = torch.minimum(y * (x_size / ((y.square().sum(-1, keepdim=True) + 1e-10).sqrt())), x * (1 + 10 ** 0.75))
    y_rest = (y - y.sum(-1, keepdim=True) / count) * weight
    alike = (x_unit * y_rest).sum(-1) / (y_rest.square().sum(-1) + 1e-10).sqrt()
    return (alike.mean(0) * count[..., 0]).sum() / count.sum()


def loss_of(mask, noisy, clean, options, filters):
    """Magnitudes and values of the spectra after a square root (as e.g. Braun and Tashev, 2021, with 0.3), the ratio of the clean spectrum to the
    error in decibels, and the correlation of envelopes. mask: [bins, clips, frames]; spectra: [clips, frames, bins]. The factors are real, so
    that all errors are those of real numbers: |s - m n|^2 = |s|^2 - 2 m Re(s n*) + m^2 |n|^2."""
    with torch.no_grad():
        # Levels differ by clip; the loss does not. A clip with hardly any speech must not outweigh the others.
        scale, most = (x.abs().square().mean((1, 2), keepdim=True).sqrt() for x in (clean, noisy))
        scale = torch.maximum(scale, 0.2 * most).clamp(min=1e-5)
        s, n = (torch.view_as_real(x / scale).permute(3, 2, 0, 1).contiguous() for x in (clean, noisy))
        s_power, n_power, both = s.square().sum(0), n.square().sum(0), (s * n).sum(0)
        s_small, n_small = s_power.sqrt().sqrt(), n_power.sqrt().sqrt()
        same = both / (s_small.square() * n_small.square()).clamp(min=1e-8)  # cosine between both
        wanted = s_small * (0.7 + 0.3 * same)
    y_small = n_small * mask.clamp(min=1e-6).sqrt()
    compressed = (y_small * (y_small - 2 * wanted)).mean() + s_power.sqrt().mean()
    y_power = mask.square() * n_power
    error = (y_power - 2 * mask * both + s_power).mean((0, 2))
    sdr = -10 * torch.log10(error.clamp(min=0) + 1e-3).mean()
    return compressed - options['sdr_weight'] * sdr - options['envelope_weight'] * envelope_correlation(y_power, s_power, filters)


def coloured(noisy, clean, random):
    """The mixture with another colour of noise: half of the clips get a smooth response of some decibels."""
    points = random.normal(0, 5, (len(noisy), 6)) * (random.random((len(noisy), 1)) < 0.5)
    at = np.linspace(0, 5, noisy.shape[2])
    response = torch.from_numpy(np.stack([10 ** (np.interp(at, np.arange(6), p) / 20) for p in points]).astype(np.float32))
    return clean + (noisy - clean) * response[:, None]


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
    peak, filters = options['peak_rate'], bands(front_end)
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
            loss = loss_of(mask, noisy, clean, options, filters).item()
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
            clean = spectra(s, front_end)
            noisy = coloured(spectra(x, front_end), clean, random)
            f = features(noisy, front_end)
        loss = loss_of(net(f), noisy, clean, options, filters)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        step += 1
        loss_sum += loss.item()
        with torch.no_grad():
            keep = min(0.998, (1 + step) / (10 + step))
            for name, value in net.state_dict().items():
                if value.dtype.is_floating_point:
                    average[name].mul_(keep).add_(value, alpha=1 - keep)
        if step % 500 == 0:
            loss, gain = judged()
            print(f'step {step} loss {loss_sum / 500:.4f} kept out {loss:.4f} {gain:.2f} dB, processor {time.process_time():.0f} s', flush=True)
            loss_sum = 0.0
            torch.save(average, work / 'denoise.pt.part')
    torch.save(average, work / 'denoise.pt')
    print(f'{step} steps, kept out {judged()}, processor {time.process_time():.0f} s')


if __name__ == '__main__':
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
