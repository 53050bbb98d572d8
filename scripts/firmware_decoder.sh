#!/usr/bin/env bash
# firmware_decoder.sh [BUILD] [MODEL TOKENS]: what a beam search of 8 hypotheses in a lexicon of 100 words costs a Cortex-M4F beside
# the step of the recogniser that feeds it, in instructions that QEMU counts. Fails when it is more than a fifth.
# BUILD (default: build): a release build. MODEL: a streaming CTC recogniser, TOKENS: its tokens. Without them: the bundled
# recogniser if the build has one, else a conformer of 0.9 million parameters with random weights from RUNNEL_TEST_DATA. Its
# outputs favour no token, so that hypotheses change in every frame, which a trained recogniser does less often.
# RUNNEL_WORDS: a lexicon other than that of the bundled recogniser, or 100 words of random letters.
# RUNNEL_RECORDING: a .wav of 16 kHz. RUNNEL_BOARDS: other boards.
# Ends with 77 when the compiler, QEMU or the data is missing.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
build=$(realpath -- "${1:-$root/build}")
read -ra boards <<<"${RUNNEL_BOARDS:-mps2-an386}"
data=${RUNNEL_TEST_DATA:-}
runnel=$build/runnel
work=$build/firmware/decoder
for program in arm-none-eabi-g++ qemu-system-arm cc; do
  command -v "$program" >/dev/null || { say "SKIPPED WITHOUT $program: scripts/install.sh firmware"; exit 77; }
done
[[ -x $runnel ]] || die "$runnel is missing: build first"
rm -rf "$work"
mkdir -p "$work"
counter=$work/count_instructions.so
cc -std=c11 -shared -fPIC -O2 "$root/firmware/host/count_instructions.c" -o "$counter"

bundled=$build/models/commands/commands.rnl
words=${RUNNEL_WORDS:-$work/words.txt}
front=() tokens=()
if (($# >= 3)); then
  model=$2 tokens=(tokens="'$3'")
elif [[ -f $bundled ]]; then
  model=$bundled
  words=${RUNNEL_WORDS:-$root/models/commands/lexicon.txt}   # its tokens are phones
elif [[ -n $data && -f $data/speech/conformer/c_alibi.onnx ]]; then
  model=$work/conformer.rnl
  say "no bundled recogniser: a conformer with random weights"
  "$runnel" quantize "$data/speech/conformer/c_alibi.onnx" -o "$model" --time-axis 1 --attention-window 16 --stream --calib "$data/speech/zipformer/speech_66s.flac" --clips 8 \
    --front-end "fbank num_mel_bins=80" --methods none --quiet >"$work/quantize.log" 2>&1 || die "the conformer cannot be quantized ($work/quantize.log)"
  front=(--front-end "fbank num_mel_bins=80")
  { echo "<blk>"; printf '%s\n' {a..z}; printf 'x%s\n' 1 2 3 4 5; } >"$work/tokens.txt"
  tokens=(tokens="$work/tokens.txt" units=joined)
else
  say "SKIPPED WITHOUT A RECOGNISER: RUNNEL_TEST_DATA names no test data"
  exit 77
fi
recording=${RUNNEL_RECORDING:-$data/digits/eval_wav/000_0_george_0.wav}
[[ -f $recording ]] || die "$recording is missing: RUNNEL_RECORDING names another"
# The same 100 words on every machine: 3 to 8 letters from a linear congruence.
[[ $words != "$work/words.txt" ]] || awk 'BEGIN { s = 7; for (w = 0; w < 100; ++w) { word = ""; s = (s * 1103 + 12345) % 65536; n = 3 + int(s / 64) % 6
  for (i = 0; i < n; ++i) { s = (s * 1103 + 12345) % 65536; word = word sprintf("%c", 97 + int(s / 64) % 26) } print word } }' >"$words"
"$runnel" embed "$model" -o "$work/asr" --name asr ${front[@]+"${front[@]}"} --decision "ctc mode=beam beam=8 partials=0 max_tokens=64 lexicon=$words ${tokens[*]}" >"$work/embed.log" 2>&1 || {
  tail -n 1 "$work/embed.log" >&2
  die "the recogniser cannot be embedded"
}

# Stretches between calls of two functions of the image: one that begins them, and the next that is called after it.
address_of() { arm-none-eabi-nm -C "$1" | sed -n "s/^\([0-9a-f]*\) [tTwW] $2.*/0x\1/p" | head -n 1; }
stretches() {   # BOARD IMAGE BEGIN END OUTPUT: prints their number and their mean
  local begin end
  begin=$(address_of "$2" "$3") end=$(address_of "$2" "$4")
  [[ -n $begin && -n $end ]] || die "the image has no function $3 or $4"
  RUNNEL_PLUGIN="$counter,begin=$begin,end=$end" "$root/scripts/run_on_board.sh" "$1" "$2" "$recording" "$5" >"$5.log" 2>&1 || die "$1: $(tail -n 1 "$5.log")"
  sed -n 's/.*stretches \([0-9]*\) least \([0-9]*\) mean \([0-9]*\) most \([0-9]*\).*/\1 \3 \4/p' "$5.log" | tail -n 1
}

printf '| board | a step of the recogniser | the search in a frame | most | share | flash | RAM of the node |\n|---|---:|---:|---:|---:|---:|---:|\n'
too_much=0
for board in "${boards[@]}"; do
  folder=$build/firmware/$board   # that of scripts/firmware_nodes.sh: the libraries are compiled once
  out=$work/$board
  { cmake -S "$root" -B "$folder" -G Ninja -D CMAKE_TOOLCHAIN_FILE="$root/cmake/arm-none-eabi.cmake" -D CMAKE_BUILD_TYPE=Release -D RUNNEL_BOARD="$board" -D RUNNEL_EMBEDDED="$work/asr" &&
    cmake --build "$folder" --parallel "$jobs" --target asr_node; } >"$out.log" 2>&1 || die "$board: the build failed ($out.log)"
  image=$folder/firmware/asr_node.elf
  # The last call of the model before the search is called: its step. Then from the search to the end of the push.
  read -r _ model_mean _ <<<"$(stretches "$board" "$image" 'runnel::pipeline::Infer::process(' 'runnel::pipeline::Decoder::process(' "$out.model")"
  read -r frames search_mean search_most <<<"$(stretches "$board" "$image" 'runnel::pipeline::Decoder::process(' 'push_ends' "$out.search")"
  [[ -n $model_mean && -n $search_mean ]] || die "$board: nothing was counted"
  read -r text data_bytes _ < <(arm-none-eabi-size "$image" | tail -n 1)
  printf '| %s | %s | %s | %s | %s %% | %s | %s |\n' "$board" "$model_mean" "$search_mean" "$search_most" "$(awk -v a="$search_mean" -v b="$model_mean" 'BEGIN { printf "%.1f", 100 * a / b }')" \
    "$((text + data_bytes))" "$(grep -o 'memory_used [0-9]*' "$out.search.log" | tail -n 1 | cut -d ' ' -f 2)"
  say "$board: $frames frames decoded"
  ((search_mean * 5 <= model_mean)) || too_much=1
done
((too_much == 0)) || die "the search costs more than a fifth of a step"
