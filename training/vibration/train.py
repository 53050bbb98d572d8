"""Trains the network on fresh signals and writes vibration.onnx. usage: train.py --out vibration.onnx [--steps N]"""
import argparse

import numpy as np
import torch

from features import fbank
from generator import STATES, signal
from model import Net
from onnx_file import write_onnx


def batch(first_seed, count):
    """Seeds from `first_seed` on, the states in turn."""
    x = [fbank(signal(STATES[i % len(STATES)], first_seed + i)) for i in range(count)]
    return torch.from_numpy(np.stack(x).transpose(0, 2, 1).copy()), torch.tensor([i % len(STATES) for i in range(count)])


def accuracy(net, x, y):
    with torch.no_grad(): scores = net(x)[:, :, 8:]
    frames = (scores.argmax(1) == y[:, None]).float().mean().item()
    return frames, (scores.softmax(1).mean(2).argmax(1) == y).float().mean().item()


if __name__ == '__main__':
    arguments = argparse.ArgumentParser()
    arguments.add_argument('--out', required=True)
    arguments.add_argument('--signals', type=int, default=2000)
    arguments.add_argument('--steps', type=int, default=1500)
    given = arguments.parse_args()
    torch.manual_seed(1)
    x, y = batch(1, given.signals)                  # training: seeds 1 ..
    test = batch(1_000_000, 500)                    # never trained on
    mean, deviation = x.mean((0, 2)), x.std((0, 2))
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, given.steps)
    normal = lambda v: (v - mean[None, :, None]) / deviation[None, :, None]
    for step in range(given.steps):
        pick = torch.randint(0, len(x), (64,))
        scores = net(normal(x[pick]))
        loss = torch.nn.functional.cross_entropy(scores, y[pick, None].expand(-1, scores.shape[2]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 250 == 249: print(step + 1, 'loss %.4f' % loss.item(), 'frames %.4f, signals %.4f' % accuracy(net, normal(test[0]), test[1]))
    # The normalisation goes into the first convolution. Its zeros before the signal become frames of that mean: warm-up only.
    with torch.no_grad():
        net.conv1.bias -= (net.conv1.weight * (mean / deviation)[None, :, None]).sum((1, 2))
        net.conv1.weight /= deviation[None, :, None]
    print('folded: frames %.4f, signals %.4f' % accuracy(net, *test))
    write_onnx(given.out, net)
