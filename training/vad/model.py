"""The network: causal convolutions over log-mel energies, two logits a frame (other, speech).

One dense convolution, then blocks of a depthwise convolution over time (dilated), a product over channels, ReLU and a residual sum; two
products at the end. Tensors are [channels, clips, frames], which makes each product over channels one matrix product. What is before the
first frame is zeros of the *raw* features, so that the folded normalization is exact and a stream that starts with zero states is the
padding of the training."""
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


def shifted(x, kernel, dilation):
    """x as [channels, clips, frames] with its past: the frames that tap j of a causal convolution sees."""
    count = x.shape[2]
    x = F.pad(x, ((kernel - 1) * dilation, 0))
    return [x[:, :, j * dilation:j * dilation + count] for j in range(kernel)]


class Dense(nn.Module):
    """A causal convolution over all channels. weight: [out, in, kernel]."""

    def __init__(self, inputs, outputs, kernel=1):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs, kernel) * (2 / (inputs * kernel)) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        taps = torch.stack(shifted(x, self.weight.shape[2], 1), 1) if self.weight.shape[2] > 1 else x  # [in, kernel, clips, frames]
        y = self.weight.flatten(1) @ taps.reshape(self.weight[0].numel(), -1) + self.bias[:, None]
        return y.view(-1, *x.shape[1:])


class Depthwise(nn.Module):
    """A causal convolution of each channel with itself. weight: [channels, kernel]."""

    def __init__(self, channels, kernel, dilation):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels, kernel) * (1 / kernel) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(channels))
        self.dilation = dilation

    def forward(self, x):
        y = self.bias[:, None, None].expand_as(x)
        for w, tap in zip(self.weight.t(), shifted(x, self.weight.shape[1], self.dilation)):
            y = torch.addcmul(y, tap, w[:, None, None])
        return y


class Block(nn.Module):
    def __init__(self, width, kernel, dilation):
        super().__init__()
        self.depthwise, self.pointwise, self.norm = Depthwise(width, kernel, dilation), Dense(width, width), Norm(width)

    def forward(self, x):
        return x + F.relu(self.norm(self.pointwise(self.depthwise(x))))


class Vad(nn.Module):
    def __init__(self, bins, width, stem, kernel, dilations, hidden):
        super().__init__()
        self.register_buffer('mean', torch.zeros(bins))
        self.register_buffer('deviation', torch.ones(bins))
        self.stem, self.stem_norm = Dense(bins, width, stem), Norm(width)
        self.blocks = nn.Sequential(*[Block(width, kernel, d) for d in dilations])
        self.hidden, self.head = Dense(width, hidden), Dense(hidden, 2)

    def forward(self, x, keep=None):
        """[clips, frames, bins] of raw features -> [2, clips, frames]; `keep` multiplies the normalized features."""
        past = self.stem.weight.shape[2] - 1
        x = F.pad(x, (0, 0, past, 0))
        x = (x - self.mean) / self.deviation
        if keep is not None:
            x = F.pad(x[:, past:] * keep, (0, 0, past, 0)) + F.pad(x[:, :past], (0, 0, 0, x.shape[1] - past))
        x = x.permute(2, 0, 1)
        count = x.shape[2] - past
        taps = torch.stack([x[:, :, j:j + count] for j in range(past + 1)], 1)
        y = (self.stem.weight.flatten(1) @ taps.reshape(self.stem.weight[0].numel(), -1) + self.stem.bias[:, None]).view(-1, x.shape[1], count)
        y = self.blocks(F.relu(self.stem_norm(y)))
        return self.head(F.relu(self.hidden(y)))


def folded(net):
    """name -> (weight [out, in or 1, kernel], bias, dilation) of the plain convolutions: normalizations are part of them."""
    def with_norm(weight, bias, norm):
        b = norm.bn
        gain = (b.weight / torch.sqrt(b.running_var + b.eps)).double()
        return weight * gain[:, None, None], (bias - b.running_mean) * gain + b.bias
    with torch.no_grad():
        scale = 1 / net.deviation.double()
        weight = net.stem.weight.double() * scale[:, None]
        bias = net.stem.bias.double() - (weight * net.mean.double()[:, None]).sum((1, 2))
        out = {'stem': (*with_norm(weight, bias, net.stem_norm), 1)}
        for i, block in enumerate(net.blocks):
            out[f'block{i}.depthwise'] = (block.depthwise.weight.double()[:, None], block.depthwise.bias.double(), block.depthwise.dilation)
            out[f'block{i}.pointwise'] = (*with_norm(block.pointwise.weight.double(), block.pointwise.bias.double(), block.norm), 1)
        for name in ('hidden', 'head'):
            part = getattr(net, name)
            out[name] = (part.weight.double(), part.bias.double(), 1)
    return {k: (w.float().numpy(), b.float().numpy(), d) for k, (w, b, d) in out.items()}
