"""Trains the network on the shards of render.py, from nothing or from the weights of an earlier call.

usage: train.py WORK_FOLDER [--steps N] [--seconds S]
N steps, those of vad.toml by default, or S seconds by the clock if these end sooner. The rate rises for a twentieth of the training and falls to zero by a cosine. Writes
WORK_FOLDER/vad.pt with the averaged weights, and prints the area under the curve on the clips that were kept out."""
import argparse
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import material
from model import Vad

KEPT_OUT = 200  # the last clips of the first shard


def area(scores, labels):
    """Area under the curve of true against false positives, by ranks."""
    order = np.argsort(scores, kind='stable')
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    values, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    if len(values) < len(scores):  # ties have their mean rank
        ranks = (np.bincount(inverse, ranks) / counts)[inverse]
    positive = int(labels.sum())
    return (ranks[labels].sum() - positive * (positive + 1) / 2) / (positive * (len(labels) - positive))


def masks(clips, count, bins, random):
    """Ones with two masked bands and two masked spans in each clip."""
    keep = np.ones((clips, count, bins), np.float32)
    for row in keep:
        for _ in range(2):
            width, first = int(random.integers(0, 4)), int(random.integers(0, bins))
            row[:, first:first + width] = 0
        width, first = int(random.integers(0, 9)), int(random.integers(0, count))
        row[first:first + width] = 0
    return torch.from_numpy(keep)


def main(work, steps=None, seconds=float('inf')):
    model, work = material.Model(), Path(work)
    settings, delay = model.settings['training'], model.settings['labels']['delay']
    torch.set_num_threads(1)
    torch.manual_seed(model.settings['seed'])
    random = np.random.default_rng([model.settings['seed'], (work / 'vad.pt').exists()])
    shards = [np.load(p) for p in sorted(work.glob('shard_??.npz'))]
    values, labels = np.concatenate([s['values'] for s in shards]), np.concatenate([s['labels'] for s in shards])
    order = np.roll(np.arange(len(values)), -len(shards[0]['labels']))  # the first shard last
    values, labels = values[order], labels[order]
    held = (torch.from_numpy(values[-KEPT_OUT:].astype(np.float32)), labels[-KEPT_OUT:])
    values, labels = torch.from_numpy(values[:-KEPT_OUT]), torch.from_numpy(labels[:-KEPT_OUT])
    net = Vad(model.settings['bins'], **model.settings['model'])
    sample = values[::9].float().reshape(-1, model.settings['bins'])
    net.mean.copy_(sample.mean(0))
    net.deviation.copy_(sample.std(0))
    peak = settings['peak_rate']
    if (work / 'vad.pt').exists():
        net.load_state_dict(torch.load(work / 'vad.pt'))
        peak /= 2
    print(f'{len(values)} clips, {sum(p.numel() for p in net.parameters())} parameters', flush=True)
    groups = [{'params': [p for p in net.parameters() if p.dim() > 1], 'weight_decay': 0.01}, {'params': [p for p in net.parameters() if p.dim() <= 1], 'weight_decay': 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=peak)
    average = {k: v.clone() for k, v in net.state_dict().items()}
    total, began, loss_sum, rows = steps or settings['steps'], time.monotonic(), 0.0, []

    def judged():
        judge = Vad(model.settings['bins'], **model.settings['model'])
        judge.load_state_dict(average)
        judge.eval()
        with torch.no_grad():
            z = judge(held[0])
        score = (z[1] - z[0])[:, delay:].numpy().ravel()
        return area(score, held[1][:, :held[1].shape[1] - delay].ravel())
    step = 0
    while step < total and time.monotonic() - began < seconds:
        if len(rows) < settings['batch']:
            rows = np.concatenate([rows, random.permutation(len(values))]).astype(int)
        chosen, rows = rows[:settings['batch']], rows[settings['batch']:]
        part = max(step / total, (time.monotonic() - began) / seconds)
        rate = peak * (part / 0.05 if part < 0.05 else 0.5 * (1 + np.cos(np.pi * (part - 0.05) / 0.95))) + 1e-6
        for group in optimizer.param_groups:
            group['lr'] = rate
        net.train()
        x, y = values[chosen].float(), labels[chosen]
        z = net(x, masks(len(chosen), x.shape[1], x.shape[2], random))
        score = (z[1] - z[0])[:, delay:]
        loss = F.binary_cross_entropy_with_logits(score, y[:, :y.shape[1] - delay].float() * 0.96 + 0.02)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 2.0)
        optimizer.step()
        step += 1
        loss_sum += loss.item()
        with torch.no_grad():
            keep = min(0.99, (1 + step) / (10 + step))
            for name, value in net.state_dict().items():
                if value.dtype.is_floating_point:
                    average[name].mul_(keep).add_(value, alpha=1 - keep)
        if step % 100 == 0 or step == total:
            print(f'step {step} loss {loss_sum / 100:.4f} area {judged():.4f} {time.monotonic() - began:.0f} s, processor {time.process_time():.0f} s', flush=True)
            loss_sum = 0.0
    print(f'{step} steps, area {judged():.4f}, processor {time.process_time():.0f} s')
    torch.save(average, work / 'vad.pt')


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
    parser.add_argument('work')
    parser.add_argument('--steps', type=int)
    parser.add_argument('--seconds', type=float, default=float('inf'))
    wanted = parser.parse_args()
    main(wanted.work, wanted.steps, wanted.seconds)
