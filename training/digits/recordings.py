"""The recordings of the model: single digits, other words and other speech, as parts train, validation and test.

usage: recordings.py WORK_FOLDER        ($RUNNEL_SPEECH: the folder with the sources)

Writes WORK_FOLDER/PART.pickle for each part. Words are cut out of AN4's connected speech where the recogniser `commands` heard them."""
import os
import pickle
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent / 'kit'), str(HERE.parent / 'vad')]  # last: this folder has a train.py and a model.py, too

import audio
import sources
import voices

DIGITS = sources.DIGITS
# What holds a digit, or sounds like one: neither a digit nor an example of something else.
UNCLEAR = set(sources.NUMBERS) - set(DIGITS) | {'to', 'too', 'for', 'won', 'ate', 'fore', 'tree', 'sex', 'sicks', 'nein', 'letter_o', 'letter_i', 'letter_a'}
WORDS = ('water people because little before right money together between thing number great where through line after below country plant last never start '
         'city earth light thought head under story saw left late while press close night real life few north open seem next white children begin got walk '
         'example ease paper group always music those both mark often letter until mile river car feet care second enough plain girl usual young ready '
         'above ever red list though feel talk bird soon body dog family direct leave song measure door product black short class wind question happen '
         'ship area half rock order fire south problem piece told knew pass since top whole king space heard best hour better during hundred remember '
         'step early hold west ground interest reach fast listen table travel less morning simple several toward war against pattern slow center love '
         'person serve appear road map rain rule govern pull cold notice voice energy hunt probable bed brother egg ride cell believe perhaps pick sudden '
         'sight sit wait weight fix mix fun find fight fly file live hive heaven seventh sevens ninth nice mine line sign night sun run wander '
         'hero sierra zebra furor floor door pour war fourth thread free tea true blue do who you new sick sink success next gate hate state height').split()


@dataclass
class Spoken:
    """One recording at 16 kHz; label: 0 to 9, 11 for a word that is none, -1 for longer speech."""
    source: str
    speaker: str
    label: int
    samples: np.ndarray


class Model:
    def __init__(self, path=HERE / 'digits.toml'):
        with open(path, 'rb') as f:
            self.settings = tomllib.load(f)
        self.held_out = {}
        for line in (HERE / self.settings['held_out']).read_text(encoding='utf-8').splitlines():
            if line.strip() and not line.startswith('#'):
                source, speaker, use = line.split()
                self.held_out[source, speaker] = use

    def use(self, source, speaker):
        return self.held_out.get((source, speaker), 'train')


def root():
    return Path(os.environ.get('RUNNEL_SPEECH', '.'))


def label_of(text):
    """0 to 9, 11 for another word, None for what is unclear."""
    return DIGITS.index(text) if text in DIGITS else None if text in UNCLEAR else 11


# How much earlier than the recogniser's network says a word begins and ends, in seconds: with these an earlier digits model, which never
# heard AN4, knows most of the digits cut out for training.
BEGINS, ENDS = 0.28, 0.14


def words_of(model, utterances):
    """(utterance, word, samples) of connected speech, by forced alignment with the network of the recogniser."""
    import torch

    import align
    import features
    from collect import Model as Commands
    from conformer import Conformer
    recogniser = Commands(HERE / model.settings['aligner'])
    net = Conformer(recogniser.settings['bins'], len(recogniser.tokens), **recogniser.settings['model']).eval()
    net.load_state_dict({k: torch.from_numpy(v) for k, v in np.load(recogniser.folder / 'weights.npz').items() if k != 'step'})
    dictionary, number = recogniser.dictionary(), {t: i for i, t in enumerate(recogniser.tokens)}
    values = features.of_many(recogniser.settings['front_end'], [u.samples for u in utterances])
    for u, v in zip(utterances, values):
        if any(w not in dictionary for w in u.text.split()):
            continue
        with torch.no_grad():
            scores = net(torch.from_numpy(v)[None]).log_softmax(-1)[0].numpy()
        try:
            spans = align.words(scores, u.text, dictionary, number)
        except ValueError:
            continue
        for i, (word, start, end) in enumerate(spans):
            first, last = start - BEGINS, end - ENDS
            if i == 0 or start - spans[i - 1][2] > 0.25:  # a pause: room for what the alignment left out
                first -= 0.1
            if i + 1 == len(spans) or spans[i + 1][1] - end > 0.25:
                last += 0.15
            x = u.samples[max(0, int(first * audio.RATE)):int(last * audio.RATE)]
            if len(x) > 0.1 * audio.RATE:
                yield u, word, faded(audio.trim(x, -32, 0.02))


