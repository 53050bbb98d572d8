"""Writes the trained network as ONNX, and its calibration table from clips of training.

usage: export.py WORK_FOLDER OUT_FOLDER        (OUT_FOLDER: models/vad for the bundled model)

The table has the decisions of `runnel quantize`, and no part of a recording; the clips are WORK_FOLDER/calibration. The file is compared with
PyTorch through runnel."""
import sys
from pathlib import Path

import numpy as np
import onnx
import torch

import material
import render
from model import Vad, folded

import audio
from network_file import Graph, require_equal, save_table

CLIPS = 48


def graph(net, bins):
    g, parts = Graph(), folded(net)
    x = g.residual_blocks('logmel', parts, len(net.blocks))
    x = g.relu(g.conv('hidden', x, *parts['hidden']), 'hidden_act')
    g.conv('head', x, *parts['head'], output='logits')
    return g.model('vad', 'logmel', bins, 'logits', 2)


def calibration(model, work):
    folder = work / 'calibration'
    if not folder.is_dir():
        folder.mkdir()
        random = np.random.default_rng([model.settings['seed'], 1000])
        spoken = material.kept(work / 'speech_train.pickle', lambda: material.speech(model, 'train'))
        bank = material.Noises(material.kept(work / 'noise_train.pickle', lambda: material.recorded_noise(model, 'train')), random)
        kinds = render.kinds_of(bank)
        for i in range(CLIPS):
            audio.write(folder / f'{i:02}.wav', render.mixture([spoken[j] for j in random.permutation(len(spoken))[:20]], bank, kinds, 4.0, random)[0])
    return folder


def main(work, out):
    model, work, out = material.Model(), Path(work), Path(out)
    net = Vad(model.settings['bins'], **model.settings['model'])
    net.load_state_dict(torch.load(work / 'vad.pt'))
    net.eval()
    path = out / 'vad.onnx'
    onnx.save(graph(net, model.settings['bins']), path)
    clip = net.mean + net.deviation * torch.randn(1, 300, model.settings['bins'], generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = net(clip)[:, 0].numpy()
    difference = require_equal(path, 'logmel', clip.numpy().transpose(0, 2, 1), 'logits', expected, 2e-3)
    print(f'{path}: {sum(p.numel() for p in net.parameters())} parameters, largest difference to PyTorch {difference:.1e}')
    quantize = model.settings['quantize']
    save_table(path, calibration(model, work), model.settings['front_end'], ['--methods', quantize['methods'], *quantize['flags']], out / 'vad.table.json', out / 'labels.txt')


if __name__ == '__main__':
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
