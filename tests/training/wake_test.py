"""Tests of the wake word's training. usage: wake_test.py FOLDER_OF_TRAINING [make]; with `make`, the whole recipe in its tiny size (needs espeak-ng).
Exit code 77: a package is missing, nothing was tested."""
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

TRAINING = Path(sys.argv.pop(1) if len(sys.argv) > 1 else 'training').resolve()
WHOLE = len(sys.argv) > 1 and sys.argv.pop(1) == 'make'
sys.path.insert(0, str(TRAINING / 'wake'))
try:
    import numpy as np
    import onnx
    import scipy  # noqa: F401
    import torch
except ImportError as missing:
    print(f'SKIPPED: {missing}; the training needs python3-numpy, python3-onnx, python3-scipy and python3-torch', file=sys.stderr)
    sys.exit(77)

import spoken  # first: it makes the modules of the kit importable

import evaluate
import export
import make  # noqa: F401
import phrases
import streams
import train
from lexicon import Lexicon
from model import Wake

DICTIONARY = spoken.tomllib.loads((TRAINING / 'wake/wake.toml').read_text())['dictionary']
if not Path(DICTIONARY).exists() or WHOLE and not shutil.which('espeak-ng'):
    print('SKIPPED: the training needs pocketsphinx-en-us, the whole recipe espeak-ng, too', file=sys.stderr)
    sys.exit(77)


def small_book(folder):
    path = Path(folder) / 'book'
    path.write_text('happy HH AE P IY\nhippie HH IH P IY\nzero Z IH R OW\nzero(2) Z IY R OW\nhero HH IH R OW\nxero Z IY R OW\nwater W AO T ER\nsnappy S N AE P IY\n')
    return Lexicon(path)


def small_phrase():
    with tempfile.TemporaryDirectory() as folder:
        return phrases.Phrase('Happy zero', small_book(folder))


def small_model():
    model = spoken.Model()
    model.phrase = small_phrase()
    return model


class Phrases(unittest.TestCase):
    def phrase(self):
        return small_phrase()

    def test_similar_words_sound_nearly_but_not_quite_the_same(self):
        like = self.phrase().like
        self.assertEqual(like[0][0], 'hippie')
        self.assertIn('hero', like[1])
        self.assertNotIn('xero', like[1])  # it sounds like the word itself
        self.assertNotIn('water', like[1])

    def test_nothing_near_the_phrase_has_it(self):
        phrase, random = self.phrase(), np.random.default_rng(1)
        drawn = [phrase.near(random) for _ in range(500)]
        self.assertFalse([t for t in drawn if 'happy zero' in t or 'happy xero' in t])
        for wanted in ('happy', 'zero', 'zero happy', 'happy happy', 'happy hero'):
            self.assertIn(wanted, drawn)
        self.assertTrue(phrase.within('say happy zero now'))
        self.assertTrue(phrase.within('happy xero'))
        self.assertFalse(phrase.within('zero happy'))

    def test_a_phrase_that_nobody_can_say_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            for text in ('', 'happy 0', 'a b c d e f g'):
                with self.assertRaises(SystemExit):
                    phrases.Phrase(text, small_book(folder))

    def test_distance(self):
        for a, b, wanted in (('abc', 'abc', 0), ('abc', 'axc', 1), ('abc', 'bc', 1), ('abc', 'cba', 2), ('abc', 'xyz', 3)):
            self.assertEqual(phrases.distance(a, b, 2), wanted)


