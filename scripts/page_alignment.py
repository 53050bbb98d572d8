"""Where sound that a browser has captured is in the recording that its fake microphone plays, by correlation: the browser begins at an
unknown sample, converts the rate by its own filter, and a busy machine makes it stutter. Needs Debian's python3-numpy."""
import struct

import numpy as np

RATE = 2000      # of what is compared: below a kilohertz is enough to find a place
WHOLE = 0.97     # how well a piece fits that has arrived whole; 1 at best
TOLERANCE = 0.06  # seconds by which an event may be elsewhere


def samples_of(path):
    """Of a recording of one channel at 16 kHz, of 16 bits or float32."""
    with open(path, "rb") as file:
        data = file.read()
    at, kind = 12, None
    while at + 8 <= len(data):
        name, size = data[at:at + 4], struct.unpack_from("<I", data, at + 4)[0]
        if name == b"fmt ":
            code, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", data, at + 8)
            if channels != 1 or rate != 16000 or (code, bits) not in ((1, 16), (3, 32), (0xFFFE, 16), (0xFFFE, 32)):
                raise ValueError(f"{path}: expected one channel of 16 bits or float32 at 16000 Hz, found {channels} of {bits} bits at {rate} Hz")
            kind = "<i2" if bits == 16 else "<f4"
        if name == b"data":
            body = data[at + 8:at + 8 + size]
            found = np.frombuffer(body[: len(body) // np.dtype(kind).itemsize * np.dtype(kind).itemsize], dtype=kind)
            return found.astype(np.float64) / (32768 if kind == "<i2" else 1)
        at += 8 + size + size % 2
    raise ValueError(f"{path}: expected a recording with samples")


def sound(path):
    """The samples of a recording, as means over eight."""
    samples = samples_of(path)
    return samples[: len(samples) // 8 * 8].reshape(-1, 8).mean(axis=1)


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
