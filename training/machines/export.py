"""A trained network as ONNX, checked against PyTorch through the program, and its calibration table from clips of the training world."""
import tempfile

import numpy as np
import onnx
import torch

import material
from network_file import Graph, require_equal, save_table


def normalized(g, name, x, part, net):
    """A convolution over (x - mean) / deviation as one over x; the zeros before the stream then stand for frames of `mean`."""
    weight = (part.weight / net.deviation[None, :, None]).detach().double()
    bias = part.bias.detach().double() - (weight * net.mean[None, :, None].double()).sum((1, 2))
    return g.conv(name, x, weight.numpy(), bias.numpy(), part.dilation[0], part.stride[0])


def model_of(g, settings, output, channels):
    return g.model(settings['name'], 'logmel', settings['bins'], output, channels, times=('T', f'{output}_T'))


def classifier(net, settings):
    g = Graph()
    x = g.relu(normalized(g, 'bands', 'logmel', net.bands, net))
    x = g.relu(g.layer('mix', g.layer('rhythm', x, net.rhythm), net.mix))
    x = g.relu(g.layer('strength', x, net.strength))
    for i, (depth, point) in enumerate(zip(net.depth, net.point)):
        x = g.node('Add', [x, g.relu(g.layer(f'point{i}', g.layer(f'depth{i}', x, depth), point))], f'sum{i}', f'sum{i}.add')
    g.layer('head', x, net.head, 'logits')
    return model_of(g, settings, 'logits', len(settings['states']))


def autoencoder(net, settings):
    g, deviation = Graph(), net.deviation.numpy()
    z = g.conv('normal', 'logmel', (1 / deviation)[:, None, None], -net.mean.numpy() / deviation)
    y = g.relu(g.layer('encode', z, net.encode))
    y = g.relu(g.layer('decode', g.layer('code', y, net.code), net.decode))
    # Minus the reconstruction, so that a sum takes it off.
    y = g.conv('frame', y, -net.frame.weight.detach().numpy(), -net.frame.bias.detach().numpy())
    rest, usual = g.node('Add', [z, y], 'rest', 'rest.add'), net.usual.numpy()
    g.conv('usual', rest, (1 / usual)[:, None, None], np.zeros_like(usual), output='residual')
    return model_of(g, settings, 'residual', settings['bins'])


def calibrate(model, path, out):
    """NAME.table.json, with clips of the training world. An autoencoder has seen no fault: its clips are made up to eight times louder and
    quieter, so that ranges have room for what is unusual."""
    settings = model.settings
    clips, _ = material.clips(model, 'train', settings['states'], settings['quantize']['clips'], 2000 + settings['seed'], settings['training']['seconds'])
    with tempfile.TemporaryDirectory() as folder:
        for i, clip in enumerate(clips):
            if settings['kind'] == 'autoencoder':
                clip = np.clip(np.round((clip - clip.mean()) * 2.0 ** (i % 7 - 3)), -32768, 32767)
            material.write_wav(f'{folder}/{i:03}.wav', clip)
        save_table(path, folder, model.front_end, settings['quantize']['flags'], out / f'{model.name}.table.json',
                   out / 'labels.txt' if settings['kind'] == 'classifier' else None)


def write(model, net, out):
    """NAME.onnx, NAME.table.json and a classifier's labels.txt in the folder `out`."""
    settings = model.settings
    path = out / f'{model.name}.onnx'
    onnx.save((classifier if settings['kind'] == 'classifier' else autoencoder)(net, settings), path)
    clip = net.mean[None, :, None] + net.deviation[None, :, None] * torch.randn(1, settings['bins'], 400, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = net(clip)[0].numpy()
    # The first outputs see the zeros before the clip.
    found = require_equal(path, 'logmel', clip.numpy(), 'logits' if settings['kind'] == 'classifier' else 'residual', expected, 5e-3, late=32)
    if settings['kind'] == 'classifier':
        (out / 'labels.txt').write_text('\n'.join(settings['states']) + '\n')
    calibrate(model, path, out)
    return {'parameters': sum(p.numel() for p in net.parameters()), 'difference': found}
