#!/usr/bin/env bash
# firmware_slots.sh [BUILD]: a model replaced in a running image, on a Cortex-M55 and on RISC-V in QEMU, with the power going
# away at every step of the update: at least 200 tries on each board, after each of which the old or the new model must come
# up, whole. BUILD (default: build) is a release build with tests; the boards' builds lie in BUILD/firmware. RUNNEL_BOARDS:
# other boards of firmware/boards.sh. RUNNEL_TRIES: more tries. Ends with 77 when a compiler or QEMU is missing
# (scripts/install.sh firmware).
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
source "$root/firmware/boards.sh"
build=$(realpath -- "${1:-$root/build}")
read -ra boards <<<"${RUNNEL_BOARDS:-mps3-an547 virt-rv32imafc}"
runnel=$build/runnel digits=$build/models/digits/digits.rnl
for board in "${boards[@]}"; do
  missing=$(missing_for "$board")
  [[ -z $missing ]] || { say "SKIPPED WITHOUT ${missing//$'\n'/, }: scripts/install.sh firmware"; exit 77; }
done
other=$build/tests/embed/other.rnl
for file in "$runnel" "$digits" "$other"; do [[ -e $file ]] || die "$file is missing: configure with -D RUNNEL_TESTS=ON and build first"; done
work=$build/firmware/slots
rm -rf "$work"
mkdir -p "$work"
"$runnel" embed "$digits" -o "$work/apart" --name apart --model-partition --profile "$other" 2>"$work/embed.log" || die "$(cat "$work/embed.log")"
mv "$work/apart/digits.rnli" "$work/apart/old.rnli"
"$runnel" image make "$other" --profile "$work/apart/apart.profile.json" --model-version 2 -o "$work/apart/new.rnli" 2>>"$work/embed.log" || die "$(cat "$work/embed.log")"

source "$root/firmware/elf_checks.sh"
answers=""
for board in "${boards[@]}"; do
  folder=$build/firmware/slots_$board
  if ! { cmake -S "$root" -B "$folder" -G Ninja -D CMAKE_TOOLCHAIN_FILE="$(toolchain_of "$board")" -D CMAKE_BUILD_TYPE=Release -D RUNNEL_BOARD="$board" -D RUNNEL_SLOTS_PROGRAM="$work/apart" &&
         cmake --build "$folder" --parallel "$jobs" --target slots_image; } >"$folder.log" 2>&1; then
    cat "$folder.log" >&2
    die "$board: the build failed"
  fi
  image=$folder/firmware/slots_image.elf
  tools=$(prefix_of "$board")
  check_image "$image"
  status=0
  emulate "$board" "$image" "arg=slots,arg=tries=${RUNNEL_TRIES:-200}" >"$work/$board.log" 2>&1 || status=$?
  line=$(tail -n 1 "$work/$board.log")
  ((status == 0)) || die "$board: code $status: $line"
  number() { sed -n "s/.*\b$1 \([0-9]*\).*/\1/p" <<<"$line"; }
  (($(number tries) >= 200 && $(number boots) == $(number tries) && $(number old) + $(number new) == $(number tries) && $(number old) > 50 && $(number new) > 0)) || die "$board: $line"
  [[ -z $answers || $answers == "$(number answer_old) $(number answer_new)" ]] || die "$board: the models give other bytes than on ${boards[0]}: $line"
  answers="$(number answer_old) $(number answer_new)"
  say "$board: $line"
done
