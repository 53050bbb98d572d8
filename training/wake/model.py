"""The network: causal convolutions over log-mel energies, two logits (other, the phrase) every 20 ms.

The first convolution makes one frame of two; then blocks of a depthwise convolution over time (dilated), a product over channels, ReLU and a residual
sum; two products at the end. What is before the first frame is zeros of the *raw* features, so that the folded normalization is exact and a stream
that starts with zero states is the padding of the training."""
import torch
import torch.nn.functional as F
from torch import nn


class Norm(nn.Module):
    """Batch normalization over [channels, clips, frames]."""

    def __init__(self, channels):
        super().__init__()
        self.bn = nn.BatchNorm1d(channels)

    def forward(self, x):
        b = self.bn
        return F.batch_norm(x.reshape(1, x.shape[0], -1), b.running_mean, b.running_var, b.weight, b.bias, self.training, b.momentum, b.eps).view_as(x)


class Product(nn.Module):
    """A product over channels. weight: [out, in, 1]."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs, 1) * (2 / inputs) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return (self.weight[:, :, 0] @ x.reshape(x.shape[0], -1) + self.bias[:, None]).view(-1, *x.shape[1:])


class Taps(torch.autograd.Function):
    """A causal depthwise convolution without bias as sums of shifted products; its gradient is written out, because that of slices fills whole tensors
    with zeros for each tap."""

    @staticmethod
    def forward(context, x, weight, dilation):
        kernel, count = weight.shape[1], x.shape[2]
        past = F.pad(x, ((kernel - 1) * dilation, 0))
        context.save_for_backward(past, weight)
        context.dilation = dilation
        y = past[:, :, :count] * weight[:, 0, None, None]
        for j in range(1, kernel):
            y.addcmul_(past[:, :, j * dilation:j * dilation + count], weight[:, j, None, None])
        return y

    @staticmethod
    def backward(context, g):
        (past, weight), d = context.saved_tensors, context.dilation
        kernel, count = weight.shape[1], g.shape[2]
        wide, of_weight, product = torch.zeros_like(past), torch.empty_like(weight), torch.empty_like(g)
        for j in range(kernel):
            wide[:, :, j * d:j * d + count].addcmul_(g, weight[:, j, None, None])
            torch.mul(past[:, :, j * d:j * d + count], g, out=product)
            of_weight[:, j] = product.flatten(1).sum(1)
        return wide[:, :, (kernel - 1) * d:], of_weight, None


class Depthwise(nn.Module):
    """A causal convolution of each channel with itself. weight: [channels, kernel]."""

    def __init__(self, channels, kernel, dilation):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels, kernel) * (1 / kernel) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(channels))
        self.dilation = dilation

    def forward(self, x):
        return Taps.apply(x, self.weight, self.dilation) + self.bias[:, None, None]


class Block(nn.Module):
    def __init__(self, width, kernel, dilation):
        super().__init__()
        self.depthwise, self.pointwise, self.norm = Depthwise(width, kernel, dilation), Product(width, width), Norm(width)

    def forward(self, x):
        return x + F.relu(self.norm(self.pointwise(self.depthwise(x))))


class Wake(nn.Module):
    STRIDE = 2

    def __init__(self, bins, width, stem, kernel, dilations, hidden):
        super().__init__()
        self.register_buffer('mean', torch.zeros(bins))
        self.register_buffer('deviation', torch.ones(bins))
        self.stem = nn.Parameter(torch.randn(width, bins, stem) * (2 / (bins * stem)) ** 0.5)
        self.stem_bias = nn.Parameter(torch.zeros(width))
        self.stem_norm = Norm(width)
        self.blocks = nn.Sequential(*[Block(width, kernel, d) for d in dilations])
        self.hidden, self.head = Product(width, hidden), Product(hidden, 2)

    def forward(self, x, keep=None):
        """[clips, features, bins] of raw features -> [2, clips, frames]; `keep` multiplies the normalized features."""
        past = self.stem.shape[2] - 1
        x = (F.pad(x, (0, 0, past, 0)) - self.mean) / self.deviation
        if keep is not None:
            x = torch.cat([x[:, :past], x[:, past:] * keep], 1)
        x = x.permute(2, 0, 1)
        count = (x.shape[2] - past + 1) // self.STRIDE
        taps = torch.stack([x[:, :, j:j + self.STRIDE * (count - 1) + 1:self.STRIDE] for j in range(past + 1)], 1)
        y = (self.stem.flatten(1) @ taps.reshape(self.stem[0].numel(), -1) + self.stem_bias[:, None]).view(-1, x.shape[1], count)
        y = self.blocks(F.relu(self.stem_norm(y)))
        return self.head(F.relu(self.hidden(y)))


def folded(net):
    """name -> (weight [out, in or 1, kernel], bias, dilation, stride) of the plain convolutions: normalizations are part of them."""
    def with_norm(weight, bias, norm):
        b = norm.bn
        gain = (b.weight / torch.sqrt(b.running_var + b.eps)).double()
        return weight * gain[:, None, None], (bias - b.running_mean) * gain + b.bias
    with torch.no_grad():
        weight = net.stem.double() / net.deviation.double()[:, None]
        bias = net.stem_bias.double() - (weight * net.mean.double()[:, None]).sum((1, 2))
        out = {'stem': (*with_norm(weight, bias, net.stem_norm), 1, net.STRIDE)}
        for i, block in enumerate(net.blocks):
            out[f'block{i}.depthwise'] = (block.depthwise.weight.double()[:, None], block.depthwise.bias.double(), block.depthwise.dilation, 1)
            out[f'block{i}.pointwise'] = (*with_norm(block.pointwise.weight.double(), block.pointwise.bias.double(), block.norm), 1, 1)
        for name in ('hidden', 'head'):
            part = getattr(net, name)
            out[name] = (part.weight.double(), part.bias.double(), 1, 1)
    return {k: (w.float().numpy(), b.float().numpy(), d, s) for k, (w, b, d, s) in out.items()}
