"""Measures a model on the sets of testsets.py by the runnel program itself, and pocketsphinx beside it on the same files.

usage: evaluate.py MODEL.toml WORK_FOLDER MODEL_FILE OUT.json [--as NAME] [--sphinx] [--only SET,...]

Adds to OUT.json what it measures, under NAME (runnel), and prints OUT.json as a table in the end.

MODEL_FILE: .rnl with front end and labels. Both programs decode with the same words and the same grammars; the word errors of
both are counted by `runnel score --wer`. pocketsphinx uses its own acoustic model, dictionary and defaults."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import program
from collect import Model
from testsets import DIGITS, NUMBERS

SPHINX = '/usr/share/pocketsphinx/model/en-us'


def languages(model, folder):
    """The grammars of the sets, as files for runnel and as JSGF: {language: (path, path)}."""
    loops = {'digits': sorted(DIGITS), 'numbers': sorted(NUMBERS)}
    out = {}
    for name, words in loops.items():
        (folder / f'{name}.txt').write_text('( ' + ' | '.join(words) + ' )+\n')
        (folder / f'{name}.jsgf').write_text('#JSGF V1.0;\ngrammar g;\npublic <g> = ( ' + ' | '.join(words) + ' )+;\n')
        out[name] = folder / f'{name}.txt', folder / f'{name}.jsgf'
    (folder / 'commands.jsgf').write_text(model.grammar.jsgf())
    out['commands'] = model.folder / model.settings['words']['grammar'], folder / 'commands.jsgf'
    return out


def score(records, text):
    found = json.loads(subprocess.run([program.path(), 'score', str(records), '--labels', str(text), '--wer'], check=True, capture_output=True, text=True).stdout)
    return {k: found[k] for k in ('recordings', 'words', 'errors', 'substitutions', 'deletions', 'insertions', 'rate', 'low', 'high')}


def by_runnel(model, model_file, data, grammar, folder):
    lexicon = model.folder / model.settings['words']['lexicon']
    decision = f'ctc mode=beam beam={model.settings["decoder"]["beam"]} lexicon={lexicon} grammar={grammar} endpoint=none partials=0'
    records = folder / 'records.jsonl'
    subprocess.run([program.path(), 'batch', str(model_file), str(data), '-o', str(records), '--decision', decision], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return score(records, data / 'text.tsv')


def by_sphinx(data, jsgf, folder):
    stems = [line.split('\t')[0][:-4] for line in open(data / 'text.tsv', encoding='utf-8')]
    (folder / 'list').write_text('\n'.join(stems) + '\n')
    subprocess.run(['pocketsphinx_batch', '-hmm', f'{SPHINX}/en-us', '-dict', f'{SPHINX}/cmudict-en-us.dict', '-jsgf', str(jsgf), '-adcin', 'yes', '-adchdr', '44',
                    '-cepdir', str(data), '-cepext', '.wav', '-ctl', str(folder / 'list'), '-hyp', str(folder / 'hyp')],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    records = folder / 'sphinx.jsonl'
    with open(records, 'w', encoding='utf-8') as out:
        for stem, line in zip(stems, open(folder / 'hyp', encoding='utf-8')):
            text = line.rsplit('(', 1)[0].strip()
            out.write(json.dumps({'type': 'final', 'source': f'{stem}.wav', 'segment': 0, 'start': 0.0, 'end': 1.0, 'text': text, 'tokens': [], 'words': [], 'stable': 0}) + '\n')
    return score(records, data / 'text.tsv')


def main(arguments):
    config, work, model_file, out = arguments[:4]
    only = arguments[arguments.index('--only') + 1].split(',') if '--only' in arguments else None
    kind = arguments[arguments.index('--as') + 1] if '--as' in arguments else 'runnel'
    model, out = Model(config), Path(out)
    results = json.loads(out.read_text()) if out.exists() else {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        known = languages(model, folder)
        for data in sorted((Path(work) / 'sets').iterdir()):
            if only and data.name not in only:
                continue
            grammar, jsgf = known[(data / 'language').read_text()]
            row = results.setdefault(data.name, {})
            row[kind] = by_runnel(model, model_file, data, grammar, folder)
            if '--sphinx' in arguments:
                row['pocketsphinx'] = by_sphinx(data, jsgf, folder)
            print(f'{data.name:20} ' + '  '.join(f'{k}: {v["errors"]} of {v["words"]} words, {100 * v["rate"]:.1f} % ({100 * v["low"]:.1f} to {100 * v["high"]:.1f})'
                                                 for k, v in row.items()), flush=True)
            out.write_text(json.dumps(results, indent=1) + '\n')
    kinds = sorted({k for row in results.values() for k in row}, reverse=True)
    print('| set | recordings | words | ' + ' | '.join(kinds) + ' |\n|---|---|---|' + '---|' * len(kinds))
    for name, row in results.items():
        one = next(iter(row.values()))
        cells = [f'{100 * row[k]["rate"]:.1f} ({100 * row[k]["low"]:.1f} to {100 * row[k]["high"]:.1f})' if k in row else '' for k in kinds]
        print(f'| {name} | {one["recordings"]} | {one["words"]} | ' + ' | '.join(cells) + ' |')


if __name__ == '__main__':
    if len(sys.argv) < 5:
        raise SystemExit(__doc__)
    main(sys.argv[1:])
