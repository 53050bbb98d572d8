"""Writes the trained network as ONNX, its calibration table from streams of training, its labels and its graph.

usage: export.py WORK_FOLDER OUT_FOLDER        (OUT_FOLDER: models/wake for the bundled model)

The table has the decisions of `runnel quantize`, and no part of a recording; the streams are WORK_FOLDER/calibration. The file is compared with
PyTorch through runnel."""
import sys
from pathlib import Path

import numpy as np
import onnx
import torch

import spoken
from model import Wake, folded
from spoken import audio
from streams import Material

import program
from network_file import Graph, require_equal, save_table


def graph(net, bins):
    g, parts = Graph(), folded(net)
    x = g.residual_blocks('logmel', parts, len(net.blocks))
    x = g.relu(g.conv('hidden', x, *parts['hidden']), 'hidden_act')
    g.conv('head', x, *parts['head'], output='logits')
    return g.model('wake', 'logmel', bins, 'logits', 2, times=('T', 'U'))


def calibration(model, work):
    folder = work / 'calibration'
    if not folder.is_dir():
        found = Material(model, work, np.random.default_rng([model.settings['seed'], 1000]))
        folder.mkdir()
        for i in range(model.settings['quantize']['clips']):
            audio.write(folder / f'{i:03}.wav', found.stream(model.settings['training']['seconds'], 0.5)[0])
    return folder


def decision_of(smoothing, threshold):
    return f'detect smoothing_frames={smoothing} threshold={threshold} release={round(0.5 * threshold, 2)} refractory_frames=50 ignore=other'


def write_graph(model, out, decision):
    """The text graph, whose parts before and after `infer` are stored in a model file."""
    (out / 'wake.rnlg').write_text(f'# Graph of the wake word "{model.phrase.text}": the front end it was trained with, the model, and the decision, which was chosen\n'
                                   f'# on recordings of validation (training/wake).\n{model.settings["front_end"]}\n! infer model=wake.rnl\n! {decision}\n')


def write(model, work, out):
    out.mkdir(parents=True, exist_ok=True)
    net = Wake(model.settings['bins'], **model.settings['model'])
    net.load_state_dict(torch.load(work / 'wake.pt'))
    net.eval()
    path, labels = out / 'wake.onnx', out / 'labels.txt'
    onnx.save(graph(net, model.settings['bins']), path)
    labels.write_text(f'other\n{model.phrase.text}\n')
    clip = net.mean + net.deviation * torch.randn(1, 300, model.settings['bins'], generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = net(clip)[:, 0].numpy()
    difference = require_equal(path, 'logmel', clip.numpy().transpose(0, 2, 1), 'logits', expected, 2e-3)
    print(f'{path}: {sum(p.numel() for p in net.parameters())} parameters, largest difference to PyTorch {difference:.1e}')
    quantize = model.settings['quantize']
    save_table(path, calibration(model, work), model.settings['front_end'], ['--methods', quantize['methods'], *quantize['flags']], out / 'wake.table.json', labels)


def assemble(model, out, decision, name='wake.rnl'):
    """The model file with its decision, as the build makes it from the files of OUT_FOLDER."""
    write_graph(model, out, decision)
    program.run('quantize', out / 'wake.onnx', '--table', out / 'wake.table.json', '--layout', 'frames-first', '--front-end', model.settings['front_end'], '--classes', out / 'labels.txt',
        '--name', 'wake', '--quiet', '-o', out / name, '--decision', decision)
    return out / name


if __name__ == '__main__':
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    write(spoken.Model(), Path(sys.argv[1]), Path(sys.argv[2]))
