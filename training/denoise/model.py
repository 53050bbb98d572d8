"""The network: causal convolutions over the log-power of all bins of a spectrum, a factor for each bin.

A product over the bins, then blocks of a depthwise convolution over time (dilated), a product over channels, ReLU and a residual sum; one more
product, and a sigmoid. Tensors are [channels, clips, frames], which makes each product one matrix product. What is before the first frame is
zeros after the first layer, so that a stream that starts with zero states is the padding of the training."""

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


class Dense(nn.Module):
    """A product over channels. weight: [out, in, 1]."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs, 1) * (2 / inputs) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return (self.weight[:, :, 0] @ x.reshape(x.shape[0], -1) + self.bias[:, None]).view(-1, *x.shape[1:])


class Taps(torch.autograd.Function):
    """Sums of delayed channels times weights, with its derivative: several times as quick as what autograd makes of the parts."""

    @staticmethod
    def forward(context, x, weight, bias, dilation):
        context.save_for_backward(x, weight)
        context.dilation, count = dilation, weight.shape[1]
        y = torch.addcmul(bias[:, None, None], x, weight[:, -1, None, None])
        for j in range(count - 1):
            back = (count - 1 - j) * dilation
            y[:, :, back:].addcmul_(x[:, :, :-back], weight[:, j, None, None])
        return y

    @staticmethod
    def backward(context, gradient):
        x, weight = context.saved_tensors
        count = weight.shape[1]
        of_x, of_weight = gradient * weight[:, -1, None, None], torch.empty_like(weight)
        of_weight[:, -1] = (gradient * x).sum((1, 2))
        for j in range(count - 1):
            back = (count - 1 - j) * context.dilation
            of_x[:, :, :-back].addcmul_(gradient[:, :, back:], weight[:, j, None, None])
            of_weight[:, j] = (gradient[:, :, back:] * x[:, :, :-back]).sum((1, 2))
        return of_x, of_weight, gradient.sum((1, 2)), None


class Depthwise(nn.Module):
    """A causal convolution of each channel. weight: [channels, kernel]."""

    def __init__(self, channels, kernel, dilation):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels, kernel) * kernel ** -0.5)
        self.bias = nn.Parameter(torch.zeros(channels))
        self.dilation = dilation

    def forward(self, x):
        return Taps.apply(x, self.weight, self.bias, self.dilation)


class Block(nn.Module):
    def __init__(self, width, kernel, dilation):
        super().__init__()
        self.depthwise, self.pointwise, self.norm = Depthwise(width, kernel, dilation), Dense(width, width), Norm(width)

    def forward(self, x):
        return x + F.relu(self.norm(self.pointwise(self.depthwise(x))))


class Denoise(nn.Module):
    def __init__(self, bins, width, kernel, dilations):
        super().__init__()
        self.register_buffer('mean', torch.zeros(bins))
        self.register_buffer('deviation', torch.ones(bins))
        self.stem, self.stem_norm = Dense(bins, width), Norm(width)
        self.blocks = nn.Sequential(*[Block(width, kernel, d) for d in dilations])
        self.head = Dense(width, bins)

    def forward(self, x):
        """[clips, frames, bins] of raw features -> factors of 0 to 1 as [bins, clips, frames]."""
        x = ((x - self.mean) / self.deviation).permute(2, 0, 1).contiguous()
        return torch.sigmoid(self.head(self.blocks(F.relu(self.stem_norm(self.stem(x))))))


def folded(net):
    """name -> (weight [out, in or 1, kernel], bias, dilation) of the plain convolutions: normalizations are part of them."""
    def with_norm(weight, bias, norm):
        b = norm.bn
        gain = (b.weight / torch.sqrt(b.running_var + b.eps)).double()
        return weight * gain[:, None, None], (bias - b.running_mean) * gain + b.bias
    with torch.no_grad():
        weight = net.stem.weight.double() / net.deviation.double()[:, None]
        bias = net.stem.bias.double() - (weight * net.mean.double()[:, None]).sum((1, 2))
        out = {'stem': (*with_norm(weight, bias, net.stem_norm), 1)}
        for i, block in enumerate(net.blocks):
            out[f'block{i}.depthwise'] = (block.depthwise.weight.double()[:, None], block.depthwise.bias.double(), block.depthwise.dilation)
            out[f'block{i}.pointwise'] = (*with_norm(block.pointwise.weight.double(), block.pointwise.bias.double(), block.norm), 1)
        out['head'] = (net.head.weight.double(), net.head.bias.double(), 1)
    return {k: (w.float().numpy(), b.float().numpy(), d) for k, (w, b, d) in out.items()}
