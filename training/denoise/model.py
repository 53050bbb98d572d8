"""The network: causal convolutions over the log-power of all bins of a spectrum, a factor for each bin.

A product over the bins, then blocks of a depthwise convolution over time (dilated), a product over channels, ReLU and a residual sum; one more
product, and a sigmoid. Tensors are [channels, clips, frames], which makes each product one matrix product. What is before the first frame is
zeros after the first layer, so that a stream that starts with zero states is the padding of the training."""

import torch
from torch import nn


class Normed(torch.autograd.Function):
    """ReLU of batch normalization of [channels, values] with its derivative: a third of the time of the parts. Gives mean and variance, too."""

    @staticmethod
    def forward(context, x, gain, shift, eps):
        mean = x.mean(1)
        variance = torch.linalg.vector_norm(x, dim=1).square() / x.shape[1] - mean.square()
        inverse = torch.rsqrt(variance.clamp(min=0) + eps)
        y = torch.addcmul((shift - gain * inverse * mean)[:, None], x, (gain * inverse)[:, None]).relu_()
        context.save_for_backward(x, y, gain, mean, inverse)
        context.mark_non_differentiable(mean, variance)
        return y, mean, variance

    @staticmethod
    def backward(context, gradient, *_):
        x, y, gain, mean, inverse = context.saved_tensors
        gradient = torch.ops.aten.threshold_backward(gradient, y, 0)
        of_shift = gradient.sum(1)
        of_gain = ((gradient * x).sum(1) - mean * of_shift) * inverse
        slope = -inverse * of_gain / x.shape[1]
        of_x = gradient.addcmul_(x, slope[:, None]).add_((-of_shift / x.shape[1] - slope * mean)[:, None]).mul_((gain * inverse)[:, None])
        return of_x, of_gain, of_shift, None


class Norm(nn.Module):
    """Batch normalization over [channels, clips, frames], and ReLU."""

    def __init__(self, channels):
        super().__init__()
        self.bn = nn.BatchNorm1d(channels)

    def forward(self, x):
        b, flat = self.bn, x.reshape(x.shape[0], -1)
        if self.training:
            y, mean, variance = Normed.apply(flat, b.weight, b.bias, b.eps)
            b.running_mean.lerp_(mean, b.momentum)
            b.running_var.lerp_(variance, b.momentum)
        else:
            gain = b.weight * torch.rsqrt(b.running_var + b.eps)
            y = torch.addcmul((b.bias - gain * b.running_mean)[:, None], flat, gain[:, None]).relu_()
        return y.view_as(x)


class Dense(nn.Module):
    """A product over channels. weight: [out, in, 1]; a bias where no normalization follows."""

    def __init__(self, inputs, outputs, biased=False):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs, 1) * (2 / inputs) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(outputs)) if biased else None

    def forward(self, x):
        flat = x.reshape(x.shape[0], -1)
        y = self.weight[:, :, 0] @ flat if self.bias is None else torch.addmm(self.bias[:, None], self.weight[:, :, 0], flat)
        return y.view(-1, *x.shape[1:])


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
        return x + self.norm(self.pointwise(self.depthwise(x)))


class Denoise(nn.Module):
    def __init__(self, bins, width, kernel, dilations):
        super().__init__()
        self.register_buffer('mean', torch.zeros(bins))
        self.register_buffer('deviation', torch.ones(bins))
        self.stem, self.stem_norm = Dense(bins, width), Norm(width)
        self.blocks = nn.Sequential(*[Block(width, kernel, d) for d in dilations])
        self.head = Dense(width, bins, biased=True)

    def forward(self, x):
        """[clips, frames, bins] of raw features -> factors of 0 to 1 as [bins, clips, frames]."""
        return self.factors(x.permute(2, 0, 1).contiguous())

    def factors(self, x):
        """As forward, from [bins, clips, frames]."""
        x = torch.addcmul((-self.mean / self.deviation)[:, None, None], x, (1 / self.deviation)[:, None, None])
        return torch.sigmoid(self.head(self.blocks(self.stem_norm(self.stem(x)))))


def folded(net):
    """name -> (weight [out, in or 1, kernel], bias, dilation) of the plain convolutions: normalizations are part of them."""
    def with_norm(weight, bias, norm):  # bias: of what is before the normalization
        b = norm.bn
        gain = (b.weight / torch.sqrt(b.running_var + b.eps)).double()
        return weight * gain[:, None, None], (bias - b.running_mean) * gain + b.bias
    with torch.no_grad():
        weight = net.stem.weight.double() / net.deviation.double()[:, None]
        bias = -(weight * net.mean.double()[:, None]).sum((1, 2))
        out = {'stem': (*with_norm(weight, bias, net.stem_norm), 1)}
        for i, block in enumerate(net.blocks):
            out[f'block{i}.depthwise'] = (block.depthwise.weight.double()[:, None], block.depthwise.bias.double(), block.depthwise.dilation)
            out[f'block{i}.pointwise'] = (*with_norm(block.pointwise.weight.double(), 0.0, block.norm), 1)
        out['head'] = (net.head.weight.double(), net.head.bias.double(), 1)
    return {k: (w.float().numpy(), b.float().numpy(), d) for k, (w, b, d) in out.items()}
