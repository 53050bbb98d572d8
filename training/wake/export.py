"""Writes the trained network as ONNX, its calibration table from streams of training, its labels and its graph.

usage: export.py WORK_FOLDER OUT_FOLDER        (OUT_FOLDER: models/wake for the bundled model)

The table has the decisions of `runnel quantize`, and no part of a recording; the streams are WORK_FOLDER/calibration. The file is compared with
PyTorch through runnel."""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

import spoken
from model import Wake, folded
from spoken import audio
from streams import Material

import features


def graph(net, bins):
    nodes, constants = [], []

    def conv(name, x, part):
        weight, bias, dilation, stride = part
        for kind, value in (('weight', weight), ('bias', bias)):
            constants.append(numpy_helper.from_array(np.ascontiguousarray(value), f'{name}.{kind}'))
        taps = weight.shape[2]
        nodes.append(helper.make_node('Conv', [x, f'{name}.weight', f'{name}.bias'], [f'{name}_out'], name=name, kernel_shape=[taps], dilations=[dilation], strides=[stride],
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
    made = helper.make_graph(nodes, 'wake', [helper.make_tensor_value_info('logmel', TensorProto.FLOAT, ['N', bins, 'T'])],
                             [helper.make_tensor_value_info('logits', TensorProto.FLOAT, ['N', 2, 'U'])], constants)
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
    onnx.save(graph(net, model.settings['bins']), out / 'wake.onnx')
    (out / 'labels.txt').write_text(f'other\n{model.phrase.text}\n')
    clip = net.mean + net.deviation * torch.randn(1, 300, model.settings['bins'], generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = net(clip)[:, 0].numpy()
    with tempfile.TemporaryDirectory() as folder:
        np.save(f'{folder}/in.npy', np.ascontiguousarray(clip.numpy().transpose(0, 2, 1)))
        run('infer', out / 'wake.onnx', '-i', f'logmel={folder}/in.npy', '-o', f'{folder}/out', '--shape', f'logmel=1x{model.settings["bins"]}x300')
        difference = np.abs(np.load(f'{folder}/out/logits.npy')[0] - expected).max()
        if difference > 2e-3:
            raise SystemExit(f"{out / 'wake.onnx'}: expected PyTorch's output, found a difference of {difference}")
        print(f'{out / "wake.onnx"}: {sum(p.numel() for p in net.parameters())} parameters, largest difference to PyTorch {difference:.1e}')
        run('quantize', out / 'wake.onnx', '--methods', model.settings['quantize']['methods'], '--calib', calibration(model, work), '--front-end', model.settings['front_end'],
            '--layout', 'frames-first', '--classes', out / 'labels.txt', '--name', 'wake', '--save-table', out / 'wake.table.json', '-o', f'{folder}/wake.rnl', '--quiet',
            *model.settings['quantize']['flags'])


def assemble(model, out, decision, name='wake.rnl'):
    """The model file with its decision, as the build makes it from the files of OUT_FOLDER."""
    write_graph(model, out, decision)
    run('quantize', out / 'wake.onnx', '--table', out / 'wake.table.json', '--layout', 'frames-first', '--front-end', model.settings['front_end'], '--classes', out / 'labels.txt',
        '--name', 'wake', '--quiet', '-o', out / name, '--decision', decision)
    return out / name


if __name__ == '__main__':
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    write(spoken.Model(), Path(sys.argv[1]), Path(sys.argv[2]))
