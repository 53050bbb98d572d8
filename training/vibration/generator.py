"""Vibration of a small four-pole motor, as an accelerometer on its bearing would see it: seeded signals of five states.

Every random number is mix(seed, i), so that any program can make the same signals (models/vibration/signal.h is the twin in
C++). 4000 samples per second, 16-bit integers.

state         what is in it (f: speed, 22 to 27 turns a second)
stopped       background noise, a trace of 50 Hz hum from the neighbourhood
balanced      f small, 2f smaller, broadband noise of the bearing
imbalance     f large, the rest as balanced
misalignment  2f large, f and 3f moderate
bearing       balanced, and impacts 3.57 times a turn that ring at 900 to 1400 Hz, stronger in the loaded zone
"""
import numpy as np

RATE = 4000
STATES = ['stopped', 'balanced', 'imbalance', 'misalignment', 'bearing']
NOISE_AT, JITTER_AT = 1 << 20, 1 << 10     # places in the sequence of random numbers


def uniform(seed, index):
    """Numbers in [0, 1): SplitMix64 at place `index` of the sequence `seed`."""
    with np.errstate(over='ignore'):
        z = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + (np.asarray(index, np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0 ** -53


def signal(state, seed, seconds=2.0):
    n = int(seconds * RATE)
    t = np.arange(n) / RATE
    place = iter(range(64))
    between = lambda low, high: float(low + (high - low) * uniform(seed, next(place)))
    speed, gain = between(22, 27), 2.0 ** between(-1, 1)
    noise, hum = between(0.010, 0.020), between(0.0, 0.004)
    phases = [between(0, 2 * np.pi) for _ in range(4)]
    level = [between(0.04, 0.08), between(0.015, 0.03), between(0.005, 0.015)]   # of f, 2f, 3f
    large, second, third = between(0.30, 0.70), between(0.25, 0.60), between(0.08, 0.20)
    ring, decay, impact, load = between(900, 1400), between(150, 300), between(0.25, 0.60), between(0.3, 0.7)
    running = state != 'stopped'
    if state == 'imbalance': level[0] = large
    if state == 'misalignment': level = [level[0] * 2, second, third]
    r = NOISE_AT + 2 * np.arange(n)
    white = np.sqrt(-2 * np.log(1 - uniform(seed, r))) * np.cos(2 * np.pi * uniform(seed, r + 1))
    x = white * (noise if running else 0.4 * noise) + hum * np.sin(2 * np.pi * 50 * t + phases[3])
    if running:
        for k in range(3): x = x + level[k] * np.sin(2 * np.pi * (k + 1) * speed * t + phases[k])
    if state == 'bearing':
        period = 1 / (3.57 * speed)
        for k in range(int(seconds / period) + 1):
            at = (k + 0.02 * (float(uniform(seed, JITTER_AT + k)) - 0.5)) * period
            strength = impact * (1 + load * np.cos(2 * np.pi * speed * at + phases[0])) / (1 + load)
            since = t - at
            x = x + np.where(since >= 0, strength * np.exp(-decay * np.maximum(since, 0)) * np.sin(2 * np.pi * ring * np.maximum(since, 0)), 0)
    return np.clip(np.floor(gain * x * 8192 + 0.5), -32768, 32767).astype(np.int16)
