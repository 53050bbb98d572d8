#!/usr/bin/env bash
# firmware_stranger.sh [BUILD]: follows "A worked example" in docs/firmware.md literally, in a folder outside the tree:
# its files and its at most five commands. Ends with 77 when the compiler, QEMU or the test data are missing.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
build=$(realpath -- "${1:-$root/build}")
page=$root/docs/firmware.md
for program in arm-none-eabi-gcc arm-none-eabi-g++ qemu-system-arm ninja; do
  command -v "$program" >/dev/null || { say "SKIPPED WITHOUT $program: scripts/install.sh firmware"; exit 77; }
done
word=${RUNNEL_TEST_DATA:-}/digits/eval_wav/000_0_george_0.wav
[[ -f $word ]] || { say "SKIPPED WITHOUT DATA: RUNNEL_TEST_DATA is not set"; exit 77; }

project=${RUNNEL_STRANGER:-}   # a folder to keep for inspection
if [[ -z $project ]]; then
  project=$(mktemp -d)
  trap 'rm -rf "$project"' EXIT
fi
mkdir -p "$project"
cd "$project"
awk '/^```[a-z]* file=/ { sub(/.*file=/, ""); file = $0; next } /^```/ { file = "" } file != "" { print > file }' "$page"
awk '/^```sh commands$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$page" >commands
cp "$word" word.wav
[[ -s CMakeLists.txt && -s arm.cmake && -s main.c && -s startup.c && -s board.ld ]] || die "docs/firmware.md lacks a file of its example"
(($(wc -l <commands) >= 1 && $(wc -l <commands) <= 5)) || die "docs/firmware.md has $(wc -l <commands) commands, expected 1 to 5"
if ! RUNNEL=$build/runnel MODEL=$build/models/digits/digits.rnl timeout "${RUNNEL_TIMEOUT:-900}" bash -eu commands >out 2>log </dev/null; then
  tail -n 30 out log >&2
  die "the commands of docs/firmware.md failed"
fi
tail -n 2 out
grep -q '^0 at [0-9]* ms$' out || die "expected the word 0 to be heard"