class Speakers(unittest.TestCase):
    def test_who_is_held_out_stays_out(self):
        model = small_model()
        for source, speaker in (('an4', 'fcaw'), ('flite', 'awb'), ('rhvoice', 'clb'), ('pico', 'en-GB'), ('espeak', 'en-us+Michael'), ('festival', 'ked_diphone'), ('prompts', 'ru_RU_f_IvrvoiceRU')):
            self.assertEqual(model.use(source, speaker), 'test')
        self.assertEqual(model.use('espeak', 'en-gb+m1'), 'train')
        for line in (TRAINING / 'commands/held_out.txt').read_text().splitlines():
            if line.startswith(('an4', 'speech_commands')):
                source, speaker, use = line.split()
                self.assertEqual(model.use(source, speaker), use)
        jobs = spoken.jobs(model, 'train', np.random.default_rng(1))
        self.assertFalse([v for v, _, _ in jobs if model.use(*v.split('/')) != 'train'])

    def test_words_of_people_become_the_phrase(self):
        said = [spoken.Said('speech_commands', who, spoken.WORD, word, 0.5 * np.sin(np.arange(8000, dtype=np.float32))) for who in 'ab' for word in ('happy', 'zero', 'tree')]
        for u in spoken.joined(small_model(), said, np.random.default_rng(1), 20):
            self.assertEqual((u.kind, u.text), (spoken.PHRASE, 'happy zero'))
            self.assertGreater(len(u.samples), 15000)
            self.assertLess(len(u.samples), 15000 + 0.2 * 16000 + 2000)
        self.assertEqual(list(spoken.joined(small_model(), said[:1], np.random.default_rng(1), 20)), [])


class Streams(unittest.TestCase):
    def material(self, seconds):
        """Everything that a stream may need, `seconds` long; no recorded noise."""
        found, random = streams.Material.__new__(streams.Material), np.random.default_rng(1)
        found.model, found.random = small_model(), random
        tone = 0.3 * np.sin(0.2 * np.arange(int(16000 * seconds), dtype=np.float32))
        found.by_kind = {kind: {'espeak': [spoken.Said('espeak', 'en-us+m1', kind, kind, tone)]} for kind in (spoken.PHRASE, spoken.NEAR, spoken.OTHER, spoken.WORD, spoken.SPEECH)}
        found.bank = streams.material.Noises({}, random)
        found.kinds = ['wind']
        return found

    def test_the_phrase_is_in_as_many_streams_as_are_wanted(self):
        found = self.material(0.9)
        drawn = [found.stream(3.2, 1.0) for _ in range(60)]
        self.assertEqual({len(p) for _, p in drawn}, {1})
        for x, [(_, last)] in drawn:
            self.assertEqual(len(x), int(3.2 * 16000))
            self.assertLessEqual(last, len(x) - 0.3 * 16000)
        self.assertGreater(max(first for _, [(first, _)] in drawn), 12000)  # something was said before it

    def test_a_word_that_is_the_phrase_is_nothing_else(self):
        model = small_model()
        said = [spoken.Said('fsdd', 'a', spoken.WORD, word, np.zeros(1600, np.float32)) for word in ('happy', 'zero')]
        self.assertFalse([u for u in said if spoken.is_phrase(model, u)])
        with tempfile.TemporaryDirectory() as folder:
            model.phrase = phrases.Phrase('zero', small_book(folder))
        self.assertEqual([u.text for u in said if spoken.is_phrase(model, u)], ['zero'])


class Labels(unittest.TestCase):
    def test_the_phrase_counts_from_its_end(self):
        frames = streams.frames_of(3 * 16000)
        labels, now = streams.targets(frames, [(8000, 24000)]), (np.arange(frames) * 320 + 400) / 16000
        self.assertTrue((labels[now <= 1.0] == 0).all())
        self.assertTrue((labels[(now > 1.01) & (now < 1.43)] == -1).all())
        self.assertTrue((labels[(now >= 1.45) & (now <= 1.79)] == 1).all())
        self.assertTrue((labels[(now > 1.81) & (now < 2.19)] == -1).all())
        self.assertTrue((labels[now > 2.21] == 0).all())

    def test_frames_are_those_of_the_network(self):
        net = Wake(8, width=4, stem=4, kernel=3, dilations=[1], hidden=4).eval()
        for samples in (16000, 16160, 16320, 51200):
            count = 1 + (samples - streams.WINDOW) // streams.HOP
            self.assertEqual(net(torch.zeros(1, count, 8)).shape[2], streams.frames_of(samples))


