"""Synthetic speech by espeak-ng, flite, festival, SVOX Pico and RHVoice. Each call speaks a text with a drawn rate and pitch."""
import tempfile
from pathlib import Path

import audio
import british

PROGRAMS = {'espeak': 'espeak-ng', 'flite': 'flite', 'festival': 'text2wave', 'pico': 'pico2wave', 'rhvoice': 'RHVoice-test'}
ACCENTS = ('en-us', 'en-gb', 'en-gb-scotland', 'en-gb-x-rp', 'en-029', 'en-gb-x-gbclan', 'en-gb-x-gbcwmd')
VARIANTS = ('m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8', 'f1', 'f2', 'f3', 'f4', 'f5', 'klatt2', 'klatt4', 'steph', 'Andrea', 'Alex',
            'Michael', 'adam', 'linda', 'belinda', 'quincy', 'Lee')
FLITE = ('kal16', 'rms', 'slt', 'awb')
FESTIVAL = ('kal_diphone', 'cmu_us_slt_arctic_hts', 'ked_diphone', 'rab_diphone', 'don_diphone')
PICO = ('en-US', 'en-GB')
RHVOICE = ('bdl', 'clb', 'slt')  # not its other English voices: "alan" seems to be the speaker of flite's awb, the others are not for commercial use


def voices():
    """All voices by name: `espeak/ACCENT+VARIANT`, `PROGRAM/NAME` of the others."""
    out = [f'espeak/{a}+{v}' for a in ACCENTS for v in VARIANTS]
    return out + [f'{p}/{v}' for p, names in (('flite', FLITE), ('festival', FESTIVAL), ('pico', PICO), ('rhvoice', RHVOICE)) for v in names]


def speak(voice, text, random, book=None):
    """Samples of `text`; `random` (numpy's Generator) draws rate and pitch. `book`: the pronunciations (lexicon.Lexicon), which festival's
    British voices need."""
    program, name = voice.split('/')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'a.wav'
        if program == 'espeak':
            command = ['espeak-ng', '-v', name, '-s', str(random.integers(120, 210)), '-p', str(random.integers(20, 80)), '-w', str(path), text]
        elif program == 'flite':
            low, high = (140, 230) if name == 'slt' else (85, 150)
            command = ['flite', '-voice', name, '--setf', f'duration_stretch={random.uniform(.8, 1.3):.2f}', '--setf',
                       f'int_f0_target_mean={random.uniform(low, high):.0f}', '-t', text, '-o', str(path)]
        elif program == 'pico':
            marked = f'<speed level="{random.integers(75, 135)}"><pitch level="{random.integers(75, 140)}">{text}</pitch></speed>'
            command = ['pico2wave', '-l', name, '-w', str(path), marked]
        elif program == 'rhvoice':
            (Path(folder) / 'text').write_text(text)
            command = ['RHVoice-test', '-p', name, '-r', str(random.integers(75, 140)), '-t', str(random.integers(75, 130)),
                       '-i', str(Path(folder) / 'text'), '-o', str(path)]
        elif name in british.FOLDERS:
            (Path(folder) / 'text').write_text(british.script(name, book, [(str(path), text, random.uniform(.8, 1.3), random.uniform(80, 160))]))
            command = ['festival', '-b', str(Path(folder) / 'text')]
        else:
            (Path(folder) / 'text').write_text(text)
            stretch = f"(Parameter.set 'Duration_Stretch {random.uniform(.8, 1.3):.2f})"
            if name == 'kal_diphone':  # the voice of the test keeps the pitch with which the test was made
                stretch += f"(set! int_lr_params '((target_f0_mean {random.uniform(80, 160):.0f}) (target_f0_std 14) (model_f0_mean 170) (model_f0_std 34)))"
            command = ['text2wave', '-o', str(path), '-eval', f'(voice_{name})', '-eval', f'(begin {stretch})', str(Path(folder) / 'text')]
        return audio.run_voice(command, path)
