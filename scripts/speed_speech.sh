#!/usr/bin/env bash
# speed_speech.sh [ROUNDS]: processor time of streaming speech beside sherpa-onnx-node, and docs/speed-speech.md from it.
# NODE_PATH: the folder node_modules with sherpa-onnx-node, installed anywhere (npm install --ignore-scripts sherpa-onnx-node).
# RUNNEL_TEST_DATA: the models and recordings. RUNNEL_BUILD: a release build (default: build). RUNNEL_BENCH_CORE: the core
# (default: 1 where there are several). RUNNEL_SPEED_PAGE: another page. Fails when a ratio is not what docs/speed-speech.md promises.
# Ends with 77 without node, package or data.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
rounds=${1:-7}
build=${RUNNEL_BUILD:-$root/build}
runnel=$build/runnel
core=${RUNNEL_BENCH_CORE:-$(($(nproc) > 1 ? 1 : 0))}
data=${RUNNEL_TEST_DATA:-}
page=${RUNNEL_SPEED_PAGE:-$root/docs/speed-speech.md}
[[ -x $runnel ]] || die "$runnel is missing: build first"
command -v node >/dev/null && version=$(node -p 'require("sherpa-onnx-node").version' 2>/dev/null) || { say "SKIPPED WITHOUT sherpa-onnx-node: NODE_PATH names no folder that has it"; exit 77; }
zipformer=$data/speech/zipformer/zipformer2_ctc_random.onnx
[[ -n $data && -f $zipformer ]] || { say "SKIPPED WITHOUT DATA: RUNNEL_TEST_DATA names no test data"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wav=$work/speech.wav

{
  "$runnel" run "wav path='$data/speech/zipformer/speech_66s.flac' ! wav path='$wav'"
  "$runnel" import "$zipformer" -o "$work/asr.rnl" --tokens "$data/speech/zipformer/tokens.txt"
  echo voice >"$work/labels.txt"
  "$runnel" import "$data/models/silero-vad/silero_vad_openvino_16k.onnx" -o "$work/vad.rnl" --step 512 --context 64 --state stateN=state --labels "$work/labels.txt"
  "$runnel" import "$data/models/gtcrn/gtcrn_simple.onnx" -o "$work/gtcrn.rnl" --step 1 --state conv_cache_out=conv_cache --state tra_cache_out=tra_cache --state inter_cache_out=inter_cache
} >"$work/made.log" 2>&1 || { tail -n 3 "$work/made.log" >&2; die "the models cannot be imported"; }

# The same work in both, in blocks of 0.1 s. Of runnel all of the process counts, its start and loading too; of sherpa-onnx
# what follows loading.
declare -A peer_model=([zipformer]=$zipformer [vad]=$data/models/silero-vad/silero_vad_16k_op15.onnx [denoise]=$data/models/gtcrn/gtcrn_simple.onnx)
declare -A graph=(
  [zipformer]="wav path='$wav' ! fbank preset=zipformer ! infer model='$work/asr.rnl' ! ctc tokens='$data/speech/zipformer/tokens.txt' endpoint=none partials=0.1 max_tokens=60000 ! jsonl path='$work/out.jsonl'"
  [vad]="wav path='$wav' ! infer model='$work/vad.rnl' output=output ! detect activation=none smoothing_frames=1 threshold=0.5 release=0.35 refractory_frames=8 ! jsonl path='$work/out.jsonl'"
  [denoise]="wav path='$wav' ! stft n_fft=512 hop_length=256 window_type=sqrt_hann pairs=true ! infer model='$work/gtcrn.rnl' output=enh ! istft n_fft=512 hop_length=256 window_type=sqrt_hann pairs=true ! wav path='$work/out.wav'")
declare -A what=([zipformer]="Zipformer2-CTC, 3.2 M, with front end and greedy search" [vad]="Silero VAD" [denoise]="GTCRN noise suppression")
declare -A most=([zipformer]=0.6 [vad]=0.2 [denoise]=0.2)
cases=(zipformer vad denoise)
TIMEFORMAT='%U %S'
for ((round = 0; round <= rounds; ++round)); do   # the first one warms up
  for one in "${cases[@]}"; do
    peer=$(taskset -c "$core" node "$root/scripts/speed_speech.js" "$one" "${peer_model[$one]}" "$wav" "$data/speech/zipformer/tokens.txt" 2>"$work/peer.log") || { tail -n 2 "$work/peer.log" >&2; die "sherpa-onnx-node: $one fails"; }
    own=$({ time taskset -c "$core" "$runnel" run "${graph[$one]}" >/dev/null 2>"$work/own.log"; } 2>&1) || { tail -n 2 "$work/own.log" >&2; die "runnel: $one fails"; }
    ((round > 0)) || continue
    awk -v own="$own" -v peer="$peer" 'BEGIN { split(own, a, " "); split(peer, b, " "); printf "%.4f %.4f\n", a[1] + a[2], b[1] }' >>"$work/$one"
  done
done

level=generic
for flag in avx2 avx512bw avx512_vnni amx_int8; do
  flags=" $(sed -n '/^flags/{p;q}' /proc/cpuinfo) "
  [[ $flags != *" $flag "* ]] || level=$flag
done

# Medians, least, and the median of the ratios of the rounds.
column() { awk "{ print $2 }" "$work/$1" | sort -g; }
middle() { column "$1" "$2" | awk '{ all[NR] = $1 } END { print NR % 2 ? all[(NR + 1) / 2] : (all[NR / 2] + all[NR / 2 + 1]) / 2 }'; }
seconds=66
missed=0
{
  cat <<END
# Speed of streaming speech

Written by \`scripts/speed_speech.sh\`; do not edit. To measure again:

    NODE_PATH=FOLDER/node_modules RUNNEL_TEST_DATA=DATA scripts/speed_speech.sh

Class of machine: kernels up to $level. Beside sherpa-onnx-node $version, over $seconds s of speech in blocks of 0.1 s, one thread each, in turn, $rounds rounds.
Seconds of processor time: of runnel the whole process with its start and the loading of the model, of sherpa-onnx what follows loading. *runnel / sherpa-onnx*: the median of
the rounds' ratios; below 1 runnel takes less. The Zipformer has the structure of published recognisers and random weights, the others are trained. sherpa-onnx also cuts the
segments out that the detector finds, and runnel also writes its results into files.

| work | runnel | least | sherpa-onnx | least | runnel / sherpa-onnx | wanted |
|---|---:|---:|---:|---:|---:|---:|
END
  for one in "${cases[@]}"; do
    ratio=$(middle "$one" '$1 / $2')
    printf '| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %s |\n' "${what[$one]}" "$(middle "$one" '$1')" "$(column "$one" '$1' | head -n 1)" "$(middle "$one" '$2')" "$(column "$one" '$2' | head -n 1)" "$ratio" "${most[$one]}"
    awk -v a="$ratio" -v b="${most[$one]}" 'BEGIN { exit !(a <= b) }' || missed=$((missed + 1))
  done
  # The section of scripts/speed_conformers.sh stays.
  if [[ -f $page ]] && grep -q '^## Conformers$' "$page"; then
    echo
    sed -n '/^## Conformers$/,$p' "$page"
  fi
} >"$work/page.md"
cp "$work/page.md" "$page"
cat "$page"
((missed == 0)) || die "$missed of ${#cases[@]} ratios are above what is wanted"
