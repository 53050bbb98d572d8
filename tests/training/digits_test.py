"""Tests of the digits' training. usage: digits_test.py FOLDER_OF_TRAINING; exit code 77: a package is missing, nothing was tested."""
import sys
import unittest
from pathlib import Path

TRAINING = Path(sys.argv.pop(1) if len(sys.argv) > 1 else 'training').resolve()
sys.path.insert(0, str(TRAINING / 'digits'))
try:
    import numpy as np
    import onnx
    import scipy  # noqa: F401
    import torch
except ImportError as missing:
    print(f'SKIPPED: {missing}; the training needs python3-numpy, python3-onnx, python3-scipy and python3-torch', file=sys.stderr)
    sys.exit(77)

import recordings  # first: it makes the modules of the kit importable

import evaluate
import export
import mixtures
import train
from model import NBIN, NCLS, TCN


class Words(unittest.TestCase):
    def test_what_holds_or_sounds_like_a_digit_is_neither(self):
        self.assertEqual([recordings.label_of(w) for w in ('zero', 'nine', 'stop', 'sixty', 'for', 'letter_o')], [0, 9, 11, None, None, None])
        self.assertFalse(set(recordings.WORDS) & (set(recordings.DIGITS) | recordings.UNCLEAR))

    def test_people_and_voices_of_the_test_are_not_in_the_training(self):
        model = recordings.Model()
        for source, speaker in (('an4', 'fcaw'), ('flite', 'awb'), ('moonshine', 'evmaki')):
            self.assertEqual(model.use(source, speaker), 'test')
        prompts = model.settings['speech']['prompts']
        self.assertFalse(any('Allison' in folder for folder in prompts['train'] + prompts['validation']))
        self.assertFalse(set(prompts['train']) & set(prompts['test']) | set(prompts['train']) & set(prompts['validation']))
        commands = (TRAINING / 'commands/held_out.txt').read_text().splitlines()
        for line in commands:  # the list of the recogniser, whose alignment is used: nobody moves from its test into this training
            if line.startswith(('an4', 'speech_commands')):
                source, speaker, use = line.split()
                self.assertEqual(model.use(source, speaker), use)


class Labels(unittest.TestCase):
    def test_a_digit_counts_from_its_last_part_to_shortly_after_it(self):
        frames = 198
        labels = mixtures.targets(frames, [(7, 8000, 16000, None)])
        now = np.arange(frames) * 160 + 400
        self.assertTrue((labels[now < 8000] == mixtures.SILENCE).all())
        self.assertTrue((labels[(now >= 8000) & (now < 12800)] == -1).all())
        self.assertTrue((labels[(now >= 12800) & (now <= 18400)] == 7).all())
        self.assertTrue((labels[(now > 18400) & (now <= 21600)] == -1).all())
        self.assertTrue((labels[now > 21600] == mixtures.SILENCE).all())

    def test_pauses_within_speech_are_not_scored(self):
        active = np.ones(16000, bool)
        active[8000:12000] = False
        labels = mixtures.targets(150, [(mixtures.UNKNOWN, 4000, 20000, active)])
        self.assertIn(-1, labels[(np.arange(150) * 160 + 200 > 12500) & (np.arange(150) * 160 + 200 < 15500)])
        self.assertEqual(labels[100], mixtures.UNKNOWN)


class Network(unittest.TestCase):
    def values(self, clips=6, frames=60):
        return 8 + 3 * torch.randn(clips, NBIN, frames, generator=torch.Generator().manual_seed(4))

    def net(self):
        net, x = TCN(), self.values()
        net.mean.copy_(x.mean((0, 2)))
        net.std.copy_(x.std((0, 2)))
        train.start(net, TRAINING / 'digits/start.onnx', x)
        return net

    def test_training_goes_on_from_the_same_function(self):
        net, x = self.net().eval(), self.values(2)
        weights = {i.name: torch.from_numpy(onnx.numpy_helper.to_array(i).copy()) for i in onnx.load(str(TRAINING / 'digits/start.onnx')).graph.initializer}

        def conv(name, y, dilation=1, left=0, groups=1):
            return torch.nn.functional.conv1d(torch.nn.functional.pad(y, (left, 0)), weights[f'{name}.weight'], weights[f'{name}.bias'], dilation=dilation, groups=groups)
        y = conv('stem', x, left=4).relu()
        for i, d in enumerate((1, 2, 4, 8)):
            y = y + conv(f'block{i}.pointwise', conv(f'block{i}.depthwise', y, d, 8 * d, 48)).relu()
        with torch.no_grad():
            torch.testing.assert_close(net(x), conv('head', conv('mid', y).relu()), atol=1e-3, rtol=1e-3)
            torch.testing.assert_close(net.fast(x), net(x), atol=1e-3, rtol=1e-3)

    def test_is_causal_small_and_has_its_labels(self):
        net, x = self.net().eval(), self.values(1)
        y = x.clone()
        y[:, :, 40:] += 1
        with torch.no_grad():
            a, b = net(x), net(y)
        torch.testing.assert_close(a[:, :, :40], b[:, :, :40])
        self.assertGreater((a[:, :, 40:] - b[:, :, 40:]).abs().max(), 1e-3)
        self.assertLessEqual(sum(p.numel() for p in net.parameters()), 40000)
        self.assertEqual(NCLS, len((TRAINING.parent / 'models/digits/labels.txt').read_text().split()))

    def test_the_file_has_the_operators_of_the_bundled_one(self):
        made, bundled = export.graph(self.net().eval()), onnx.load(str(TRAINING.parent / 'models/digits/digits.onnx'))
        self.assertEqual([n.op_type for n in made.graph.node], [n.op_type for n in bundled.graph.node])
        self.assertEqual([(i.name, list(i.dims)) for i in made.graph.initializer], [(i.name, list(i.dims)) for i in bundled.graph.initializer])


class Figures(unittest.TestCase):
    def test_hits_by_the_rules_of_the_page(self):
        truth = [{'label': '1', 'start': 1.0, 'end': 1.5}, {'label': '2', 'start': 3.0, 'end': 3.4}]

        def event(label, end):
            return {'label': label, 'end': end}
        self.assertEqual(evaluate.hits([event('1', 1.7), event('1', 1.9), event('3', 3.2), event('4', 8.0)], truth), [2, 1, 1, 1, 1])
        self.assertEqual(evaluate.hits([event('2', 3.95)], truth), [2, 0, 0, 0, 1])

    def test_intervals(self):
        part, low, high = evaluate.with_interval([(s, s != 'a') for s in 'abcdefghij' for _ in range(5)])
        self.assertAlmostEqual(part, 0.9)
        self.assertLess(low, 0.85)
        self.assertGreater(high, 0.95)
        rate, low, high = evaluate.poisson(0, 2.0)
        self.assertEqual((rate, low), (0, 0))
        self.assertAlmostEqual(high, 3.689 / 2, delta=0.01)  # the well-known 3.7 of no event


if __name__ == '__main__':
    unittest.main()
