#!/usr/bin/env bash
# speed_riscv.sh [BUILD]: counts the instructions of a step on 64-bit RISC-V, without vectors and with vectors of 128 and of 256 bits, and
# writes the table of docs/speed-riscv.md. QEMU runs and counts: the same numbers every time.
#
#   scripts/riscv64_sysroot.sh
#   cmake --preset riscv64 -D RUNNEL_BENCH=ON
#   cmake --build --preset riscv64 --target instruction_counts     # or kernel_counts: without networks, in a fraction of the time
#   scripts/speed_riscv.sh
#
# BUILD (default: build-riscv64) is the folder of that build. RUNNEL_UPDATE=0 prints the table and leaves the page.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
build=$(realpath -- "${1:-$root/build-riscv64}")
program=$build/bench/instruction_counts
[[ -x $program ]] || program=$build/bench/kernel_counts
for needed in qemu-riscv64 riscv64-linux-gnu-nm cc; do command -v "$needed" >/dev/null || die "$needed is missing: scripts/install.sh riscv"; done
[[ -x $program ]] || die "$program is missing: its build is described by --help of this file (the first lines)"
sysroot=$(sed -n 's/^CMAKE_SYSROOT:[A-Z]*=//p; s/^RUNNEL_SYSROOT:PATH=//p' "$build/CMakeCache.txt" | tail -n 1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -std=c11 -shared -fPIC -O2 "$root/firmware/host/count_instructions.c" -o "$work/count.so"
address() { riscv64-linux-gnu-nm "$program" | awk -v name="$1" '$3 == name && !found { found = 1; print "0x" $1 }'; }
plugin=$work/count.so,begin=$(address begin_stretch),end=$(address end_stretch)
processors=(rv64 "rv64,v=true,vext_spec=v1.0,vlen=128" "rv64,v=true,vext_spec=v1.0,vlen=256")

# least NAME PROCESSOR: instructions of a step, less those of an empty stretch (the return and the call of the two marks). Without vectors
# the portable step is the only one, and has no name of its own.
least() {
  local count name=$1
  [[ $2 != rv64 ]] || name=${name%, portable}
  qemu-riscv64 -cpu "$2" -L "$sysroot" -plugin "$plugin" "$program" "$name" >"$work/said" 2>"$work/counted" ||
    die "$1 on $2: $(tail -n 1 "$work/counted")"
  count=$(sed -n 's/.* least \([0-9]*\) .*/\1/p' "$work/counted")
  [[ -n $count ]] || die "$1 on $2: nothing was counted"
  echo "$count"
}
qemu-riscv64 -cpu "${processors[1]}" -L "$sysroot" "$program" --list >"$work/cases" || die "the list of cases cannot be read"
grep -q ', portable' "$work/cases" || die "$program has no kernels for vectors: see RUNNEL_RVV in its configuration"
{
  echo "| step | multiply-adds | rv64 (no vectors) | 128 bits | 256 bits | each multiply-add |"
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
  # A layer of twice the inputs has twice the inner loops and the same of everything else.
  echo "| inner loop, instructions for each multiply-add | rv64, 128 bits, 256 bits |"
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
} >"$work/table"
cat "$work/table"
page=$root/docs/speed-riscv.md
if [[ ${RUNNEL_UPDATE:-1} == 1 ]]; then
  { sed '/^<!-- counts -->$/q' "$page"; cat "$work/table"; sed -n '/^<!-- end of counts -->$/,$p' "$page"; } >"$work/page"
  cp "$work/page" "$page"
fi
