"""Measures a wake word by the program runnel on voices, people and noises that its training never heard, and chooses its decision.

usage: evaluate.py choose WORK_FOLDER OUT_FOLDER                                   the decision, on validation; writes OUT_FOLDER/wake.rnlg
       evaluate.py test WORK_FOLDER MODEL.rnl RESULTS.json [--float FLOAT.rnl]     the tables of docs/accuracy.md
       evaluate.py show RESULTS.json                                               the tables again

A phrase is missed if no event ends between its beginning and 0.75 s after it. False alarms are events where nobody says the phrase. Everything is
counted from what `runnel batch` writes with a decision; intervals are 95 %, of parts by drawing voices anew, of rates by Poisson's distribution."""
import bisect
import json
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

import numpy as np

import export
import spoken
from spoken import NEAR, OTHER, PHRASE, SPEECH, WORD, audio
from streams import Material, recorded_noise

import augment
import program
import material

THRESHOLDS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
CURVE = (0.2, 0.3, 0.4, 0.55, 0.7, 0.85)  # thresholds of the last table
CONDITIONS = {'clean': {}, 'noise, 20 dB': {'decibels': 20}, 'noise, 10 dB': {'decibels': 10}, 'noise, 5 dB': {'decibels': 5}, 'room': {'room': True},
              'room, noise, 15 dB': {'room': True, 'decibels': 15}, 'telephone': {'line': True}, 'quiet, -40 dB': {'level': -40}}
SPAN, HEARD = 4.0, 0.75  # seconds: of one phrase in a recording of the test, and within which an event after its end is a hit
PEOPLE = 240             # phrases joined from recorded words
JOINED = 'people: two recorded words, joined'


def pieces(said, random, pause=(0.15, 0.7)):
    """Recordings behind each other in drawn order at drawn levels, on faint noise."""
    parts = []
    for i in random.permutation(len(said)):
        x = said[i].samples
        if len(x) and np.abs(x).max() > 1e-3:
            parts += [x / np.abs(x).max() * 10 ** (random.uniform(-22, -3) / 20), np.zeros(int(random.uniform(*pause) * audio.RATE), np.float32)]
    x = np.concatenate(parts).astype(np.float32)
    return x + random.standard_normal(len(x)).astype(np.float32) * 3e-4


def noise_of(model, work, part, random):
    """The noises of a part: recorded ones are held out, made ones are drawn anew."""
    found = Material.__new__(Material)
    found.random = random
    found.bank = material.Noises(dict(spoken.kept(work / f'noise_{part}.pickle', lambda: recorded_noise(model, part))), random)
    kinds = ['environment', 'environment', 'music', 'tones', 'engine', 'knocks', 'wind', 'pink', 'fan', 'white']
    found.kinds = [k for k in kinds if k in found.bank.recorded or k in found.bank.plain or k in material.noises.MADE]
    return found


def phrases_of(model, said, random):
    """(voice, samples) of the phrase: synthetic voices, and people's words joined."""
    out = [(f'{u.source}/{u.speaker}', u.samples) for u in said if u.kind == PHRASE]
    return out + [(f'people/{u.speaker}', u.samples) for u in spoken.joined(model, said, random, PEOPLE)]


def condition(x, found, random, decibels=None, room=False, line=False, level=None):
    """The phrase in the middle of SPAN seconds, on its way to the microphone; returns samples and the phrase's last sample."""
    n, first = int(SPAN * audio.RATE), int(1.2 * audio.RATE)
    x = audio.trim(x, -38, 0.02)[:n - first - int(0.8 * audio.RATE)]
    y, on = np.zeros(n, np.float32), np.zeros(n, bool)
    y[first:first + len(x)] = x / (np.abs(x).max() + 1e-6)
    on[first:first + len(x)] = True
    power = float(np.mean(y[on] ** 2))
    if room:
        y = augment.room(y, random)[:n]
    _, noise = found.bank.of(found.one(found.kinds), n)
    y = y + noise * np.float32(np.sqrt(power) * 10 ** (-(decibels if decibels is not None else 45) / 20))
    if line:
        y = augment.telephone(y, random)[:n]
    peak = 10 ** ((level if level is not None else random.uniform(-20, -3)) / 20)
    return np.pad(y / np.abs(y).max() * peak, (0, n - len(y))).astype(np.float32), first, first + len(x)


def without_speech(model, work, part, random):
    """kind -> samples of noise and music, at drawn levels."""
    found, out = noise_of(model, work, part, random), {}
    for kind, some in sorted(found.bank.recorded.items()):
        levels = (-40, -25, -12) if part == 'test' else (-25,)
        out[f'{kind}, recorded'] = np.concatenate([np.clip(x * np.float32(10 ** (level / 20)), -1, 1) for level in levels for _, x in some])
    for kind, make in material.noises.MADE.items():
        out[f'{kind}, made'] = np.concatenate([make(20 * audio.RATE, random) * np.float32(10 ** (random.uniform(-40, -12) / 20)) for _ in range(15 if part == 'test' else 6)])
    return out


