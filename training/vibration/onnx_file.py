"""The network as an ONNX file, written with nothing but the wire format of protocol buffers."""
import struct

OPSET = 13


def number(value):
    out = b''
    value &= (1 << 64) - 1
    while value > 127: out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(key, value):
    if isinstance(value, int): return number(key << 3) + number(value)
    data = value.encode() if isinstance(value, str) else value
    return number(key << 3 | 2) + number(len(data)) + data


def tensor(name, array):
    dims = b''.join(field(1, int(d)) for d in array.shape)
    return dims + field(2, 1) + field(8, name) + field(9, struct.pack('<%df' % array.size, *array.reshape(-1).tolist()))


def attribute(name, values):
    if isinstance(values, int): return field(5, field(1, name) + field(3, values) + field(20, 2))
    return field(5, field(1, name) + b''.join(field(8, v) for v in values) + field(20, 7))


def node(op, name, inputs, output, attributes=b''):
    return field(1, b''.join(field(1, i) for i in inputs) + field(2, output) + field(3, name) + field(4, op) + attributes)


def value(name, dims):
    shape = b''.join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def write_onnx(path, net):
    body, weights = b'', b''
    x = 'logmel'
    layers = [('conv1', net.conv1, 2), ('conv2', net.conv2, 4), ('head', net.head, 0)]
    for name, conv, left in layers:
        weights += field(5, tensor(name + '.weight', conv.weight.detach().numpy())) + field(5, tensor(name + '.bias', conv.bias.detach().numpy()))
        y = 'scores' if name == 'head' else name + '_out'
        settings = attribute('kernel_shape', [conv.kernel_size[0]]) + attribute('dilations', [conv.dilation[0]]) + attribute('strides', [1])
        body += node('Conv', name, [x, name + '.weight', name + '.bias'], y, settings + attribute('pads', [left, 0]) + attribute('group', 1))
        x = y
        if name != 'head':
            body += node('Relu', name + '.relu', [x], name + '_act')
            x = name + '_act'
    graph = body + field(2, 'vibration') + weights + field(11, value('logmel', ['N', 40, 'T'])) + field(12, value('scores', ['N', 5, 'T']))
    with open(path, 'wb') as out:
        out.write(field(1, 7) + field(2, 'runnel training/vibration') + field(7, graph) + field(8, field(1, '') + field(2, OPSET)))
