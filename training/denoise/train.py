"""Trains the network on mixtures of the clips of render.py, from nothing or from the weights of an earlier call.

usage: train.py WORK_FOLDER [--steps N | --seconds S]
N steps, those of denoise.toml by default; or as many as S seconds of processor time allow, so that another machine gets other weights. The rate
rises for a twentieth of the training and falls to zero by a cosine; from earlier weights on its peak is half. Writes WORK_FOLDER/denoise.pt with
the averaged weights, and prints loss and gain in SI-SDR and STOI on the mixtures of speakers of validation. A call that was cut off goes on from
WORK_FOLDER/part.pt, with other draws than without the cut."""
import argparse
import os
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import torch

from model import Denoise

sys.path.append(str(Path(__file__).resolve().parent.parent / 'kit'))

import stoi

HERE = Path(__file__).resolve().parent
KEPT_OUT = 24
LEVELS = (-5, 0, 5, 10, 20)


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


def planes(noisy, clean):
    """Of spectra [clips, frames, bins]: (powers of clean and noisy, real part of clean times the conjugate of noisy), each [bins, clips, frames],
    and the clip's scale as [clips, 1]. Levels differ by clip; the loss does not. A clip with hardly any speech must not outweigh the others."""
    scale, most = (x.abs().square().mean((1, 2), keepdim=True).sqrt() for x in (clean, noisy))
    scale = torch.maximum(scale, 0.2 * most).clamp(min=1e-5)
    s, n = (torch.view_as_real(x / scale).permute(3, 2, 0, 1).contiguous() for x in (clean, noisy))
    return s.square().sum(0), n.square().sum(0), (s * n).sum(0)


def loss_of(mask, noisy, clean, options, filters):
    """As loss_of_planes, of spectra [clips, frames, bins]."""
    with torch.no_grad():
        made = planes(noisy, clean)
    return loss_of_planes(mask, *made, options, filters)


def loss_of_planes(mask, s_power, n_power, both, options, filters):
    """Magnitudes and values of the spectra after a square root (as e.g. Braun and Tashev, 2021, with 0.3), the ratio of the clean spectrum to the
    error in decibels, and the correlation of envelopes. All: [bins, clips, frames]. The factors are real, so that all errors are those of real
    numbers: |s - m n|^2 = |s|^2 - 2 m Re(s n*) + m^2 |n|^2."""
    with torch.no_grad():
        s_small, n_small = s_power.sqrt().sqrt(), n_power.sqrt().sqrt()
        same = both / (s_small.square() * n_small.square()).clamp(min=1e-8)  # cosine between both
        wanted = s_small * (0.7 + 0.3 * same)
    y_small = n_small * mask.clamp(min=1e-6).sqrt()
    compressed = (y_small * (y_small - 2 * wanted)).mean() + s_power.sqrt().mean()
    y_power = mask.square() * n_power
    error = (y_power - 2 * mask * both + s_power).mean((0, 2))
    sdr = -10 * torch.log10(error.clamp(min=0) + 1e-3).mean()
    return compressed - options['sdr_weight'] * sdr - options['envelope_weight'] * envelope_correlation(y_power, s_power, filters)


