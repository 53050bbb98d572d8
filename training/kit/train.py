"""Trains a conformer with CTC on the shards of render.py; goes on from the last checkpoint in WORK_FOLDER, or else from the weights.npz
beside MODEL.toml, or else from nothing.

usage: train.py MODEL.toml WORK_FOLDER SECONDS [finish]
With `finish` the rate falls to a hundredth within these seconds, whatever steps are left. Stops after so many seconds or when all steps
are done; a checkpoint every five minutes and at the end. Shards that are made in the meantime are taken as they come. Prints the phone errors of the greedy search on the validation recordings."""
import os
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import features
from collect import Model, load
from conformer import Conformer
from render import floats


class Shards:
    def __init__(self, work):
        self.work, self.names, self.clips = work, set(), []

    def refresh(self):
        for path in sorted(self.work.glob('shard_??.npz')):
            if path.name not in self.names:
                self.names.add(path.name)
                with np.load(path) as z:
                    values, labels = z['values'], z['labels']
                    ends, label_ends = np.cumsum(z['lengths']), np.cumsum(z['counts'])
                    for n, c, e, le in zip(z['lengths'], z['counts'], ends, label_ends):
                        if Conformer.frames(int(n)) >= c + 2:  # CTC needs a frame for each phone
                            self.clips.append((values[e - n:e], labels[le - c:le]))
        return self

    def batches(self, seconds, random, by_length=False):
        """Clips of like length together, so many seconds with their padding; in drawn order, or the short ones first."""
        keys = np.array([len(v) for v, _ in self.clips]) * random.uniform(0.9, 1.1, len(self.clips))
        order, batch, out, longest = np.argsort(keys), [], [], 0
        for i in order:
            longest = max(longest, len(self.clips[i][0]))
            if batch and longest * (len(batch) + 1) > 100 * seconds:
                out.append(batch)
                batch, longest = [], len(self.clips[i][0])
            batch.append(i)
        out.append(batch)
        return [[self.clips[i] for i in out[b]] for b in (range(len(out)) if by_length else random.permutation(len(out)))]


def other_throat(values, factor, low=20.0, high=7600.0):
    """Log-mel energies as of a speaker whose formants are `factor` times as high (Jaitly and Hinton, 2013: VTLP)."""
    bands = values.shape[1]
    first, last = (1127 * np.log1p(f / 700) for f in (low, high))
    step = (last - first) / (bands + 1)
    centres = 700 * np.expm1((first + step * np.arange(1, bands + 1)) / 1127)
    at = np.clip((1127 * np.log1p(centres / factor / 700) - first) / step - 1, 0, bands - 1)
    below = np.minimum(at.astype(int), bands - 2)
    part = (at - below).astype(np.float32)
    return values[:, below] * (1 - part) + values[:, below + 1] * part


def other_channel(values, random):
    """Log-mel energies as by another microphone or vocoder: a drawn smooth curve over the bands (four cosines) is added to every frame,
    about 4 dB in all."""
    bands = values.shape[1]
    curve = sum(random.normal(0, 0.6 if k == 1 else 0.4) * np.cos(np.pi * k * (np.arange(bands) + 0.5) / bands) for k in range(1, 5))
    return values + curve.astype(np.float32)


def tensors(batch, random=None, mean=None):
    """Features padded with the level of silence of each clip, phones, and their lengths; with `random`, other throats and channels,
    and bands and spans masked."""
    longest = max(len(v) for v, _ in batch)
    x = np.zeros((len(batch), longest, batch[0][0].shape[1]), np.float32)
    for row, (values, _) in zip(x, batch):
        if random is not None and random.random() < 0.5:
            values = other_throat(values.astype(np.float32), random.uniform(0.86, 1.16))
        if random is not None and random.random() < 0.5:
            values = other_channel(values.astype(np.float32), random)
        row[:len(values)] = values
        row[len(values):] = values[-1]
        if random is not None:
            for _ in range(2):
                width, first = int(random.integers(0, 7)), int(random.integers(0, row.shape[1]))
                row[:, first:first + width] = mean[first:first + width]
            for _ in range(2):
                width, first = int(random.integers(0, 16)), int(random.integers(0, len(values)))
                row[first:first + width] = mean
    labels = torch.from_numpy(np.concatenate([p for _, p in batch]).astype(np.int64))
    return torch.from_numpy(x), labels, torch.tensor([Conformer.frames(len(v)) for v, _ in batch]), torch.tensor([len(p) for _, p in batch])