def sets(model, work, part):
    """The recordings of a part as files below WORK_FOLDER/sets/PART, made once: phrases by condition, and what has no phrase."""
    folder = work / 'sets' / part
    if (folder / 'made').exists():
        return folder
    random = np.random.default_rng([model.settings['seed'], 500, part == 'test'])
    said, found = spoken.of(model, part, work), noise_of(model, work, part, random)
    for name in ('phrases', 'recorded', 'synthetic', 'near', 'noise'):
        (folder / name).mkdir(parents=True, exist_ok=True)
    phrases = phrases_of(model, said, random)
    if not phrases:
        raise SystemExit(f'{part}: expected a voice that says the phrase, found none (held_out.txt)')
    for name, how in CONDITIONS.items():
        if part != 'test' and name not in ('clean', 'noise, 10 dB', 'room, noise, 15 dB'):
            continue
        sounds, truth = [], []
        for i, (voice, x) in enumerate(phrases):
            y, first, last = condition(x, found, random, **how)
            sounds.append(y)
            truth.append({'voice': voice, 'start': i * SPAN + first / audio.RATE, 'end': i * SPAN + last / audio.RATE})
        stem = name.replace(', ', '_').replace(' ', '_')
        audio.write(folder / 'phrases' / f'{stem}.wav', np.concatenate(sounds))
        (folder / 'phrases' / f'{stem}.json').write_text(json.dumps(truth))
    groups = {}
    for u in said:
        if u.kind in (SPEECH, WORD) and not spoken.is_phrase(model, u):
            groups.setdefault(('recorded', f'{u.source}_{"words" if u.kind == WORD else u.speaker if u.source == "prompts" else "sentences"}'), []).append(u)
        elif u.kind == OTHER:
            groups.setdefault(('synthetic', f'{u.source}'), []).append(u)
        elif u.kind == NEAR:
            groups.setdefault(('near', f'{u.source}'), []).append(u)
    for (kind, name), some in sorted(groups.items()):
        pause = (0.1, 0.5) if kind == 'synthetic' else (0.5, 0.9) if kind == 'near' else (0.15, 0.7)
        audio.write(folder / kind / f'{name}.wav', pieces(some, random, pause))
    for kind, x in without_speech(model, work, part, random).items():
        audio.write(folder / 'noise' / f'{kind.replace(", ", "_")}.wav', x)
    for name, x in more_speech(model, part):
        audio.write(folder / 'recorded' / f'{name}.wav', x)
    (folder / 'made').write_text('')
    return folder


def more_speech(model, part):
    """(name, samples): free speech that no training of any kind uses, as folders of WAV files for each part (wake.toml, [test])."""
    for name, of_part in model.settings.get('test', {}).items():
        if of_part.get('part', 'test') not in (part, 'both'):
            continue
        for folder in spoken.there(model, name, of_part['folder']):
            random, some = np.random.default_rng(3), []
            for path in sorted(folder.rglob('*.wav')):
                if of_part.get('part') != 'both' or (spoken.sources.chosen(path.stem[:3], 0, 4) == (part != 'test')):
                    some.append(spoken.Said(name, '', SPEECH, '', audio.read(path)))
            if some:
                yield name, pieces(some, random, (0.1, 0.5))


