"""A trained network as ONNX, checked against PyTorch through the program, and its calibration table from clips of the training world."""
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

import material


class Graph:
    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value, np.float32), name))
        return name

    def conv(self, name, x, weight, bias, dilation=1, stride=1):
        taps, group = weight.shape[2], weight.shape[0] if weight.shape[1] == 1 and weight.shape[0] > 1 else 1
        self.nodes.append(helper.make_node('Conv', [x, self.constant(f'{name}.weight', weight), self.constant(f'{name}.bias', bias)], [f'{name}_out'], name=name,
                                           kernel_shape=[taps], dilations=[dilation], strides=[stride], group=group, pads=[(taps - 1) * dilation, 0]))
        return f'{name}_out'

    def layer(self, name, x, part):
        return self.conv(name, x, part.weight.detach().numpy(), part.bias.detach().numpy(), part.dilation[0], part.stride[0])

    def relu(self, x):
        self.nodes.append(helper.make_node('Relu', [x], [f'{x}_act'], name=f'{x}.relu'))
        return f'{x}_act'

    def join(self, kind, a, b, name):
        self.nodes.append(helper.make_node(kind, [a, b], [name], name=f'{name}.{kind.lower()}'))
        return name

    def normalized(self, name, x, part, net):
        """A convolution over (x - mean) / deviation as one over x; the zeros before the stream then stand for frames of `mean`."""
        weight = (part.weight / net.deviation[None, :, None]).detach().double()
        bias = part.bias.detach().double() - (weight * net.mean[None, :, None].double()).sum((1, 2))
        return self.conv(name, x, weight.numpy(), bias.numpy(), part.dilation[0], part.stride[0])

    def model(self, name, bins, output, channels):
        self.nodes[-1].output[0] = output
        made = helper.make_graph(self.nodes, name, [helper.make_tensor_value_info('logmel', TensorProto.FLOAT, ['N', bins, 'T'])],
                                 [helper.make_tensor_value_info(output, TensorProto.FLOAT, ['N', channels, f'{output}_T'])], self.constants)
        model = helper.make_model(made, opset_imports=[helper.make_opsetid('', 13)], producer_name='runnel')
        model.ir_version = 7
        onnx.checker.check_model(model)
        return model


def classifier(net, settings):
    g = Graph()
    x = g.relu(g.normalized('bands', 'logmel', net.bands, net))
    x = g.relu(g.layer('mix', g.layer('rhythm', x, net.rhythm), net.mix))
    x = g.relu(g.layer('strength', x, net.strength))
    for i, (depth, point) in enumerate(zip(net.depth, net.point)):
        x = g.join('Add', x, g.relu(g.layer(f'point{i}', g.layer(f'depth{i}', x, depth), point)), f'sum{i}')
    g.layer('head', x, net.head)
    return g.model(settings['name'], settings['bins'], 'logits', len(settings['states']))


def autoencoder(net, settings):
    g, deviation = Graph(), net.deviation.numpy()
    z = g.conv('normal', 'logmel', (1 / deviation)[:, None, None], -net.mean.numpy() / deviation)
    y = g.relu(g.layer('encode', z, net.encode))
    y = g.relu(g.layer('decode', g.layer('code', y, net.code), net.decode))
    # Minus the reconstruction, so that a sum takes it off.
    y = g.conv('frame', y, -net.frame.weight.detach().numpy(), -net.frame.bias.detach().numpy())
    rest, usual = g.join('Add', z, y, 'rest'), net.usual.numpy()
    g.conv('usual', rest, (1 / usual)[:, None, None], np.zeros_like(usual))
    return g.model(settings['name'], settings['bins'], 'residual', settings['bins'])


def difference(net, path, settings):
    """The largest one to PyTorch, of the file run by the program on random frames."""
    frames = 400
    x = net.mean[None, :, None] + net.deviation[None, :, None] * torch.randn(1, settings['bins'], frames, generator=torch.Generator().manual_seed(1))
    late = 32  # outputs that see the zeros before the clip
    with torch.no_grad():
        expected = net(x)[0].numpy()
    with tempfile.TemporaryDirectory() as folder:
        np.save(f'{folder}/in.npy', x.numpy())
        material.run('infer', path, '-i', f'logmel={folder}/in.npy', '-o', f'{folder}/out')
        found = np.load(next(Path(folder, 'out').glob('*.npy')))[0]
    return float(np.abs(found - expected)[:, late:].max())


def calibrate(model, path, out):
    """NAME.table.json: the decisions of `runnel quantize` with clips of the training world, and no part of a clip. An autoencoder has seen no
    fault: its clips are made up to eight times louder and quieter, so that ranges have room for what is unusual."""
    settings = model.settings
    clips, _ = material.clips(model, 'train', settings['states'], settings['quantize']['clips'], 2000 + settings['seed'], settings['training']['seconds'])
    classes = ['--classes', out / 'labels.txt'] if settings['kind'] == 'classifier' else []
    with tempfile.TemporaryDirectory() as folder:
        for i, clip in enumerate(clips):
            if settings['kind'] == 'autoencoder':
                clip = np.clip(np.round((clip - clip.mean()) * 2.0 ** (i % 7 - 3)), -32768, 32767)
            material.write_wav(f'{folder}/{i:03}.wav', clip)
        material.run('quantize', path, '--calib', folder, '--front-end', model.front_end, '--layout', 'frames-first', *classes, '--name', model.name,
                     '--save-table', out / f'{model.name}.table.json', '-o', f'{folder}/{model.name}.rnl', '--quiet', *settings['quantize']['flags'])


def write(model, net, out):
    """NAME.onnx, NAME.table.json and a classifier's labels.txt in the folder `out`."""
    settings = model.settings
    path = out / f'{model.name}.onnx'
    onnx.save((classifier if settings['kind'] == 'classifier' else autoencoder)(net, settings), path)
    found = difference(net, path, settings)
    if found > 5e-3:
        raise SystemExit(f"{path}: expected PyTorch's output, found a difference of {found}")
    if settings['kind'] == 'classifier':
        (out / 'labels.txt').write_text('\n'.join(settings['states']) + '\n')
    calibrate(model, path, out)
    return {'parameters': sum(p.numel() for p in net.parameters()), 'difference': found}
