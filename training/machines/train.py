"""Trains a model and writes what the repository bundles: NAME.onnx, NAME.table.json, a classifier's labels.txt.

usage: train.py MODEL.toml OUT_FOLDER [FACTS.json]

All clips are made from seeds (generator.py), features are computed by the program runnel, one thread trains: the same machine gives the
same file again. FACTS.json gets the number of parameters, the
largest difference to PyTorch, and the processor time."""
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import export
import material
from networks import Autoencoder, Classifier


def made(settings):
    return {'classifier': lambda: Classifier(settings['bins'], len(settings['states']), **settings['model']),
            'autoencoder': lambda: Autoencoder(settings['bins'], **settings['model'])}[settings['kind']]()


def loss_of(settings, net, x, y):
    late = settings['training']['warm_up']
    out = net(x)[:, :, late:]
    if settings['kind'] == 'autoencoder':
        return (out ** 2).mean()
    return torch.nn.functional.cross_entropy(out, y[:, None].expand(-1, out.shape[2]), label_smoothing=0.05)


def train(model):
    settings, t = model.settings, model.settings['training']
    torch.set_num_threads(1)
    torch.manual_seed(settings['seed'])
    random = np.random.default_rng([settings['seed'], 1])
    clips, states = material.clips(model, 'train', settings['states'], t['clips'], 1000 + settings['seed'], t['seconds'])
    values = material.features(model, clips).transpose(0, 2, 1)
    if settings['kind'] == 'classifier':
        labels = torch.from_numpy(np.array([settings['states'].index(material.generator.STATES[s]) for s in states]))
    else:
        labels = torch.zeros(len(states), dtype=torch.long)
    x = torch.from_numpy(np.ascontiguousarray(values))
    net = made(settings)
    net.mean.copy_(x.mean((0, 2)))
    net.deviation.copy_(x.std((0, 2)))
    optimizer = torch.optim.AdamW(net.parameters(), lr=t['rate'], weight_decay=1e-2)
    steps = t['passes'] * (len(x) // t['batch'])
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, t['rate'], steps, pct_start=0.1)
    step = 0
    for turn in range(t['passes']):
        order, total = random.permutation(len(x)), 0.0
        for i in range(len(x) // t['batch']):
            rows = order[i * t['batch']:(i + 1) * t['batch']]
            # Clips are made louder and quieter: the level of a sensor is no sign of a state.
            shift = torch.from_numpy(random.uniform(-t.get('gain', 0), t.get('gain', 0), (len(rows), 1, 1)).astype(np.float32))
            loss = loss_of(settings, net, x[rows] + shift, labels[rows])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 2.0)
            optimizer.step()
            schedule.step()
            step, total = step + 1, total + loss.item()
        if (turn + 1) % max(1, t['passes'] // 10) == 0:
            print(f'pass {turn + 1} loss {total / (len(x) // t["batch"]):.4f} processor {time.process_time():.0f} s', flush=True)
    net.eval()
    if settings['kind'] == 'autoencoder':
        with torch.no_grad():
            rest = torch.cat([net(x[i:i + 100])[:, :, t['warm_up']:] for i in range(0, len(x), 100)])
        net.usual.copy_(rest.pow(2).mean((0, 2)).sqrt())
    return net


def main(config, out, facts=None):
    began = time.process_time()
    model, out = material.Model(config), Path(out)
    out.mkdir(parents=True, exist_ok=True)
    net = train(model)
    found = export.write(model, net, out)
    found['processor_seconds'] = round(time.process_time() - began)
    print(json.dumps(found))
    if facts:
        Path(facts).write_text(json.dumps(found, indent=1) + '\n')


if __name__ == '__main__':
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
