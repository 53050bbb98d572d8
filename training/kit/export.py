"""Writes the trained network as ONNX, checks the file against PyTorch's output through runnel, and keeps the float weights.

usage: export.py MODEL.toml WORK_FOLDER OUT.onnx [weights.npz]

The file is for clips of 200 frames; runnel streams it for any length. The weights are the averages of the last checkpoint
in WORK_FOLDER, or, without one, weights.npz beside MODEL.toml, which the fourth argument writes."""
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch

import program
from collect import Model
from conformer import Conformer
from train import weights_of

FRAMES = 200


def network(model, checkpoint):
    net = Conformer(model.settings['bins'], len(model.tokens), **model.settings['model'])
    if checkpoint.exists():
        saved = torch.load(checkpoint)
        net.load_state_dict(saved['average'])
        return net.eval(), saved['step']
    kept = model.folder / 'weights.npz'
    net.load_state_dict(weights_of(kept))
    return net.eval(), int(np.load(kept)['step'])


def main(config, work, out, weights=None):
    model = Model(config)
    net, step = network(model, Path(work) / 'checkpoint.pt')
    if weights:
        np.savez_compressed(weights, step=step, **{k: v.numpy() for k, v in net.state_dict().items()})
    clip = net.mean + net.deviation * torch.randn(1, FRAMES, model.settings['bins'], generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = net(clip)
        net.fold(FRAMES)
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            torch.onnx.export(net, clip, out, opset_version=13, input_names=['logmel'], output_names=['logits'])
    with tempfile.TemporaryDirectory() as folder:
        def run(*arguments):
            subprocess.run([program.path(), *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        np.save(f'{folder}/in.npy', clip.numpy())
        run('infer', out, '-i', f'logmel={folder}/in.npy', '-o', f'{folder}/out')
        found = np.load(f'{folder}/out/logits.npy')
    difference = np.abs(found.ravel() - expected.numpy().ravel()).max()
    if difference > 2e-3:
        raise SystemExit(f"{out}: expected PyTorch's output, found a difference of {difference}")
    print(f'{out}: step {step}, {sum(p.numel() for p in net.parameters())} parameters, largest difference to PyTorch {difference:.1e}')


if __name__ == '__main__':
    if len(sys.argv) not in (4, 5):
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
