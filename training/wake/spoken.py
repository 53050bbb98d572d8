"""What is said, by part (train, validation, test): the phrase, what is near it and other speech, by synthesizers and by people.

Synthesizers say the phrase; people say it where the recordings have all of its words, each alone, and the words are joined. Sources that are not
there are left out, with a line on standard error."""
import os
import pickle
import shutil
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent / 'kit'), str(HERE.parent / 'vad')]  # last: this folder has a train.py and a model.py, too

import audio
import british
import sources
import voices
from lexicon import Lexicon
from phrases import Phrase

CHUNK = 200
PHRASE, NEAR, OTHER, WORD, SPEECH = 'phrase', 'near', 'other', 'word', 'speech'
ENGINES = {'espeak': 'espeak-ng', 'flite': 'flite', 'festival': 'text2wave', 'pico': 'pico2wave', 'rhvoice': 'RHVoice-test'}
OF_VALIDATION, OF_TEST = 0.15, 60  # of the counts of training; and phrases of each voice of the test, 2 for each of espeak's


@dataclass
class Said:
    """One recording at 16 kHz: the phrase, something near it, another sentence, a single word or speech of people."""
    source: str
    speaker: str
    kind: str
    text: str
    samples: np.ndarray


class Model:
    def __init__(self, path=HERE / 'wake.toml', phrase=None):
        with open(path, 'rb') as f:
            self.settings = tomllib.load(f)
        self.folder = Path(path).resolve().parent
        self.held_out = {}
        for line in (self.folder / self.settings['held_out']).read_text(encoding='utf-8').splitlines():
            if line.strip() and not line.startswith('#'):
                source, speaker, use = line.split()
                self.held_out[source, speaker] = use
        self.text = phrase or self.settings['phrase']

    @cached_property
    def phrase(self):
        return Phrase(self.text, Lexicon(self.settings['dictionary']))

    def use(self, source, speaker):
        if source == 'espeak':
            speaker = speaker.split('+')[-1]
        return self.held_out.get((source, speaker), 'train')


def missing(what, where):
    print(f'without {what}: {where} is not there', file=sys.stderr, flush=True)


