"""Makes the int8 model and its calibration table with clips of the training side.

usage: quantize.py MODEL.toml WORK_FOLDER MODEL.onnx OUT_FOLDER

Writes OUT_FOLDER/NAME.rnl, NAME.table.json (the decisions of `runnel quantize`, without any recording), labels.txt, and copies of
lexicon and grammar, which the decision that is stored in the model names. Clips for calibration: WORK_FOLDER/calibration."""
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import audio
import program
from collect import Model
from render import clips

CLIPS, SECONDS = 64, 2.1


def recordings(model, work):
    """Rendered clips of training, none shorter than the network's clip."""
    folder = work / 'calibration'
    if not folder.is_dir():
        folder.mkdir()
        random = np.random.default_rng([model.settings['seed'], 1000])
        made = 0
        for samples, _ in clips(model, work, random):
            if len(samples) >= SECONDS * audio.RATE:
                audio.write(folder / f'{made:02}.wav', samples)
                made += 1
                if made == CLIPS:
                    break
    return folder


def main(config, work, onnx, out):
    model, work, out = Model(config), Path(work), Path(out)
    out.mkdir(parents=True, exist_ok=True)
    name = model.settings['name']
    (out / 'labels.txt').write_text('\n'.join(model.tokens) + '\n')
    for file in ('lexicon', 'grammar'):
        shutil.copyfile(model.folder / model.settings['words'][file], out / f'{file}.txt')
    decision = f'ctc mode=beam beam={model.settings["decoder"]["beam"]} silence_after=0.7 lexicon=lexicon.txt grammar=grammar.txt'
    subprocess.run([program.path(), 'quantize', onnx, '--calib', str(recordings(model, work)), '--front-end', model.settings['front_end'], '--scheme', 'affine',
                    '--stream', '--methods', model.settings['quantize']['methods'], '--clips', '32', '--layout', 'frames-first', '--classes', str(out / 'labels.txt'), '--name', name, '--decision', decision,
                    '--save-table', str(out / f'{name}.table.json'), '-o', str(out / f'{name}.rnl'), '--quiet'], check=True)


if __name__ == '__main__':
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
