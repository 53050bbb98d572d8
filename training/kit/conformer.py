"""A causal conformer-lite with CTC output: two strided convolutions, then blocks of attention over a window with learned
positions, a causal convolution and a feed-forward part.

Input: raw log-mel energies [N, T, bins]. Output: logits [N, ceil(ceil(T/2)/2), tokens], one frame per four of the input.
Before the signal the network sees raw zeros, as a stream does whose state begins at zero; the normalisation of the features
follows that padding, so that export() can fold it into the first convolution without changing a value."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class FeedForward(nn.Module):
    def __init__(self, width, factor, dropout):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, width * factor)
        self.down = nn.Linear(width * factor, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return x + self.dropout(self.down(F.silu(self.up(self.norm(x)))))


class WindowAttention(nn.Module):
    """Each frame looks at itself and the `left` frames before it; `bias` [heads, left + 1] says how much each distance counts."""

    def __init__(self, width, heads, left, dropout):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.heads, self.left = heads, left
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.bias = nn.Parameter(torch.zeros(heads, left + 1))
        self.dropout = nn.Dropout(dropout)
        self.fixed = None

    def positions(self, frames):
        """The table as matrices [heads, frames, frames], and the band that limits the window."""
        if self.fixed:
            return self.fixed
        i = torch.arange(frames)
        distance = i[:, None] - i[None, :]
        inside = (distance >= 0) & (distance <= self.left)
        bias = self.bias[:, distance.clamp(0, self.left)]
        return bias, torch.zeros(frames, frames).masked_fill(~inside, -1e9)

    def forward(self, x):
        n, t, width = (int(size) for size in x.shape)
        y = self.norm(x)
        q, k, v = (m(y).view(n, t, self.heads, width // self.heads).transpose(1, 2) for m in (self.query, self.key, self.value))
        bias, band = self.positions(t)
        scores = torch.matmul(q, k.transpose(-2, -1)) * (width // self.heads) ** -0.5 + bias + band
        y = torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2).reshape(n, t, width)
        return x + self.dropout(self.out(y))


class Convolution(nn.Module):
    def __init__(self, width, kernel, dropout):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.kernel = kernel
        self.gate = nn.Linear(width, 2 * width)
        self.depth = nn.Conv1d(width, width, kernel, groups=width)
        self.batch = nn.BatchNorm1d(width)
        self.point = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        y = F.glu(self.gate(self.norm(x)), -1).transpose(1, 2)
        y = F.silu(self.batch(self.depth(F.pad(y, (self.kernel - 1, 0)))))
        return x + self.dropout(self.point(y.transpose(1, 2)))


class Block(nn.Module):
    def __init__(self, width, heads, left, kernel, factor, dropout):
        super().__init__()
        self.attention = WindowAttention(width, heads, left, dropout)
        self.convolution = Convolution(width, kernel, dropout)
        self.forward_part = FeedForward(width, factor, dropout)

    def forward(self, x):
        return self.forward_part(self.convolution(self.attention(x)))


class Conformer(nn.Module):
    def __init__(self, bins, tokens, width=96, stem=64, blocks=3, heads=4, left=20, kernel=9, factor=3, dropout=0.1):
        super().__init__()
        self.register_buffer('mean', torch.zeros(bins))
        self.register_buffer('deviation', torch.ones(bins))
        self.first = nn.Conv1d(bins, stem, 3, 2)
        self.second = nn.Conv1d(stem, width, 3, 2)
        self.blocks = nn.ModuleList(Block(width, heads, left, kernel, factor, dropout) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, tokens)
        self.folded = False

    def fold(self, features):
        """For export: moves the normalisation of the features into the first convolution, and makes constants of the positions,
        for clips of so many frames of features."""
        for block in self.blocks:
            bias, band = block.attention.positions(self.frames(features))
            block.attention.fixed = bias.detach().clone(), band
        with torch.no_grad():
            self.first.bias -= (self.first.weight * (self.mean / self.deviation)[None, :, None]).sum((1, 2))
            self.first.weight /= self.deviation[None, :, None]
        self.folded = True

    @staticmethod
    def frames(features):
        """Frames of the output for so many of the input."""
        return (((features + 1) // 2) + 1) // 2

    def forward(self, x):
        x = F.pad(x.transpose(1, 2), (2, 0))
        if not self.folded:
            x = (x - self.mean[:, None]) / self.deviation[:, None]
        x = F.relu(self.first(x))
        x = F.relu(self.second(F.pad(x, (2, 0)))).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return self.out(self.norm(x))
