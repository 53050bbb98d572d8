"""STOI, the short-time objective intelligibility measure (C. H. Taal, R. C. Hendriks, R. Heusdens, J. Jensen, An Algorithm for Intelligibility
Prediction of Time-Frequency Weighted Noisy Speech, IEEE TASLP 19(7), 2011), and SI-SDR (J. Le Roux, S. Wisdom, H. Erdogan, J. R. Hershey, SDR -
half-baked or well done?, ICASSP 2019). Both take the clean signal and one to judge, of equal length and at 16 kHz unless told."""
import numpy as np
from scipy.signal import resample_poly

RATE = 10000                 # Hz, section II of the paper
WINDOW, HOP, FFT = 256, 128, 512
BANDS, LOWEST = 15, 150.0    # one-third octaves, centre of the first in Hz
SEGMENT = 30                 # frames, 384 ms
CLIP = -15.0                 # dB, lower bound of the signal-to-distortion ratio
RANGE = 40.0                 # dB below the loudest frame of the clean signal that count as silence


def si_sdr(clean, found):
    """Decibels. Means are removed; the scale of `found` does not matter."""
    clean, found = np.asarray(clean, np.float64) - np.mean(clean), np.asarray(found, np.float64) - np.mean(found)
    target = clean * (found @ clean) / (clean @ clean)
    rest = found - target
    return float(10 * np.log10((target @ target) / (rest @ rest)))


def bands():
    """[bands, bins] of zeros and ones: the bins of each one-third octave."""
    bins = np.arange(FFT // 2 + 1) * RATE / FFT
    centres = LOWEST * 2 ** (np.arange(BANDS) / 3)
    edges = [(int(np.argmin(np.abs(bins - c * 2 ** (-1 / 6)))), int(np.argmin(np.abs(bins - c * 2 ** (1 / 6))))) for c in centres]
    out = np.zeros((BANDS, len(bins)))
    for row, (low, high) in zip(out, edges):
        row[low:high] = 1
    return out


def frames(x):
    """[count, WINDOW] of Hann-windowed frames with half overlap."""
    window = np.hanning(WINDOW + 2)[1:-1]
    starts = np.arange(0, len(x) - WINDOW + 1, HOP)
    return x[starts[:, None] + np.arange(WINDOW)] * window, starts


def without_silence(clean, found):
    """Both without the frames in which the clean one is 40 dB below its loudest frame; frames are overlapped and added again."""
    x, _ = frames(clean)
    y, _ = frames(found)
    level = 20 * np.log10(np.linalg.norm(x, axis=1) + np.finfo(float).eps)
    keep = level > level.max() - RANGE
    x, y = x[keep], y[keep]
    out = np.zeros((2, (len(x) - 1) * HOP + WINDOW))
    for i in range(len(x)):
        out[0, i * HOP:i * HOP + WINDOW] += x[i]
        out[1, i * HOP:i * HOP + WINDOW] += y[i]
    return out


def envelopes(x):
    """[bands, frames]: the norm of the bins of each band in each frame."""
    spectrum = np.fft.rfft(frames(x)[0], FFT)
    return np.sqrt(bands() @ (np.abs(spectrum) ** 2).T)


def stoi(clean, found, rate=16000):
    """From about 0 to 1; None where less than one segment of 384 ms is not silent."""
    clean, found = np.asarray(clean, np.float64), np.asarray(found, np.float64)
    if len(clean) != len(found):
        raise ValueError(f'stoi: {len(clean)} and {len(found)} samples, expected the same number')
    if rate != RATE:
        common = np.gcd(rate, RATE)
        clean, found = (resample_poly(s, RATE // common, rate // common) for s in (clean, found))
    x, y = (envelopes(s) for s in without_silence(clean, found))
    count = x.shape[1] - SEGMENT + 1
    if count < 1:
        return None
    at = np.arange(count)[:, None] + np.arange(SEGMENT)
    x, y = x[:, at], y[:, at]  # [bands, segments, frames]
    tiny = np.finfo(float).eps
    y = y * np.linalg.norm(x, axis=2, keepdims=True) / (np.linalg.norm(y, axis=2, keepdims=True) + tiny)
    y = np.minimum(y, x * (1 + 10 ** (-CLIP / 20)))
    x = x - x.mean(2, keepdims=True)
    y = y - y.mean(2, keepdims=True)
    return float(np.mean((x * y).sum(2) / (np.linalg.norm(x, axis=2) * np.linalg.norm(y, axis=2) + tiny)))
