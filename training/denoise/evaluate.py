"""Measures the bundled model, its float form and RNNoise on the same mixtures of held-out speakers and noises, and prints the tables of
docs/accuracy.md.

usage: evaluate.py WORK_FOLDER RESULTS.json --model denoise.rnl --float denoise.onnx [--rnnoise FOLDER]

FOLDER is that of the npm package @jitsi/rnnoise-wasm. SI-SDR and STOI are those of ../kit/stoi.py, at 16 kHz. Ours run through the program
runnel as `runnel run` does. RNNoise gets the mixture at 48 kHz (resampled by 3, and back), and its output is moved by the 20 ms by which it is
late; 0.1 s at both ends of a mixture do not count. Intervals: 95 %, bootstrap over mixtures; differences are of the same mixture."""
import argparse
import json
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
from scipy.signal import resample_poly

import export
import render
import train
from render import material

import audio
import program
import stoi

LEVELS = (-5, 0, 5, 10, 20)
KINDS = ('environment', 'music', 'tones', 'engine', 'knocks', 'wind', 'pink', 'fan')
SECONDS, EDGE, LATE, DRAWS = 5.0, 1600, 960, 1000


def mixtures(made, work):
    """(group, speaker, kind of noise, name of the noise, clean, speech or not, noise at power 1): a few of each held-out speaker."""
    random = np.random.default_rng([made.settings['seed'], 2000])
    spoken = material.kept(work / 'speech_test.pickle', lambda: material.speech(made, 'test'))
    bank = material.Noises(material.kept(work / 'noise_test.pickle', lambda: material.recorded_noise(made, 'test')), random)
    by_speaker = {}
    for u in spoken:
        by_speaker.setdefault((u.source, u.speaker), []).append(u)
    out = []
    for (source, speaker), mine in sorted(by_speaker.items()):
        for _ in range({'an4': 1, 'speech_commands': 1, 'prompts': 4}[source]):
            n = int(SECONDS * audio.RATE)
            x, on, at = np.zeros(n, np.float32), np.zeros(material.frames(n), bool), int(random.uniform(0.2, 0.8) * 100) * 160
            for i in random.permutation(len(mine)):
                u = mine[i]
                if at + 8000 > n:
                    break
                y = u.samples[:n - at]
                x[at:at + len(y)] += y / np.abs(u.samples).max() * 0.5
                k = min(len(u.labels), len(on) - at // 160)
                on[at // 160:at // 160 + k] |= u.labels[:k]
                at += (len(y) + int(random.exponential(0.4) * audio.RATE)) // 160 * 160
            name, noise = bank.of(KINDS[len(out) % len(KINDS)], n)
            out.append((source, speaker, KINDS[(len(out)) % len(KINDS)], name, x, on, noise))
    return out


def at_level(x, on, noise, level):
    """(mixture, clean) at a level that does not clip."""
    power = render.power_of_speech(x, on)
    y = x + noise * np.float32(np.sqrt(power) * 10 ** (-level / 20))
    scale = np.float32(min(1.0, 0.9 / np.abs(y).max()))
    return y * scale, x * scale


def ours(clips, file, graph):
    """Cleaned clips. They run through the program as one recording each."""
    before, after = graph
    out = []
    with tempfile.TemporaryDirectory() as folder:
        for clip in clips:
            audio.write(f'{folder}/a.wav', clip)
            done = subprocess.run([program.path(), 'run', f'wav path={folder}/a.wav tail=0.02 ! {before} ! infer model={file} ! {after} ! npy path={folder}/b.npy'], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
            if done.returncode:
                raise SystemExit(done.stderr)
            out.append(np.load(f'{folder}/b.npy').ravel()[:len(clip)])
    return out


def rnnoise(clips, package):
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for i, clip in enumerate(clips):
            resample_poly(np.pad(clip, (0, 800)), 3, 1).astype('<f4').tofile(f'{folder}/{i}.in')
            names += [f'{folder}/{i}.in', f'{folder}/{i}.out']
        subprocess.run(['node', str(Path(__file__).resolve().parent / 'rnnoise.mjs'), str(Path(package).resolve()), *names], check=True, stderr=subprocess.DEVNULL)
        return [resample_poly(np.fromfile(f'{folder}/{i}.out', '<f4')[LATE:], 1, 3)[:len(c)] for i, c in enumerate(clips)]


def interval(values, draws):
    """(mean, low, high)."""
    means = np.sort([values[d].mean() for d in draws])
    return float(values.mean()), float(means[int(0.025 * len(means))]), float(means[int(0.975 * len(means)) - 1])


def said(values, digits):
    return f'{values[0]:.{digits}f} ({values[1]:.{digits}f} to {values[2]:.{digits}f})'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('work', type=Path)
    parser.add_argument('results')
    parser.add_argument('--model')
    parser.add_argument('--float', dest='real')
    parser.add_argument('--rnnoise')
    call = parser.parse_args()
    made = render.model()
    graph = export.parts_of(Path(__file__).resolve().parents[2] / 'models/denoise/denoise.rnlg')
    tests = mixtures(made, call.work)
    systems = {'denoise, int8': lambda clips: ours(clips, call.model, graph)} if call.model else {}
    if call.real:
        systems['denoise, float'] = lambda clips: ours(clips, call.real, graph)
    if call.rnnoise:
        systems['RNNoise'] = lambda clips: rnnoise(clips, call.rnnoise)
    middle = slice(EDGE, int(SECONDS * audio.RATE) - EDGE)

    def measured(run):
        """level -> [mixtures, 2]."""
        out = {}
        for level in LEVELS:
            pairs = [at_level(t[4], t[5], t[6], level) for t in tests]
            noisy = [np.asarray(audio.to_int16(p[0]), np.float32) / 32768 for p in pairs]
            out[level] = np.array([[stoi.si_sdr(c[middle], y[middle]), stoi.stoi(c[middle], y[middle])] for (_, c), y in zip(pairs, run(noisy))])
        return out
    scores = {}  # (system, level) -> [mixtures, 2]
    for name, run in {'noisy': lambda clips: clips, **systems}.items():
        file = {'denoise, int8': call.model, 'denoise, float': call.real}.get(name)
        mark = '' if file is None else f'_{zlib.crc32(Path(file).read_bytes()):08x}'
        found = material.kept(call.work / f'scores_{name}{mark}.pickle', lambda: measured(run))
        scores.update({(name, level): rows for level, rows in found.items()})
        print(name, {level: rows.mean(0).round(3).tolist() for level, rows in found.items()}, file=sys.stderr, flush=True)
    if not call.model:
        return
    random = np.random.default_rng(7)
    draws = random.integers(0, len(tests), (DRAWS, len(tests)))
    names = ['noisy', *systems]
    speakers = {(t[0], t[1]) for t in tests}
    print(f'{len(tests)} mixtures of {SECONDS:.0f} s at each level, {len(speakers)} speakers\n')
    for column, (what, digits) in enumerate((('SI-SDR, dB', 2), ('STOI, %', 1))):
        factor = (1, 100)[column]
        print(f'| {what} | ' + ' | '.join(f'{level} dB' for level in LEVELS) + ' | all |\n|---' + '|---' * (len(LEVELS) + 1) + '|')
        for name in names:
            cells = [interval(factor * scores[name, level][:, column], draws) for level in LEVELS]
            cells.append(interval(factor * np.mean([scores[name, level][:, column] for level in LEVELS], 0), draws))
            print(f'| {name} | ' + ' | '.join(said(c, digits) for c in cells) + ' |')
        for other in names[1:]:
            if other == 'denoise, int8':
                continue
            cells = [interval(factor * (scores['denoise, int8', level] - scores[other, level])[:, column], draws) for level in LEVELS]
            cells.append(interval(factor * np.mean([(scores['denoise, int8', level] - scores[other, level])[:, column] for level in LEVELS], 0), draws))
            print(f'| denoise, int8, less {other} | ' + ' | '.join(said(c, digits) for c in cells) + ' |')
        print()
    groups = {'AN4, close microphone': lambda t: t[0] == 'an4', 'Speech Commands, single words, phones and laptops': lambda t: t[0] == 'speech_commands', 'prompts, two voices, 8 kHz': lambda t: t[0] == 'prompts',
              'ESC-10, fold 5': lambda t: t[2] == 'environment', 'music and ringtones': lambda t: t[2] in ('music', 'tones'), 'made noise': lambda t: t[2] in KINDS[3:]}
    print('| part, at 0, 5 and 10 dB | mixtures | system | SI-SDR, dB | STOI, % |\n|---|---|---|---|---|')
    for title, belongs in groups.items():
        rows = np.flatnonzero([belongs(t) for t in tests])
        some = random.integers(0, len(rows), (DRAWS, len(rows)))
        for name in names:
            if name == 'denoise, float':
                continue
            values = np.mean([scores[name, level] for level in (0, 5, 10)], 0)[rows]
            print(f'| {title} | {len(rows)} | {name} | {said(interval(values[:, 0], some), 2)} | {said(interval(100 * values[:, 1], some), 1)} |')
    with open(call.results, 'w', encoding='utf-8') as f:
        json.dump({'tests': [t[:4] for t in tests], 'scores': {f'{k[0]} at {k[1]} dB': v.tolist() for k, v in scores.items()}}, f, indent=1)


if __name__ == '__main__':
    main()
