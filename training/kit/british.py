"""Festival's British diphone voices rab and don, with the CMU dictionary instead of the one that they ask for, which is not for commercial use.

The voices' own files are free: Debian's festvox-rablpc16k and festvox-don, unpacked below $RUNNEL_FESTVOX (training/SOURCES.md)."""
import os
from pathlib import Path

VOWELS = {'AA': 'o', 'AE': 'a', 'AH': 'uh', 'AO': 'oo', 'AW': 'au', 'AY': 'ai', 'EH': 'e', 'ER': '@@', 'EY': 'ei', 'IH': 'i', 'IY': 'ii',
          'OW': 'ou', 'OY': 'oi', 'UH': 'u', 'UW': 'uu'}
BEFORE_R = {'AA': 'aa', 'AO': 'oo', 'EH': 'e@', 'IH': 'i@', 'IY': 'i@', 'UH': 'u@'}
CONSONANTS = {p: p.lower() for p in 'B CH D DH F G JH K L M N NG P R S SH T TH V W Y Z ZH'.split()} | {'HH': 'h'}
FOLDERS = {'rab_diphone': 'rab_diphone_dir', 'don_diphone': 'donovan_diphone_dir'}  # the variables that say where the voices are


def syllables(phones):
    """The phones of a word in the British phone set, as syllables: no r before consonants, and a schwa where it is not stressed, which
    the dictionary without stress takes for the first syllable."""
    out, onset = [], []
    for i, phone in enumerate(phones):
        after = phones[i + 1] if i + 1 < len(phones) else ''
        if phone in VOWELS:
            vowel = BEFORE_R.get(phone, VOWELS[phone]) if after == 'R' else VOWELS[phone]
            if out and phone in ('AH', 'ER'):
                vowel = '@'
            if out and len(onset) > 1:  # all but the last, or a stop and a liquid, belong to the syllable before
                keep = 2 if onset[-1] in 'lrwy' and onset[-2] in 'pbtdkgf' else 1
                out[-1] += onset[:-keep]
                onset = onset[-keep:]
            out.append(onset + [vowel])
            onset = ['r'] if phone == 'ER' and after in VOWELS else []
        elif phone != 'R' or after in VOWELS or not i:
            onset.append(CONSONANTS[phone])
    if out:
        out[-1] += onset
    return out or [onset]


def script(name, book, jobs):
    """A program for `festival -b` that speaks jobs: (file, text, stretch, pitch in Hz); `book`: the pronunciations (lexicon.Lexicon)."""
    folder = Path(os.environ.get('RUNNEL_FESTVOX', '/usr/share/festival/voices/english')) / name
    lines = ["(require 'mrpa_phones)", '(lex.create "oald")', '(lex.set.phoneset "mrpa")', '(lex.select "oald")']
    for word in sorted({w for _, text, _, _ in jobs for w in text.split()}):
        spoken = ' '.join(f"(({' '.join(s)}) {int(not i)})" for i, s in enumerate(syllables(book.words[word][0])))
        lines.append(f"(lex.add.entry '(\"{word}\" nil ({spoken})))")
    lines += ['(define (setup_oald_lex) t)', f'(set! {FOLDERS[name]} "{folder}/")', f'(load "{folder}/festvox/{name}.scm")', f'(voice_{name})']
    for path, text, stretch, pitch in jobs:
        lines += [f"(Parameter.set 'Duration_Stretch {stretch:.2f})",
                  f"(set! int_lr_params '((target_f0_mean {pitch:.0f}) (target_f0_std 14) (model_f0_mean 170) (model_f0_std 34)))",
                  f'(utt.save.wave (utt.synth (Utterance Text "{text}")) "{path}" \'riff)']
    return '\n'.join(lines) + '\n'
