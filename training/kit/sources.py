"""Where recordings come from. Each function gives utterances: recordings with source, speaker, text and part.

What each source is, where to find it and its licence: ../SOURCES.md. Folders of sources are given in sources.toml of a
model; a source whose folder is missing is an error, because a model without it would be another model."""
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

import audio

DIGITS = 'zero one two three four five six seven eight nine'.split()
NUMBERS = DIGITS + ('oh ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen '
                    'twenty thirty forty fifty sixty seventy eighty ninety').split()


@dataclass
class Utterance:
    source: str
    speaker: str
    text: str
    name: str
    samples: object = None


def need(folder):
    folder = Path(folder)
    if not folder.is_dir():
        raise SystemExit(f'{folder}: expected a folder of recordings, found nothing (see training/SOURCES.md)')
    return folder


def an4(folder):
    """Census recordings of Carnegie Mellon University: spelled words, numbers, a few commands. Letters become `letter_x`."""
    folder = need(folder)
    for part in ('train', 'test'):
        texts = {}
        for line in (folder / f'etc/an4_{part}.transcription').read_text(encoding='ascii').splitlines():
            match = re.match(r'(.*?)\s*\(([^)]+)\)\s*$', line)
            if not match:
                continue
            text, name = match.groups()
            words = re.sub(r'</?s>', '', text).lower().split()
            texts[name] = ' '.join(f'letter_{w}' if len(w) == 1 else w for w in words)
        for line in (folder / f'etc/an4_{part}.fileids').read_text(encoding='ascii').splitlines():
            path = folder / 'wav' / (line.strip() + '.sph')
            name = path.stem
            if name in texts and path.exists():
                yield Utterance('an4', path.parent.name, texts[name], name, audio.read(path))


def speech_commands(folder):
    """Folders of words, files SPEAKER_nohash_N.wav; in _unknown_ the word comes first in the name."""
    for path in sorted(need(folder).glob('*/*_nohash_*.wav')):
        word, name = path.parent.name, path.name.split('.')[0]
        if word == '_unknown_':
            word, name = name.split('_', 1)
        yield Utterance('speech_commands', name.split('_')[0], word, f'{word}_{name}', audio.read(path))


def background(folder):
    """Clips without speech: folder _silence_ of Speech Commands."""
    for path in sorted((need(folder) / '_silence_').glob('*.wav')):
        yield Utterance('background', path.stem, '', path.stem, audio.read(path))


def fsdd(folder):
    """Free Spoken Digit Dataset: DIGIT_SPEAKER_N.wav at 8 kHz."""
    for path in sorted(need(folder).glob('*.wav')):
        digit, speaker, _ = path.stem.split('_')
        yield Utterance('fsdd', speaker, DIGITS[int(digit)], path.stem, audio.read(path))


def asterisk_numbers(folder):
    """The prompts of numbers in the Asterisk core sounds (one speaker)."""
    names = dict(zip(map(str, range(20)), DIGITS + 'ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split()))
    names.update({'20': 'twenty', '30': 'thirty', '40': 'forty', '50': 'fifty', '60': 'sixty', '70': 'seventy', '80': 'eighty', '90': 'ninety'})
    for stem, word in names.items():
        path = need(folder) / f'digits/{stem}.wav'
        yield Utterance('asterisk', 'allison', word, stem, audio.trim(audio.read(path)))


def chosen(speaker, part, of):
    """A fixed choice of one speaker in `of`, by a checksum of the name."""
    return zlib.crc32(speaker.encode()) % of == part
