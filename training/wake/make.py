"""Makes a wake word of any phrase: speaks it, mixes it with everything else, trains, quantizes, chooses the decision, and measures.

usage: make.py "hey something" OUT_FOLDER [--work FOLDER] [--fast | --tiny]

Writes into OUT_FOLDER wake.onnx, wake.table.json, labels.txt and wake.rnlg (as models/wake has them), wake.rnl for `runnel listen`, results.json, and
README.md with figures, sources and licences. --work keeps what is between (default: OUT_FOLDER/work); a call that was cut off goes on there. --fast:
some minutes, for a first impression; --tiny: under a minute, for the test of this recipe. $RUNNEL_SPEECH: recordings (README.md); what is not there is
left out and named."""
import argparse
import contextlib
import io
import os
import sys
from pathlib import Path

import spoken

import evaluate
import export
import streams
import train

SOURCES = {
    'an4': 'AN4 (Carnegie Mellon University) | other speech | free for any purpose with its notice',
    'speech_commands': 'Speech Commands 0.02 and 0.01 (Pete Warden and its speakers) | single words, recorded backgrounds | CC BY 4.0',
    'fsdd': 'Free Spoken Digit Dataset (Zohar Jackson and its speakers) | single words | CC BY-SA 4.0',
    'prompts': 'Asterisk prompts (Allison Smith, June Wallack, Marco Menardi, Paola Dal Zot, Carlo Flora, Maxim Topal; Digium, Inc.) | other speech | CC BY-SA 3.0, Russian CC BY 3.0',
    'espeak': 'espeak-ng | synthetic speech | its output is free',
    'flite': 'flite (voices kal16, rms, slt; awb in the test alone) | synthetic speech | its output is free',
    'festival': 'festival (voices kal, slt; rab and don where they are; ked in the test alone) | synthetic speech | its output is free; rab and don with the notice of the University of Edinburgh',
    'pico': 'SVOX Pico (en-US; en-GB in the test alone) | synthetic speech | Apache-2.0',
    'rhvoice': 'RHVoice (voices bdl, slt; clb in the test alone) | synthetic speech | LGPL-2.1+',
    'noise': 'ESC-10 (Karol J. Piczak and the recordists of Freesound whom its README.md names), music on hold of Asterisk (Paul Shuler, Manolo Camp, Reno Project), ringtones of Lomiri '
             '(UBports, Amber Forest, Mauricio Duarte, Sam Hulick, TMetso, Wayne Taylor, ...) | noise | CC0, CC BY 3.0 and 4.0, CC BY-SA 3.0',
}


def processor():
    """Seconds of processor time of this call, its threads and the programs it ran."""
    return sum(os.times()[:4])


def scaled(settings, speech, passes, streams_of_a_pass, steps, engines=None):
    settings['spoken'] = {k: {kind: max(4, round(n * speech)) for kind, n in counts.items()} for k, counts in settings['spoken'].items() if not engines or k in engines}
    settings['training'] |= {'passes': passes, 'streams': streams_of_a_pass, 'steps': steps}


def sized(model, size):
    """The settings of a size: full as in the configuration, fast, tiny."""
    if size == 'fast':
        scaled(model.settings, 0.4, 1, 2500, 1000)
    elif size == 'tiny':
        scaled(model.settings, 0.08, 1, 400, 300, ('espeak',))
        model.settings['training'] |= {'batch': 32, 'average': 0.98}
        model.settings['decision'] |= {'per_hour': 60}
        model.settings['quantize'] |= {'clips': 8, 'methods': 'equalize,round,bias,sums'}
        model.settings['speech'] = {}
        model.settings['test'] = {}
        model.settings |= {'noise': False, 'of_test': 0.25}
    return model


def card(model, said, size, figures, seconds):
    used = [k for k in SOURCES if k in said]
    lines = [f'# The wake word "{model.phrase.text}"', '', f'    runnel listen {"wake.rnl"} --wav a.wav', '', f'Made by training/wake/make.py ({size}) in {seconds:.0f} s of processor time. '
             'Synthesizers said the phrase; what it does with people is not known until they try it. The figures are of voices that were not in training.', '', figures.rstrip(), '', '## Sources', '',
             '| recordings | use | licence |', '|---|---|---|', *(f'| {SOURCES[k]} |' for k in used), '', 'No recording is in these files. Redistribute them with these attributions.', '']
    return '\n'.join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
    parser.add_argument('phrase')
    parser.add_argument('out', type=Path)
    parser.add_argument('--work', type=Path)
    parser.add_argument('--fast', action='store_true')
    parser.add_argument('--tiny', action='store_true')
    wanted = parser.parse_args()
    size = 'tiny' if wanted.tiny else 'fast' if wanted.fast else 'full'
    model, work, began = sized(spoken.Model(phrase=wanted.phrase), size), wanted.work or wanted.out / 'work', processor()
    work.mkdir(parents=True, exist_ok=True)
    wanted.out.mkdir(parents=True, exist_ok=True)
    mark = work / 'phrase'
    if mark.exists() and mark.read_text() != f'{model.phrase.text} {size}':
        raise SystemExit(f'{work}: expected a folder of this phrase and size, found "{mark.read_text()}"')
    mark.write_text(f'{model.phrase.text} {size}')
    said = {u.source for u in spoken.of(model, 'train', work)}
    for number in range(model.settings['training']['passes']):
        streams.render(model, work, number)
    if not (work / 'wake.pt').exists():
        train.train(model, work)
    export.write(model, work, wanted.out)
    evaluate.choose(model, work, wanted.out)
    with contextlib.redirect_stdout(io.StringIO()) as figures:
        evaluate.test(model, work, wanted.out / 'wake.rnl', wanted.out / 'results.json')
    print(figures.getvalue())
    (wanted.out / 'README.md').write_text(card(model, said | ({'noise'} if model.settings.get('noise', True) else set()), size, figures.getvalue(), processor() - began))
    print(f'{wanted.out / "wake.rnl"}: try it with `runnel listen {wanted.out / "wake.rnl"}`')


if __name__ == '__main__':
    sys.exit(main())
