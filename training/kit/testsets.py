"""Recordings to measure on: speakers, voices and conditions that training never heard, as WAV files with their text.

usage: testsets.py MODEL.toml WORK_FOLDER

Each set is a folder WORK_FOLDER/sets/NAME with WAV files, text.tsv (FILE<tab>TEXT), and `language`: digits (any number of
digits), numbers (any words of numbers), or commands (the grammar of the model)."""
import sys
from pathlib import Path

import numpy as np

import audio
import augment
import sources
import voices
from collect import Draws, Model, load
from render import floats

DIGITS = set(sources.DIGITS) | {'oh'}
NUMBERS = set(sources.NUMBERS)
EDGE = 0.25  # seconds of faint noise before and after each recording


class Sets:
    def __init__(self, folder, seed):
        self.folder, self.random = folder, np.random.default_rng(seed)

    def write(self, name, language, recordings, noise=None, decibels=None):
        """recordings: (name, text, samples). With `noise`, a piece of it is added at so many decibels below the speech."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / 'text.tsv', 'w', encoding='utf-8') as lines:
            for stem, text, samples in recordings:
                quiet = np.zeros(int(EDGE * audio.RATE), np.float32)
                x = np.concatenate([quiet, samples, quiet])
                x = x + self.random.standard_normal(len(x)).astype(np.float32) * 2e-4
                if noise is not None:
                    x = augment.add_noise(x, noise.piece(len(x), self.random), decibels)
                    x = x / max(1.0, np.abs(x).max())
                audio.write(folder / f'{stem}.wav', x)
                lines.write(f'{stem}.wav\t{text}\n')
        (folder / 'language').write_text(language)
        print(f'{name}: {len(recordings)} recordings, {sum(len(t.split()) for _, t, _ in recordings)} words')
        return recordings

    def joined(self, words, count, random):
        """Strings of 3 to 7 of `words` (text, samples) with pauses of 20 to 150 ms between them."""
        out = []
        for n in range(count):
            picked = [words[int(random.integers(len(words)))] for _ in range(int(random.integers(3, 8)))]
            parts = []
            for _, samples in picked:
                parts += [audio.trim(samples, -35, 0.02), np.zeros(int(random.uniform(0.02, 0.15) * audio.RATE), np.float32)]
            out.append((f'{n:03}', ' '.join(t for t, _ in picked), np.concatenate(parts)))
        return out


def main(config, work):
    model, work = Model(config), Path(work)
    sets = Sets(work / 'sets', 77)
    test = load(work / 'test')
    an4 = [u for u in test if u.source == 'an4']
    rows = [(u.name, u.text, floats(u)) for u in an4]
    digits = sets.write('an4_digits', 'digits', [r for r in rows if set(r[1].split()) <= DIGITS])
    sets.write('an4_numbers', 'numbers', [r for r in rows if set(r[1].split()) <= NUMBERS])
    known = set(model.grammar.words())
    single = [(u.name, u.text, floats(u)) for u in test
              if u.source == 'speech_commands' and u.text in known or u.source == 'an4' and len(u.text.split()) == 1 and u.text in known - NUMBERS]
    words = sets.write('words', 'commands', single)
    for speaker in sorted({u.speaker for u in test if u.source == 'fsdd'}):
        mine = [(u.text, floats(u)) for u in test if u.source == 'fsdd' and u.speaker == speaker]
        sets.write(f'fsdd_{speaker}', 'digits', sets.joined(mine, 60, sets.random))
    prompts = [(u.text, floats(u)) for u in map(as_stored, sources.asterisk_numbers(model.source('asterisk')[0])) if u.text in DIGITS]
    sets.write('prompt_voice', 'digits', sets.joined(prompts, 60, sets.random))
    for voice, count in (('flite/awb', 100), ('festival/ked_diphone', 40)):
        phrases, draw = [], Draws(np.random.default_rng(5))
        for n in range(count):
            text = model.grammar.draw(draw, n % len(model.grammar.commands))
            phrases.append((f'{n:03}', text, voices.speak(voice, text, np.random.default_rng([5, n]))))
        sets.write('voice_' + voice.split('/')[1], 'commands', phrases)
    noises = augment.Noises(np.random.default_rng(9), [u for u in an4 if u.text not in known], load(work / 'background'))
    for decibels in (20, 10, 5):
        sets.write(f'an4_digits_{decibels}db', 'digits', digits, noises, decibels)
    sets.write('words_10db', 'commands', words[::2], noises, 10)


def as_stored(utterance):
    utterance.samples = audio.to_int16(utterance.samples)
    return utterance


if __name__ == '__main__':
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
