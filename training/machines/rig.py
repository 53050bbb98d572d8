"""Measures both models on a real test rig, which no training heard: 130 recordings of two seconds and three axes by Analog Devices of a SpectraQuest
machinery fault simulator at 10 to 50 turns a second, with 0 and 11 pounds of load (analogdevicesinc/CbM-Datasets on GitHub, Data_ADXL356C).

usage: rig.py FOLDER MODELS          (FOLDER: its .csv files; MODELS: build/models)

The three axes count as recordings of their own. Anomalies: with the bundled `half`, and with one from the healthy machine at the same speed and
axis with the other load. Intervals: 95 %, bootstrap over the recordings."""
import re
import sys
from pathlib import Path

import numpy as np

import evaluate
import generator
import material

VOLTS, GRAVITY = 0.9, 0.08      # of the sensor: output at rest, volts a g
FAULTS = {'ImL': 'imbalance', 'HIL': 'imbalance', 'LIL': 'imbalance', 'BS_': 'bent shaft', 'MA_': 'misalignment', 'HIR': 'inner_race', 'LIR': 'inner_race',
          'HOR': 'outer_race', 'LOR': 'outer_race', 'HBF': 'balls', 'LBF': 'balls'}


def state_of(name):
    found = [state for mark, state in FAULTS.items() if mark in name]
    return found[0] if found else 'healthy'


def read(path):
    """[3 axes, samples] as int16 of 4000 a second."""
    from scipy.signal import resample_poly
    rows = [line.split(';')[1:4] for line in path.read_text().splitlines() if line]
    g = (np.array([[float(v) for v in row] for row in rows]) - VOLTS) / GRAVITY
    slow = resample_poly(g - g.mean(0), 1, 5, axis=0).T
    return np.clip(np.round(slow * generator.FULL), -32768, 32767).astype(np.int16)


def recordings(folder):
    """(speed in turns a second, load in pounds, axis, state, samples)"""
    for path in sorted(Path(folder).glob('*.csv')):
        speed, load = re.match(r'(\d+)_.*_(\d+)lb', path.name).groups()
        for axis, samples in enumerate(read(path)):
            yield int(speed) / 60, int(load), axis, state_of(path.name), samples[:7936]


def anomalies(model, file, found):
    values = evaluate.outputs(model, file, [f[4][:7936 // model.hop * model.hop] for f in found])
    half, threshold = float(evaluate.node(model, 0)['half']), float(evaluate.node(model, -1)['threshold'])
    usual = {f[:3]: v[4:, 0].mean() for f, v in zip(found, values) if f[3] == 'healthy'}
    own = np.array([model.settings['test']['own'] * usual[f[0], 11 - f[1], f[2]] for f in found])[:, None]
    fault = np.array([f[3] != 'healthy' for f in found])
    for name, h in (('bundled half', half), ('half of its own', own)):
        score = evaluate.scored(model, values, h)
        alarm = score >= threshold
        rows = [['area under the curve', len(found), evaluate.cell(evaluate.interval(np.stack([score, fault], 1), evaluate.area))]]
        for state in ['healthy', *dict.fromkeys(FAULTS.values())]:
            mine = np.array([f[3] == state for f in found])
            rows.append([f'alarms: {state}', int(mine.sum()), evaluate.cell(evaluate.share(alarm[mine]))])
        print(f'anomaly, {name}\n')
        evaluate.table(['', 'recordings', 'per cent'], rows)


def states(model, file, found):
    known = [f for f in found if f[3] in generator.STATES]
    values = evaluate.outputs(model, file, [f[4] for f in known])
    chosen = evaluate.classified(model, values)
    for name, slow in (('20 and 30 turns a second, as in training', True), ('10, 40 and 50', False)):
        mine = np.array([(f[0] in (20, 30)) == slow for f in known])
        truth = np.array([generator.STATES.index(f[3]) for f in known])
        print(f'machine, {name}: right {evaluate.cell(evaluate.share(chosen[mine] == truth[mine]))} per cent, fault or not '
              f'{evaluate.cell(evaluate.share((chosen[mine] >= 2) == (truth[mine] >= 2)))}\n')
        evaluate.table(['', *generator.STATES], [[s, *(int(np.sum(mine & (truth == i) & (chosen == j))) for j in range(len(generator.STATES)))] for i, s in enumerate(generator.STATES) if s != 'stopped'])


def main(folder, models):
    found = list(recordings(folder))
    if len(found) != 390:
        raise SystemExit(f'{folder}: expected 130 recordings of three axes, found {len(found) / 3:.0f}')
    here = material.HERE
    anomalies(material.Model(here / 'anomaly.toml'), f'{models}/anomaly/anomaly.rnl', found)
    states(material.Model(here / 'machine.toml'), f'{models}/machine/machine.rnl', found)


if __name__ == '__main__':
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
