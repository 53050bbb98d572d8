"""Tests of the voice detector's training. usage: vad_test.py FOLDER_OF_TRAINING; exit code 77: a package is missing, nothing was tested."""
import sys
import tempfile
import unittest
from pathlib import Path

TRAINING = Path(sys.argv.pop(1) if len(sys.argv) > 1 else 'training').resolve()
sys.path.insert(0, str(TRAINING / 'vad'))
try:
    import numpy as np
    import scipy  # noqa: F401
    import torch
except ImportError as missing:
    print(f'SKIPPED: {missing}; the training needs python3-numpy, python3-scipy and python3-torch', file=sys.stderr)
    sys.exit(77)

import material  # first: it makes the modules of the kit importable

import audio
import evaluate
import noises
import render
import train
from model import Vad, folded



def bursts(spans, seconds=3.0, floor=1e-4):
    """Noise of a floor, with louder noise in the spans."""
    random = np.random.default_rng(5)
    x = random.standard_normal(int(seconds * audio.RATE)).astype(np.float32) * floor
    for first, end in spans:
        n = slice(int(first * audio.RATE), int(end * audio.RATE))
        x[n] += 0.1 * random.standard_normal(n.stop - n.start)
    return x


class Labels(unittest.TestCase):
    def runs(self, spans):
        return [(round(a / 100, 2), round(b / 100, 2)) for a, b in material.runs(material.labelled(bursts(spans)))]

    def near(self, found, expected):
        self.assertEqual(len(found), len(expected), found)
        for (a, b), (c, d) in zip(found, expected):
            self.assertAlmostEqual(a, c, delta=0.03)
            self.assertAlmostEqual(b, d, delta=0.03)

    def test_loud_spans_are_speech(self):
        self.near(self.runs([(0.5, 1.0), (1.6, 2.5)]), [(0.5, 1.0), (1.6, 2.5)])

    def test_short_pauses_belong_to_it_and_short_bursts_do_not(self):
        self.near(self.runs([(0.5, 1.0), (1.12, 1.6), (2.3, 2.302)]), [(0.5, 1.6)])

    def test_there_is_a_label_for_each_frame_of_the_front_end(self):
        for n in (399, 400, 559, 560, 16000, 16001):
            self.assertEqual(len(material.labelled(np.ones(n, np.float32))), max(0, 1 + (n - 400) // 160))


class HeldOut(unittest.TestCase):
    def test_what_the_test_uses_is_not_in_the_training(self):
        model = material.Model()
        speech, noise = model.settings['speech'], model.settings['noise']
        self.assertFalse(set(speech['prompts_train']) & set(speech['prompts_test']))
        self.assertEqual(model.held_out['an4', 'fcaw'], 'test')
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            names = {'environment': ['001_1-1-A', '001_5-2-A', '009_2-96460-A'], 'music': ['a', noise['music_test'][0]], 'tones': ['b', noise['tones_test'][0]]}
            for kind, stems in names.items():
                (root / noise[kind]).mkdir()
                for stem in stems:
                    audio.write(root / noise[kind] / f'{stem}.wav', bursts([(0, 1)], 1.0))
            (root / noise['backgrounds'] / '_silence_').mkdir(parents=True)
            old, material.root = material.root, lambda: root
            try:
                parts = {part: set(material.recorded_noise(model, part)) for part in ('train', 'test')}
            finally:
                material.root = old
        self.assertEqual(parts['test'], {'environment/001_5-2-A', f'music/{noise["music_test"][0]}', f'tones/{noise["tones_test"][0]}'})
        self.assertEqual(parts['train'], {'environment/001_1-1-A', 'music/a', 'tones/b'})


class Sounds(unittest.TestCase):
    def test_made_noises_have_power_one_and_come_from_the_seed(self):
        for name, make in noises.MADE.items():
            x, y = make(16000, np.random.default_rng(3)), make(16000, np.random.default_rng(3))
            self.assertEqual(x.shape, (16000,), name)
            self.assertTrue(np.isfinite(x).all(), name)
            self.assertAlmostEqual(float(np.mean(x.astype(float) ** 2)), 1, delta=0.02, msg=name)
            np.testing.assert_array_equal(x, y, name)

    def test_a_line_of_recordings_has_its_labels_where_they_are(self):
        x = bursts([(0.5, 1.0)], 1.5)
        spoken = [material.Spoken('an4', 'a', 'b', x, material.labelled(x))]
        y, on = render.line(spoken, 6.0, np.random.default_rng(1), 0.8)
        e = material.energies(y)
        self.assertGreater(on.sum(), 30)
        self.assertGreater(np.median(e[on]), np.median(e[~on]) + 30)


class Network(unittest.TestCase):
    def net(self):
        torch.manual_seed(2)
        net = Vad(6, 8, 3, 3, [1, 2], 4)
        net.mean.fill_(5.0)
        net.deviation.fill_(2.0)
        net.train()
        net(5 + 2 * torch.randn(4, 50, 6))  # moves the statistics of the normalizations
        return net.eval()

    def test_is_causal(self):
        net, x = self.net(), 5 + 2 * torch.randn(1, 40, 6)
        y = x.clone()
        y[:, 25:] += 1
        with torch.no_grad():
            a, b = net(x), net(y)
        torch.testing.assert_close(a[:, :, :25], b[:, :, :25])
        self.assertGreater((a[:, :, 25:] - b[:, :, 25:]).abs().max(), 1e-3)

    def test_folded_convolutions_compute_the_same(self):
        net, x = self.net(), 5 + 2 * torch.randn(1, 40, 6)
        parts = {k: (torch.from_numpy(w), torch.from_numpy(b), d) for k, (w, b, d) in folded(net).items()}

        def conv(name, y):
            w, b, d = parts[name]
            return torch.nn.functional.conv1d(torch.nn.functional.pad(y, ((w.shape[2] - 1) * d, 0)), w, b, dilation=d, groups=w.shape[0] if w.shape[1] == 1 else 1)
        y = conv('stem', x.transpose(1, 2)).relu()
        for i in range(2):
            y = y + conv(f'block{i}.pointwise', conv(f'block{i}.depthwise', y)).relu()
        y = conv('head', conv('hidden', y).relu())
        with torch.no_grad():
            torch.testing.assert_close(y[0], net(x)[:, 0], atol=1e-4, rtol=1e-4)

    def test_masks_replace_features_by_their_mean(self):
        net, x = self.net(), 5 + 2 * torch.randn(1, 40, 6)
        with torch.no_grad():
            torch.testing.assert_close(net(x, torch.zeros(1, 40, 6)), net(torch.full_like(x, 5.0)), atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(net(x, torch.ones(1, 40, 6)), net(x), atol=1e-5, rtol=1e-5)


class Areas(unittest.TestCase):
    def test_areas_by_ranks_and_by_histograms_are_those_of_all_pairs(self):
        random = np.random.default_rng(1)
        scores, labels = random.integers(0, 20, 300).astype(float), random.random(300) < 0.4
        pairs = scores[labels][:, None] - scores[~labels][None]
        expected = float(np.mean((pairs > 0) + 0.5 * (pairs == 0)))
        self.assertAlmostEqual(train.area(scores, labels), expected)
        self.assertAlmostEqual(evaluate.area_of(*evaluate.histograms(scores, labels, np.unique(scores))), expected)

    def test_the_polygon_through_one_decision(self):
        # 80 % of the speech, 10 % of the rest: (0, 0), (0.1, 0.8), (1, 1).
        self.assertAlmostEqual(evaluate.polygon([[80, 10, 100, 100]]), 0.1 * 0.8 / 2 + 0.9 * (0.8 + 1) / 2)

    def test_answers_that_come_late_are_compared_with_earlier_labels(self):
        labels = np.random.default_rng(2).random(200) < 0.5
        scores = np.concatenate([np.zeros(4), labels.astype(float)])
        self.assertAlmostEqual(train.area(*evaluate.late(scores, labels, 4)), 1.0)
        self.assertLess(train.area(*evaluate.late(scores, labels, 0)), 0.7)

    def test_decisions_averaged_over_frames(self):
        d = np.array([[1, 1, 0, 0], [0, 1, 0, 0]])
        np.testing.assert_allclose(evaluate.averaged(d, 2), [0.5, 1.5, 1.0, 0.0])


if __name__ == '__main__':
    unittest.main()