class Network(unittest.TestCase):
    def net(self):
        torch.manual_seed(4)
        settings = spoken.Model().settings
        net, x = Wake(settings['bins'], **settings['model']), 8 + 3 * torch.randn(4, 120, settings['bins'])
        net.mean.copy_(x.mean((0, 1)))
        net.deviation.copy_(x.std((0, 1)))
        net(x)  # statistics of the normalizations
        return net.eval(), x

    def test_is_causal_and_small(self):
        net, x = self.net()
        y = x.clone()
        y[:, 61:] += 1
        with torch.no_grad():
            a, b = net(x), net(y)
        torch.testing.assert_close(a[:, :, :31], b[:, :, :31])
        self.assertGreater((a[:, :, 31:] - b[:, :, 31:]).abs().max(), 1e-3)
        self.assertLessEqual(sum(p.numel() for p in net.parameters()), 16000)

    def test_the_file_is_the_bundled_ones_kind_and_computes_the_same(self):
        net, x = self.net()
        made, bundled = export.graph(net, x.shape[2]), onnx.load(str(TRAINING.parent / 'models/wake/wake.onnx'))
        self.assertEqual([n.op_type for n in made.graph.node], [n.op_type for n in bundled.graph.node])
        self.assertEqual([(i.name, list(i.dims)) for i in made.graph.initializer], [(i.name, list(i.dims)) for i in bundled.graph.initializer])
        values = {i.name: torch.from_numpy(onnx.numpy_helper.to_array(i).copy()) for i in made.graph.initializer} | {'logmel': x.transpose(1, 2)}
        for node in made.graph.node:
            ins, how = [values[n] for n in node.input], {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            if node.op_type == 'Conv':
                values[node.output[0]] = torch.nn.functional.conv1d(torch.nn.functional.pad(ins[0], tuple(how['pads'])), ins[1], ins[2], stride=how['strides'][0],
                                                                    dilation=how['dilations'][0], groups=how['group'])
            else:
                values[node.output[0]] = ins[0].relu() if node.op_type == 'Relu' else ins[0] + ins[1]
        with torch.no_grad():
            torch.testing.assert_close(values['logits'], net(x).permute(1, 0, 2), atol=1e-3, rtol=1e-3)

    def test_the_loss_wants_the_phrase_and_nothing_else(self):
        labels = torch.zeros(2, 40, dtype=torch.int8)
        labels[0, 15:], labels[0, 20:35] = -1, 1
        good = torch.stack([torch.zeros(2, 40), torch.where(labels == 1, 8.0, -8.0)])
        deaf, alarmed = good.clone(), good.clone()
        deaf[1] = -8.0
        alarmed[1, 1, 10:20] = 8.0
        losses = [float(train.loss_of(z, labels, 5)[0]) for z in (good, deaf, alarmed)]
        self.assertLess(losses[0], 0.05)
        self.assertGreater(min(losses[1:]), 1)


class Figures(unittest.TestCase):
    def test_a_phrase_is_heard_within_its_time(self):
        truth = [{'start': 1.0, 'end': 2.0}, {'start': 5.0, 'end': 6.0}, {'start': 9.0, 'end': 10.0}]
        self.assertEqual(evaluate.heard([{'end': 2.7}, {'end': 4.9}, {'end': 10.8}], truth), [True, False, False])

    def test_intervals(self):
        part, low, high = evaluate.with_interval([(v, v != 'a') for v in 'abcdefghij' for _ in range(5)])
        self.assertAlmostEqual(part, 0.9)
        self.assertLess(low, 0.85)
        self.assertGreater(high, 0.95)
        self.assertAlmostEqual(evaluate.with_interval([(v, False) for v in 'abcdefghij' for _ in range(10)])[2], 0.0362, delta=0.0005)
        rate, low, high = evaluate.poisson(0, 2.0)
        self.assertEqual((rate, low), (0, 0))
        self.assertAlmostEqual(high, 3.689 / 2, delta=0.01)


class Choice(unittest.TestCase):
    """The choice of a decision, from what a made-up model hears: alarms an hour and phrases missed of 100, by frames averaged and threshold."""

    def chosen(self, alarms, missed):
        model, out = spoken.Model(), []
        model.settings['decision'] |= {'smoothing': [5, 8, 20], 'per_hour': 0.5, 'noise_part': 0.0}

        def measured(_, __, decision):
            at = int(evaluate.setting_of(decision, 'smoothing_frames')), float(evaluate.setting_of(decision, 'threshold'))
            heard = [('voice', i >= missed(*at)) for i in range(100)]
            return {'phrases': {'clean': heard}, 'recorded': {'a': [alarms(*at), 36000.0]}, 'synthetic': {}, 'noise': {'b': [0, 3600.0]}, 'near': {}}
        with mock.patch.multiple(evaluate, sets=mock.DEFAULT, measured=measured), mock.patch.object(evaluate.export, 'assemble', lambda *a: out.append(a[2])), \
                contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(evaluate.choose(model, None, None), (int(evaluate.setting_of(out[-1], 'smoothing_frames')), float(evaluate.setting_of(out[-1], 'threshold'))))
        return out[-1]

    def test_the_lowest_threshold_with_so_few_alarms_of_the_average_that_misses_least(self):
        def alarms(smoothing, threshold):
            return round(100 * (1 - threshold) ** 2 * {5: 1.0, 8: 0.5, 20: 0.4}[smoothing])  # in 10 hours: at most 5 are wanted

        def missed(smoothing, threshold):
            return round(threshold * 20) + {5: 0, 8: 0, 20: 9}[smoothing]
        self.assertIn('smoothing_frames=8 threshold=0.7 ', self.chosen(alarms, missed))

    def test_the_fewest_alarms_where_none_has_so_few(self):
        self.assertIn('smoothing_frames=20 threshold=0.99 ', self.chosen(lambda s, t: round(1000 * (1 - t)) + 100 - s, lambda s, t: 10))


class Recipe(unittest.TestCase):
    @unittest.skipUnless(WHOLE, 'runs apart')
    def test_a_phrase_becomes_a_model_that_hears_it(self):
        with tempfile.TemporaryDirectory() as folder:
            out, environment = Path(folder) / 'out', {k: v for k, v in os.environ.items() if k not in ('RUNNEL_SPEECH', 'RUNNEL_FESTVOX')}
            done = subprocess.run([sys.executable, TRAINING / 'wake/make.py', 'hello little river', out, '--tiny'], capture_output=True, text=True, env=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            for name in ('wake.rnl', 'wake.onnx', 'wake.table.json', 'wake.rnlg', 'labels.txt', 'results.json', 'README.md'):
                self.assertTrue((out / name).exists(), name)
            self.assertEqual((out / 'labels.txt').read_text(), 'other\nhello little river\n')
            self.assertIn('espeak-ng', (out / 'README.md').read_text())
            checked = subprocess.run([os.environ['RUNNEL_PROGRAM'], 'check', out / 'wake.rnl'], check=True, capture_output=True, text=True)
            self.assertTrue(json.loads(checked.stdout.splitlines()[-1])['exact'])
            # So little training knows little; it must know the phrase from other words, with voices that it never heard.
            results = json.loads((out / 'results.json').read_text())
            heard = np.mean([yes for _, yes in results['int8']['phrases']['clean']])
            near, seconds = np.sum(list(results['int8']['near'].values()), 0)
            print(f'tiny: {100 * heard:.0f} % heard, {near:.0f} false in {seconds:.0f} s of near phrases', file=sys.stderr)
            self.assertGreater(heard, 0.3)
            self.assertLess(near / seconds, heard / 4)  # an event for each phrase of about two seconds would be twice that for each phrase heard
            with contextlib.redirect_stdout(io.StringIO()) as shown:
                evaluate.show(results)
            self.assertIn('| clean |', shown.getvalue())


if __name__ == '__main__':
    unittest.main()