def distance(a, b):
    """Edits that make b of a."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        above, row[0] = row[0], i + 1
        for j, y in enumerate(b):
            above, row[j + 1] = row[j + 1], min(row[j + 1] + 1, row[j] + 1, above + (x != y))
    return row[-1]


def greedy(logits):
    """The best token of each frame, without repetitions and blanks."""
    best = logits.argmax(-1).tolist()
    return [t for i, t in enumerate(best) if t and (i == 0 or best[i - 1] != t)]


def phone_errors(net, clips):
    """Errors of the greedy search, as a part of the phones; clips in one batch, because later frames change nothing."""
    net.eval()
    with torch.no_grad():
        x, _, frames, counts = tensors(clips)
        logits = net(x)
    net.train()
    errors = sum(distance(greedy(row[:n]), list(phones)) for row, n, (_, phones) in zip(logits, frames.tolist(), clips))
    return errors / int(counts.sum())


def rate(step, settings):
    """Linear to the peak, level for a third of the way, then linear to a hundredth."""
    if step < settings['warm_up']:
        return settings['peak_rate'] * (step + 1) / settings['warm_up']
    left = (settings['steps'] - step) / (settings['steps'] * 2 / 3)
    return settings['peak_rate'] * min(1.0, max(0.01, left))


def last_rate(left, settings):
    """The rate of a call that finishes, with this part of its time left: level for a third, then linear to a hundredth."""
    return settings['peak_rate'] * min(1.0, max(0.01, left * 3 / 2))


def weights_of(path):
    """The network's state in a file of weights that export.py wrote."""
    with np.load(path) as z:
        return {k: torch.from_numpy(z[k]) for k in z.files if k != 'step'}


def validation(model, work):
    dictionary, number = model.dictionary(), {t: i for i, t in enumerate(model.tokens)}
    recordings = load(work / 'validation')
    return [(v, np.array([number[p] for p in dictionary.phones(u.text)]))
            for v, u in zip(features.of_many(model.settings['front_end'], [floats(u) for u in recordings]), recordings)]


def main(config, work, seconds, finish=''):
    seconds = float(seconds)
    stop = time.monotonic() + seconds
    model, work = Model(config), Path(work)
    settings = model.settings['training']
    torch.set_num_threads(1)
    torch.manual_seed(model.settings['seed'])
    shards = Shards(work).refresh()
    net = Conformer(model.settings['bins'], len(model.tokens), **model.settings['model'])
    groups = [{'params': [p for p in net.parameters() if p.dim() > 1], 'weight_decay': settings['weight_decay']},
              {'params': [p for p in net.parameters() if p.dim() <= 1], 'weight_decay': 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=settings['peak_rate'], betas=(0.9, 0.98))
    checkpoint = work / 'checkpoint.pt'
    step = 0
    if checkpoint.exists():
        saved = torch.load(checkpoint)
        net.load_state_dict(saved['net'])
        optimizer.load_state_dict(saved['optimizer'])
        average, step = saved['average'], saved['step']
    elif (weights := model.folder / 'weights.npz').exists():
        print(f'goes on from {weights}', flush=True)
        net.load_state_dict(weights_of(weights))
        average, step = {k: v.clone() for k, v in net.state_dict().items()}, int(np.load(weights)['step'])
    else:
        sample = np.concatenate([v for v, _ in shards.clips[::7]]).astype(np.float32)
        net.mean.copy_(torch.from_numpy(sample.mean(0)))
        net.deviation.copy_(torch.from_numpy(sample.std(0)))
        average = {k: v.clone() for k, v in net.state_dict().items()}
    mean = net.mean.numpy()
    held = validation(model, work)
    judge = Conformer(model.settings['bins'], len(model.tokens), **model.settings['model'])

    def rate_now():
        left = (stop - time.monotonic()) / seconds
        return min(rate(step, settings), last_rate(left, settings)) if finish else rate(step, settings)

    def save():
        judge.load_state_dict(average)
        errors = phone_errors(judge, held)
        torch.save({'net': net.state_dict(), 'optimizer': optimizer.state_dict(), 'average': average, 'step': step},
                   f'{checkpoint}.part')
        os.replace(f'{checkpoint}.part', checkpoint)
        print(f'{time.strftime("%H:%M:%S")} step {step} hours {sum(len(v) for v, _ in shards.clips) / 360000:.1f} loss {smooth:.3f} '
              f'rate {rate_now():.6f} phone errors {errors:.4f} processor {time.process_time():.0f} s', flush=True)
    saved_at, smooth = time.monotonic(), 0.0
    net.train()
    while step < settings['steps'] and time.monotonic() < stop:
        random = np.random.default_rng([model.settings['seed'], step])
        # Short clips first: CTC finds its alignments sooner ("SortaGrad", Amodei and others, Deep Speech 2).
        short_first = step < settings['short_first']
        for batch in shards.refresh().batches(settings['batch_seconds'], random, by_length=short_first):
            for group in optimizer.param_groups:
                group['lr'] = rate_now()
            x, labels, frames, counts = tensors(batch, random, mean)
            logits = net(x).log_softmax(-1).transpose(0, 1)
            loss = F.ctc_loss(logits, labels, frames, counts, reduction='sum', zero_infinity=True) / counts.sum()
            optimizer.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 2.0)
            if torch.isfinite(norm):
                optimizer.step()
            step += 1
            smooth += (loss.item() - smooth) / min(step, 50)
            keep = min(settings['average'], (1 + step) / (10 + step))
            for name, value in net.state_dict().items():
                if value.dtype.is_floating_point:
                    average[name].lerp_(value, 1 - keep)
                else:
                    average[name].copy_(value)
            if time.monotonic() - saved_at > 300:
                save()
                saved_at = time.monotonic()
            if step >= settings['steps'] or time.monotonic() >= stop or short_first and step >= settings['short_first']:
                break
    save()


if __name__ == '__main__':
    if len(sys.argv) not in (4, 5) or sys.argv[4:] not in ([], ['finish']):
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
