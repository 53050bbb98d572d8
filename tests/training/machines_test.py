"""Tests of the generator of vibration and of the models that were trained with it. usage: machines_test.py FOLDER_OF_TRAINING [MODELS]; exit code 77: a
package is missing, nothing was tested."""
import os
import subprocess
import sys
import tomllib
import unittest
from pathlib import Path

TRAINING = Path(sys.argv.pop(1) if len(sys.argv) > 1 else 'training').resolve()
MODELS = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
sys.path.insert(0, str(TRAINING / 'machines'))
try:
    import numpy as np
except ImportError as missing:
    print(f'SKIPPED: {missing}; the training of machines needs python3-numpy', file=sys.stderr)
    sys.exit(77)

import generator
from generator import RATE

# A world without chance: one machine at 25 turns a second, nearly without noise.
PLAIN = {**generator.worlds()['train'], 'speed': [25.0, 25.0], 'wander': 0.0, 'ramp': 0.0, 'noise': 0.001, 'hum': 0.0, 'sensor_noise': 1e-5, 'slip': 0.0, 'spread': 0.0,
         'balls': 8, 'ratio': 0.25, 'severity': 0.5, 'warm': 0.0, 'gain': 0.0, 'offset': 0.0, 'tilt': 0.0, 'modes': [[700.0, 700.0], [1100.0, 1100.0], [1600.0, 1600.0]]}


