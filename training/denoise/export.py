"""Writes the trained network as ONNX, and its calibration table from mixtures of training.

usage: export.py WORK_FOLDER OUT_FOLDER        (OUT_FOLDER: models/denoise for the bundled model)

The table has the decisions of `runnel quantize`, and no part of a recording; the clips are WORK_FOLDER/calibration. The file is compared with
PyTorch through runnel."""
import sys
from pathlib import Path

import numpy as np
import onnx
import torch

import train
from model import Denoise, folded

sys.path.append(str(Path(__file__).resolve().parent.parent / 'kit'))  # last: it has a train.py and an export.py, too

import audio
from network_file import Graph, require_equal, save_table

CLIPS = 40


def graph(net, bins):
    g, parts = Graph(), folded(net)
    x = g.residual_blocks('log_power', parts, len(net.blocks))
    g.node('Sigmoid', [g.conv('head', x, *parts['head'])], 'mask', 'mask.sigmoid')
    return g.model('denoise', 'log_power', bins, 'mask', bins)


def parts_of(path):
    """(front end, decision) of a .rnlg file."""
    text = ' '.join(line.strip() for line in path.read_text(encoding='utf-8').splitlines() if not line.startswith('#'))
    before, after = text.split(' ! infer ')
    return before, after.split(' ! ', 1)[1]


def calibration(made, work):
    folder = work / 'calibration'
    if not folder.is_dir():
        folder.mkdir()
        random = np.random.default_rng([made['seed'], 1000])
        mixtures = train.Mixtures(work / 'clips.npz', made['training'])
        chosen = random.permutation(len(mixtures.speech) - train.KEPT_OUT)[:CLIPS]
        for i, clip in enumerate(mixtures.batch(chosen, random.permutation(chosen), random)[0]):
            audio.write(folder / f'{i:02}.wav', clip.numpy())
    return folder


def main(work, out):
    made, work, out = train.settings(), Path(work), Path(out)
    bins = made['front_end']['n_fft'] // 2 + 1
    net = Denoise(bins, **made['model'])
    net.load_state_dict(torch.load(work / 'denoise.pt'))
    net.eval()
    with torch.no_grad():  # the logits, as denoise.toml has them
        net.head.weight.mul_(made['output']['scale'])
        net.head.bias.mul_(made['output']['scale']).add_(made['output']['offset'])
    path = out / 'denoise.onnx'
    made_graph = graph(net, bins)
    onnx.save(made_graph, path)
    clip = net.mean + net.deviation * torch.randn(1, 300, bins, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = net(clip)[:, 0].numpy()
    difference = require_equal(path, 'log_power', clip.numpy().transpose(0, 2, 1), 'mask', expected, 1e-3)
    print(f'{path}: {sum(int(np.prod(c.dims)) for c in made_graph.graph.initializer)} parameters, largest difference to PyTorch {difference:.1e}')
    front_end, _ = parts_of(out / 'denoise.rnlg')
    save_table(path, calibration(made, work), front_end, ['--methods', made['quantize']['methods'], *made['quantize']['flags']], out / 'denoise.table.json')


if __name__ == '__main__':
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
