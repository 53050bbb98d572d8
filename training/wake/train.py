"""Trains the network on the passes of streams.py.

usage: train.py WORK_FOLDER [SECONDS]

SECONDS of processor time at most; without it the steps of the configuration. The rate rises for a twentieth of the training and falls to zero by a
cosine. Writes WORK_FOLDER/wake.pt, the averaged weights, and from time to time WORK_FOLDER/part.pt, from which a training that was cut off goes on."""
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import spoken
from model import Wake


def masks(clips, frames, bins, random):
    """Ones with a masked span of bands in half of the clips and a masked span of time in a third."""
    keep = np.ones((clips, frames, bins), np.float32)
    for clip in keep:
        if random.random() < 0.5:
            width = int(random.integers(1, 6))
            first = int(random.integers(0, bins + 1 - width))
            clip[:, first:first + width] = 0
        if random.random() < 0.3:
            width = int(random.integers(1, 9))
            first = int(random.integers(0, frames - width))
            clip[first:first + width] = 0
    return torch.from_numpy(keep)


def loss_of(z, labels, smoothing):
    """Cross-entropy of frames, and what the decision sees: probabilities averaged over its frames, whose highest value must come near 1 where the
    phrase was said, and stay near 0 in every other part of a stream; the nearer to an alarm, the heavier."""
    labels = labels.long()
    frames = F.cross_entropy(z.permute(1, 0, 2), labels, torch.tensor([1.0, 2.0]), ignore_index=-1)
    p = F.softmax(z, 0)[1]
    seen = F.avg_pool1d(F.pad(p, (smoothing - 1, 0))[:, None], smoothing, 1)[:, 0]
    has = (labels == 1).any(1)
    best = (seen * (labels == 1)).amax(1)[has]
    missed = -torch.log(best + 1e-4).mean() if len(best) else 0.0
    worst = (seen * (labels == 0)).amax(1)
    weight = worst.detach() ** 0.5
    false = -(weight * torch.log(1 - worst + 1e-4)).sum() / (weight.sum() + 0.05 * len(weight))
    return frames + 0.5 * missed + false, best.detach(), worst.detach()


class Rows:
    """Draws rows without putting them back until all are drawn."""

    def __init__(self, count, random):
        self.count, self.random, self.left = count, random, np.zeros(0, int)

    def take(self, n):
        while len(self.left) < n:
            self.left = np.concatenate([self.left, self.random.permutation(self.count)])
        out, self.left = self.left[:n], self.left[n:]
        return out


def train(model, work, seconds=None):
    settings = model.settings['training']
    torch.set_num_threads(1)
    torch.manual_seed(model.settings['seed'])
    passes = [np.load(work / f'pass_{i}.npz') for i in range(settings['passes'])]
    values, labels = np.concatenate([p['values'] for p in passes]), np.concatenate([p['labels'] for p in passes])
    kept_out = np.arange(len(values)) % 20 == 0  # to watch the training
    held, held_labels = torch.from_numpy(values[kept_out].astype(np.float32)), torch.from_numpy(labels[kept_out])
    values, labels = values[~kept_out], labels[~kept_out]
    net = Wake(model.settings['bins'], **model.settings['model'])
    sample = values[::5].reshape(-1, values.shape[2]).astype(np.float32)
    net.mean.copy_(torch.from_numpy(sample.mean(0)))
    net.deviation.copy_(torch.from_numpy(sample.std(0)))
    optimizer = torch.optim.AdamW(net.parameters(), lr=settings['peak_rate'], weight_decay=settings['weight_decay'])
    average = {k: v.clone() for k, v in net.state_dict().items()}
    step, spent, before = 0, 0.0, 0.0
    if (work / 'part.pt').exists():
        part = torch.load(work / 'part.pt')
        net.load_state_dict(part['net'])
        optimizer.load_state_dict(part['optimizer'])
        average, step, before = part['average'], part['step'], part['spent']
    random = np.random.default_rng([model.settings['seed'], step])
    rows, bins = Rows(len(values), random), values.shape[2]
    print(f'{len(values)} streams, {sum(p.numel() for p in net.parameters())} parameters, from step {step}', flush=True)
    smoothing, began, total = settings['smoothing'], time.process_time(), 0.0
    while True:
        spent = before + time.process_time() - began
        part = max(step / settings['steps'], spent / seconds if seconds else 0)
        if part >= 1:
            break
        for group in optimizer.param_groups:
            group['lr'] = settings['peak_rate'] * (part / 0.05 if part < 0.05 else 0.5 * (1 + np.cos(np.pi * (part - 0.05) / 0.95))) + 1e-6
        net.train()
        chosen = rows.take(settings['batch'])
        x = torch.from_numpy(values[chosen].astype(np.float32) + random.uniform(-2, 2, (len(chosen), 1, 1)).astype(np.float32))  # another level
        z = net(x, masks(len(chosen), x.shape[1], bins, random))
        loss, _, _ = loss_of(z, torch.from_numpy(labels[chosen]), smoothing)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimizer.step()
        step += 1
        total += loss.item()
        with torch.no_grad():
            keep = min(settings['average'], (1 + step) / (10 + step))
            for name, value in net.state_dict().items():
                if value.dtype.is_floating_point:
                    average[name].mul_(keep).add_(value, alpha=1 - keep)
        if step % 250 == 0:
            judge = Wake(bins, **model.settings['model'])
            judge.load_state_dict(average)
            judge.eval()
            with torch.no_grad():
                _, best, worst = loss_of(judge(held), held_labels, smoothing)
            print(f'step {step} loss {total / 250:.3f}; kept out: hits {100 * (best > 0.5).float().mean():.1f} % {100 * (best > 0.9).float().mean():.1f} %, '
                  f'false {100 * (worst > 0.5).float().mean():.2f} % {100 * (worst > 0.9).float().mean():.2f} % at 0.5 and 0.9; processor {spent:.0f} s', flush=True)
            total = 0.0
            torch.save({'net': net.state_dict(), 'optimizer': optimizer.state_dict(), 'average': average, 'step': step, 'spent': spent}, work / 'part.pt')
    torch.save(average, work / 'wake.pt')
    print(f'{step} steps, {spent:.0f} s of processor time', flush=True)


if __name__ == '__main__':
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    train(spoken.Model(), Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) == 3 else None)
