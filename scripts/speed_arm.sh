#!/usr/bin/env bash
# speed_arm.sh [BUILD]: counts the instructions of a step on three processors of 64-bit Arm, beside XNNPACK (Debian's) and, where its
# sources are named, kaldi-native-fbank, and writes the table of docs/speed-arm.md. QEMU runs and counts: the same numbers every time.
#
#   scripts/arm64_sysroot.sh
#   cmake --preset aarch64 -D RUNNEL_BENCH=ON [-D RUNNEL_KALDI_NATIVE_FBANK=FOLDER]
#   cmake --build --preset aarch64 --target instruction_counts
#   scripts/speed_arm.sh
#
# BUILD (default: build-aarch64) is the folder of that build. RUNNEL_UPDATE=0 prints the table and leaves the page.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
build=$(realpath -- "${1:-$root/build-aarch64}")
program=$build/bench/instruction_counts
for needed in qemu-aarch64 aarch64-linux-gnu-nm cc; do command -v "$needed" >/dev/null || die "$needed is missing: scripts/install.sh arm"; done
[[ -x $program ]] || die "$program is missing: its build is described by --help of this file (the first lines)"
sysroot=$(sed -n 's/^CMAKE_SYSROOT:[A-Z]*=//p; s/^RUNNEL_SYSROOT:PATH=//p' "$build/CMakeCache.txt" | tail -n 1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -std=c11 -shared -fPIC -O2 "$root/firmware/host/count_instructions.c" -o "$work/count.so"
address() { aarch64-linux-gnu-nm "$program" | awk -v name="$1" '$3 == name && !found { found = 1; print "0x" $1 }'; }
plugin=$work/count.so,begin=$(address begin_stretch),end=$(address end_stretch)
processors=(cortex-a72 cortex-a76 max)

# least NAME PROCESSOR: instructions of a step, less those of an empty stretch (the return and the call of the two marks).
least() {
  local count
  qemu-aarch64 -cpu "$2" -L "$sysroot" -plugin "$plugin" "$program" "$1" >"$work/said" 2>"$work/counted" ||
    die "$1 on $2: $(tail -n 1 "$work/counted")"
  count=$(sed -n 's/.* least \([0-9]*\) .*/\1/p' "$work/counted")
  [[ -n $count ]] || die "$1 on $2: nothing was counted"
  echo "$count"
}
qemu-aarch64 -L "$sysroot" "$program" --list >"$work/cases" || die "the list of cases cannot be read"
{
  echo "| step | multiply-adds | Cortex-A72 (no dot products) | Cortex-A76 (dot products) | max (matrices) | each multiply-add |"
  echo "|---|---|---|---|---|---|"
  while IFS=$'\t' read -r name products; do
    row="| $name | $products |" each=""
    for processor in "${processors[@]}"; do
      count=$(least "$name" "$processor")
      echo "$name/$processor $count" >>"$work/all"
      row+=" $count |"
      ((products == 0)) || each+=" $(awk -v a="$count" -v b="$products" 'BEGIN { printf "%.3f", a / b }')"
    done
    echo "$row ${each# } |"
  done <"$work/cases"
  echo
  of() { awk -v name="$1" '{ n = $0; sub(/ [0-9]*$/, "", n); if (n == name) print $NF }' "$work/all"; }
  ratio() {   # WHAT OURS THEIRS PROCESSOR
    local a b
    a=$(of "$2/$4") b=$(of "$3/$4")
    [[ -z $a || -z $b ]] || echo "| $1 | $4 | $(awk -v a="$a" -v b="$b" 'BEGIN { printf "%.3f", a / b }') |"
  }
  # A layer of twice the inputs has twice the inner loops and the same of everything else.
  echo "| inner loop, instructions for each multiply-add | ${processors[*]} |"
  echo "|---|---|"
  for layer in pointwise 3x3; do
    for positions in 1 4 16; do
      each=""
      products=$(awk -F '\t' -v name="$layer 64x64/$positions" '$1 == name { print $2 }' "$work/cases")
      for processor in "${processors[@]}"; do
        each+=" $(awk -v a="$(of "$layer 128x64/$positions/$processor")" -v b="$(of "$layer 64x64/$positions/$processor")" -v c="$products" \
          'BEGIN { printf "%.3f", (a - b) / c }')"
      done
      echo "| $layer 64x64, $positions position(s) |$each |"
    done
  done
  echo
  echo "| ratio of instructions, runnel / other | processor | |"
  echo "|---|---|---|"
  for processor in "${processors[@]}"; do
    for frames in 1 4; do ratio "M1, $frames frame(s) a step / XNNPACK" "m1/$frames" "xnnpack m1/$frames" "$processor"; done
    ratio "fbank-80 / kaldi-native-fbank" fbank-80 "kaldi fbank-80" "$processor"
  done
} >"$work/table"
cat "$work/table"
page=$root/docs/speed-arm.md
if [[ ${RUNNEL_UPDATE:-1} == 1 ]]; then
  { sed '/^<!-- counts -->$/q' "$page"; cat "$work/table"; sed -n '/^<!-- end of counts -->$/,$p' "$page"; } >"$work/page"
  cp "$work/page" "$page"
fi
