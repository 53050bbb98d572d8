"""pytorch.py [FOLDER]: from a network in PyTorch to a listening integer model, in one file (docs/tutorials/pytorch.md).

Three sounds are told apart: a whistle that rises, one that falls, and noise. The sounds are made here, so that nothing needs
to be fetched; take recordings of your own in their place.
"""

import os
import sys
import tempfile

import numpy as np
import torch
from torch import nn

import runnel

RATE = 16000
CLASSES = ["rising", "falling", "background"]
FOLDER = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
os.makedirs(FOLDER, exist_ok=True)


# 1. Sounds: float32 [samples] and the number of their class.
def whistle(random, rising):
    """0.4 s in which the pitch doubles, or halves."""
    time = np.arange(round(0.4 * RATE)) / RATE
    low = random.uniform(500, 900)
    pitch = low * 2 ** (time / 0.4 if rising else 1 - time / 0.4)
    fade = np.sin(np.pi * time / 0.4) ** 0.5
    return random.uniform(0.05, 0.4) * fade * np.sin(2 * np.pi * np.cumsum(pitch) / RATE)


def clip(random, kind):
    """One second: a whistle somewhere in noise, or noise alone."""
    sound = random.normal(0, random.uniform(0.001, 0.01), RATE)
    if kind < 2:
        call = whistle(random, kind == 0)
        at = random.integers(0, RATE - len(call))
        sound[at:at + len(call)] += call
        return sound.astype(np.float32), at + len(call)
    return sound.astype(np.float32), 0


random = np.random.default_rng(7)
kinds = np.arange(360) % 3
clips, ends = zip(*(clip(random, kind) for kind in kinds))

# 2. The front end: in training and on the device it is this one, with the same bits.
front_end = runnel.Fbank("kaldi", num_mel_bins=40, dither=0.0, low_freq=100.0, high_freq=7600.0)
frames = torch.from_numpy(np.stack([front_end(sound) for sound in clips]))      # [clips, 98, 40]
mean, scale = float(frames.mean()), float(frames.std())

# A frame belongs to its class from the end of the whistle on, for 0.2 s; before, and in noise, to the background.
targets = torch.full(frames.shape[:2], 2)
for i, (kind, end) in enumerate(zip(kinds, ends)):
    if kind < 2:
        first = int(end / RATE / 0.01) - 6
        targets[i, first:first + 20] = int(kind)


# 3. The network: causal convolutions over time, so that it can listen. It takes [1, 40, T] and gives [1, 3, T].
class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.normalize = nn.Conv1d(40, 40, 1, groups=40)                          # (x - mean) / scale, inside the model
        with torch.no_grad():
            self.normalize.weight.fill_(1 / scale)
            self.normalize.bias.fill_(-mean / scale)
        self.normalize.requires_grad_(False)
        self.layers = nn.ModuleList(nn.Conv1d(40 if i == 0 else 24, 24, 3, dilation=2 ** i) for i in range(4))
        self.last = nn.Conv1d(24, 3, 1)

    def forward(self, x):
        x = self.normalize(x)
        for i, layer in enumerate(self.layers):
            x = torch.relu(layer(nn.functional.pad(x, (2 * 2 ** i, 0))))          # earlier frames only
        return self.last(x)


torch.manual_seed(3)
torch.set_num_threads(1)
network = Network()
optimizer = torch.optim.Adam([p for p in network.parameters() if p.requires_grad], 3e-3)
inputs = frames.transpose(1, 2)
weights = torch.tensor([1.0, 1.0, 0.3])
for epoch in range(30):
    order = torch.randperm(len(inputs))
    for batch in order.split(40):
        loss = nn.functional.cross_entropy(network(inputs[batch]), targets[batch], weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"trained: loss {loss.item():.3f}")

# 4. To ONNX, and to integers: 64 clips are enough for the ranges.
network.eval()
torch.onnx.export(network, inputs[:1], f"{FOLDER}/whistle.onnx", input_names=["frames"], output_names=["logits"],
                  opset_version=13)
made = runnel.quantize(f"{FOLDER}/whistle.onnx", clips[:64], f"{FOLDER}/whistle.rnl", front_end=front_end.text,
                       layout="frames-first", classes=CLASSES, name="whistle",
                       decision="detect smoothing_frames=8 threshold=0.6 refractory_frames=30 ignore=background")
print(made)
for operator in sorted(made.operators, key=lambda each: -each.alone)[:3]:
    print(" ", operator)

# 5. The proof that the stream is the recording, bit for bit, on this machine.
model = made.load()
check = model.check()
print(check.details[-1])
assert check.passed

# 6. The integer model beside the network.
session = model.session(dequantize=True)
agree = total = 0
with torch.no_grad():
    for sound, features in zip(clips[:60], inputs[:60]):
        integer = session.whole(front_end(sound)).data.argmax(1)
        real = network(features[None])[0].argmax(0).numpy()
        agree += int((integer == real).sum())
        total += len(real)
print(f"frames with the same decision: {100 * agree / total:.1f} %")
assert agree / total > 0.97

# 7. Listening: five seconds with three whistles. `model.listen()` without an argument takes the microphone.
stream = random.normal(0, 0.003, 5 * RATE)
for start, rising in [(0.7, True), (2.1, False), (3.6, True)]:
    call = whistle(random, rising)
    stream[round(start * RATE):][:len(call)] += call
events = list(model.listen(stream.astype(np.float32), rate=RATE))
for event in events:
    print(f"{event.start:5.2f} s  {event.label}  {event.score:.2f}")
assert [event.label for event in events] == ["rising", "falling", "rising"]
