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
LONGEST = 0.75  # seconds, of a single word
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


def tight(x, random):
    """A single word without what is before and after it: its ends are drawn 24 to 32 dB below its loudest 10 ms, and nearer to it where what is left
    is then longer than a word, because the recording is noisy."""
    if len(x) < 1600:
        return x
    total = np.concatenate([[0.0], np.cumsum(x.astype(np.float64) ** 2)])
    power = np.sqrt(np.maximum(total[160:] - total[:-160], 0))
    for decibels in np.arange(-random.uniform(24, 32), -11.9, 3):
        loud = np.flatnonzero(power > power.max() * 10 ** (decibels / 20))
        first, last = max(0, loud[0] - 240), loud[-1] + 400
        if last - first <= LONGEST * audio.RATE:
            break
    return x[first:last]


def beside(parts, random):
    """Words behind each other with 0 to 0.12 s between them."""
    sound = []
    for u in parts:
        x = tight(u.samples, random)
        sound += [x / (np.abs(x).max() + 1e-6) * 10 ** (random.uniform(-4, 0) / 20), np.zeros(int(random.uniform(0, 0.12) * audio.RATE))]
    return np.concatenate(sound[:-1]).astype(np.float32)


class Words:
    """Recorded single words: by speaker, by word and source."""

    def __init__(self, said):
        self.by_speaker, self.by_word = {}, {}
        for u in said:
            if u.kind == WORD:
                self.by_speaker.setdefault((u.source, u.speaker), {}).setdefault(u.text, []).append(u)
                self.by_word.setdefault(u.text, {}).setdefault(u.source, []).append(u)
        self.texts = sorted(self.by_word)

    def pick(self, text, random, who=None):
        """A recording of a word: of speaker `who` if that one says it, else of anybody, sources equally often."""
        mine = self.by_speaker.get(who, {}).get(text)
        if not mine:
            of_word = self.by_word[text]
            names = sorted(of_word)
            mine = of_word[names[int(random.integers(len(names)))]]
        return mine[int(random.integers(len(mine)))]


def of_people(kind, text, parts, random):
    names = '+'.join(dict.fromkeys(f'{u.source}/{u.speaker}' for u in parts))
    return Said('people', names, kind, text, beside(parts, random))


def joined(model, said, random, count):
    """The phrase in recorded words: where one speaker says them all, that speaker alone in three of four cases."""
    words, phrase = Words(said), model.phrase.words
    if not all(w in words.by_word for w in phrase):
        return
    everybody = sorted(who for who, of in words.by_speaker.items() if all(w in of for w in phrase))
    for _ in range(count):
        who = everybody[int(random.integers(len(everybody)))] if everybody and random.random() < 0.75 else None
        yield of_people(PHRASE, model.phrase.text, [words.pick(w, random, who) for w in phrase], random)


def nearly_joined(model, said, random, count):
    """What is not the phrase, in recorded words that are joined as those of the phrase are: in another order, one of them left out, doubled or another
    word; so that nothing is learned from the joints."""
    words, phrase = Words(said), model.phrase.words
    if not all(w in words.by_word for w in phrase):
        return
    speakers = sorted(words.by_speaker)
    for _ in range(count):
        kind, texts, at = random.random(), list(phrase), int(random.integers(len(phrase)))
        other = words.texts[int(random.integers(len(words.texts)))]
        if kind < 0.2:
            texts = [texts[i] for i in random.permutation(len(texts))]
        elif kind < 0.4 and len(texts) > 1:
            del texts[at]
        elif kind < 0.75:
            texts[at] = other
        elif kind < 0.85:
            texts[at:at + 1] = [texts[at]] * 2 if random.random() < 0.5 else [texts[at], other]
        else:
            texts = [words.texts[int(random.integers(len(words.texts)))] for _ in texts]
        if model.phrase.within(' '.join(texts)):
            continue
        who = speakers[int(random.integers(len(speakers)))] if random.random() < 0.75 else None
        yield of_people(NEAR, ' '.join(texts), [words.pick(w, random, who) for w in texts], random)


def of(model, part, work):
    return synthetic(model, part, work) + kept(work / f'recorded_{part}.pickle', lambda: recorded(model, part))
