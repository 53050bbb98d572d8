"""The two networks. Inputs are log energies [batch, bins, time]; all convolutions are causal, so both stream frame by frame."""
import torch
from torch import nn
from torch.nn.functional import pad


def causal(conv, x):
    return conv(pad(x, ((conv.kernel_size[0] - 1) * conv.dilation[0], 0)))


class Classifier(nn.Module):
    """Spectra of 8 ms every 2 ms, in which a rotation is a slow rise and fall and impacts are their own rhythm: bands of the spectrum; what
    rises and falls in them at a certain rate (a depthwise convolution over 64 ms); its strength every 16 ms; half a second of that."""

    def __init__(self, bins, classes, width=32, rhythm=32, stride=8, hidden=32):
        super().__init__()
        self.register_buffer('mean', torch.zeros(bins))
        self.register_buffer('deviation', torch.ones(bins))
        self.bands = nn.Conv1d(bins, width, 3)
        self.rhythm = nn.Conv1d(width, width, rhythm, groups=width)
        self.mix = nn.Conv1d(width, hidden, 1)
        self.strength = nn.Conv1d(hidden, hidden, stride, stride=stride)
        self.depth = nn.ModuleList(nn.Conv1d(hidden, hidden, 5, groups=hidden, dilation=d) for d in (1, 4))
        self.point = nn.ModuleList(nn.Conv1d(hidden, hidden, 1) for _ in range(2))
        self.head = nn.Conv1d(hidden, classes, 1)

    def forward(self, x):
        x = (x - self.mean[None, :, None]) / self.deviation[None, :, None]
        x = torch.relu(causal(self.bands, x))
        x = torch.relu(self.mix(causal(self.rhythm, x)))
        x = torch.relu(causal(self.strength, x))
        for depth, point in zip(self.depth, self.point):
            x = x + torch.relu(point(causal(depth, x)))
        return self.head(x)


class Autoencoder(nn.Module):
    """What remains of a log-mel frame when its reconstruction from a few numbers is taken off, in deviations of what remains of frames of
    healthy machines: [batch, bins, time]. The few numbers come from this frame and the ones before it."""

    def __init__(self, bins, width=32, code=6, context=5):
        super().__init__()
        self.register_buffer('mean', torch.zeros(bins))
        self.register_buffer('deviation', torch.ones(bins))
        self.register_buffer('usual', torch.ones(bins))
        self.encode = nn.Conv1d(bins, width, context)
        self.code = nn.Conv1d(width, code, 1)
        self.decode = nn.Conv1d(code, width, 1)
        self.frame = nn.Conv1d(width, bins, 1)

    def forward(self, x):
        z = (x - self.mean[None, :, None]) / self.deviation[None, :, None]
        y = torch.relu(causal(self.encode, z))
        y = torch.relu(self.decode(self.code(y)))
        return (z - self.frame(y)) / self.usual[None, :, None]
