#!/usr/bin/env bash
# speed_conformers.sh [ROUNDS]: what a step of a conformer costs as integers beside floats, one thread, for every kind of positions,
# both widths and both schemes, and the section "Conformers" of docs/speed-speech.md from it.
# RUNNEL_TEST_DATA: the models. RUNNEL_BUILD: a release build (default: build). RUNNEL_BENCH_CORE: the core (default: 1 where there
# are several). RUNNEL_BENCH_ISA: the instructions (default: avx2). RUNNEL_SPEED_PAGE: another page. Ends with 77 without data.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
rounds=${1:-7}
runnel=${RUNNEL_BUILD:-$root/build}/runnel
core=${RUNNEL_BENCH_CORE:-$(($(nproc) > 1 ? 1 : 0))}
isa=${RUNNEL_BENCH_ISA:-avx2}
models=${RUNNEL_TEST_DATA:-}/speech/conformer
page=${RUNNEL_SPEED_PAGE:-$root/docs/speed-speech.md}
[[ -x $runnel ]] || die "$runnel is missing: build first"
[[ -f $models/c_alibi.onnx ]] || { say "SKIPPED WITHOUT DATA: RUNNEL_TEST_DATA names no test data"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

variants=(c_none13 c_alibi c_learned c_relpos17 c_masked chunk_relpos)
declare -A what=([c_none13]="without positions" [c_alibi]="ALiBi" [c_learned]="learned distances" [c_relpos17]="relative positions" [c_masked]="band mask in the file"
  [chunk_relpos]="relative positions, chunks of 8 frames with caches")
forms=(float "int8 pow2" "int8 affine" "int16 pow2" "int16 affine")
# Steps of 8 frames of 80 values for the form with caches, from the recorded clip.
mkdir "$work/steps"
tail -c $((200 * 80 * 4)) "$models/c_alibi_x.npy" | split -b $((8 * 80 * 4)) -d -a 2 --additional-suffix=.f32 - "$work/steps/"
how=()
how_of() {   # VARIANT FORM: sets `how`, the options of import or quantize
  how=()
  if [[ $1 == chunk_relpos ]]; then
    local i s
    for i in 0 1 2 3; do for s in k v c; do how+=(--state "n$s$i=$s$i"); done; done
    [[ $2 != float ]] || how+=(--step 8)
    [[ $2 == float ]] || how+=(--calib "$work/steps")
  else
    how=(--stream --time-axis 1)
    [[ $1 == c_masked ]] || how+=(--attention-window 16)
    [[ $2 == float ]] || how+=(--calib "$models/$1_x.npy")
  fi
  read -r bits scheme <<<"$2"
  [[ $2 == float ]] || how+=(--bits "${bits#int}" --scheme "$scheme" --methods none --quiet)
}
file_of() { echo "$work/$1.${2// /_}.rnl"; }
for one in "${variants[@]}"; do
  for form in "${forms[@]}"; do
    how_of "$one" "$form"
    verb=import
    [[ $form == float ]] || verb=quantize
    "$runnel" "$verb" "$models/$one.onnx" -o "$(file_of "$one" "$form")" "${how[@]}" >"$work/log" 2>&1 || { tail -n 2 "$work/log" >&2; die "$one as $form: $verb fails"; }
  done
done

# In turn; the least of a round, then medians of the rounds' ratios.
for ((round = 0; round < rounds; ++round)); do
  for one in "${variants[@]}"; do
    line=
    for form in "${forms[@]}"; do
      us=$(taskset -c "$core" "$runnel" bench "$(file_of "$one" "$form")" --isa "$isa" --seconds 0.1 | sed 's/.*"min_us":\([0-9.]*\),.*/\1/')
      [[ -n $us ]] || die "$one as $form: bench fails"
      line+="$us "
    done
    echo "$line" >>"$work/$one.times"
  done
done
middle() { awk "{ print $2 }" "$work/$1.times" | sort -g | awk '{ all[NR] = $1 } END { print NR % 2 ? all[(NR + 1) / 2] : (all[NR / 2] + all[NR / 2 + 1]) / 2 }'; }
{
  [[ ! -f $page ]] || printf '%s\n\n' "$(sed '/^## Conformers$/,$d' "$page")"
  cat <<END
## Conformers

Written by \`scripts/speed_conformers.sh\`; do not edit. To measure again:

    RUNNEL_TEST_DATA=DATA scripts/speed_conformers.sh

Encoders of 0.9 million parameters with random weights, a step of 4 source frames (with caches: of 8), one thread, instructions $isa,
$rounds rounds in turn. Microseconds of processor time of the float step, and how many times faster the integer step is: the median of the
rounds' ratios. 16 bits are for accuracy: with AVX2 and free scales a fifth of their step is the rounding of 64-bit sums, one by one;
with powers of two a quarter is swish in double precision.

| positions | float, us | int8 pow2 | int8 affine | int16 pow2 | int16 affine |
|---|---:|---:|---:|---:|---:|
END
  for one in "${variants[@]}"; do
    printf '| %s | %.1f | %.2f | %.2f | %.2f | %.2f |\n' "${what[$one]}" "$(middle "$one" '$1')" "$(middle "$one" '$1 / $2')" "$(middle "$one" '$1 / $3')" "$(middle "$one" '$1 / $4')" "$(middle "$one" '$1 / $5')"
  done
} >"$work/page.md"
cp "$work/page.md" "$page"
sed -n '/^## Conformers$/,$p' "$page"