def faded(x, seconds=0.01):
    n = min(int(seconds * audio.RATE), len(x) // 4)
    x = np.array(x, np.float32)
    x[:n] *= np.linspace(0, 1, n)
    x[len(x) - n:] *= np.linspace(1, 0, n)
    return x


def recorded(model, part):
    """Recordings of people."""
    speech = model.settings['speech']
    for u in sources.fsdd(root() / speech['fsdd']):
        number = int(u.name.split('_')[2])
        if part == ('test' if number < 5 else 'validation' if number < 7 else 'train'):
            yield Spoken('fsdd', u.speaker, label_of(u.text), audio.trim(u.samples, -38, 0.02))
    for folder in speech['speech_commands']:
        for u in sources.speech_commands(root() / folder):
            if u.speaker != '_silence_' and model.use('speech_commands', u.speaker) == part and label_of(u.text) is not None:
                x = u.samples if part == 'test' else audio.trim(u.samples, -35, 0.03)
                yield Spoken('speech_commands', u.speaker, label_of(u.text), np.asarray(x, np.float32))
    spoken = [u for u in sources.an4(root() / speech['an4']) if model.use('an4', u.speaker) == part]
    for u, word, x in words_of(model, spoken):
        if label_of(word) is not None:
            yield Spoken('an4', u.speaker, label_of(word), x)
    for u in spoken:
        if not set(u.text.split()) & (set(DIGITS) | UNCLEAR - {'letter_o', 'letter_i', 'letter_a'}):
            yield Spoken('an4', u.speaker, -1, np.asarray(u.samples, np.float32))
    if part == 'train':
        for u in sources.asterisk_numbers(speech['demonstration']):
            if u.text in DIGITS:
                yield Spoken('asterisk', 'allison', label_of(u.text), u.samples)
    for folder in speech['prompts'].get(part, []):
        for path in sorted(sources.need(root() / folder).rglob('*.wav')):
            if not {'silence', 'digits'} & set(path.parts) and 'tone' not in path.stem and 'beep' not in path.stem:
                x = audio.read(path)
                if len(x) > 0.4 * audio.RATE:
                    yield Spoken('prompts', Path(folder).name, -1, audio.trim(x, -40, 0.05))


def synthetic(model, part):
    """What synthesizers say: digits, words that are none, and sentences of such words."""
    from collect import Model as Commands
    book = Commands(HERE / model.settings['aligner']).dictionary()
    random, jobs = np.random.default_rng([model.settings['seed'], 77]), []
    if part == 'test':
        for voice in ('flite/awb', 'festival/ked_diphone'):
            jobs += [(voice, d, DIGITS[d]) for d in range(10) for _ in range(3)]
    for program, counts in sorted(model.settings['synthetic'].items()) if part == 'train' else ():
        mine = [v for v in voices.voices() if v.startswith(program + '/') and model.use(*v.split('/')) == 'train']
        plain = [v for v in mine if 'rab_' not in v and 'don_' not in v]  # these two know the words of the lexicon only
        for d in range(10):
            jobs += [(mine[int(random.integers(len(mine)))], d, DIGITS[d]) for _ in range(counts['digit'])]
        for _ in range(counts['words']):
            jobs.append((plain[int(random.integers(len(plain)))], 11, WORDS[int(random.integers(len(WORDS)))]))
        for _ in range(counts['sentences']):
            text = ' '.join(WORDS[int(random.integers(len(WORDS)))] for _ in range(7))
            jobs.append((plain[int(random.integers(len(plain)))], -1, text))

    def one(job):
        number, (voice, label, text) = job
        x = voices.speak(voice, text, np.random.default_rng([model.settings['seed'], part == 'test', number]), book)
        return Spoken(*voice.split('/'), label, np.asarray(x, np.float32))
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(one, enumerate(jobs))


def kept(path, make):
    """What `make` gives, or what an earlier call has kept in the file."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(f'{path}.part', 'wb') as f:
            pickle.dump(list(make()), f)
        os.replace(f'{path}.part', path)
    with open(path, 'rb') as f:
        return pickle.load(f)


def of(model, part, work):
    return kept(work / f'recorded_{part}.pickle', lambda: recorded(model, part)) + kept(work / f'synthetic_{part}.pickle', lambda: synthetic(model, part))


def main(work):
    model = Model()
    for part in ('train', 'validation', 'test'):
        found = {}
        for u in of(model, part, Path(work)):
            row = found.setdefault(u.source, {})
            kind = 'digits' if 0 <= u.label < 10 else 'words' if u.label == 11 else 'speech'
            row.setdefault('speakers', set()).add(u.speaker)
            row[kind] = row.get(kind, 0) + 1
            row['minutes'] = row.get('minutes', 0) + len(u.samples) / audio.RATE / 60
        for source, row in sorted(found.items()):
            print(part, source, {k: len(v) if k == 'speakers' else round(v, 1) for k, v in row.items()}, flush=True)


if __name__ == '__main__':
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    import recordings  # so that what is kept names the classes of this module, not of __main__
    recordings.main(sys.argv[1])
