"""Vibration of rotating machines, as an accelerometer on a bearing housing measures it: 4000 samples per second, 16-bit integers, 4096 a g.

A clip is made from a seed and a *world*: the ranges of all that differs from machine to machine (worlds.toml). The chain is that of a
measurement: shaft angle from a speed that wanders, forces of the state, a structure with resonances, a sensor that is mounted somehow.

state          forces (f: turns a second; levels in g on the housing)
stopped        none; hum and the noise of the sensor
healthy        once a turn (rest of an imbalance) and twice, small; noise of the bearing
imbalance      once a turn, m e w^2: grows with the square of the speed
misalignment   twice a turn above once, and three times; mostly along the shaft (ISO 13373-3)
looseness      once a turn with many harmonics, halves of the speed (1/2, 3/2, 5/2), a knock a turn that is not always there
outer_race     impacts at BPFO = n/2 f (1 - r), of nearly one strength: the damage stays in the zone of load
inner_race     impacts at BPFI = n/2 f (1 + r), whose strength follows the zone of load once a turn (Stribeck's distribution)

n: balls; r = d/D cos(a): diameters of ball and pitch circle, angle of contact. Balls slip, so the distance of impacts varies by one to two
per cent and the phase wanders (R. Randall, J. Antoni, Rolling element bearing diagnostics - a tutorial, MSSP 25, 2011; P. McFadden, J. Smith,
Model for the vibration produced by a single point defect in a rolling element bearing, JSV 96, 1984). An impact is a force that rings in the
resonances of the structure: accelerance of three modes, -w^2 / (w_k^2 - w^2 + 2 i z w_k w). Warm structures are softer (Young's modulus of
steel: 0.03 % a kelvin for frequencies, half of that of the modulus) and damp more, warm grease makes less noise."""
import tomllib
from pathlib import Path

import numpy as np

RATE, FULL = 4000, 4096.0
STATES = ['stopped', 'healthy', 'imbalance', 'misalignment', 'looseness', 'outer_race', 'inner_race']
LEAD = 0.5  # seconds before a clip, in which the structure comes to its state


def worlds(path=Path(__file__).parent / 'worlds.toml'):
    """name -> ranges; all but `train` are that with the changes they list."""
    with open(path, 'rb') as file:
        listed = tomllib.load(file)
    return {name: {**listed['train'], **changes} for name, changes in listed.items()}


def draw(world, random):
    """One machine: a number for each range [low, high] of the world, a choice for each list of another length."""
    machine = {}
    for name, value in world.items():
        if name == 'modes':
            machine[name] = [random.uniform(*r) for r in value]
            machine['mode_gains'] = [random.uniform(0.4, 1.0) * (-1 if random.random() < 0.5 else 1) for _ in value]
        elif isinstance(value, list) and len(value) == 2:
            machine[name] = random.uniform(*value)
        elif isinstance(value, list):
            machine[name] = value[int(random.integers(len(value)))]
        else:
            machine[name] = value
    return machine


def coloured(count, slope, random):
    """Noise of deviation 1 whose power falls by `slope` * 3 dB an octave (0: white, 1: pink), from 5 Hz on."""
    spectrum = np.fft.rfft(random.standard_normal(count))
    f = np.fft.rfftfreq(count, 1 / RATE)
    spectrum *= np.maximum(f, 5.0) ** (-slope / 2)
    x = np.fft.irfft(spectrum, count)
    return x / x.std()


def speed(count, m, random):
    """Turns a second at every sample: a slow wander of the load, and the ramp of a machine that runs up or down."""
    t = np.arange(count) / count
    wander = np.interp(np.arange(count), np.linspace(0, count, 9), random.standard_normal(9))
    return m['speed'] * (1 + m['wander'] * wander + m['ramp'] * (t - 0.5) * (1 if random.random() < 0.5 else -1))


def impacts(angle, rate, slip, strength, random):
    """Forces at `rate` impacts per 2 pi of `angle` (increasing), strength(angle, number of impacts) each."""
    distances = 2 * np.pi / rate * (1 + slip * random.standard_normal(int((angle[-1] - angle[0]) / (2 * np.pi) * rate * 1.2) + 8))
    at = angle[0] + random.uniform(0, 2 * np.pi / rate) + np.cumsum(np.maximum(distances, 0.2 * 2 * np.pi / rate))
    at = at[at < angle[-1]]
    place = np.interp(at, angle, np.arange(len(angle)))
    # Between samples: a windowed sinc, so that strength and spectrum do not depend on the fraction of a sample.
    taps = 8
    force, first = np.zeros(len(angle) + 2 * taps), place.astype(int)
    near = np.arange(1 - taps, taps + 1)
    off = near[None, :] - (place - first)[:, None]
    np.add.at(force, first[:, None] + near[None, :] + taps, strength(at)[:, None] * np.sinc(off) * np.cos(np.pi * off / (2 * taps + 2)) ** 2)
    return force[taps:-taps]


def zone_of_load(width):
    """Stribeck's distribution over the angle from the middle of the zone of load, at most 1."""
    return lambda a: np.maximum(1 - (1 - np.cos(a)) / (2 * width), 0) ** 1.5


