"""Reads the sources of a model once and keeps them as parts of a collection: train, validation, test_* and background.

usage: collect.py MODEL.toml WORK_FOLDER      ($RUNNEL_SPEECH: the folder with the sources)"""
import json
import os
import shutil
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import audio
import sources
import voices
from grammar import Grammar
from lexicon import Lexicon


class Model:
    """The configuration of a model and the files beside it."""

    def __init__(self, path):
        self.folder = Path(path).resolve().parent
        with open(path, 'rb') as f:
            self.settings = tomllib.load(f)
        words = self.settings['words']
        self.tokens = [line.split()[0] for line in (self.folder / words['tokens']).read_text(encoding='utf-8').splitlines()]
        self.grammar = Grammar(self.folder / words['grammar'])
        self.lexicon = Lexicon(self.folder / words['lexicon'])
        self.held_out = {}
        for line in (self.folder / words['held_out']).read_text(encoding='utf-8').splitlines():
            if line.strip() and not line.startswith('#'):
                source, speaker, use = line.split()
                self.held_out[source, speaker] = use

    def dictionary(self):
        """The lexicon, the words of a large dictionary, and letters (`letter_a`)."""
        book = Lexicon(self.settings['words']['dictionary'])
        letters = 'a:EY b:B.IY c:S.IY d:D.IY e:IY f:EH.F g:JH.IY h:EY.CH i:AY j:JH.EY k:K.EY l:EH.L m:EH.M n:EH.N o:OW p:P.IY q:K.Y.UW r:AA.R ' \
                  's:EH.S t:T.IY u:Y.UW v:V.IY w:D.AH.B.AH.L.Y.UW x:EH.K.S y:W.AY z:Z.IY'
        for entry in letters.split():
            letter, phones = entry.split(':')
            book.words['letter_' + letter] = [phones.split('.')]
        book.words['rubout'] = [['R', 'AH', 'B', 'AW', 'T']]
        book.words.update(self.lexicon.words)
        return book

    def source(self, name):
        found = self.settings['sources'][name]
        root = Path(os.environ.get('RUNNEL_SPEECH', '.'))
        return [root / f for f in ([found] if isinstance(found, str) else found)]

    def use(self, utterance):
        return self.held_out.get((utterance.source, utterance.speaker), 'train')


def save(path, utterances):
    """All samples as int16 one behind the other in PATH.npy, and an index of lines in PATH.jsonl."""
    start = 0
    with open(f'{path}.jsonl', 'w', encoding='utf-8') as index:
        for u in utterances:
            index.write(json.dumps({'source': u.source, 'speaker': u.speaker, 'text': u.text, 'name': u.name, 'start': start, 'samples': len(u.samples)}) + '\n')
            start += len(u.samples)
    np.save(f'{path}.npy', np.concatenate([audio.to_int16(u.samples) for u in utterances] or [np.zeros(0, '<i2')]))


def load(path):
    samples = np.load(f'{path}.npy', mmap_mode='r')
    out = []
    for line in Path(f'{path}.jsonl').read_text(encoding='utf-8').splitlines():
        row = json.loads(line)
        out.append(sources.Utterance(row['source'], row['speaker'], row['text'], row['name'], samples[row['start']:row['start'] + row['samples']]))
    return out


class Draws:
    """What Grammar.draw asks of Python's random, by numpy's Generator."""

    def __init__(self, generator):
        self.random = generator.random
        self.generator = generator

    def randint(self, low, high):
        return int(self.generator.integers(low, high + 1))

    def choice(self, options):
        return options[int(self.generator.integers(len(options)))]


def synthetic(model):
    """The phrases to be spoken for training: (voice, text). Voices that are held out are left out.

    A part of the phrases is of the grammar, a part numbers in any order, and a part other words, by which the phones are heard between
    other neighbours than those of the grammar: of words.txt, or any that the dictionary knows and speaks in one way only."""
    settings, random = model.settings['synthetic'], np.random.default_rng(model.settings['seed'])
    others = (Path(__file__).parent / 'words.txt').read_text(encoding='utf-8').split()
    any_words = sorted(w for w, said in model.dictionary().words.items() if w.isalpha() and 3 <= len(w) <= 9 and len(said) == 1)
    names = [v for v in voices.voices() if (v.split('/')[0], v.split('/')[1]) not in model.held_out]
    programs = sorted(settings['programs'])
    shares = np.array([settings['programs'][p] for p in programs], float)

    def some(words, least, most):
        return ' '.join(words[int(random.integers(len(words)))] for _ in range(int(random.integers(least, most + 1))))
    out = []
    for _ in range(settings['phrases']):
        program = programs[int(random.choice(len(programs), p=shares / shares.sum()))]
        mine = [v for v in names if v.startswith(program + '/')]
        voice, kind = mine[int(random.integers(len(mine)))], random.random()
        if kind < settings['numbers']:
            text = some(sources.NUMBERS, 1, 7)
        elif kind < settings['numbers'] + settings['other_words']:
            text = some(others if random.random() < 0.5 else any_words, 1, 5)
        else:
            text = model.grammar.draw(Draws(random), int(random.integers(len(model.grammar.commands))))
        out.append((voice, text))
    return out


def speak_all(phrases, seed, book, workers=1):
    for program in sorted({voice.split('/')[0] for voice, _ in phrases}):
        if not shutil.which(voices.PROGRAMS[program]):
            raise SystemExit(f'{voices.PROGRAMS[program]}: expected this synthesizer of {program}, found none (see training/SOURCES.md)')

    def one(job):
        number, (voice, text) = job
        samples = voices.speak(voice, text, np.random.default_rng([seed, number]), book)
        source, speaker = voice.split('/')
        return sources.Utterance(source, speaker, text, f'{source}-{number}', samples)
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, enumerate(phrases)))


def main(config, work):
    model, work = Model(config), Path(work)
    work.mkdir(parents=True, exist_ok=True)
    if not (work / 'background.npy').exists():  # written last of the recorded parts
        recordings(model, work)
    if not (work / 'synthetic.npy').exists():
        save(work / 'synthetic', speak_all(synthetic(model), model.settings['seed'], model.dictionary()))


def recordings(model, work):
    """The recorded sources, cut into parts by the list of speakers that are held out."""
    dictionary = model.dictionary()
    recorded = []
    for name in ('an4', 'speech_commands', 'fsdd'):
        for folder in model.source(name):
            recorded += list(getattr(sources, name)(folder))
    unknown = {w for u in recorded for w in u.text.split() if w not in dictionary}
    print('words without pronunciation, whose recordings are left out:', *sorted(unknown), file=sys.stderr)
    recorded = [u for u in recorded if not unknown & set(u.text.split())]
    for use in ('train', 'validation', 'test'):
        part = [u for u in recorded if model.use(u) == use]
        save(work / use, part)
        for source in sorted({u.source for u in part}):
            mine = [u for u in part if u.source == source]
            print(f'{use}: {source}: {len(mine)} recordings of {len({u.speaker for u in mine})} speakers, '
                  f'{sum(len(u.samples) for u in mine) / audio.RATE / 60:.1f} minutes', file=sys.stderr)
    save(work / 'background', list(sources.background(model.source('background')[0])))


if __name__ == '__main__':
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
