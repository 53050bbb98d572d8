#!/usr/bin/env bash
# accuracy.sh [BUILD]: prints the figures of docs/accuracy.md from the model files of a build, model by model, by the scripts that made them. What
# needs recordings runs where they are, and says SKIPPED otherwise: RUNNEL_TEST_DATA (the test data), RUNNEL_SPEECH (training/SOURCES.md),
# RUNNEL_RIG (recordings of a test rig, training/machines/rig.py). Needs python3-numpy and what the page of a model names. Ends with 1 if a script failed.
# RUNNEL_MODELS: only these, e.g. "machine anomaly".
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath -- "${1:-$root/build}")
export RUNNEL_PROGRAM=$build/runnel PYTHONDONTWRITEBYTECODE=1
models=$build/models training=$root/training python=${RUNNEL_PYTHON:-/usr/bin/python3}
[[ -x $RUNNEL_PROGRAM ]] || { echo "accuracy.sh: $RUNNEL_PROGRAM: expected the program runnel, found nothing: build first" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

skipped() { printf 'SKIPPED %s: %s\n\n' "$1" "$2"; }
measured() {   # MODEL COMMAND...
  local model=$1
  shift
  if [[ -n ${RUNNEL_MODELS:-} && " $RUNNEL_MODELS " != *" $model "* ]]; then return; fi
  printf '## %s\n\n' "$model"
  if "$@"; then echo; else
    printf 'FAILED %s\n\n' "$model"
    failures=$((failures + 1))
  fi
}

score() { "$RUNNEL_PROGRAM" score "$work/$1.jsonl" --labels "$2" | sed 's/,"curve":\[[^]]*\]//'; }   # without its many points

# Clips and streams of digits.
digits() {
  [[ -d ${RUNNEL_TEST_DATA:-}/digits ]] || { skipped digits "RUNNEL_TEST_DATA has no folder digits"; return; }
  local data=$RUNNEL_TEST_DATA/digits file
  "$RUNNEL_PROGRAM" batch digits "$data/eval_wav" -o "$work/clips.jsonl" --decision "detect mode=clip" &&
    score clips "$data/labels.csv" || return 1
  for file in stitched_90s.wav negatives_600s.flac; do
    "$RUNNEL_PROGRAM" batch digits "$data/$file" -o "$work/stream.jsonl" &&
      score stream "$data/${file%.*}.json" || return 1
  done
}

# The test sets of the recogniser.
commands() {
  [[ -d ${RUNNEL_SPEECH:-} ]] || { skipped commands "RUNNEL_SPEECH is no folder (training/SOURCES.md)"; return; }
  "$python" "$training/kit/testsets.py" "$training/commands/commands.toml" "$work" &&
    "$python" "$training/kit/evaluate.py" "$training/commands/commands.toml" "$work" "$models/commands/commands.rnl" "$work/commands.json"
}

vad() {
  [[ -d ${RUNNEL_SPEECH:-} ]] || { skipped vad "RUNNEL_SPEECH is no folder (training/SOURCES.md)"; return; }
  mkdir -p "$work/vad"
  "$python" "$training/vad/evaluate.py" "$work/vad" "$models/vad/vad.rnl" "$work/vad.json" --float "$root/models/vad/vad.onnx"
}

# The float form is imported with the same front end, labels and decision.
wake() {
  [[ -d ${RUNNEL_SPEECH:-} ]] || { skipped wake "RUNNEL_SPEECH is no folder (training/SOURCES.md)"; return; }
  mkdir -p "$work/wake"
  local front_end decision
  front_end=$("$RUNNEL_PROGRAM" inspect "$models/wake/wake.rnl" 2>/dev/null | sed -n 's/^  front end  *//p') &&
    decision=$("$RUNNEL_PROGRAM" inspect "$models/wake/wake.rnl" 2>/dev/null | sed -n 's/^  decision  *//p') &&
    "$RUNNEL_PROGRAM" import "$root/models/wake/wake.onnx" --front-end "$front_end" --labels "$root/models/wake/labels.txt" --decision "$decision" \
      -o "$work/wake/float.rnl" >/dev/null &&
    "$python" "$training/wake/evaluate.py" test "$work/wake" "$models/wake/wake.rnl" "$work/wake.json" --float "$work/wake/float.rnl"
}

# Machines are made from seeds: no recordings are needed.
machine() { "$python" "$training/machines/evaluate.py" "$training/machines/machine.toml" "$models/machine/machine.rnl" --float "$root/models/machine/machine.onnx"; }
anomaly() { "$python" "$training/machines/evaluate.py" "$training/machines/anomaly.toml" "$models/anomaly/anomaly.rnl" --float "$root/models/anomaly/anomaly.onnx"; }
rig() {
  [[ -d ${RUNNEL_RIG:-} ]] || { skipped "the test rig" "RUNNEL_RIG is no folder (training/machines/rig.py)"; return; }
  "$python" "$training/machines/rig.py" "$RUNNEL_RIG" "$models"
}

for model in digits commands vad wake machine anomaly rig; do measured "$model" "$model"; done
((failures == 0)) || { echo "accuracy.sh: $failures of the models could not be measured" >&2; exit 1; }
