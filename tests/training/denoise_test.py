"""Tests of the noise filter's training, and of the measures of the kit. usage: denoise_test.py FOLDER_OF_TRAINING; exit code 77: a package is
missing, nothing was tested."""
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

TRAINING = Path(sys.argv.pop(1) if len(sys.argv) > 1 else 'training').resolve()
sys.path.insert(0, str(TRAINING / 'denoise'))
sys.path += [str(TRAINING / 'vad'), str(TRAINING / 'kit')]
try:
    import numpy as np
    import scipy  # noqa: F401
    import torch
except ImportError as missing:
    print(f'SKIPPED: {missing}; the training needs python3-numpy, python3-scipy and python3-torch', file=sys.stderr)
    sys.exit(77)

import audio
import program
import stoi
import train
import tunes
from model import Denoise, Normed, Taps, folded

torch.set_num_threads(1)


def speech_like(seconds, rate, seed=1):
    """Harmonics that come and go, with pauses."""
    random, t = np.random.default_rng(seed), np.arange(int(seconds * rate)) / rate
    x = sum(np.sin(2 * np.pi * 140 * k * t + k) / k for k in range(1, 25))
    gate = np.clip(np.interp(t, np.arange(0, seconds + 0.1, 0.1), random.uniform(-0.6, 1, int(seconds * 10) + 2)[:len(np.arange(0, seconds + 0.1, 0.1))]), 0, 1)
    return 0.1 * x * gate + 1e-5 * random.standard_normal(len(t))


def stoi_by_loops(clean, found):
    """The equations of the paper (Taal et al. 2011), section II, one by one, at 10 kHz."""
    window = np.array([0.5 - 0.5 * np.cos(2 * np.pi * (i + 1) / 257) for i in range(256)])
    starts = range(0, len(clean) - 255, 128)
    loud = [np.sqrt(sum((clean[s:s + 256] * window) ** 2)) for s in starts]
    kept = [s for s, e in zip(starts, loud) if 20 * np.log10(e / max(loud)) > -40]
    x, y = np.zeros(128 * (len(kept) + 1)), np.zeros(128 * (len(kept) + 1))
    for i, s in enumerate(kept):
        x[128 * i:128 * i + 256] += clean[s:s + 256] * window
        y[128 * i:128 * i + 256] += found[s:s + 256] * window

    def bands(signal):
        rows = []
        for s in range(0, len(signal) - 255, 128):
            power, row = np.abs(np.fft.fft(signal[s:s + 256] * window, 512)[:257]) ** 2, []
            for j in range(15):
                centre = 150 * 2 ** (j / 3)
                nearest = [min(range(257), key=lambda k, f=centre * 2 ** e: abs(k * 10000 / 512 - f)) for e in (-1 / 6, 1 / 6)]
                row.append(np.sqrt(sum(power[nearest[0]:nearest[1]])))  # equation 1
            rows.append(row)
        return np.array(rows)
    x, y, d = bands(x), bands(y), []
    for m in range(29, len(x)):
        for j in range(15):
            a, b = x[m - 29:m + 1, j], y[m - 29:m + 1, j]
            b = np.minimum(np.linalg.norm(a) / np.linalg.norm(b) * b, (1 + 10 ** (15 / 20)) * a)  # equation 3
            d.append(np.dot(a - a.mean(), b - b.mean()) / np.linalg.norm(a - a.mean()) / np.linalg.norm(b - b.mean()))  # equation 5
    return np.mean(d)  # equation 6


class Measures(unittest.TestCase):
    def test_stoi_is_that_of_the_equations(self):
        clean = speech_like(1.5, 10000)
        for noise in (0.003, 0.03, 0.3):
            found = clean + noise * np.random.default_rng(2).standard_normal(len(clean))
            self.assertAlmostEqual(stoi.stoi(clean, found, 10000), stoi_by_loops(clean, found), delta=1e-9)

    def test_stoi_falls_with_noise_and_does_not_mind_gain(self):
        clean = speech_like(2, 16000)
        noise = np.random.default_rng(3).standard_normal(len(clean))
        scores = [stoi.stoi(clean, clean + g * noise) for g in (0, 0.01, 0.1, 1)]
        self.assertAlmostEqual(scores[0], 1, delta=1e-6)
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertLess(scores[-1], 0.5)
        self.assertAlmostEqual(stoi.stoi(clean, 0.1 * (clean + 0.1 * noise)), scores[2], delta=1e-9)

    def test_what_is_too_short_or_unequal_has_no_stoi(self):
        self.assertIsNone(stoi.stoi(speech_like(0.3, 16000), speech_like(0.3, 16000)))
        with self.assertRaisesRegex(ValueError, '100 and 99 samples'):
            stoi.stoi(np.ones(100), np.ones(99))

    def test_si_sdr_of_a_known_ratio(self):
        t = np.arange(16000)
        clean, rest = np.sin(2 * np.pi * t / 100), np.sin(2 * np.pi * t / 80)
        for decibels in (-10, 0, 25):
            found = 0.2 * (clean + 10 ** (-decibels / 20) * rest) + 0.5
            self.assertAlmostEqual(stoi.si_sdr(clean, found), decibels, delta=1e-6)


