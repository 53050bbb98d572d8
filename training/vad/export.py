"""Writes the trained network as ONNX, and its calibration table from clips of training.

usage: export.py WORK_FOLDER OUT_FOLDER        (OUT_FOLDER: models/vad for the bundled model)

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

import material
import render
from model import Vad, folded

import audio
import features

CLIPS = 48


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
    x = relu(conv('stem', 'logmel', parts['stem']), 'x0')
    for i in range(len(net.blocks)):
        y = relu(conv(f'block{i}.pointwise', conv(f'block{i}.depthwise', x, parts[f'block{i}.depthwise']), parts[f'block{i}.pointwise']), f'block{i}_act')
        nodes.append(helper.make_node('Add', [x, y], [f'x{i + 1}'], name=f'block{i}.add'))
        x = f'x{i + 1}'
    x = relu(conv('hidden', x, parts['hidden']), 'hidden_act')
    conv('head', x, parts['head'])
    nodes[-1].output[0] = 'logits'
    made = helper.make_graph(nodes, 'vad', [helper.make_tensor_value_info('logmel', TensorProto.FLOAT, ['N', bins, 'T'])],
                             [helper.make_tensor_value_info('logits', TensorProto.FLOAT, ['N', 2, 'T'])], constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid('', 13)], producer_name='runnel')
    model.ir_version = 7
    onnx.checker.check_model(model)
    return model


def run(*arguments):
    done = subprocess.run([features.program(), *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f'runnel {arguments[0]}: {done.stderr[-2000:]}')


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
    onnx.save(graph(net, model.settings['bins']), out / 'vad.onnx')
    clip = net.mean + net.deviation * torch.randn(1, 300, model.settings['bins'], generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = net(clip)[:, 0].numpy()
    with tempfile.TemporaryDirectory() as folder:
        np.save(f'{folder}/in.npy', np.ascontiguousarray(clip.numpy().transpose(0, 2, 1)))
        run('infer', out / 'vad.onnx', '-i', f'logmel={folder}/in.npy', '-o', f'{folder}/out')
        found = np.load(f'{folder}/out/logits.npy')[0]
        difference = np.abs(found - expected).max()
        if difference > 2e-3:
            raise SystemExit(f"{out / 'vad.onnx'}: expected PyTorch's output, found a difference of {difference}")
        print(f'{out / "vad.onnx"}: {sum(p.numel() for p in net.parameters())} parameters, largest difference to PyTorch {difference:.1e}')
        run('quantize', out / 'vad.onnx', '--methods', model.settings['quantize']['methods'], '--calib', calibration(model, work), '--front-end', model.settings['front_end'],
            '--layout', 'frames-first', '--classes', out / 'labels.txt', '--name', 'vad', '--save-table', out / 'vad.table.json', '-o', f'{folder}/vad.rnl', '--quiet',
            *model.settings['quantize']['flags'])


if __name__ == '__main__':
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
