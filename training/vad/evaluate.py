"""Measures the bundled model, Silero's and WebRTC's detectors on the same mixtures of held-out speakers and noises, and prints the tables of
docs/accuracy.md.

usage: evaluate.py WORK_FOLDER MODEL.rnl RESULTS.json [--float MODEL.onnx] [--silero silero.rnl] [--webrtc libwebrtcvad.so]

All of it runs through the program runnel, WebRTC's detector through its C functions (README.md says how to have it). Scores are for
every 10 ms. Each detector may answer late by the number of frames from 0 to 10 that suits it best over all mixtures. WebRTC's detector gives
decisions and no scores: "modes" is the area below the polygon through its four modes, "averaged" takes as score the number of modes that say
speech, averaged over the number of frames that suits it best. Intervals: 95 %, bootstrap over recordings."""
import ctypes
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import material
import render

import audio
import program

LEVELS = ('clean', 10, 5, 0)
RECORDED, MADE = ('environment', 'music', 'tones'), ('engine', 'knocks', 'wind', 'pink', 'fan')
SECONDS, LATEST, BINS, DRAWS = 15.0, 10, 2048, 400


def mixtures(model, work):
    """Recordings without noise and their noises: (group, speaker, noise kind, name of the noise, clean, labels, noise at power 1)."""
    random = np.random.default_rng([model.settings['seed'], 2000])
    spoken = material.kept(work / 'speech_test.pickle', lambda: material.speech(model, 'test'))
    bank = material.Noises(material.kept(work / 'noise_test.pickle', lambda: material.recorded_noise(model, 'test')), random)
    by_speaker = {}
    for u in spoken:
        by_speaker.setdefault((u.source, u.speaker), []).append(u)
    out, kinds = [], RECORDED + MADE
    for (source, speaker), mine in sorted(by_speaker.items()):
        for _ in range({'an4': 1, 'speech_commands': 1, 'prompts': 7}[source]):
            n = int(SECONDS * audio.RATE)
            x, on, at = np.zeros(n, np.float32), np.zeros(material.frames(n), bool), int(random.uniform(0.5, 2) * 100) * 160
            for i in random.permutation(len(mine)):
                u = mine[i]
                if at + len(u.samples) + 8000 > n:
                    continue
                x[at:at + len(u.samples)] += u.samples / np.abs(u.samples).max() * 0.5
                on[at // 160:at // 160 + len(u.labels)] |= u.labels
                at += (len(u.samples) + int(random.exponential(1.2) * audio.RATE)) // 160 * 160
            kind = kinds[len(out) % len(kinds)]
            name, noise = bank.of(kind, n)
            out.append((source, speaker, kind, name, x, on, noise))
    return out


def at_level(x, on, noise, level):
    power = render.power_of_speech(x, on)
    y = x + noise * np.float32(np.sqrt(power) * 10 ** (-(40 if level == 'clean' else level) / 20))
    return y * np.float32(min(1.0, 0.9 / np.abs(y).max()))


def sounds_alone(model, work):
    """kind -> samples without any speech, of held-out noises."""
    random = np.random.default_rng([model.settings['seed'], 2001])
    recorded = material.kept(work / 'noise_test.pickle', lambda: material.recorded_noise(model, 'test'))
    out = {}
    for name, x in sorted(recorded.items()):
        out.setdefault(name.split('/')[0], []).append(x * 0.05)
    names = {'engine': 'machines, made', 'knocks': 'knocks, made', 'wind': 'wind, made', 'alarm': 'alarms, made', 'notes': 'music, made'}
    for kind, make in material.noises.MADE.items():
        out[names[kind]] = [make(10 * audio.RATE, random) * 0.05 for _ in range(9)]
    return {k: np.clip(np.concatenate(v), -1, 1) for k, v in out.items()}


class Ours:
    """A network with two logits a frame behind the front end of vad.toml."""

    def __init__(self, model, file):
        self.front_end, self.file = model.settings['front_end'], file

    def scores(self, wav, folder):
        subprocess.run([program.path(), 'run', f"wav path={wav} ! {self.front_end} ! infer model={self.file} ! npy path={folder}/s.npy"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        z = np.load(f'{folder}/s.npy').astype(np.float64)
        return z[:, 1] - z[:, 0]


class Silero:
    """The probability of each 32 ms, for the frames of 10 ms whose middle is in it."""

    def __init__(self, file):
        self.file = file

    def scores(self, wav, folder):
        subprocess.run([program.path(), 'run', f'wav path={wav} ! gain ! infer model={self.file} output=output ! npy path={folder}/s.npy'], check=True, stdout=subprocess.DEVNULL)
        p = np.load(f'{folder}/s.npy').astype(np.float64).ravel()
        middles = np.arange(material.frames(len(audio.read(wav)))) * 160 + 200
        return p[np.minimum(middles // 512, len(p) - 1)]


class WebRtc:
    """Decisions of the four modes, every 10 ms: [4, frames]."""

    def __init__(self, library):
        self.lib = ctypes.CDLL(library)
        self.lib.WebRtcVad_Create.restype = ctypes.c_void_p
        self.lib.WebRtcVad_Process.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
        for name in ('Free', 'Init'):
            getattr(self.lib, f'WebRtcVad_{name}').argtypes = [ctypes.c_void_p]
        self.lib.WebRtcVad_set_mode.argtypes = [ctypes.c_void_p, ctypes.c_int]

    def decisions(self, samples):
        pcm, rows = audio.to_int16(samples), []
        for mode in range(4):
            handle = self.lib.WebRtcVad_Create()
            self.lib.WebRtcVad_Init(handle)
            self.lib.WebRtcVad_set_mode(handle, mode)
            first, process = pcm.ctypes.data, self.lib.WebRtcVad_Process
            rows.append([process(handle, audio.RATE, first + 320 * i, 160) for i in range(len(pcm) // 160)])
            self.lib.WebRtcVad_Free(handle)
        return np.array(rows)[:, 1:]  # the middle of frame i, 12.5 ms after its start, is in the piece i + 1


def pieces(scores, count):
    """The scores of each mixture of a stream, with those that follow for answers that come late."""
    hops = int(SECONDS * 100)
    return [scores[..., i * hops:(i + 1) * hops + LATEST] for i in range(count)]


def late(scores, labels, by):
    """Scores and labels that belong together if answers come `by` frames late."""
    n = min(len(scores) - by, len(labels))
    return scores[by:by + n], labels[:n]


def histograms(scores, labels, edges):
    bins = np.searchsorted(edges, scores, 'right')
    return np.bincount(bins[labels], minlength=len(edges) + 1), np.bincount(bins[~labels], minlength=len(edges) + 1)


def area_of(positive, negative):
    """Area under the curve from counts by score; positives and negatives of one bin count as ties."""
    below = np.cumsum(negative) - negative
    return float((positive * (below + negative / 2)).sum() / (positive.sum() * negative.sum()))


def with_interval(rows, area, seed=7):
    """[area, low, high] of the sum of rows, over recordings drawn anew."""
    random, rows = np.random.default_rng(seed), np.asarray(rows, np.float64)
    drawn = [area(rows[random.integers(len(rows), size=len(rows))].sum(0)) for _ in range(DRAWS)]
    return [area(rows.sum(0)), float(np.percentile(drawn, 2.5)), float(np.percentile(drawn, 97.5))]


def scored(all_scores, labels, chosen):
    """Areas of a detector by level and group of recordings; all_scores[level][recording], `chosen`: group -> recordings."""
    pooled = np.concatenate([s for level in LEVELS for s in all_scores[level]])
    edges = np.unique(np.quantile(pooled, np.linspace(0, 1, BINS)))

    def rows(level, by):
        return [np.stack(histograms(*late(s, on, by), edges)) for s, on in zip(all_scores[level], labels)]
    whole = {by: np.mean([area_of(*np.sum(rows(level, by), 0)) for level in LEVELS]) for by in range(LATEST + 1)}
    by = max(whole, key=whole.get)
    out = {'late': by}
    for level in LEVELS:
        r = rows(level, by)
        out[str(level)] = {group: with_interval([r[i] for i in which], lambda total: area_of(*total)) for group, which in chosen.items()}
    return out


def polygon(counts):
    """Area below the polygon through the modes; counts: [4 modes, (hits, false alarms, speech, other)]."""
    points = [(0.0, 0.0), *sorted((c[1] / c[3], c[0] / c[2]) for c in counts), (1.0, 1.0)]
    return float(sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in zip(points, points[1:])))


def modes(decisions, labels, chosen):
    def rows(level, by):
        out = []
        for d, on in zip(decisions[level], labels):
            n = min(d.shape[1] - by, len(on))
            e, f = d[:, by:by + n], on[:n]
            out.append([[row[f].sum(), row[~f].sum(), f.sum(), (~f).sum()] for row in e])
        return out
    whole = {by: np.mean([polygon(np.sum(rows(level, by), 0)) for level in LEVELS]) for by in range(LATEST + 1)}
    by = max(whole, key=whole.get)
    out = {'late': by}
    for level in LEVELS:
        r = rows(level, by)
        out[str(level)] = {group: with_interval([r[i] for i in which], polygon) for group, which in chosen.items()}
    return out


def averaged(d, frames):
    """The number of modes that say speech, averaged over so many frames to now."""
    total = np.concatenate([np.zeros(frames), np.cumsum(d.sum(0))])
    return (total[frames:] - total[:-frames]) / frames


def option(arguments, name):
    return arguments[arguments.index(name) + 1] if name in arguments else None


def main(arguments):
    work, file, out = Path(arguments[0]), arguments[1], Path(arguments[2])
    model = material.Model()
    made = mixtures(model, work)
    labels = [m[5] for m in made]
    chosen = {'all': list(range(len(made)))}
    for i, m in enumerate(made):
        chosen.setdefault(m[0], []).append(i)
        chosen.setdefault('recorded noise' if m[2] in RECORDED else 'made noise', []).append(i)
    detectors = {'vad': Ours(model, file)}
    if option(arguments, '--float'):
        detectors['vad, float'] = Ours(model, option(arguments, '--float'))
    if option(arguments, '--silero'):
        detectors['Silero'] = Silero(option(arguments, '--silero'))
    web = WebRtc(option(arguments, '--webrtc')) if option(arguments, '--webrtc') else None
    scores = {name: {level: [] for level in LEVELS} for name in detectors}
    decisions = {level: [] for level in LEVELS}
    alone = {}
    with tempfile.TemporaryDirectory() as folder:
        wav = f'{folder}/a.wav'
        for level in LEVELS:
            # One stream, as a detector in use hears it; each mixture is a whole number of hops.
            stream = np.concatenate([at_level(x, on, noise, level) for _, _, _, _, x, on, noise in made])
            audio.write(wav, stream)
            for name, detector in detectors.items():
                scores[name][level] = pieces(detector.scores(wav, folder), len(made))
            if web:
                decisions[level] = pieces(web.decisions(stream), len(made))
        for kind, x in sounds_alone(model, work).items():
            audio.write(wav, x)
            alone[kind] = {'seconds': len(x) / audio.RATE, **{name: d.scores(wav, folder) for name, d in detectors.items()}}
            if web:
                alone[kind]['WebRTC'] = web.decisions(x)
    areas = {name: scored(s, labels, chosen) for name, s in scores.items()}
    if web:
        areas['WebRTC, modes'] = modes(decisions, labels, chosen)
        best = {}
        for frames in (1, 3, 5, 10, 20, 30):
            smooth = {level: [averaged(d, frames) for d in decisions[level]] for level in LEVELS}
            best[frames] = scored(smooth, labels, chosen)
        frames = max(best, key=lambda f: np.mean([best[f][str(level)]['all'][0] for level in LEVELS]))
        areas[f'WebRTC, averaged over {frames} frames'] = best[frames]
    results = {'recordings': len(made), 'minutes': len(made) * SECONDS / 60, 'speakers': len({m[:2] for m in made}), 'areas': areas,
               'speech': float(np.mean(np.concatenate(labels))), 'groups': {k: len(v) for k, v in chosen.items()}}
    # At the bundled threshold of one half: speech missed, and what is called speech in sounds without any.
    at_half = {'vad': 0.0, 'vad, float': 0.0, 'Silero': 0.5}
    results['missed'] = {name: {str(level): [float(np.mean(np.concatenate([late(s, on, areas[name]['late'])[0][late(s, on, areas[name]['late'])[1]] <= at_half[name]
                                                                             for s, on in zip(scores[name][level], labels)])))] for level in LEVELS} for name in detectors}
    results['false'] = {name: {str(level): [float(np.mean(np.concatenate([late(s, on, areas[name]['late'])[0][~late(s, on, areas[name]['late'])[1]] > at_half[name]
                                                                            for s, on in zip(scores[name][level], labels)])))] for level in LEVELS} for name in detectors}
    results['alone'] = {kind: {'seconds': row['seconds'], **{name: float(np.mean(row[name] > at_half[name])) for name in detectors},
                               **({f'WebRTC mode {m}': float(np.mean(row['WebRTC'][m])) for m in (0, 3)} if web else {})} for kind, row in alone.items()}
    out.write_text(json.dumps(results, indent=1) + '\n')
    show(results)


def cell(value):
    return f'{100 * value[0]:.1f} ({100 * value[1]:.1f} to {100 * value[2]:.1f})'


def show(results):
    print(f'{results["recordings"]} recordings, {results["minutes"]:.1f} minutes, {results["speakers"]} speakers, {100 * results["speech"]:.0f} % speech\n')
    levels = [str(level) for level in LEVELS]
    for group, count in results['groups'].items():
        print(f'area under the curve, per cent: {group}, {count} recordings\n\n| detector | ' + ' | '.join(f'{x} dB' if x != 'clean' else x for x in levels) + ' | late by |\n|---' * 1 + '|' + '---|' * (len(levels) + 2))
        for name, areas in results['areas'].items():
            print(f'| {name} | ' + ' | '.join(cell(areas[x][group]) for x in levels) + f' | {10 * areas["late"]} ms |')
        print()
    print('speech missed / other sound called speech at the threshold of one half, per cent of the frames\n\n| detector | ' + ' | '.join(levels) + ' |\n' + '|---' * (len(levels) + 1) + '|')
    for name in results['missed']:
        print(f'| {name} | ' + ' | '.join(f'{100 * results["missed"][name][x][0]:.1f} / {100 * results["false"][name][x][0]:.1f}' for x in levels) + ' |')
    names = [k for k in next(iter(results['alone'].values())) if k != 'seconds']
    print('\nsounds without speech: frames called speech, per cent\n\n| sound | seconds | ' + ' | '.join(names) + ' |\n' + '|---' * (len(names) + 2) + '|')
    for kind, row in results['alone'].items():
        print(f'| {kind} | {row["seconds"]:.0f} | ' + ' | '.join(f'{100 * row[n]:.1f}' for n in names) + ' |')


if __name__ == '__main__':
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    main(sys.argv[1:])