class Network(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        self.net = Denoise(9, 6, 3, [1, 2, 4])
        for part in self.net.modules():
            if isinstance(part, torch.nn.BatchNorm1d):
                part.running_mean.normal_()
                part.running_var.uniform_(0.5, 2)
        self.net.mean.normal_()
        self.net.deviation.uniform_(0.5, 2)
        self.net.eval()
        self.x = torch.randn(2, 40, 9)

    def test_the_derivative_of_the_delayed_sums(self):
        random = torch.Generator().manual_seed(6)
        parts = [torch.randn(*shape, generator=random, dtype=torch.double, requires_grad=True) for shape in ((3, 2, 9), (3, 3), (3,))]
        x, weight, bias = parts
        back = [torch.nn.functional.pad(x, (4 - 2 * j, 0))[:, :, :9] * weight[:, j, None, None] for j in range(3)]
        self.assertTrue(torch.allclose(Taps.apply(x, weight, bias, 2), sum(back) + bias[:, None, None]))
        self.assertTrue(torch.autograd.gradcheck(lambda *p: Taps.apply(*p, 2), parts))

    def test_the_derivative_of_the_normalization(self):
        random = torch.Generator().manual_seed(7)
        x, gain, shift = (torch.randn(*shape, generator=random, dtype=torch.double, requires_grad=True) for shape in ((3, 20), (3,), (3,)))
        expected = torch.relu(torch.nn.functional.batch_norm(x[None], None, None, gain, shift, True)[0])
        found, mean, variance = Normed.apply(x, gain, shift, 1e-5)
        self.assertTrue(torch.allclose(found, expected))
        self.assertTrue(torch.allclose(mean, x.mean(1)))
        self.assertTrue(torch.allclose(variance, x.var(1, unbiased=False)))
        self.assertTrue(torch.autograd.gradcheck(lambda *p: Normed.apply(*p, 1e-5)[0], (x, gain, shift)))

    def test_training_and_use_agree_when_the_statistics_do(self):
        norm = self.net.blocks[0].norm
        x = torch.randn(6, 2, 40)
        with torch.no_grad():
            norm.bn.running_mean.copy_(x.mean((1, 2)))
            norm.bn.running_var.copy_(x.var((1, 2), unbiased=False))
            used = norm(x)
            norm.train()
            self.assertLess((norm(x) - used).abs().max(), 1e-5)

    def test_it_does_not_look_ahead(self):
        other = self.x.clone()
        other[:, 25:] += 1
        with torch.no_grad():
            a, b = self.net(self.x), self.net(other)
        self.assertTrue(torch.equal(a[:, :, :25], b[:, :, :25]))
        self.assertFalse(torch.equal(a[:, :, 25:], b[:, :, 25:]))

    def test_the_folded_convolutions_are_the_network(self):
        parts = {k: (torch.from_numpy(w), torch.from_numpy(b), d) for k, (w, b, d) in folded(self.net).items()}

        def conv(name, x):
            w, b, d = parts[name]
            return torch.nn.functional.conv1d(torch.nn.functional.pad(x, ((w.shape[2] - 1) * d, 0)), w, b, dilation=d, groups=len(w) if w.shape[1] == 1 else 1)
        with torch.no_grad():
            x = torch.relu(conv('stem', self.x.transpose(1, 2)))
            for i in range(3):
                x = x + torch.relu(conv(f'block{i}.pointwise', conv(f'block{i}.depthwise', x)))
            found = torch.sigmoid(conv('head', x))
            self.assertLess((found - self.net(self.x).transpose(0, 1)).abs().max(), 1e-5)


class FrontEnd(unittest.TestCase):
    def test_training_sees_what_the_program_gives(self):
        with open(TRAINING / 'denoise/denoise.toml', 'rb') as f:
            made = tomllib.load(f)
        settings = 'n_fft=320 hop_length=160 window_type=sqrt_hann pad_mode=zero'
        graph = (TRAINING.parent / 'models/denoise/denoise.rnlg').read_text(encoding='utf-8')
        self.assertEqual(graph.count(settings), 2)
        x = np.round(speech_like(1, 16000) * 32768) / 32768
        with tempfile.TemporaryDirectory() as folder:
            audio.write(f'{folder}/a.wav', x)

            def frames(nodes):
                subprocess.run([program.path(), 'run', f'wav path={folder}/a.wav ! {nodes} ! npy path={folder}/a.npy'], check=True, stdout=subprocess.DEVNULL)
                return np.load(f'{folder}/a.npy')
            powers = frames(f'stft {settings} ! log_power keep=false')
            same = frames(f'stft {settings} ! istft {settings}').ravel()
        spectrum = train.spectra(torch.from_numpy(x.astype(np.float32))[None], made['front_end'])
        expected = train.features(spectrum, made['front_end'])[0].numpy()
        self.assertEqual(powers.shape, expected.shape)
        self.assertLess(np.abs(np.exp(powers) - np.exp(expected)).max(), 1e-3)
        self.assertLess(np.median(np.abs(powers - expected)), 1e-3)
        self.assertLess(np.abs(same - x[:len(same)]).max(), 1e-6)
        again = train.samples(spectrum, made['front_end'], len(same))[0].numpy()
        self.assertLess(np.abs(again - same).max(), 1e-5)


class HeldOut(unittest.TestCase):
    def test_it_is_what_the_voice_detector_holds_out(self):
        made = []
        for name in ('vad', 'denoise'):
            with open(TRAINING / name / f'{name}.toml', 'rb') as f:
                made.append(tomllib.load(f))
        self.assertEqual(made[0]['noise'], made[1]['noise'])
        self.assertEqual(made[0]['speech'], made[1]['speech'])
        self.assertEqual(made[0]['held_out'], made[1]['held_out'])


class Tunes(unittest.TestCase):
    def test_they_have_power_one_and_come_again_with_the_seed(self):
        spoken = [type('Spoken', (), {'samples': speech_like(1, 16000, seed).astype(np.float32)}) for seed in (1, 2, 3)]
        for seed in range(6):
            for make in (tunes.ensemble, lambda n, random: tunes.babble(spoken, n, random)):
                one, same = (make(8000, np.random.default_rng(seed)) for _ in range(2))
                self.assertEqual((one.shape, one.dtype), ((8000,), np.float32))
                self.assertTrue(np.array_equal(one, same))
                self.assertAlmostEqual(np.mean(np.square(one, dtype=float)), 1, delta=0.01)


class Steps(unittest.TestCase):
    """What a step of the training mixes, in spectra."""

    def setUp(self):
        random = np.random.default_rng(8)
        with open(TRAINING / 'denoise/denoise.toml', 'rb') as f:
            self.made = tomllib.load(f)
        speech = np.round(np.stack([speech_like(1, 16000, seed) for seed in range(3)]) * 32768).astype(np.int16)
        noise = random.normal(0, 3000, (3, 16000)).astype(np.int16)
        power = [np.mean((x / 32768.0) ** 2, 1).astype(np.float32) for x in (speech, noise)]
        with tempfile.TemporaryDirectory() as folder:
            np.savez(f'{folder}/clips.npz', speech=speech, noise=noise, speech_power=power[0], noise_power=power[1])
            self.mixtures = train.Mixtures(f'{folder}/clips.npz', {'snr': [5, 5]})
        self.clips = train.Spectra(self.mixtures, 3, self.made['front_end'])

    def test_the_ratio_is_the_one_drawn(self):
        self.clips.response = lambda decibels, share, count, random: torch.ones(count, 1, 161, 1)
        ratios = []
        for seed in range(8):
            _, s, n, both = self.clips.batch(np.arange(3), np.random.default_rng(seed))
            ratios += (10 * torch.log10(s.sum((0, 2)) / (s + n - 2 * both).sum((0, 2)))).tolist()
        quiet = [r for r in ratios if r > 30]  # nearly clean ones: 40 dB more
        self.assertLess(len(quiet), 8)
        for r in ratios:
            self.assertAlmostEqual(r, 45 if r > 30 else 5, delta=0.6)

    def test_features_and_powers_are_of_one_mixture(self):
        values, s, n, both = self.clips.batch(np.arange(3), np.random.default_rng(2))
        self.assertEqual(values.shape, (161, 3, 101))
        self.assertTrue((both.square() <= s * n * 1.001 + 1e-9).all())
        loud = n > 1e-3
        for clip in range(3):
            apart = (values - torch.log(n))[:, clip][loud[:, clip]]
            self.assertLess(apart.max() - apart.min(), 1e-3)  # a gain
        self.assertGreaterEqual(values.min().item(), np.log(self.made['front_end']['floor']) - 1e-4)

    def test_the_loss_of_powers_is_that_of_spectra(self):
        random = torch.Generator().manual_seed(9)
        clean, noise = (torch.complex(torch.randn(2, 90, 161, generator=random), torch.randn(2, 90, 161, generator=random)) for _ in range(2))
        mask, filters = torch.rand(161, 2, 90, generator=random), train.bands(self.made['front_end'])
        expected = train.loss_of(mask, clean + noise, clean, self.made['training'], filters)
        scale = clean.abs().square().mean((1, 2))[:, None]
        parts = [x.permute(2, 0, 1) / scale for x in (clean.abs().square(), (clean + noise).abs().square(), (clean * (clean + noise).conj()).real)]
        self.assertAlmostEqual(train.loss_of_planes(mask, *parts, self.made['training'], filters).item(), expected.item(), places=4)


class Loss(unittest.TestCase):
    def setUp(self):
        with open(TRAINING / 'denoise/denoise.toml', 'rb') as f:
            made = tomllib.load(f)
        self.options, self.filters = made['training'], train.bands(made['front_end'])
        self.random = torch.Generator().manual_seed(4)

    def spectrum(self, frames=90):
        return torch.complex(torch.randn(2, frames, 161, generator=self.random), torch.randn(2, frames, 161, generator=self.random))

    def test_the_right_factors_have_the_least(self):
        clean = self.spectrum()
        right = torch.rand(161, 2, 90, generator=self.random) * 0.8 + 0.1
        noisy = clean / right.permute(1, 2, 0)
        best = train.loss_of(right, noisy, clean, self.options, self.filters)
        for factor in (0.5, 0.9, 1.1):
            self.assertLess(best, train.loss_of(right * factor, noisy, clean, self.options, self.filters))

    def test_real_factors_give_the_errors_of_complex_spectra(self):
        clean, noise = self.spectrum(), self.spectrum()
        noisy = clean + noise
        factors = torch.rand(161, 2, 90, generator=self.random) * 0.8 + 0.1
        scale = clean.abs().square().mean((1, 2), keepdim=True).sqrt()
        s, y = clean / scale, noisy / scale * factors.permute(1, 2, 0)
        small = [x / x.abs().sqrt() for x in (s, y)]
        compressed = 0.7 * (small[0].abs() - small[1].abs()).square().mean() + 0.3 * (small[0] - small[1]).abs().square().mean()
        sdr = -10 * torch.log10((s - y).abs().square().mean((1, 2)) + 1e-3).mean()
        expected = compressed - self.options['sdr_weight'] * sdr
        found = train.loss_of(factors, noisy, clean, {**self.options, 'envelope_weight': 0.0}, self.filters)
        self.assertAlmostEqual(found.item(), expected.item(), places=4)

    def test_silence_does_not_outweigh(self):
        clean, noise = self.spectrum(), self.spectrum()
        clean[1] *= 0
        factors = torch.full((161, 2, 90), 0.5, requires_grad=True)
        loss = train.loss_of(factors, clean + noise, clean, self.options, self.filters)
        loss.backward()
        self.assertTrue(torch.isfinite(factors.grad).all())
        self.assertLess(abs(loss.item()), 20)

    def test_the_correlation_of_envelopes_falls_with_noise(self):
        clean, noise = self.spectrum().abs().square().permute(2, 0, 1), self.spectrum().abs().square().permute(2, 0, 1)
        values = [train.envelope_correlation(clean + part * noise, clean, self.filters).item() for part in (0, 0.1, 1, 10)]
        self.assertAlmostEqual(values[0], 1, places=3)
        self.assertEqual(values, sorted(values, reverse=True))


if __name__ == '__main__':
    unittest.main()
