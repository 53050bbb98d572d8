"""What happens to speech on its way to a model: rooms, noise, telephones, microphones, levels, pauses, faster and higher voices.

All functions take and give float32 at 16 kHz; chance comes from numpy's Generator alone, so a seed gives the same sound."""
import numpy as np
from scipy.signal import fftconvolve, lfilter, resample_poly

from audio import RATE


def speed(x, random, low=17, high=23):
    """Speed and pitch together, by 20/step: 17 to 23 are 1.18 to 0.87."""
    step = int(random.integers(low, high + 1))
    return x if step == 20 else resample_poly(x, step, 20).astype(np.float32)


def tempo(x, factor, window=640):
    """Speed without pitch: overlapped windows at other distances, each moved to where it fits the one before best."""
    hop, search = window // 2, 160
    if len(x) < 3 * window:
        return x
    shape = np.hanning(window + 1)[:window].astype(np.float32)
    count = int((len(x) - window - 2 * search) / (hop * factor))
    y = np.zeros((count + 1) * hop + window, np.float32)
    at = search
    for i in range(count):
        target = search + int(i * hop * factor)
        if i:
            follow = x[at + hop:at + hop + window]
            zone = x[target - search:target + search + window]
            if len(follow) < window or len(zone) < window + 1:
                break
            at = target - search + int(np.argmax(np.correlate(zone[:len(zone)], follow, 'valid')))
        y[i * hop:i * hop + window] += shape * x[at:at + window]
    return y[:(count - 1) * hop + window]


def voice(x, random):
    """Another voice: formants and pitch by 1.25 to 0.8, and a tempo that is drawn apart from them."""
    step = int(random.integers(16, 26))
    return tempo(resample_poly(x, step, 20).astype(np.float32), step / 20 * random.uniform(0.85, 1.2))


