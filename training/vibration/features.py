"""The front end of vibration.rnlg in numpy: fbank of Kaldi at 4000 samples per second."""
import numpy as np

WINDOW, SHIFT, BINS, LOW, HIGH, RATE = 1024, 256, 40, 10.0, 1900.0, 4000


def mel(f): return 1127.0 * np.log(1.0 + np.asarray(f, np.float64) / 700.0)


def bank():
    low, high = mel(LOW), mel(HIGH)
    step = (high - low) / (BINS + 1)
    at = mel(np.arange(WINDOW // 2) * RATE / WINDOW)
    rows = []
    for b in range(BINS):
        left, centre, right = low + b * step, low + (b + 1) * step, low + (b + 2) * step
        rows.append(np.where((at > left) & (at < right), np.where(at <= centre, (at - left) / (centre - left), (right - at) / (right - centre)), 0))
    return np.array(rows).T


BANK = bank()
POVEY = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / (WINDOW - 1))) ** 0.85


def fbank(samples):
    """int16 samples to [frames, 40]."""
    x = np.asarray(samples, np.float64)
    frames = 1 + (len(x) - WINDOW) // SHIFT
    rows = np.stack([x[i * SHIFT:i * SHIFT + WINDOW] for i in range(frames)])
    rows = rows - rows.mean(1, keepdims=True)
    power = np.abs(np.fft.rfft(rows * POVEY, WINDOW))[:, :WINDOW // 2] ** 2
    return np.log(np.maximum(power @ BANK, 1.1920929e-07)).astype(np.float32)
