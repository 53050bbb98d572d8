"""Recordings as float32 arrays at 16 kHz, between -1 and 1: reading (WAV, NIST Sphere), writing, resampling, trimming."""
import subprocess
import wave

import numpy as np
from scipy.signal import resample_poly

RATE = 16000


def read(path):
    """The first channel, at 16 kHz. NIST Sphere files must have 16-bit linear samples."""
    with open(path, 'rb') as f:
        head = f.read(1024)
    if head.startswith(b'NIST_1A'):
        fields = dict(line.split(' ', 2)[::2] for line in head.decode('ascii', 'replace').splitlines()[2:] if line.count(' ') >= 2)
        if fields.get('sample_n_bytes') != '2' or fields.get('sample_coding', 'pcm') != 'pcm':
            raise ValueError(f'{path}: expected 16-bit linear samples, found {fields}')
        kind = '>i2' if fields.get('sample_byte_format') == '10' else '<i2'
        rate, samples = int(fields['sample_rate']), np.fromfile(path, kind, offset=1024)
    else:
        with wave.open(str(path)) as f:
            if f.getsampwidth() != 2:
                raise ValueError(f'{path}: expected 16-bit samples, found {8 * f.getsampwidth()}-bit ones')
            rate, channels = f.getframerate(), f.getnchannels()
            samples = np.frombuffer(f.readframes(f.getnframes()), '<i2')[::channels]
    return to_rate(samples.astype(np.float32) / 32768, rate)


def write(path, samples, rate=RATE):
    with wave.open(str(path), 'wb') as f:
        f.setnchannels(1)
        f.setsampwidth(2)
        f.setframerate(rate)
        f.writeframes(to_int16(samples).tobytes())


def to_int16(samples):
    return np.clip(np.rint(np.asarray(samples) * 32768), -32768, 32767).astype('<i2')


def to_rate(samples, rate, target=RATE):
    if rate == target:
        return samples
    common = np.gcd(rate, target)
    return resample_poly(samples, target // common, rate // common).astype(np.float32)


def trim(samples, decibels=-40, margin=0.05):
    """Without the silence at both ends: what is `decibels` below the loudest 10 ms, but for a margin in seconds."""
    if len(samples) < 320:
        return samples
    power = np.convolve(samples * samples, np.ones(160) / 160, 'same')
    loud = np.flatnonzero(power > power.max() * 10 ** (decibels / 10))
    if not len(loud):
        return samples
    return samples[max(0, loud[0] - int(margin * RATE)):loud[-1] + int(margin * RATE)]


def run_voice(command, path):
    """Runs a speech synthesizer that writes `path`, and reads what it wrote."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return trim(read(path))