def room(x, random):
    """Direct sound, some early reflections and a tail of noise; it dies by 60 dB in 0.1 to 0.7 s and is darker than the direct sound."""
    seconds = random.uniform(0.1, 0.7)
    n = int(seconds * RATE)
    tail = random.standard_normal(n).astype(np.float32) * np.exp(-6.9 * np.arange(n) / n).astype(np.float32)
    tail = lfilter([1 - 0.4], [1, -0.4], tail)
    tail[:int(random.uniform(0.005, 0.02) * RATE)] = 0
    response = np.zeros(n, np.float32)
    response[0] = 1
    for _ in range(int(random.integers(2, 7))):
        response[int(random.uniform(0.002, 0.03) * RATE)] += random.uniform(-0.5, 0.5)
    energy = np.sqrt((tail ** 2).sum()) + 1e-9
    response += tail * (10 ** (random.uniform(-15, 0) / 20) / energy)
    return fftconvolve(x, response)[:len(x) + n // 3].astype(np.float32)


def microphone(x, random):
    """A tilt of the spectrum and sometimes a peak, as of another microphone or distance."""
    a = random.uniform(-0.35, 0.35)
    x = lfilter([1, a], [1 + abs(a)], x)
    if random.random() < 0.4:
        frequency, q = np.exp(random.uniform(np.log(200), np.log(5000))), random.uniform(0.7, 3)
        gain, w = 10 ** (random.uniform(-8, 8) / 40), 2 * np.pi * frequency / RATE
        alpha = np.sin(w) / (2 * q)
        x = lfilter([1 + alpha * gain, -2 * np.cos(w), 1 - alpha * gain], [1 + alpha / gain, -2 * np.cos(w), 1 - alpha / gain], x)
    if random.random() < 0.3:  # a high-pass of cheap microphones
        r = np.exp(-2 * np.pi * random.uniform(60, 250) / RATE)
        x = lfilter([1, -1], [1, -r], x)
    return x.astype(np.float32)


def telephone(x, random):
    """8 kHz, sometimes the band of telephones and their mu-law."""
    x = resample_poly(x, 1, 2)
    if random.random() < 0.5:
        r = np.exp(-2 * np.pi * 300 / 8000)
        x = lfilter([1, -1], [1, -r], x)
    if random.random() < 0.5:
        peak = np.abs(x).max() + 1e-9
        y = np.sign(x) * np.log1p(255 * np.abs(x / peak)) / np.log(256)
        y = np.rint(y * 127) / 127
        x = np.sign(y) * (256 ** np.abs(y) - 1) / 255 * peak
    return resample_poly(x, 2, 1).astype(np.float32)


class Noises:
    """Half a minute of each kind at power 1: made ones, babble of six talkers out of `talkers`, recorded backgrounds."""

    def __init__(self, random, talkers=(), backgrounds=(), seconds=30):
        n = seconds * RATE
        white = random.standard_normal(n).astype(np.float32)
        t = np.arange(n) / RATE
        made = {'white': white,
                'pink': lfilter([0.049922035, -0.095993537, 0.050612699, -0.004408786], [1, -2.494956002, 2.017265875, -0.522189400], white),
                'brown': lfilter([1], [1, -0.99], white)}
        made['hum'] = sum(np.sin(2 * np.pi * 50 * k * t + k) / k for k in (1, 2, 3, 5, 7)) + 0.05 * white
        made['fan'] = lfilter([1], [1, -1.9 * np.cos(0.1), 0.9025], white) * (1 + 0.3 * np.sin(2 * np.pi * 9 * t))
        clicks = np.zeros(n, np.float32)
        clicks[random.integers(0, n, 4 * seconds)] = random.standard_normal(4 * seconds) * 30
        made['clicks'] = lfilter([1], [1, -0.9], clicks) + 0.02 * white
        if len(talkers):
            made['babble'] = np.zeros(n, np.float32)
            for _ in range(6):
                line = np.zeros(0, np.float32)
                while len(line) < n:
                    one = np.asarray(talkers[int(random.integers(len(talkers)))].samples, np.float32)
                    line = np.concatenate([line, one / (np.sqrt(np.mean(one ** 2)) + 1e-3), np.zeros(800, np.float32)])
                made['babble'] += line[:n]
        if len(backgrounds):
            picked = random.permutation(len(backgrounds))[:200]
            made['background'] = np.concatenate([self.level(np.asarray(backgrounds[i].samples, np.float32)) for i in picked])
        self.kinds = {k: self.level(v) for k, v in made.items()}

    @staticmethod
    def level(x):
        return (x / (np.sqrt(np.mean(np.square(x, dtype=np.float64))) + 1e-3)).astype(np.float32)

    def piece(self, n, random, kind=None):
        bank = self.kinds[kind or list(self.kinds)[int(random.integers(len(self.kinds)))]]
        start = int(random.integers(len(bank)))
        return np.take(bank, np.arange(start, start + n), mode='wrap')


def add_noise(x, noise, decibels, speech_power=None):
    """Noise at so many decibels below the power of the speech, which is that of its loud half."""
    if speech_power is None:
        frames = x[:len(x) // 160 * 160].reshape(-1, 160)
        power = np.sort(np.mean(frames ** 2, 1))
        speech_power = power[len(power) // 2:].mean() if len(power) else 0.0
    return x + noise * np.float32(np.sqrt(speech_power * 10 ** (-decibels / 10)))


def way_to_the_model(x, random, noises):
    """All of it, in the order in which it happens: room, noise in it, microphone, line, level."""
    if random.random() < 0.45:
        x = room(x, random)
    if random.random() < 0.75:
        x = add_noise(x, noises.piece(len(x), random), random.uniform(3, 35))
    if random.random() < 0.6:
        x = microphone(x, random)
    if random.random() < 0.2:
        x = telephone(x, random)
    peak = 10 ** (random.uniform(-32, 0) / 20)
    x = x * np.float32(peak / (np.abs(x).max() + 1e-6))
    if random.random() < 0.05:
        x = np.clip(x * 3, -peak, peak)
    return x.astype(np.float32)
