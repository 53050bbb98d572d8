"""Writes the trained network as ONNX, and its calibration table from mixtures of training.

usage: export.py WORK_FOLDER OUT_FOLDER        (OUT_FOLDER: models/denoise for the bundled model)

The table has the decisions of `runnel quantize`, and no part of a recording; the clips are WORK_FOLDER/calibration. The file is compared with
PyTorch through runnel."""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

import train
from model import Denoise, folded

sys.path.append(str(Path(__file__).resolve().parent.parent / 'kit'))  # last: it has a train.py and an export.py, too

import audio
import features

CLIPS = 40


def graph(net, bins):
    nodes, constants = [], []

    def conv(name, x, part):
        weight, bias, dilation = part
        for kind, value in (('weight', weight), ('bias', bias)):
            constants.append(numpy_helper.from_array(np.ascontiguousarray(value), f'{name}.{kind}'))
        taps = weight.shape[2]
        nodes.append(helper.make_node('Conv', [x, f'{name}.weight', f'{name}.bias'], [f'{name}_out'], name=name, kernel_shape=[taps], dilations=[dilation], strides=[1],
                                      group=weight.shape[0] if weight.shape[1] == 1 else 1, pads=[(taps - 1) * dilation, 0]))
        return f'{name}_out'

    def relu(x, y):
        nodes.append(helper.make_node('Relu', [x], [y], name=f'{y}.relu'))
        return y
    parts = folded(net)
    x = relu(conv('stem', 'log_power', parts['stem']), 'x0')
    for i in range(len(net.blocks)):
        y = relu(conv(f'block{i}.pointwise', conv(f'block{i}.depthwise', x, parts[f'block{i}.depthwise']), parts[f'block{i}.pointwise']), f'block{i}_act')
        nodes.append(helper.make_node('Add', [x, y], [f'x{i + 1}'], name=f'block{i}.add'))
        x = f'x{i + 1}'
    nodes.append(helper.make_node('Sigmoid', [conv('head', x, parts['head'])], ['mask'], name='mask.sigmoid'))
    made = helper.make_graph(nodes, 'denoise', [helper.make_tensor_value_info('log_power', TensorProto.FLOAT, ['N', bins, 'T'])],
                             [helper.make_tensor_value_info('mask', TensorProto.FLOAT, ['N', bins, 'T'])], constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid('', 13)], producer_name='runnel')
    model.ir_version = 7
    onnx.checker.check_model(model)
    return model


def run(*arguments):
    done = subprocess.run([features.program(), *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f'runnel {arguments[0]}: {done.stderr[-2000:]}')


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
    made_graph = graph(net, bins)
    onnx.save(made_graph, out / 'denoise.onnx')
    clip = net.mean + net.deviation * torch.randn(1, 300, bins, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = net(clip)[:, 0].numpy()
    front_end, _ = parts_of(out / 'denoise.rnlg')
    with tempfile.TemporaryDirectory() as folder:
        np.save(f'{folder}/in.npy', np.ascontiguousarray(clip.numpy().transpose(0, 2, 1)))
        run('infer', out / 'denoise.onnx', '-i', f'log_power={folder}/in.npy', '-o', f'{folder}/out')
        difference = np.abs(np.load(f'{folder}/out/mask.npy')[0] - expected).max()
        if difference > 1e-3:
            raise SystemExit(f"{out / 'denoise.onnx'}: expected PyTorch's output, found a difference of {difference}")
        print(f'{out / "denoise.onnx"}: {sum(int(np.prod(c.dims)) for c in made_graph.graph.initializer)} parameters, largest difference to PyTorch {difference:.1e}')
        run('quantize', out / 'denoise.onnx', '--methods', made['quantize']['methods'], '--calib', calibration(made, work), '--front-end', front_end,
            '--layout', 'frames-first', '--name', 'denoise', '--save-table', out / 'denoise.table.json', '-o', f'{folder}/denoise.rnl', '--quiet', *made['quantize']['flags'])


if __name__ == '__main__':
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
