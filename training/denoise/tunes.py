"""Made sounds of instruments and crowds, of which the recordings have few: each function gives `n` samples at 16 kHz at power 1."""
import numpy as np

from material import audio, augment, noises

SCALES = ((0, 2, 4, 5, 7, 9, 11), (0, 2, 3, 5, 7, 8, 10), (0, 2, 4, 7, 9), (0, 3, 5, 7, 10))


def strike(f, length, timbre, random):
    """One note: partials that need not be harmonics, each with its own decay."""
    stretch, fall, decay, darker, partials, attack = timbre
    t = np.arange(length, dtype=np.float32) / audio.RATE
    y = np.zeros(length, np.float32)
    for k in range(1, partials + 1):
        g = f * k ** stretch
        if g > 7600:
            break
        y += np.sin(2 * np.pi * g * t + np.float32(random.uniform(0, 6))) * np.exp(-t * np.float32(k ** darker / decay)) * np.float32(k ** -fall)
    return y * np.minimum(1, t / np.float32(attack))


def timbre_of(random):
    """Bells, bars, strings and organs: how partials lie, fall, decay and begin."""
    return (random.choice([1.0, 1.0, 1.02, 1.35, 1.7]), random.uniform(0.3, 2.2), np.exp(random.uniform(np.log(0.05), np.log(1.5))), random.uniform(0, 1.2),
            int(random.integers(1, 9)), np.exp(random.uniform(np.log(0.001), np.log(0.15))))


def voice_of(n, random):
    """A pattern of notes that comes again, on one instrument; some patterns are chords."""
    x = np.zeros(n, np.float32)
    timbre, scale = timbre_of(random), SCALES[int(random.integers(len(SCALES)))]
    beat, root = int(random.uniform(0.08, 0.5) * audio.RATE), np.exp(random.uniform(np.log(65), np.log(900)))
    together = int(random.integers(1, 4)) if random.random() < 0.5 else 1
    length = int(min(1.5, 4 * timbre[2] + 0.05) * audio.RATE)
    pattern = [[root * 2 ** ((scale[int(random.integers(len(scale)))] + 12 * int(random.integers(0, 2))) / 12) for _ in range(together)]
               if random.random() < 0.8 else [] for _ in range(int(random.integers(3, 9)))]
    made = {}
    for i, at in enumerate(range(int(random.integers(beat)), n, beat)):
        for f in pattern[i % len(pattern)]:
            if f not in made:
                made[f] = strike(f, length, timbre, random)
            m = min(length, n - at)
            x[at:at + m] += made[f][:m] * np.float32(random.uniform(0.5, 1))
    return noises.level(x)


def ensemble(n, random):
    """One to three instruments, sometimes drums, sometimes in a room."""
    x = sum(voice_of(n, random) * np.float32(random.uniform(0.3, 1)) for _ in range(int(random.integers(1, 4))))
    if random.random() < 0.3:
        beat, decay = int(random.uniform(0.12, 0.5) * audio.RATE), random.uniform(150, 900)
        for at in range(0, n, beat):
            m = min(3200, n - at)
            x[at:at + m] += random.standard_normal(m).astype(np.float32) * np.exp(-np.arange(m, dtype=np.float32) / np.float32(decay)) * np.float32(random.uniform(0, 1.5))
    return noises.level(augment.room(x, random)[:n] if random.random() < 0.3 else x)


def babble(spoken, n, random):
    """Four to eight talkers at once, of the speakers of training."""
    x = np.zeros(n, np.float32)
    for _ in range(int(random.integers(4, 9))):
        at = -int(random.integers(16000))
        while at < n:
            y = spoken[int(random.integers(len(spoken)))].samples
            y = y / np.float32(np.sqrt(np.mean(y ** 2)) + 1e-3)
            first, end = max(at, 0), min(n, at + len(y))
            if end > first:
                x[first:end] += y[first - at:end - at]
            at += len(y) + 800
    return noises.level(x)