def spectrum(x):
    """Amplitudes by frequency, of whole seconds: lines at whole Hz."""
    x = np.asarray(x, float)[:len(x) // RATE * RATE]
    return np.fft.rfftfreq(len(x), 1 / RATE), np.abs(np.fft.rfft((x - x.mean()) * np.hanning(len(x)))) / len(x) * 4


def at(found, frequency):
    f, a = found
    return a[np.abs(f - frequency) <= 1].max()


def envelope(x):
    """The spectrum of the envelope above 400 Hz (Hilbert's)."""
    n = len(x)
    s = np.fft.fft(np.asarray(x, float))
    f = np.fft.fftfreq(n, 1 / RATE)
    return spectrum(np.abs(np.fft.ifft(np.where(f > 400, 2 * s, 0))))


class Signals(unittest.TestCase):
    def test_a_seed_gives_the_same_clip_again(self):
        world = generator.worlds()['other_machine']
        a, b, c = (generator.signal('looseness', world, seed, 1.0) for seed in ([3, 1], [3, 1], [3, 2]))
        self.assertTrue(np.array_equal(a, b))
        self.assertFalse(np.array_equal(a, c))
        self.assertEqual((a.dtype, len(a)), (np.int16, RATE))

    def test_every_world_differs_from_training_and_makes_every_state(self):
        worlds = generator.worlds()
        self.assertEqual(len(worlds), 10)
        for name, world in worlds.items():
            self.assertEqual(set(world), set(worlds['train']), name)  # no parameter is misspelt
            self.assertTrue(name == 'train' or world != worlds['train'], name)
            for state in generator.STATES:
                clip = generator.signal(state, world, [1, 1], 0.5)
                self.assertGreater(np.abs(clip - clip.mean()).max(), 0)

    def test_impacts_come_at_the_frequencies_of_a_bearing(self):
        for state, expected, other in (('outer_race', 25 * 4 * 0.75, 125), ('inner_race', 25 * 4 * 1.25, 87.5)):  # away from the turns around a line
            found = envelope(generator.signal(state, PLAIN, 5, 4.0))
            self.assertGreater(at(found, expected), 5 * at(found, other), state)
            self.assertGreater(at(found, expected), 5 * at(found, expected - 10), state)

    def test_the_inner_race_turns_through_the_zone_of_load(self):
        inner, outer = (envelope(generator.signal(s, PLAIN, 6, 4.0)) for s in ('inner_race', 'outer_race'))
        self.assertGreater(at(inner, 125 + 25), 0.2 * at(inner, 125))
        self.assertLess(at(outer, 75 + 25), 0.1 * at(outer, 75))

    def test_an_imbalance_pulls_once_a_turn_with_the_square_of_the_speed(self):
        fast = {**PLAIN, 'speed': [30.0, 30.0], 'imbalance': 0.5, 'once': 0.001, 'twice': 0.001, 'coupling': 0.0}
        slow = {**fast, 'speed': [20.0, 20.0]}
        a, b = at(spectrum(generator.signal('imbalance', fast, 7, 4.0)), 30), at(spectrum(generator.signal('imbalance', slow, 7, 4.0)), 20)
        self.assertAlmostEqual(a / b, 2.25, delta=0.05)

    def test_misalignment_is_mostly_twice_a_turn_and_along_the_shaft(self):
        across, along = ({**PLAIN, 'misalignment': 0.4, 'tilt': tilt, 'coupling': 0.0} for tilt in (0.0, 80.0))
        found = spectrum(generator.signal('misalignment', across, 8, 4.0))
        self.assertGreater(at(found, 50), 1.2 * at(found, 75))
        self.assertGreater(at(spectrum(generator.signal('misalignment', along, 8, 4.0)), 50), 1.2 * at(found, 50))

    def test_looseness_has_halves_of_the_speed(self):
        found = spectrum(generator.signal('looseness', PLAIN, 9, 4.0))
        self.assertGreater(at(found, 12.5), 20 * at(found, 17))
        self.assertGreater(at(found, 37.5), 5 * at(found, 31))

    def test_impacts_ring_at_the_resonances_and_warm_structures_ring_lower(self):
        def peak(warm):
            f, a = spectrum(generator.signal('outer_race', {**PLAIN, 'warm': warm, 'damping': 0.01}, 10, 4.0))
            near = (f > 600) & (f < 800)
            return np.sum(f[near] * a[near] ** 2) / np.sum(a[near] ** 2)
        self.assertAlmostEqual(peak(0.0), 700, delta=25)
        self.assertAlmostEqual(peak(0.0) - peak(60.0), 700 * 60 * 3e-4, delta=8)

    def test_the_speed_runs_up_by_the_ramp(self):
        f = generator.speed(12000, {'speed': 25.0, 'wander': 0.0, 'ramp': 0.5}, np.random.default_rng(1))
        self.assertAlmostEqual(abs(f[-1] - f[0]), 12.5, delta=0.01)

    def test_graphs_of_the_models_are_those_of_their_settings(self):
        for name in ('machine', 'anomaly'):
            with open(TRAINING / 'machines' / f'{name}.toml', 'rb') as file:
                settings = tomllib.load(file)
            lines = (TRAINING.parent / 'models' / name / f'{name}.rnlg').read_text().splitlines()
            graph = ' '.join(line for line in lines if not line.startswith('#'))
            self.assertEqual(graph, f'{settings["front_end"]} ! infer model={name}.rnl ! {settings["decision"]}')


@unittest.skipUnless(MODELS, 'no folder of models given')
class Figures(unittest.TestCase):
    def evaluated(self, name, least):
        call = [sys.executable, TRAINING / 'machines' / 'evaluate.py', TRAINING / 'machines' / f'{name}.toml', MODELS / name / f'{name}.rnl', '--clips', '35', '--worlds', 'train,other_machine', '--least', str(least)]
        done = subprocess.run(call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_the_script_prints_the_figures_of_worlds(self):
        for name, least in (('machine', 85), ('anomaly', 85)):
            text = self.evaluated(name, least)
            for world in ('train', 'other_machine'):
                self.assertIn(f'| {world} | 35 |', text)

    def test_the_script_of_all_models_says_what_it_left_out(self):
        without = {k: v for k, v in os.environ.items() if k not in ('RUNNEL_SPEECH', 'RUNNEL_RIG', 'RUNNEL_TEST_DATA')}
        done = subprocess.run([TRAINING / 'accuracy.sh', MODELS.parent], env={**without, 'RUNNEL_MODELS': 'digits commands vad rig'}, stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        for left_out in ('digits', 'commands', 'vad', 'the test rig'):
            self.assertIn(f'SKIPPED {left_out}: ', done.stdout)


if __name__ == '__main__':
    unittest.main()