def batch(model_file, paths, decision):
    """The events of recordings: {path: [event, ...]}."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program.path(), 'batch', str(model_file), *map(str, paths), '-o', f'{folder}/out.jsonl', '--jobs', '1', *(['--decision', decision] if decision else [])],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f'runnel batch: {done.stderr[-2000:]}')
        out = {Path(p).name: [] for p in paths}
        for line in open(f'{folder}/out.jsonl', encoding='utf-8'):
            event = json.loads(line)
            if event['type'] == 'event':
                out[Path(event['source']).name].append(event)
        return out


def seconds_of(path):
    with wave.open(str(path)) as f:
        return f.getnframes() / f.getframerate()


def heard(events, truth):
    """For each phrase whether an event ends between its beginning and shortly after it."""
    ends = np.array(sorted(e['end'] for e in events))
    return [bool(np.searchsorted(ends, t['end'] + HEARD, 'right') - np.searchsorted(ends, t['start'])) for t in truth]


def poisson(count, hours):
    """Events an hour with their 95 % interval."""
    from scipy.stats import chi2
    return [count / hours, chi2.ppf(0.025, 2 * count) / 2 / hours if count else 0.0, chi2.ppf(0.975, 2 * count + 2) / 2 / hours]


def with_interval(rows):
    """[part, low, high] over voices drawn anew, from (voice, yes or no); fewer than three voices: over phrases drawn anew."""
    random, by_voice = np.random.default_rng(7), {}
    for voice, yes in rows:
        by_voice.setdefault(voice, []).append(yes)
    units = [np.array([sum(v), len(v)]) for v in by_voice.values()] if len(by_voice) > 2 else [np.array([y, 1]) for v in by_voice.values() for y in v]
    total = np.sum(units, 0)
    if total[0] in (0, total[1]):  # drawing anew would say that nothing is uncertain: Clopper and Pearson
        edge = 1 - 0.025 ** (1 / total[1])
        return [0.0, 0.0, edge] if total[0] == 0 else [1.0, 1 - edge, 1.0]
    drawn = [np.sum([units[i] for i in random.integers(len(units), size=len(units))], 0) for _ in range(1000)]
    return [float(total[0] / total[1]), *(float(np.percentile([d[0] / d[1] for d in drawn], q)) for q in (2.5, 97.5))]


def measured(folder, model_file, decision):
    """What a decision hears: phrases by condition, and events without a phrase by kind and file."""
    out = {'phrases': {}}
    paths = sorted((folder / 'phrases').glob('*.wav'))
    found = batch(model_file, paths, decision)
    for path in paths:
        truth = json.loads(path.with_suffix('.json').read_text())
        out['phrases'][path.stem] = [(t['voice'], yes) for t, yes in zip(truth, heard(found[path.name], truth))]
    for kind in ('recorded', 'synthetic', 'near', 'noise'):
        paths = sorted((folder / kind).glob('*.wav'))
        found = batch(model_file, paths, decision) if paths else {}
        out[kind] = {p.stem: [len(found[p.name]), seconds_of(p)] for p in paths}
    return out


def false_of(found, kinds):
    return np.sum([v for k in kinds for v in found[k].values()], 0) if any(found[k] for k in kinds) else np.array([0, 0.0])


def rate_on(found, noise_part):
    """False alarms an hour of which so large a part is noise, and the rest speech of people and synthesizers; near phrases are not counted."""
    rates = []
    for kinds in (('recorded', 'synthetic'), ('noise',)):
        count, seconds = false_of(found, kinds)
        rates.append(count / (seconds / 3600) if seconds else 0.0)
    return (1 - noise_part) * rates[0] + noise_part * rates[1]


def choose(model, work, out):
    """The decision with the fewest phrases missed of those with at most `per_hour` false alarms an hour on validation: for each number of frames that
    may be averaged, the lowest threshold of this kind. If there is none, the decision with the fewest false alarms."""
    folder, wanted = sets(model, work, 'validation'), model.settings['decision']
    model_file, tried = export.assemble(model, out, export.decision_of(wanted['smoothing'][0], 0.9)), []

    def rate_of(smoothing, threshold):
        found = measured(folder, model_file, export.decision_of(smoothing, threshold))
        rows = [r for some in found['phrases'].values() for r in some]
        rate, false = rate_on(found, wanted['noise_part']), {kind: int(false_of(found, (kind,))[0]) for kind in ('recorded', 'synthetic', 'noise', 'near')}
        missed = float(np.mean([not y for _, y in rows]))
        print(f'{smoothing} frames, threshold {threshold}: {100 * missed:.1f} % of {len(rows)} phrases missed, false alarms {false}, {rate:.2f} an hour', flush=True)
        tried.append((max(rate, wanted['per_hour']), missed, smoothing, threshold))
        return rate
    for smoothing in wanted['smoothing']:  # halving, because a higher threshold has fewer alarms
        bisect.bisect_left(THRESHOLDS, -wanted['per_hour'], key=lambda threshold: -rate_of(smoothing, threshold))
    _, _, smoothing, threshold = min(tried)
    export.assemble(model, out, export.decision_of(smoothing, threshold))
    print(f'chosen: {smoothing} frames, threshold {threshold}')
    return smoothing, threshold


def decision_of(model_file):
    """The decision that a model file has."""
    said = subprocess.run([program.path(), 'inspect', str(model_file)], check=True, capture_output=True, text=True).stdout
    return next(line.split('decision', 1)[1].strip() for line in said.splitlines() if line.strip().startswith('decision'))


def setting_of(decision, name):
    return next(word.split('=', 1)[1] for word in decision.split() if word.startswith(f'{name}='))


def test(model, work, model_file, out, floats=None):
    folder, decision = sets(model, work, 'test'), decision_of(model_file)
    results = {'decision': decision, 'int8': measured(folder, model_file, decision)}
    if floats:
        results['float'] = measured(folder, floats, decision)
    smoothing, stored = int(setting_of(decision, 'smoothing_frames')), float(setting_of(decision, 'threshold'))
    results['curve'] = {}
    for threshold in sorted({*CURVE, stored}):
        found = measured(folder, model_file, export.decision_of(smoothing, threshold))
        rows = [r for some in found['phrases'].values() for r in some]
        count, seconds = false_of(found, ('recorded', 'noise'))
        results['curve'][threshold] = [float(np.mean([not y for v, y in rows if not v.startswith('people/')])),
                                       float(np.mean([not y for v, y in rows if v.startswith('people/')] or [0])), int(count), float(seconds)]
    Path(out).write_text(json.dumps(results, indent=1) + '\n')
    show(results)
    return results


def cell(v):
    return f'{100 * v[0]:.1f} ({100 * v[1]:.1f} to {100 * v[2]:.1f})'


def show(results):
    kinds = [k for k in ('int8', 'float') if k in results]
    print(f'Decision: `{results["decision"]}`\n')
    people = any(v.startswith('people/') for v, _ in next(iter(results['int8']['phrases'].values())))
    groups = [('synthetic voices', lambda v: not v.startswith('people/'))] + ([(JOINED, lambda v: v.startswith('people/'))] if people else [])
    for title, chosen in groups:
        print(f'| {title}: missed, per cent | voices | phrases | ' + ' | '.join(kinds) + ' |\n|---|---|---|' + '---|' * len(kinds))
        names = list(results['int8']['phrases'])
        for name in [*names, 'all']:
            cells = []
            for k in kinds:
                rows = [(v, not y) for n in (names if name == 'all' else [name]) for v, y in results[k]['phrases'][n] if chosen(v)]
                cells.append(cell(with_interval(rows)))
            print(f'| {name.replace("_", " ")} | {len({v for v, _ in rows})} | {len(rows)} | ' + ' | '.join(cells) + ' |')
        print()
    by_voice = {}
    for some in results['int8']['phrases'].values():
        for v, y in some:
            source, name = v.split('/', 1)
            by_voice.setdefault('espeak-ng, held-out variants' if source == 'espeak' else JOINED if source == 'people' else f'{source} {name}', []).append((v, not y))
    print('| voice, all conditions | phrases | missed, per cent |\n|---|---|---|')
    for name, rows in sorted(by_voice.items()):
        print(f'| {name} | {len(rows)} | {cell(with_interval(rows))} |')
    print('\n| without the phrase | hours | ' + ' | '.join(f'false alarms, {k} | an hour' for k in kinds) + ' |\n|---|---|' + '---|---|' * len(kinds))
    for kind in [k for k in ('recorded', 'noise', 'synthetic') if results['int8'][k]]:
        rows = dict(results['int8'][kind])
        for name in [*rows, f'all {"recorded speech" if kind == "recorded" else kind if kind == "noise" else "synthetic speech"}']:
            line, hours = [], 0
            for k in kinds:
                count, seconds = results[k][kind][name] if name in rows else false_of(results[k], (kind,))
                rate, hours = poisson(int(count), seconds / 3600), seconds / 3600
                line.append(f'{int(count)} | {rate[0]:.2f} ({rate[1]:.2f} to {rate[2]:.2f})')
            print(f'| {name.replace("_", " ")} | {hours:.2f} | ' + ' | '.join(line) + ' |')
    line = []
    for k in kinds:
        count, seconds = false_of(results[k], ('recorded', 'noise'))
        rate = poisson(int(count), seconds / 3600)
        line.append(f'{int(count)} | {rate[0]:.2f} ({rate[1]:.2f} to {rate[2]:.2f})')
    print(f'| **recorded speech, and noise** | {seconds / 3600:.2f} | ' + ' | '.join(line) + ' |')
    print('\nOn near phrases of held-out synthetic voices: ' + ', '.join(f'{k}: {int(false_of(results[k], ("near",))[0])} events in {false_of(results[k], ("near",))[1] / 60:.0f} minutes' for k in kinds))
    print('\n| threshold | missed, synthetic voices | missed, people | false alarms an hour, recorded speech and noise |\n|---|---|---|---|')
    for threshold, (missed, joined, count, seconds) in results.get('curve', {}).items():
        print(f'| {threshold} | {100 * missed:.1f} | {100 * joined:.1f} | {count / (seconds / 3600):.2f} |')


if __name__ == '__main__':
    verb = sys.argv[1] if len(sys.argv) > 1 else ''
    if verb == 'choose' and len(sys.argv) == 4:
        choose(spoken.Model(), Path(sys.argv[2]), Path(sys.argv[3]))
    elif verb == 'test' and len(sys.argv) in (5, 7):
        test(spoken.Model(), Path(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[6] if len(sys.argv) == 7 else None)
    elif verb == 'show' and len(sys.argv) == 3:
        show(json.loads(Path(sys.argv[2]).read_text()))
    else:
        raise SystemExit(__doc__)
