"""Measures a model on machines of every world of worlds.toml, as clips that no training made, through the program runnel, and prints the
tables of docs/accuracy.md. No recordings are needed: the clips are made from seeds.

usage: evaluate.py MODEL.toml MODEL.rnl [--float MODEL.onnx] [--clips N] [--worlds NAME,...] [--json FILE] [--least PER_CENT]

Every clip is another machine. For a detector of anomalies, "own" figures are those with `half` of the node `distance` set from three seconds of
the same machine when it was healthy (another clip): `own` of MODEL.toml times the mean distance of its frames. Intervals: 95 %, bootstrap
over clips. --clips: per world, instead of the number in MODEL.toml. --worlds: only these, `train` among them.
--least: exit code 1 if the figure of the world `train` (accuracy, or area under the curve) is less."""
import argparse
import json
from pathlib import Path

import numpy as np

import generator
import material

DRAWS = 1000


def node(model, index):
    """The parameters of a node of the decision."""
    return dict(part.split('=') for part in model.settings['decision'].split('!')[index].split()[1:])


def outputs(model, file, made):
    """The logits, or the distances of the residuals, [clips, frames, values], with the model of `file`."""
    chain, settings = f'{model.front_end} ! infer dequantize=true model={file}', model.settings
    stride = settings['model'].get('stride', 1)
    if settings['kind'] == 'autoencoder':
        chain += ' ! distance'
    each = [f for i in range(0, len(made), 100) for f in material.through(chain, made[i:i + 100], model.window, model.hop * stride)]
    return np.stack(each).astype(np.float64)


def interval(values, figure, seed=7):
    """[figure, low, high] over clips drawn anew; `values`: an array per clip."""
    random, values = np.random.default_rng(seed), np.asarray(values)
    drawn = [figure(values[random.integers(len(values), size=len(values))]) for _ in range(DRAWS)]
    return [float(figure(values)), float(np.nanpercentile(drawn, 2.5)), float(np.nanpercentile(drawn, 97.5))]


def share(values):
    return interval(values, lambda v: 100 * np.mean(v))


def area(rows):
    """Per cent of the pairs of a fault and another clip of which the fault scores higher; rows: (score, is a fault)."""
    yes, no = rows[rows[:, 1] == 1, 0], rows[rows[:, 1] == 0, 0]
    if len(yes) == 0 or len(no) == 0:
        return np.nan
    return 100 * np.mean(np.searchsorted(np.sort(no), yes, 'left') + np.searchsorted(np.sort(no), yes, 'right')) / 2 / len(no)


def classified(model, values):
    """The state of each clip: that with the highest mean posterior after the first second."""
    late = int(generator.RATE / (model.hop * model.settings['model']['stride']))
    z = values[:, late:]
    p = np.exp(z - z.max(2, keepdims=True))
    return (p / p.sum(2, keepdims=True)).mean(1).argmax(1)


def scored(model, values, half):
    """Of each clip the highest mean score of as many frames as the decision smooths, from the distances of its frames."""
    frames, late = int(node(model, -1)['smoothing_frames']), 4
    d = values[:, late:, 0]
    sums = np.cumsum(np.pad(d / (d + half), ((0, 0), (1, 0))), 1)
    return ((sums[:, frames:] - sums[:, :-frames]) / frames).max(1)


def measured(model, file, made, states, healthy):
    values, fault = outputs(model, file, made), states >= 2
    if model.settings['kind'] == 'classifier':
        found = classified(model, values)
        right = found == states
        confusion = [[int(np.sum((states == a) & (found == b))) for b in range(len(generator.STATES))] for a in range(len(generator.STATES))]
        return {'figure': share(right), 'fault or not': share((found >= 2) == fault), 'confusion': confusion, 'found': found.tolist(),
                **{generator.STATES[s]: share(right[states == s]) for s in sorted(set(states))}}
    half, threshold = float(node(model, 0)['half']), float(node(model, -1)['threshold'])
    score = scored(model, values, half)
    alarm = score >= threshold
    usual = outputs(model, file, healthy)[:, 4:, 0].mean(1, keepdims=True)
    own_score = scored(model, values, model.settings['test']['own'] * usual)
    own = own_score >= threshold
    return {'own': interval(np.stack([own_score, fault], 1), area), 'own faults': share(own[fault]), 'own false alarms': share(own[~fault]),
            'own healthy': share(own[states == 1]), **{f'own {generator.STATES[s]}': share(own[states == s]) for s in sorted(set(states))},
            'figure': interval(np.stack([score, fault], 1), area), 'found': alarm.astype(int).tolist(), 'faults': share(alarm[fault]), 'false alarms': share(alarm[~fault]),
            'healthy at': float(np.percentile(score[~fault], 99)), **{generator.STATES[s]: share(alarm[states == s]) for s in sorted(set(states))}}