class Spectra:
    """The clips as spectra in half precision, which a step mixes without a transform: [clips, real or imaginary, bins, frames]."""

    def __init__(self, mixtures, count, front_end):
        def of(clips):
            out = torch.empty(count, 2, front_end['n_fft'] // 2 + 1, 1 + clips.shape[1] // front_end['hop'], dtype=torch.half)
            for i in range(count):
                out[i].copy_(torch.view_as_real(spectra(clips[i:i + 1].float() / 32768, front_end)[0]).permute(2, 1, 0))
            return out
        self.speech, self.noise = of(mixtures.speech), of(mixtures.noise)
        self.powers, self.snr = mixtures.powers, mixtures.snr
        self.floor = front_end['floor']

    def response(self, decibels, share, count, random):
        """Smooth responses of some decibels for a share of the clips, in a form that spectra [count, 2, bins, frames] are multiplied with."""
        points = random.normal(0, decibels, (count, 6)) * (random.random((count, 1)) < share)
        at = np.linspace(0, 5, self.speech.shape[2])
        return torch.from_numpy(np.stack([10 ** (np.interp(at, np.arange(6), p) / 20) for p in points]).astype(np.float32))[:, None, :, None]

    def rolled(self, chosen, random):
        """Noise from a drawn frame on, the beginning after the end; float."""
        out = torch.empty(len(chosen), *self.noise.shape[1:])
        for y, i in zip(out, chosen):
            k = int(random.integers(out.shape[3]))
            y[:, :, :out.shape[3] - k], y[:, :, out.shape[3] - k:] = self.noise[i, :, :, k:], self.noise[i, :, :, :k]
        return out

    def batch(self, speech, random):
        """(features, powers of clean and noisy, real part of clean times the conjugate of noisy) of drawn noise and levels, [bins, clips, frames]."""
        n = len(speech)
        noise = random.integers(0, len(self.noise), n)
        s, v = self.speech[speech].float(), self.rolled(noise, random)
        gain = np.sqrt(self.powers[0][speech] / self.powers[1][noise] * 10 ** (-random.uniform(*self.snr, n) / 10))
        gain[random.random(n) < 0.06] *= 0.01  # clean speech, which must stay as it is
        s *= self.response(2, 0.5, n, random)
        v *= self.response(5, 0.5, n, random) * torch.from_numpy(gain.astype(np.float32))[:, None, None, None]
        v += s
        s, v = s.permute(1, 2, 0, 3).contiguous(), v.permute(1, 2, 0, 3).contiguous()
        s_power, n_power, both = (torch.addcmul(a[0] * b[0], a[1], b[1]) for a, b in ((s, s), (v, v), (s, v)))
        most = n_power.mean((0, 2)).clamp(min=1e-10)
        level = torch.from_numpy((10 ** (random.uniform(-50, -14, n) / 10)).astype(np.float32)) * self.speech.shape[2] / most
        values = (n_power * level[:, None]).clamp_(min=self.floor).log_()
        scale = torch.maximum(s_power.mean((0, 2)), 0.04 * most).clamp(min=1e-10)[:, None]
        return values, s_power / scale, n_power / scale, both / scale


class Validation:
    """Mixtures of speakers that are neither in training nor in the test."""

    def __init__(self, path, front_end, options, filters):
        held = np.load(path)
        self.front_end, self.options, self.filters = front_end, options, filters
        self.clean, self.levels = torch.from_numpy(held['clean']).float() / 32768, []
        noise = torch.from_numpy(held['noise']).float() / 32768
        gain = torch.from_numpy(np.sqrt(held['speech_power'] / noise.square().mean(1).numpy()))[:, None]
        for level in LEVELS:
            noisy = self.clean + noise * gain * 10 ** (-level / 20)
            self.levels.append((noisy, si_sdr(noisy, self.clean), self.heard(noisy)))

    def heard(self, sounds):
        return np.array([stoi.stoi(c.numpy(), y.numpy()) for c, y in zip(self.clean[::3], sounds[::3])])

    def judged(self, net, scale=1.0, offset=0.0):
        """(loss, [decibels gained at each level], [points of STOI gained at each level])."""
        losses, gains, points = [], [], []
        with torch.no_grad():
            clean = spectra(self.clean, self.front_end)
            for noisy, before, heard in self.levels:
                x = spectra(noisy, self.front_end)
                mask = net(features(x, self.front_end))
                if (scale, offset) != (1.0, 0.0):
                    mask = torch.sigmoid(scale * torch.logit(mask.double().clamp(1e-12, 1 - 1e-12)) + offset).float()
                losses.append(loss_of(mask, x, clean, self.options, self.filters).item())
                found = samples(x * mask.permute(1, 2, 0), self.front_end, noisy.shape[1])
                gains.append((si_sdr(found, self.clean) - before).mean().item())
                points.append(100 * float((self.heard(found) - heard).mean()))
        return float(np.mean(losses)), np.round(gains, 2).tolist(), np.round(points, 2).tolist()


def main(work, steps=None, seconds=None):
    made, work = settings(), Path(work)
    options, front_end = made['training'], made['front_end']
    torch.set_num_threads(1)
    torch.manual_seed(made['seed'])
    again = (work / 'denoise.pt').exists()
    part_file = work / 'part.pt'
    cut_off = torch.load(part_file) if part_file.exists() else None
    step, before = (cut_off['step'], cut_off['spent']) if cut_off else (0, 0.0)
    random = np.random.default_rng([made['seed'], 1 + again] + [step] * bool(cut_off))
    mixtures = Mixtures(work / 'clips.npz', options)
    clips = len(mixtures.speech) - KEPT_OUT
    peak, filters = options['peak_rate'], bands(front_end)
    material = Spectra(mixtures, clips, front_end)
    validation = Validation(work / 'validation.npz', front_end, options, filters)
    net, judge = (Denoise(front_end['n_fft'] // 2 + 1, **made['model']) for _ in range(2))
    if again:
        net.load_state_dict(torch.load(work / 'denoise.pt'))
        peak /= 2
    else:
        first = material.batch(np.arange(64), random)[0].flatten(1)
        net.mean.copy_(first.mean(1))
        net.deviation.copy_(first.std(1))
    print(f'{sum(p.numel() for p in net.parameters())} parameters, {time.process_time():.0f} s for the spectra, from step {step}', flush=True)
    groups = [{'params': [p for p in net.parameters() if p.dim() > 1], 'weight_decay': 0.01}, {'params': [p for p in net.parameters() if p.dim() <= 1], 'weight_decay': 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=peak)
    average = {k: v.clone() for k, v in net.state_dict().items()}
    if cut_off:
        net.load_state_dict(cut_off['net'])
        optimizer.load_state_dict(cut_off['optimizer'])
        average = cut_off['average']
    loss_sum, order = 0.0, []
    began = time.process_time() - before

    def judged():
        judge.load_state_dict(average)
        judge.eval()
        loss, gains, points = validation.judged(judge)
        return (f'validation {loss:.4f}, {np.mean(gains):.2f} dB {gains}, STOI {np.mean(points):.2f} {points}, '
                f'processor {time.process_time() - began:.0f} s after the spectra')
    net.train()
    while True:
        spent = time.process_time() - began
        part = spent / seconds if seconds else step / (steps or options['steps'])
        if part >= 1:
            break
        if len(order) < options['batch']:
            order = np.concatenate([order, random.permutation(clips)]).astype(int)
        chosen, order = order[:options['batch']], order[options['batch']:]
        rate = peak * (part / 0.05 if part < 0.05 else 0.5 * (1 + np.cos(np.pi * (part - 0.05) / 0.95))) + 1e-6
        for group in optimizer.param_groups:
            group['lr'] = rate
        with torch.no_grad():
            values, *powers = material.batch(chosen, random)
        loss = loss_of_planes(net.factors(values), *powers, options, filters)
        optimizer.zero_grad(set_to_none=True)
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
        if step % options['report'] == 0:
            print(f'step {step} loss {loss_sum / options["report"]:.4f} {judged()}', flush=True)
            loss_sum = 0.0
            saved = {'net': net.state_dict(), 'optimizer': optimizer.state_dict(), 'average': average, 'step': step, 'spent': time.process_time() - began}
            torch.save(saved, work / 'part.pt.new')
            os.replace(work / 'part.pt.new', part_file)
    torch.save(average, work / 'denoise.pt')
    part_file.unlink(missing_ok=True)
    print(f'{step} steps, {judged()}', flush=True)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
    parser.add_argument('work')
    parser.add_argument('--steps', type=int)
    parser.add_argument('--seconds', type=float)
    wanted = parser.parse_args()
    main(wanted.work, wanted.steps, wanted.seconds)
