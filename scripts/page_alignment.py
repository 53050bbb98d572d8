"""Where sound that a browser has captured is in the recording that its fake microphone plays, by correlation: the browser begins at an
unknown sample, converts the rate by its own filter, and a busy machine makes it stutter. Needs Debian's python3-numpy and sox."""
import subprocess

import numpy as np

RATE = 2000      # of what is compared: below a kilohertz is enough to find a place
WHOLE = 0.97     # how well a piece fits that has arrived whole; 1 at best
TOLERANCE = 0.06  # seconds by which an event may be elsewhere


def sound(path):
    """The samples of a recording, as means over eight of 16 kHz."""
    call = ["sox", path, "-t", "f32", "-r", "16000", "-c", "1", "-"]
    samples = np.frombuffer(subprocess.run(call, check=True, capture_output=True).stdout, dtype="<f4")
    return samples[: len(samples) // 8 * 8].reshape(-1, 8).mean(axis=1).astype(np.float64)


def place(piece, whole):
    """Seconds where the piece is in the whole, and how well it fits."""
    count = len(whole) + len(piece)
    products = np.fft.irfft(np.fft.rfft(whole, count) * np.conj(np.fft.rfft(piece, count)), count)[: len(whole) - len(piece) + 1]
    sums = np.concatenate([[0.0], np.cumsum(whole * whole)])
    energy = (sums[len(piece):] - sums[: -len(piece)]) * float(piece @ piece)
    fit = products / np.sqrt(np.maximum(energy, 1e-9))
    return int(fit.argmax()) / RATE, float(fit.max())


def arrived(original, heard, original_wav, heard_wav):
    """Of the events of the original, those whose sound has arrived whole and that are missing among `heard`, and the number of all whose sound has."""
    sent, there = sound(original_wav), sound(heard_wav)
    missing, whole = [], 0
    for event in original:
        begin, end = max(0.0, event["start"] - 0.6), event["end"] + 0.3
        piece = sent[int(RATE * begin):int(RATE * end)]
        if len(piece) == 0 or len(piece) > len(there):
            continue
        at, fit = place(piece, there)
        if fit < WHOLE:
            continue
        whole += 1
        expected = event["start"] + at - begin
        if not any(one["label"] == event["label"] and abs(one["start"] - expected) <= TOLERANCE for one in heard):
            missing.append(event)
    return missing, whole