def cell(value):
    return f'{value[0]:.1f} ({value[1]:.1f} to {value[2]:.1f})'


def table(head, rows):
    print('| ' + ' | '.join(head) + ' |\n' + '|---' * len(head) + '|')
    for row in rows:
        print('| ' + ' | '.join(map(str, row)) + ' |')
    print()


def show(model, results):
    classifier, both = model.settings['kind'] == 'classifier', any('float' in row for row in results.values())
    columns = {'figure': 'accuracy', 'fault or not': 'fault or not'} if classifier else {
        'figure': 'area under the curve', 'faults': 'faults found', 'false alarms': 'false alarms', 'own': 'own: area', 'own faults': 'own: faults found', 'own false alarms': 'own: false alarms'}
    rows = [[world, row['clips'], *(cell(row[c]) for c in columns), *([f'{row["float"][0]:.1f}', f'{row["same"]:.1f}'] if both else [])] for world, row in results.items()]
    table(['world', 'clips', *columns.values(), *(['float form', 'same decision'] if both else [])], rows)
    mean = {c: np.mean([row[c][0] for row in results.values()]) for c in columns}
    print('mean of the worlds: ' + ', '.join(f'{name} {mean[c]:.1f}' for c, name in columns.items()) + (
        f', float form {np.mean([row["float"][0] for row in results.values()]):.1f}' if both else '') + '\n')
    states = generator.STATES if classifier else generator.STATES[1:]
    for prefix in ('',) if classifier else ('', 'own '):
        print(('right' if classifier else f'alarms{" with a half of its own" if prefix else ""}') + ', per cent of the clips of each state\n')
        table(['world', *states], [[world, *(f'{row[prefix + s][0]:.0f}' for s in states)] for world, row in results.items()])
    if classifier:
        print('all worlds: a row is what it was, a column what was found\n')
        table(['', *states], [[name, *row] for name, row in zip(states, np.sum([row['confusion'] for row in results.values()], 0))])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument('config')
    arguments.add_argument('file')
    arguments.add_argument('--float')
    arguments.add_argument('--clips', type=int)
    arguments.add_argument('--worlds')
    arguments.add_argument('--json')
    arguments.add_argument('--least', type=float)
    given = arguments.parse_args()
    model = material.Model(given.config)
    count = given.clips or model.settings['test']['clips']
    results = {}
    for number, world in enumerate(model.worlds):
        if given.worlds and world not in given.worlds.split(','):
            continue
        made, states = material.clips(model, world, generator.STATES, count, 5000 + number, model.settings['test']['seconds'])
        healthy = material.clips(model, world, ['healthy'], count, 5000 + number, model.settings['test']['seconds'], 1)[0] if model.settings['kind'] == 'autoencoder' else None
        results[world] = {'clips': count, **measured(model, given.file, made, states, healthy)}
        if given.float:
            other = measured(model, given.float, made, states, healthy)
            results[world]['float'] = other['figure']
            results[world]['same'] = 100 * float(np.mean(np.array(other['found']) == np.array(results[world]['found'])))
    show(model, results)
    if given.json:
        Path(given.json).write_text(json.dumps(results, indent=1) + '\n')
    if given.least is not None and results['train']['figure'][0] < given.least:
        raise SystemExit(f"{model.name}: expected at least {given.least} in the world of training, found {results['train']['figure'][0]:.1f}")


if __name__ == '__main__':
    main()
