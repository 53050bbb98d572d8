#!/usr/bin/env bash
# run_on_board.sh BOARD IMAGE.elf RECORDING OUTPUT [KEY=VALUE]...: streams a local recording through an image of
# firmware/examples/node_image.cpp in QEMU. RECORDING: .wav (16 bits), .npy (float32), .csv (every column a channel, all
# rows), or raw samples. Decisions go to the terminal and to OUTPUT.jsonl; KEY=VALUE goes to the image (see there).
# RUNNEL_PROGRAM: the program runnel, for .csv. RUNNEL_PLUGIN: a QEMU plugin with its settings, for instance that of
# firmware/host, which counts instructions. Ends with the image's code: 0, or the number of a runnel_code.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
source "$root/firmware/boards.sh"
(($# >= 4)) || die "expected BOARD IMAGE.elf RECORDING OUTPUT [KEY=VALUE]..."
board=$1 image=$2 recording=$3 output=$4
shift 4
command -v "$(emulator_of "$board")" >/dev/null || { say "SKIPPED WITHOUT $(emulator_of "$board"): scripts/install.sh firmware"; exit 77; }
if [[ $recording == *.csv ]]; then
  table=$output.npy
  "${RUNNEL_PROGRAM:-$root/build/runnel}" run "csv path='$recording' rate=${RUNNEL_CSV_RATE:-1} ! npy path='$table'" >/dev/null || die "$recording: cannot be read"
  recording=$table
fi
words="arg=node,arg=$recording,arg=$output"
for word in "$@"; do words+=",arg=$word"; done
status=0
emulate "$board" "$image" "$words" ${RUNNEL_PLUGIN:+-plugin "$RUNNEL_PLUGIN"} || status=$?
exit "$status"