def kept(path, make):
    """What `make` gives, or what an earlier call has kept in the file."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(f'{path}.part', 'wb') as f:
            pickle.dump(list(make()), f)
        os.replace(f'{path}.part', path)
    with open(path, 'rb') as f:
        return pickle.load(f)


def jobs(model, part, random):
    """(voice, kind, text) of all that synthesizers say for a part."""
    phrase, out = model.phrase, []
    for engine, counts in model.settings['spoken'].items():
        if not shutil.which(ENGINES[engine]):
            missing(engine, ENGINES[engine])
            continue
        mine = [v for v in voices.voices() if v.startswith(engine + '/') and model.use(*v.split('/')) == part]
        known = all(w in phrase.book for w in phrase.words)
        plain = [v for v in mine if v.split('/')[1] not in british.FOLDERS]
        if not known or not british_there():
            mine = plain
        if not mine:
            continue
        share = 1.0 if part == 'train' else OF_VALIDATION
        for kind in (PHRASE, NEAR, OTHER):
            count = round(counts[kind] * share)
            if part == 'test':
                count = {PHRASE: 1, NEAR: 0.5, OTHER: 0.4}[kind] * (OF_TEST if engine != 'espeak' else 2) * len(mine) * model.settings.get('of_test', 1.0)
            for _ in range(int(count)):
                some = mine if kind == PHRASE else plain  # the British voices know the words of the lexicon alone
                text = phrase.text if kind == PHRASE else phrase.near(random) if kind == NEAR else phrase.sentence(random)
                out.append((some[int(random.integers(len(some)))], kind, text))
    return out


def british_there():
    return all((Path(os.environ.get('RUNNEL_FESTVOX', '/usr/share/festival/voices/english')) / name).is_dir() for name in british.FOLDERS)


def synthetic(model, part, work):
    """All that synthesizers say for a part, in files of CHUNK each, so that a call that was cut off goes on."""
    number = ('train', 'validation', 'test').index(part)
    all_jobs = jobs(model, part, np.random.default_rng([model.settings['seed'], number, 77]))

    def one(job):
        at, (voice, kind, text) = job
        x = voices.speak(voice, text, np.random.default_rng([model.settings['seed'], number, at]), model.phrase.book)
        return Said(*voice.split('/'), kind, text, np.asarray(x, np.float32))
    out = []
    for first in range(0, len(all_jobs), CHUNK):
        def speak(first=first):
            with ThreadPoolExecutor(2) as pool:
                return list(pool.map(one, enumerate(all_jobs[first:first + CHUNK], first)))
        path = work / 'synthetic' / f'{part}_{first:05}.pickle'
        done = kept(path, speak)
        if [(f'{u.source}/{u.speaker}', u.kind, u.text) for u in done] != all_jobs[first:first + CHUNK]:  # of another configuration
            path.unlink()
            done = kept(path, speak)
        out += done
    return out


def there(model, key, names=None):
    """The folders of a source that are there; `names`: other folders than those of the configuration."""
    root = Path(os.environ.get('RUNNEL_SPEECH', '.'))
    found = names or model.settings.get('speech', {}).get(key, [])
    for name in [found] if isinstance(found, str) else found:
        if (root / name).is_dir():
            yield root / name
        else:
            missing(key, root / name)


def recorded(model, part):
    """Recordings of people; the words of the phrase have kind WORD as all single words."""
    for folder in there(model, 'speech_commands'):
        for u in sources.speech_commands(folder):
            if u.speaker != '_silence_' and model.use('speech_commands', u.speaker) == part:
                yield Said('speech_commands', u.speaker, WORD, u.text, audio.trim(np.asarray(u.samples, np.float32), -35, 0.03))
    for folder in there(model, 'fsdd'):
        for u in sources.fsdd(folder):
            if model.use('fsdd', u.speaker) == part:
                yield Said('fsdd', u.speaker, WORD, u.text, audio.trim(np.asarray(u.samples, np.float32), -38, 0.02))
    for folder in there(model, 'an4'):
        for u in sources.an4(folder):
            if model.use('an4', u.speaker) == part and not model.phrase.within(u.text):
                yield Said('an4', u.speaker, SPEECH, u.text, np.asarray(u.samples, np.float32))
    for folder in there(model, 'prompts'):
        if model.use('prompts', folder.name) != part:
            continue
        for path in sorted(folder.rglob('*.wav')):
            if 'silence' not in path.parts and 'tone' not in path.stem and 'beep' not in path.stem:
                x = audio.read(path)
                if len(x) > 0.3 * audio.RATE:
                    yield Said('prompts', folder.name, SPEECH, path.stem, audio.trim(x, -40, 0.05))


def is_phrase(model, u):
    """Whether a single word of people is the phrase itself, which has one word then: it is neither something else nor a false alarm."""
    return u.kind == WORD and model.phrase.within(u.text)


def joined(model, said, random, count):
    """The phrase in recorded words, with 0 to 0.15 s between them: where one speaker says them all, that speaker alone in half of the cases."""
    by_word = [[u for u in said if u.kind == WORD and u.text == w] for w in model.phrase.words]
    if not all(by_word):
        return
    everybody = set.intersection(*({(u.source, u.speaker) for u in some} for some in by_word))
    for _ in range(count):
        if everybody and random.random() < 0.5:
            who = sorted(everybody)[int(random.integers(len(everybody)))]
            chosen = [[u for u in some if (u.source, u.speaker) == who] for some in by_word]
        else:
            source = [sorted({u.source for u in some}) for some in by_word]
            chosen = [[u for u in some if u.source == names[int(random.integers(len(names)))]] for some, names in zip(by_word, source)]
        parts = [c[int(random.integers(len(c)))] for c in chosen]
        sound = []
        for u in parts:
            x = audio.trim(u.samples, -32, 0.02)
            sound += [x / (np.abs(x).max() + 1e-6) * 10 ** (random.uniform(-4, 0) / 20), np.zeros(int(random.uniform(0, 0.15) * audio.RATE))]
        names = '+'.join(dict.fromkeys(f'{u.source}/{u.speaker}' for u in parts))
        yield Said('people', names, PHRASE, model.phrase.text, np.concatenate(sound[:-1]).astype(np.float32))


def of(model, part, work):
    return synthetic(model, part, work) + kept(work / f'recorded_{part}.pickle', lambda: recorded(model, part))
