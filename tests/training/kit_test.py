"""Tests of the training kit. usage: kit_test.py FOLDER_OF_TRAINING; exit code 77: a package is missing, nothing was tested."""
import itertools
import random
import sys
import tempfile
import unittest
from pathlib import Path

TRAINING = Path(sys.argv.pop(1) if len(sys.argv) > 1 else 'training').resolve()
sys.path.insert(0, str(TRAINING / 'kit'))
try:
    import numpy as np
    import scipy  # noqa: F401
    import torch
except ImportError as missing:
    print(f'SKIPPED: {missing}; the training kit needs python3-numpy, python3-scipy and python3-torch', file=sys.stderr)
    sys.exit(77)

import align
import audio
import augment
import british
import collect
import features
import sources
import train
from collect import Draws, Model
from conformer import Conformer
from grammar import Grammar

COMMANDS = TRAINING / 'commands' / 'commands.toml'


class Words(unittest.TestCase):
    def setUp(self):
        self.model = Model(COMMANDS)

    def test_every_word_of_the_grammar_has_phones_and_every_phone_is_a_token(self):
        self.assertEqual(self.model.grammar.words(), sorted(self.model.lexicon.words))
        used = {p for spellings in self.model.lexicon.words.values() for s in spellings for p in s}
        self.assertLessEqual(used, set(self.model.tokens))
        self.assertEqual(self.model.tokens[0], '<blk>')

    def test_speakers_of_the_test_and_of_validation_differ(self):
        uses = {}
        for (source, speaker), use in self.model.held_out.items():
            self.assertIn(use, ('test', 'validation'))
            self.assertNotIn((source, speaker), uses)
            uses[source, speaker] = use
        self.assertEqual(self.model.use(sources.Utterance('an4', 'fcaw', '', '')), 'test')
        self.assertEqual(self.model.use(sources.Utterance('an4', 'somebody', '', '')), 'train')

    def test_drawn_phrases_are_of_the_grammar(self):
        phrases = set(self.model.grammar.phrases())
        for n in range(len(self.model.grammar.commands)):
            drawn = self.model.grammar.draw(random.Random(n), n)
            if '+' not in self.model.grammar.lines[n]:
                self.assertIn(drawn, phrases)
            else:
                self.assertLessEqual(set(drawn.split()), set(self.model.grammar.words()))
        self.assertEqual(self.model.grammar.draw(Draws(np.random.default_rng(3)), 0), self.model.grammar.draw(Draws(np.random.default_rng(3)), 0))

    def test_synthetic_phrases_are_of_known_words_and_of_voices_that_are_not_held_out(self):
        settings = self.model.settings
        settings['words']['dictionary'] = str(self.model.folder / settings['words']['lexicon'])  # the large one may be missing
        settings['synthetic']['phrases'] = 3000
        drawn = collect.synthetic(self.model)
        self.assertEqual(len(drawn), 3000)
        self.assertEqual(drawn, collect.synthetic(self.model))
        others = set((TRAINING / 'kit' / 'words.txt').read_text(encoding='utf-8').split())
        self.assertLessEqual({w for _, text in drawn for w in text.split()}, others | set(self.model.grammar.words()) | set(sources.NUMBERS) | {'rubout'})
        heard = {voice for voice, _ in drawn}
        self.assertIn('pico/en-GB', heard)
        self.assertFalse(heard & {f'{source}/{speaker}' for source, speaker in self.model.held_out})
        self.assertFalse({v for v in heard if 'alan' in v or 'awb' in v})  # one speaker by two names
        shares = settings['synthetic']['programs']
        for program, share in shares.items():
            part = sum(v.startswith(program + '/') for v, _ in drawn) / len(drawn)
            self.assertAlmostEqual(part, share / sum(shares.values()), delta=0.04)
        numbers = sum(set(text.split()) <= set(sources.NUMBERS) for _, text in drawn) / len(drawn)
        self.assertGreater(numbers, settings['synthetic']['numbers'] - 0.03)

    def test_a_grammar_by_hand(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / 'g.txt'
            path.write_text('# words\n<n> = one | two\nset [the] (red | blue) <n>\ncall <n>+ now*\n')
            g = Grammar(path)
        self.assertEqual(g.words(), ['blue', 'call', 'now', 'one', 'red', 'set', 'the', 'two'])
        self.assertEqual(len(g.phrases()), 8)
        self.assertIn('set the blue two', g.phrases())
        self.assertIn('<n> = one | two;', g.jsgf())
        self.assertIn('call ( <n> )+ ( now )*', g.jsgf())


class British(unittest.TestCase):
    # The phones of festival's set "mrpa" that have diphones.
    KNOWN = set('uh e a o i u ii uu oo aa @@ ai ei oi au ou e@ i@ u@ @ p t k b d g s z sh zh f v th dh ch jh h m n ng l y r w'.split())

    def test_r_is_spoken_before_vowels_alone(self):
        self.assertEqual(british.syllables('S T AA R T'.split()), [['s', 't', 'aa', 't']])
        self.assertEqual(british.syllables('Z IH R OW'.split()), [['z', 'i@'], ['r', 'ou']])
        self.assertEqual(british.syllables('K ER'.split()), [['k', '@@']])
        self.assertEqual(british.syllables('L AW D ER IH NG'.split()), [['l', 'au'], ['d', '@'], ['r', 'i', 'ng']])

    def test_a_stop_and_a_liquid_stay_together(self):
        self.assertEqual(british.syllables('T EH M P R AH CH ER'.split()), [['t', 'e', 'm'], ['p', 'r', '@'], ['ch', '@']])

    def test_every_word_of_the_lexicon_has_syllables_of_known_phones_with_one_vowel_each(self):
        vowels = {p for p in self.KNOWN if p[0] in 'aeiou@'}
        for word, spoken in Model(COMMANDS).lexicon.words.items():
            for phones in spoken:
                for syllable in british.syllables(phones):
                    self.assertLessEqual(set(syllable), self.KNOWN, word)
                    self.assertEqual(sum(p in vowels for p in syllable), 1, word)

    def test_a_program_knows_each_word_once_and_speaks_each_text(self):
        book = Model(COMMANDS).lexicon
        made = british.script('don_diphone', book, [('/a.wav', 'go home', 1.0, 100), ('/b.wav', 'go back', 1.25, 120)])
        self.assertEqual(made.count('lex.add.entry'), 3)
        self.assertEqual(made.count('utt.save.wave'), 2)
        self.assertIn('("go" nil (((g ou) 1)))', made)
        self.assertIn('donovan_diphone_dir', made)


class OtherVoices(unittest.TestCase):
    def test_a_throat_moves_formants(self):
        values = np.zeros((3, 40), np.float32)
        values[:, 20] = 1
        np.testing.assert_allclose(train.other_throat(values, 1.0), values, atol=1e-5)
        self.assertGreater(train.other_throat(values, 1.15)[0].argmax(), 20)
        self.assertLess(train.other_throat(values, 0.87)[0].argmax(), 20)
        np.testing.assert_allclose(train.other_throat(np.full((2, 40), 3.5), 0.9), 3.5, atol=1e-5)

    def test_a_channel_adds_the_same_curve_to_every_frame(self):
        values = np.random.default_rng(2).standard_normal((30, 40)).astype(np.float32)
        changed = train.other_channel(values, np.random.default_rng(3))
        curve = changed - values
        self.assertLess(np.abs(curve - curve[0]).max(), 1e-5)
        self.assertGreater(np.abs(curve[0]).max(), 0.1)
        self.assertLess(np.abs(np.diff(curve[0])).max(), 0.5)  # it is smooth
        self.assertLess(abs(curve[0].mean()), 1e-5)             # and has no level of its own

    def test_a_voice_keeps_about_its_tempo(self):
        x = np.sin(2 * np.pi * 200 * np.arange(32000) / 16000).astype(np.float32)
        for seed in range(8):
            y = augment.voice(x, np.random.default_rng(seed))
            self.assertTrue(0.75 * len(x) < len(y) < 1.25 * len(x), len(y))

    def test_the_last_rate_falls_to_a_hundredth(self):
        settings = {'peak_rate': 2.0}
        self.assertEqual([train.last_rate(left, settings) for left in (1.0, 0.7)], [2.0, 2.0])
        self.assertAlmostEqual(train.last_rate(1 / 3, settings), 1.0)
        self.assertAlmostEqual(train.last_rate(0.0, settings), 0.02)


class Sound(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(1)
        t = np.arange(16000) / 16000
        self.tone = (0.5 * np.sin(2 * np.pi * 440 * t)).astype(np.float32)

    def test_recordings_are_written_and_read(self):
        with tempfile.NamedTemporaryFile(suffix='.wav') as f:
            audio.write(f.name, self.tone)
            self.assertLess(np.abs(audio.read(f.name) - self.tone).max(), 2 / 32768)

    def test_sphere_files_in_both_byte_orders(self):
        for order, kind in (('01', '<i2'), ('10', '>i2')):
            with tempfile.NamedTemporaryFile(suffix='.sph') as f:
                head = f'NIST_1A\n   1024\nsample_count -i 4\nsample_rate -i 16000\nsample_n_bytes -i 2\nsample_byte_format -s2 {order}\nsample_coding -s3 pcm\nend_head\n'
                f.write(head.encode().ljust(1024) + np.array([0, 1, -2, 300], kind).tobytes())
                f.flush()
                self.assertEqual(list(np.rint(audio.read(f.name) * 32768)), [0, 1, -2, 300])

    def test_silence_at_the_ends_goes(self):
        x = np.concatenate([np.zeros(8000, np.float32), self.tone, np.zeros(8000, np.float32)])
        self.assertLess(abs(len(audio.trim(x, margin=0.05)) - 16000 - 1600), 400)

    def test_noise_has_its_level(self):
        noise = augment.Noises(self.random, seconds=2).piece(16000, self.random, 'white')
        noisy = augment.add_noise(self.tone, noise, 10)
        self.assertAlmostEqual(10 * np.log10(np.mean(self.tone ** 2) / np.mean((noisy - self.tone) ** 2)), 10, delta=0.5)

    def test_tempo_changes_the_length_and_not_the_pitch(self):
        slow = augment.tempo(self.tone, 0.8)
        self.assertAlmostEqual(len(slow) / len(self.tone), 1.25, delta=0.1)
        inner = slow[2000:-2000]
        peak = np.argmax(np.abs(np.fft.rfft(inner * np.hanning(len(inner))))) * 16000 / len(inner)
        self.assertAlmostEqual(peak, 440, delta=8)

    def test_a_seed_gives_the_same_sound(self):
        noises = augment.Noises(np.random.default_rng(2), seconds=2)
        for seed in range(5):
            a, b = (augment.way_to_the_model(self.tone, np.random.default_rng(seed), noises) for _ in range(2))
            np.testing.assert_array_equal(a, b)
            self.assertTrue(np.isfinite(a).all())
            self.assertLessEqual(np.abs(a).max(), 1.0)

    def test_features_of_many_clips_are_those_of_each(self):
        clips = [self.random.standard_normal(n).astype(np.float32) * 0.1 for n in (16000, 5003, 400, 399)]
        settings = Model(COMMANDS).settings['front_end']
        together = features.of_many(settings, clips)
        self.assertEqual([len(f) for f in together], [98, 29, 1, 0])
        for clip, found in zip(clips, together):
            np.testing.assert_array_equal(features.of_many(settings, [clip])[0], found)


class Alignment(unittest.TestCase):
    @staticmethod
    def brute(scores, labels):
        """The best of all paths whose repetitions and blanks, left out, are the labels."""
        best, found = -np.inf, None
        for path in itertools.product(range(scores.shape[1]), repeat=len(scores)):
            said = [t for i, t in enumerate(path) if t and (i == 0 or path[i - 1] != t)]
            value = sum(scores[i][t] for i, t in enumerate(path))
            if said == labels and value > best:
                best, found = value, path
        return found

    def test_is_the_best_of_all_paths(self):
        draw = np.random.default_rng(4)
        for labels in ([1], [1, 2], [1, 1], [2, 1, 2], []):
            for _ in range(5):
                scores = np.log(draw.dirichlet([1, 1, 1], 6))
                path = self.brute(scores, labels)
                spans = align.viterbi(scores, labels)
                frames = [0] * 6
                for label, (first, last) in zip(labels, spans):
                    frames[first:last + 1] = [label] * (last + 1 - first)
                self.assertEqual(frames, list(path))

    def test_too_few_frames_are_an_error(self):
        with self.assertRaises(ValueError):
            align.viterbi(np.zeros((3, 3)), [1, 1, 2])

    def test_words_have_times(self):
        number = {'A': 1, 'B': 2}
        lexicon = type('Book', (), {'phones': staticmethod(lambda w: list(w.upper()))})
        scores = np.full((8, 3), -9.0)
        for t, s in enumerate([0, 1, 1, 2, 0, 0, 2, 0]):
            scores[t][s] = 0
        found = align.words(scores, 'ab b', lexicon, number)
        self.assertEqual([(w, round(a, 2), round(b, 2)) for w, a, b in found], [('ab', 0.04, 0.16), ('b', 0.24, 0.28)])


class Network(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.net = Conformer(40, 12, width=16, stem=8, blocks=2, heads=2, left=5, kernel=3, factor=2)
        for block in self.net.blocks:
            torch.nn.init.normal_(block.attention.bias)
        self.net.mean.fill_(10.0)
        self.net.deviation.fill_(3.0)
        self.net.eval()
        self.x = torch.randn(1, 61, 40) * 3 + 10

    def test_later_frames_change_nothing(self):
        with torch.no_grad():
            whole = self.net(self.x)
            self.assertEqual(whole.shape[1], Conformer.frames(61))
            start = self.net(self.x[:, :33])
            torch.testing.assert_close(whole[:, :start.shape[1]], start)

    def test_frames_before_the_window_change_nothing(self):
        changed = self.x.clone()
        changed[:, 0] += 5
        with torch.no_grad():
            differs = (self.net(self.x) - self.net(changed)).abs().amax((0, 2)) > 1e-5
        last = int(differs.nonzero().max())
        self.assertGreater(last, 1)
        self.assertLessEqual(last, 2 * (5 + 2) + 1)  # two blocks, each with window and convolution

    def test_folding_changes_nothing(self):
        with torch.no_grad():
            before = self.net(self.x)
            self.net.fold(61)
            torch.testing.assert_close(self.net(self.x), before, atol=1e-4, rtol=1e-4)

    def test_the_rate_rises_and_falls(self):
        settings = {'warm_up': 10, 'steps': 100, 'peak_rate': 1.0}
        rates = [train.rate(s, settings) for s in range(101)]
        self.assertAlmostEqual(rates[9], 1.0)
        self.assertAlmostEqual(rates[30], 1.0)
        self.assertAlmostEqual(rates[100], 0.01)

    def test_distance_is_the_least_number_of_edits(self):
        def brute(a, b):
            if not a or not b:
                return len(a) + len(b)
            return min(brute(a[1:], b[1:]) + (a[0] != b[0]), brute(a[1:], b) + 1, brute(a, b[1:]) + 1)
        draw = random.Random(1)
        for _ in range(60):
            a, b = ([draw.randint(0, 2) for _ in range(draw.randint(0, 5))] for _ in range(2))
            self.assertEqual(train.distance(a, b), brute(a, b))

    def test_greedy_joins_repetitions(self):
        self.assertEqual(train.greedy(torch.eye(3)[[0, 1, 1, 0, 1, 2, 2]]), [1, 1, 2])

    def test_batches_have_every_clip_once_and_keep_their_size(self):
        shards = train.Shards(Path('/nowhere'))
        shards.clips = [(np.zeros((n, 40), np.float16), np.array([1])) for n in range(20, 320)]
        batches = shards.batches(10, np.random.default_rng(1))
        self.assertEqual(sorted(len(v) for b in batches for v, _ in b), list(range(20, 320)))
        for b in batches:
            self.assertLessEqual(max(len(v) for v, _ in b) * len(b), 1000)


if __name__ == '__main__':
    unittest.main(verbosity=2)