def forces(state, m, f, random):
    """(radial, axial, impacts): forces on the housing as accelerations in g, each [samples]."""
    n = len(f)
    angle = 2 * np.pi * np.cumsum(f) / RATE
    phase = random.uniform(0, 2 * np.pi, 16)
    fast = (f / 25.0) ** 2
    tone = lambda order, k: np.sin(order * angle + phase[k])
    noise = m['noise'] * 2 ** (-m['warm'] / 40) * coloured(n, m['colour'], random) * (1 + 0.2 * tone(1, 9))
    radial = fast * m['once'] * tone(1, 0) + fast * m['twice'] * tone(2, 1)
    if m['blades']:
        radial += fast * m['blade_level'] * tone(m['blades'], 2)
    axial, knocks = np.zeros(n), np.zeros(n)
    if state == 'imbalance':
        radial += fast * m['imbalance'] * tone(1, 3)
    elif state == 'misalignment':
        k = m['misalignment']
        pull = k * (tone(2, 3) + m['third'] * tone(3, 4) + m['first'] * tone(1, 5))
        radial, axial = radial + 0.6 * pull, pull
    elif state == 'looseness':
        k = m['looseness']
        for h in range(1, 9):
            radial += k * h ** -m['harmonics'] * tone(h, h % 8 + 3)
        for h in (0.5, 1.5, 2.5):
            radial += 0.5 * k * tone(h, int(2 * h) + 8)
        knocks += k * m['knock'] * impacts(angle, 1, 0.03, lambda a: (random.random(len(a)) < 0.8) * random.uniform(0.4, 1.2, len(a)), random)
    elif state in ('outer_race', 'inner_race'):
        sign = -1 if state == 'outer_race' else 1
        rate = m['balls'] / 2 * (1 + sign * m['ratio'])
        if sign < 0:
            strength = lambda a: 1 + m['spread'] * random.standard_normal(len(a))
        else:
            load = zone_of_load(m['zone'])
            strength = lambda a: (load(a + phase[6]) + 0.05) * (1 + m['spread'] * random.standard_normal(len(a)))
        hits = impacts(angle, rate, m['slip'], strength, random)
        if m['echo']:  # entry and exit of the spall
            hits = hits + m['echo'] * np.roll(hits, int(m['echo_samples']))
        knocks += m['severity'] * np.sqrt(fast) * hits
    return radial + noise, axial, knocks


def structure(m, count):
    """Accelerance of the modes at the frequencies of a transform of `count` samples: (for forces, for impacts)."""
    f = np.fft.rfftfreq(count, 1 / RATE)
    total = np.zeros(len(f), complex)
    for k, mode in enumerate(m['modes']):
        fk = mode * (1 - 3e-4 * m['warm'])
        z = m['damping'] * (1 + 0.01 * m['warm']) * (1 + 0.3 * k)
        total += m['mode_gains'][k] * f ** 2 / (fk ** 2 - f ** 2 + 2j * z * fk * f) * 4 * z
    return 1 + m['coupling'] * total / (4 * m['damping']), total / (2 * m['damping'])


def signal(state, world, seed, seconds=3.0, clip=0):
    """int16 samples of a clip. `world`: what worlds() has under a name; `seed`, a number or a list of numbers, makes the machine, the same in
    every state; `clip`: which time it was recorded."""
    m = draw(world, np.random.default_rng(seed))
    random = np.random.default_rng([*np.atleast_1d(seed), STATES.index(state), clip])
    n, lead = int(seconds * RATE), int(LEAD * RATE)
    count = n + lead
    t = np.arange(count) / RATE
    x = m['hum'] * (np.sin(2 * np.pi * m['mains'] * t) + 0.5 * np.sin(4 * np.pi * m['mains'] * t + 1))
    if state != 'stopped':
        radial, axial, knocks = forces(state, m, speed(count, m, random), random)
        for_forces, for_impacts = structure(m, count)
        tilt = np.radians(m['tilt'])
        direct = np.cos(tilt) * radial + np.sin(tilt) * axial + 0.15 * axial
        spectrum = np.fft.rfft(direct) * for_forces + np.cos(tilt / 2) * np.fft.rfft(knocks) * for_impacts
        if m['mount']:  # a sensor that is glued or held by a magnet follows up to its own resonance
            f = np.fft.rfftfreq(count, 1 / RATE)
            spectrum *= m['mount'] ** 2 / (m['mount'] ** 2 - f ** 2 + 2j * 0.15 * m['mount'] * f)
        x = x + np.fft.irfft(spectrum, count)
    else:
        radial, axial, knocks = forces('healthy', m, speed(count, m, random), random)
        x = x + m['neighbour'] * (radial - radial.mean())
    x = x + m['sensor_noise'] * random.standard_normal(count) + m['offset']
    gain = 2 ** m['gain'] * (1 + 0.001 * m['warm'])
    return np.clip(np.round(gain * FULL * x[lead:]), -32768, 32767).astype(np.int16)
