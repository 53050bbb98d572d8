"""ONNX files of causal networks of convolutions over time, whose values are [batch, channels, time], and what is done with each: the program
must give what PyTorch gave, and quantizes it."""
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import program


class Graph:
    """Operators in the order of the calls; each gives the name of its output, which the next one takes. Tables of calibration have these names."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def node(self, kind, inputs, output, name, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [output], name=name, **attributes))
        return output

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value, np.float32), name))
        return name

    def conv(self, name, x, weight, bias, dilation=1, stride=1, output=None):
        """weight: [out, in, taps]; [channels, 1, taps] is one of each channel. What it needs of the past is padding with zeros."""
        taps, group = weight.shape[2], weight.shape[0] if weight.shape[1] == 1 and weight.shape[0] > 1 else 1
        return self.node('Conv', [x, self.constant(f'{name}.weight', weight), self.constant(f'{name}.bias', bias)], output or f'{name}_out', name, kernel_shape=[taps],
                         dilations=[dilation], strides=[stride], group=group, pads=[(taps - 1) * dilation, 0])

    def layer(self, name, x, part, output=None):
        """A convolution of PyTorch."""
        return self.conv(name, x, part.weight.detach().numpy(), part.bias.detach().numpy(), part.dilation[0], part.stride[0], output)

    def relu(self, x, output=None, name=None):
        return self.node('Relu', [x], output or f'{x}_act', name or f'{output or x}.relu')

    def residual_blocks(self, x, parts, count):
        """The stem, and `count` blocks of a depthwise and a pointwise convolution beside their input: values x0, x1, ... parts: name -> what conv()
        takes after its input."""
        x = self.relu(self.conv('stem', x, *parts['stem']), 'x0')
        for i in range(count):
            y = self.conv(f'block{i}.depthwise', x, *parts[f'block{i}.depthwise'])
            y = self.relu(self.conv(f'block{i}.pointwise', y, *parts[f'block{i}.pointwise']), f'block{i}_act')
            x = self.node('Add', [x, y], f'x{i + 1}', f'block{i}.add')
        return x

    def model(self, name, source, bins, output, channels, times=('T', 'T'), producer='runnel'):
        """The whole file. `times`: names of the dimensions of time; an output that has fewer frames has another one."""
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ['N', c, t]) for n, c, t in ((source, bins, times[0]), (output, channels, times[1]))]
        model = helper.make_model(helper.make_graph(self.nodes, name, values[:1], values[1:], self.constants), opset_imports=[helper.make_opsetid('', 13)],
                                  producer_name=producer)
        model.ir_version = 7
        onnx.checker.check_model(model)
        return model


def require_equal(path, source, clip, output, expected, most, late=0):
    """The largest difference between the file's output, by the program, and PyTorch's. clip: [1, bins, time]; expected: [channels, time], of which
    the first `late` frames are not compared. Ends the run where it is above `most`."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(f'{folder}/in.npy', np.ascontiguousarray(clip))
        program.run('infer', path, '-i', f'{source}={folder}/in.npy', '-o', f'{folder}/out', '--shape', f'{source}={"x".join(map(str, clip.shape))}')
        found = np.load(f'{folder}/out/{output}.npy')[0]
    difference = float(np.abs(found - expected)[:, late:].max())
    if difference > most:
        raise SystemExit(f"{path}: expected PyTorch's output, found a difference of {difference}")
    return difference


def save_table(path, clips, front_end, flags, table, labels=None):
    """Writes `table`, the decisions of `runnel quantize` with the recordings in the folder `clips`; it has no part of them. flags: more of its call."""
    with tempfile.TemporaryDirectory() as folder:
        program.run('quantize', path, '--calib', clips, '--front-end', front_end, '--layout', 'frames-first', *(['--classes', labels] if labels else []), '--name', path.stem,
                    '--save-table', table, '-o', f'{folder}/{path.stem}.rnl', '--quiet', *flags)
