"""Sounds without speech that are made: music-like ones and machines. Each function gives `n` samples at 16 kHz at power 1."""
import numpy as np
from scipy.signal import lfilter

RATE = 16000


def level(x):
    return (x / (np.sqrt(np.mean(np.square(x, dtype=np.float64))) + 1e-6)).astype(np.float32)


def notes(n, random):
    """A melody with chords: harmonics that decay, with vibrato, on a scale, at a drawn tempo; sometimes drums."""
    x = np.zeros(n + 2 * RATE, np.float32)
    beat = int(random.uniform(0.15, 0.6) * RATE)
    scale = np.array([0, 2, 4, 5, 7, 9, 11]) if random.random() < 0.5 else np.array([0, 2, 3, 5, 7, 8, 10])
    root, harmonics, fall = random.uniform(110, 330), int(random.integers(2, 12)), random.uniform(0.5, 2.5)
    decay, vibrato = random.uniform(0.1, 1.2), random.uniform(0, 0.006) * (random.random() < 0.5)
    for at in range(0, n, beat):
        if random.random() < 0.2:
            continue
        length = min(int(decay * 3 * RATE), 2 * RATE - 1, len(x) - at)
        t = np.arange(length, dtype=np.float32) / RATE
        for _ in range(int(random.integers(1, 4))):
            f = root * 2 ** ((scale[int(random.integers(7))] + 12 * int(random.integers(0, 3))) / 12)
            phase = 2 * np.pi * f * t + vibrato * f / 5.5 * np.sin(2 * np.pi * 5.5 * t)
            tone = sum(np.sin(k * phase) / k ** fall for k in range(1, harmonics + 1) if k * f < 7500)
            x[at:at + length] += tone * np.exp(-t / decay) * np.minimum(1, t / random.uniform(0.002, 0.06))
    if random.random() < 0.5:
        for at in range(0, n, 2 * beat):
            length = min(2400, len(x) - at)
            x[at:at + length] += random.standard_normal(length) * np.exp(-np.arange(length) / 500) * 0.8
    return level(x[:n])


def engine(n, random):
    """A motor or a vehicle: harmonics of a slowly changing speed, their strength from a drawn spectrum, and noise in their rhythm."""
    t = np.arange(n) / RATE
    base, depth, slow = random.uniform(18, 140), random.uniform(0, 0.35), random.uniform(0.03, 0.3)
    turns = 2 * np.pi * np.cumsum(base * (1 + depth * np.sin(2 * np.pi * slow * t + random.uniform(0, 6)))) / RATE
    x = np.zeros(n)
    for k in range(1, 25):
        x += np.sin(k * turns + random.uniform(0, 6)) * random.exponential(1) / k ** random.uniform(0.3, 1.3)
    noise = lfilter([1], [1, -random.uniform(0.3, 0.95)], random.standard_normal(n))
    return level(level(x) + random.uniform(0.2, 1.5) * level(noise * (1 + 0.7 * np.sin(turns))))


def alarm(n, random):
    """Beeps and sirens: a tone or two, switched or sweeping."""
    t = np.arange(n) / RATE
    low, high = np.sort(random.uniform(400, 3500, 2))
    period = random.uniform(0.1, 2.0)
    if random.random() < 0.5:
        f = low + (high - low) * (0.5 + 0.5 * np.sin(2 * np.pi * t / period))
        gate = 1.0
    else:
        f = np.where((t / period) % 2 < 1, low, high)
        gate = ((t / period * 2) % 2 < random.uniform(0.6, 2)).astype(float)
    phase = 2 * np.pi * np.cumsum(f) / RATE
    return level((np.sin(phase) + 0.3 * np.sin(3 * phase)) * gate + 0.01 * random.standard_normal(n))


def knocks(n, random):
    """Keys, steps, dishes: short resonances at irregular times."""
    x = np.zeros(n)
    for _ in range(max(1, int(n / RATE * random.uniform(1, 9)))):
        at, f, ring = int(random.integers(n)), np.exp(random.uniform(np.log(150), np.log(6000))), random.uniform(0.003, 0.12)
        length = min(int(5 * ring * RATE), n - at)
        t = np.arange(length) / RATE
        x[at:at + length] += np.exp(-t / ring) * (np.sin(2 * np.pi * f * t) + random.uniform(0, 1) * random.standard_normal(length)) * random.uniform(0.1, 1)
    return level(x + 0.01 * random.standard_normal(n))


def wind(n, random):
    """Low noise whose strength wanders."""
    strength = np.abs(np.interp(np.arange(n), np.linspace(0, n, max(4, n // 4000)), random.standard_normal(max(4, n // 4000)))) + 0.05
    pole = random.uniform(0.9, 0.995)
    return level(lfilter([1 - pole], [1, -pole], random.standard_normal(n)) * strength)


MADE = {'notes': notes, 'engine': engine, 'alarm': alarm, 'knocks': knocks, 'wind': wind}
