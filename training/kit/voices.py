"""Synthetic speech by espeak-ng, flite and festival. Each call speaks a text with a drawn rate and pitch."""
import tempfile
from pathlib import Path

import audio

ACCENTS = ('en-us', 'en-gb', 'en-gb-scotland', 'en-gb-x-rp', 'en-029', 'en-gb-x-gbclan', 'en-gb-x-gbcwmd')
VARIANTS = ('m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8', 'f1', 'f2', 'f3', 'f4', 'f5', 'klatt2', 'klatt4', 'steph', 'Andrea', 'Alex',
            'Michael', 'adam', 'linda', 'belinda', 'quincy', 'Lee')
FLITE = ('kal16', 'rms', 'slt', 'awb')
FESTIVAL = ('kal_diphone', 'cmu_us_slt_arctic_hts', 'ked_diphone')


def voices():
    """All voices by name: `espeak/ACCENT+VARIANT`, `flite/NAME`, `festival/NAME`."""
    return [f'espeak/{a}+{v}' for a in ACCENTS for v in VARIANTS] + [f'flite/{v}' for v in FLITE] + [f'festival/{v}' for v in FESTIVAL]


def speak(voice, text, random):
    """Samples of `text`; `random` (numpy's Generator) draws rate and pitch."""
    program, name = voice.split('/')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'a.wav'
        if program == 'espeak':
            command = ['espeak-ng', '-v', name, '-s', str(random.integers(120, 210)), '-p', str(random.integers(20, 80)), '-w', str(path), text]
        elif program == 'flite':
            low, high = (140, 230) if name == 'slt' else (85, 150)
            command = ['flite', '-voice', name, '--setf', f'duration_stretch={random.uniform(.8, 1.3):.2f}', '--setf',
                       f'int_f0_target_mean={random.uniform(low, high):.0f}', '-t', text, '-o', str(path)]
        else:
            (Path(folder) / 'text').write_text(text)
            command = ['text2wave', '-o', str(path), '-eval', f"(voice_{name})", '-eval',
                       f"(Parameter.set 'Duration_Stretch {random.uniform(.8, 1.3):.2f})", str(Path(folder) / 'text')]
        return audio.run_voice(command, path)
