"""Forced alignment: when each word of a known text was said, by a trained recogniser.

usage: align.py MODEL.toml WORK_FOLDER RECORDING.wav TEXT      prints a line WORD<tab>START<tab>END (seconds) for each word

The times are those at which the network is surest, which with a causal network is late by its delay. They label words for models
that are trained on frames, and cut words out of connected speech."""
import sys
from pathlib import Path

import numpy as np

import audio

SECONDS = 0.04  # of a frame of the output


def viterbi(scores, labels, blank=0):
    """The likeliest way through the log-probabilities [frames, tokens] that gives `labels`: first and last frame of each.

    CTC's graph: blanks around and between the labels, which may be left out except between equal ones. ValueError if the frames are
    too few."""
    states = [blank]
    for label in labels:
        states += [int(label), blank]
    frames, count = len(scores), len(states)
    best = np.full(count, -np.inf)
    best[0] = scores[0][states[0]]
    if count > 1:
        best[1] = scores[0][states[1]]
    back = np.zeros((frames, count), np.int8)  # how many states ago
    for t in range(1, frames):
        stay = best.copy()
        one = np.concatenate([[-np.inf], best[:-1]])
        two = np.concatenate([[-np.inf, -np.inf], best[:-2]])[:count]
        for s in range(count):
            if states[s] == blank or s < 2 or states[s] == states[s - 2]:
                two[s] = -np.inf
        choices = np.stack([stay, one, two])
        back[t] = choices.argmax(0)
        best = choices.max(0) + np.array([scores[t][s] for s in states])
    end = count - 1 if count == 1 or best[-1] >= best[-2] else count - 2
    if not np.isfinite(best[end]):
        raise ValueError(f'{frames} frames are too few for {len(labels)} labels')
    path, s = [], end
    for t in range(frames - 1, -1, -1):
        path.append(s)
        s -= back[t][s]
    path = np.array(path[::-1])
    return [(int(np.flatnonzero(path == 2 * i + 1)[0]), int(np.flatnonzero(path == 2 * i + 1)[-1])) for i in range(len(labels))]


def words(scores, text, dictionary, number):
    """(word, start, end) in seconds, with the first pronunciation of each word."""
    spelled = [[number[p] for p in dictionary.phones(w)] for w in text.split()]
    spans = viterbi(scores, [p for w in spelled for p in w])
    out, at = [], 0
    for word, phones in zip(text.split(), spelled):
        mine = spans[at:at + len(phones)]
        out.append((word, mine[0][0] * SECONDS, (mine[-1][1] + 1) * SECONDS))
        at += len(phones)
    return out


def main(config, work, recording, text):
    import torch

    import features
    from collect import Model
    from export import network
    model = Model(config)
    net, _ = network(model, Path(work) / 'checkpoint.pt')
    values = features.of_many(model.settings['front_end'], [audio.read(recording)])[0]
    with torch.no_grad():
        scores = net(torch.from_numpy(values)[None]).log_softmax(-1)[0].numpy()
    for word, start, end in words(scores, text, model.dictionary(), {t: i for i, t in enumerate(model.tokens)}):
        print(f'{word}\t{start:.2f}\t{end:.2f}')


if __name__ == '__main__':
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
