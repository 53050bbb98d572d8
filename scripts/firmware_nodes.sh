#!/usr/bin/env bash
# firmware_nodes.sh [BUILD]: makes the example nodes of docs/firmware.md for boards in QEMU and compares them with this machine, over whole
# recordings: features, the model's output and decisions, byte by byte. Counts instructions per hop, and those in double
# precision. Then tests faults, and the budgets of flash and RAM (firmware/budgets.tsv), which fail when exceeded by
# more than 2 %. RUNNEL_UPDATE_BUDGETS=1 rewrites the budgets of what was run, and the table in docs/firmware.md.
# BUILD (default: build) is a release build. RUNNEL_TEST_DATA: test data; without it only the bundled models are run.
# RUNNEL_BOARDS: other boards of firmware/boards.sh than the three of Arm. RUNNEL_LONG=1: the digits node over a recording of 90 s.
# Ends with 77 when the compiler or QEMU is missing (scripts/install.sh firmware).
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
source "$root/firmware/boards.sh"
build=$(realpath -- "${1:-$root/build}")
read -ra boards <<<"${RUNNEL_BOARDS:-$RUNNEL_ARM_BOARDS}"
data=${RUNNEL_TEST_DATA:-}
runnel=$build/runnel
work=$build/firmware/nodes_${boards[0]}
embedded=$build/firmware/embedded_${boards[0]}
budgets=$root/firmware/budgets.tsv
for board in "${boards[@]}"; do
  missing=$(missing_for "$board")
  [[ -z $missing ]] || { say "SKIPPED WITHOUT ${missing//$'\n'/, }: scripts/install.sh firmware"; exit 77; }
done
[[ -x $runnel ]] || die "$runnel is missing: build first"
rm -rf "$work" "$embedded"
mkdir -p "$work" "$embedded"

# A file, because subprocesses add to it too.
: >"$work/failures"
failed() {
  say "FAILED: $*"
  echo "$*" >>"$work/failures"
}
source "$root/firmware/elf_checks.sh"
counter=$work/count_instructions.so
cc -std=c11 -shared -fPIC -O2 "$root/firmware/host/count_instructions.c" -o "$counter"

# The examples: name, recording, and the nodes that this machine runs before and after the model.
examples=()
declare -A brief_of model_of recording_of source_of front_of decision_of flags_of only_on too_large_for
# Examples without boards of their own run on all of them; every board links all of them, but those that are too large for it.
# A processor without floating point gives these bits for networks in integers only: its C library rounds fmaf() in another way.
in_integers="digits wake vibration"
runs_on() {
  [[ $2 != virt-rv32imac || " $in_integers " == *" $1 "* ]] && [[ -z ${only_on[$1]:-} || " ${only_on[$1]} " == *" $2 "* ]]
}
example() {   # NAME MODEL RECORDING SOURCE FRONT_END DECISION [FLAG of runnel embed]...
  local name=$1
  examples+=("$name")
  model_of[$name]=$2 recording_of[$name]=$3 source_of[$name]=$4 front_of[$name]=$5 decision_of[$name]=$6
  shift 6
  flags_of[$name]=$*
}

source "$root/firmware/examples/examples.sh"
# RUNNEL_NODES: only these.
if [[ -n ${RUNNEL_NODES:-} ]]; then read -ra examples <<<"$RUNNEL_NODES"; fi

for name in "${examples[@]}"; do
  # Words of a flag have no spaces.
  # shellcheck disable=SC2086
  "$runnel" embed "${model_of[$name]}" -o "$embedded/$name" --name "$name" --front-end "${front_of[$name]}" --decision "${decision_of[$name]}" ${flags_of[$name]} || die "$name: cannot be embedded"
done
# For the first board only: the first example for another processor, and one with a second tier of memory.
extras=()
variant() {   # NAME OF [FLAG]...
  local name=$1 of=$2
  shift 2
  extras+=("$name")
  # shellcheck disable=SC2086
  "$runnel" embed "${model_of[$of]}" -o "$embedded/$name" --name "$name" --front-end "${front_of[$of]}" --decision "${decision_of[$of]}" ${flags_of[$of]} "$@" 2>/dev/null || die "$name: cannot be embedded"
  recording_of[$name]=${recording_of[$of]}
}
variant foreign "${examples[0]}" --target "$([[ ${boards[0]} == mps3-an547 ]] && echo cortex-m7 || echo cortex-m55)"
tiered=motion
[[ " ${examples[*]} " != *" $tiered "* ]] || variant tiered "$tiered" --fast 4096

image() { echo "$build/firmware/$1/firmware/$2_$3.elf"; }
on_board() {   # BOARD NAME KIND OUTPUT [KEY=VALUE]...: the last line that the image prints is in OUTPUT.log
  local board=$1 name=$2 kind=$3 output=$4
  shift 4
  "$root/scripts/run_on_board.sh" "$board" "$(image "$board" "$name" "$kind")" "${recording_of[$name]}" "$output" "$@" >"$output.log" 2>&1 || return
  ! is_speech "$name" || { said_there "$output.jsonl" >"$output.said" && mv "$output.said" "$output.jsonl"; }
}
number() { grep -o "$2 [0-9]*" "$1.log" | tail -n 1 | cut -d ' ' -f 2; }

# Bytes of flash that only the test needs, from the linker's map: host files, semihosting, instruction counts, the
# painted stack.
rig_of() {   # MAP
  local total=0 size
  while read -r size; do total=$((total + size)); done < <(sed '1,/^Linker script and memory map/d' "$1" | awk '
    NF == 1 && /^ \.[^ ]/ { section = $1; next }
    $1 ~ /^0x/ { $0 = section " " $0 }
    $1 ~ /^\.(text|rodata|data)/ && $4 ~ /\/(node_image|semihosting|clock|stack)\.cpp\.obj$/ { print $3 }')
  echo "$total"
}

# What a decoder of speech said, in one form for a host's final results and a board's events: text, start, end, and the
# confidence of the least sure word.
# A noise filter: its output is sound, and there are no decisions.
is_sound() { [[ ${decision_of[$1]:-} == *istft* ]]; }
is_speech() { [[ ${decision_of[$1]:-} == ctc* || ${decision_of[$1]:-} == transducer* ]]; }
said_here() {
  awk 'function field(name) { match($0, "\"" name "\":[^,]*"); return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) }
       /"type":"final"/ {
         words = $0; sub(/.*"words":\[/, "", words); least = "1.0000"
         while (match(words, /"confidence":[0-9.]+/)) {
           one = substr(words, RSTART + 13, RLENGTH - 13); words = substr(words, RSTART + RLENGTH)
           if (one + 0 < least + 0) least = one
         }
         print field("text"), field("start"), field("end"), least
       }' "$1"
}
said_there() { sed 's/^{"type":"event","label":\("[^"]*"\),"score":\([0-9.]*\),"start":\([0-9.]*\),"end":\([0-9.]*\),.*/\1 \3 \4 \2/' "$1"; }

# The expected results: arrays of .npy files without their header, events without their source.
body() { tail -c +"$(($(od -An -tu2 -j8 -N2 "$1") + 11))" "$1"; }
on_desk() {
  local name=$1 out=$work/host.$1
  if is_sound "$name"; then
    "$runnel" run "${source_of[$name]} ! ${front_of[$name]} name=features ! infer model='${model_of[$name]}' ! ${decision_of[$name]} name=output ! npy path='$out.output.npy'
                   features. ! npy path='$out.features.npy'" >"$out.log" || die "$name: cannot be run here"
    body "$out.features.npy" >"$out.features"
    body "$out.output.npy" >"$out.output"
    : >"$out.jsonl"
    return
  fi
  "$runnel" run "${source_of[$name]} ! ${front_of[$name]} name=features ! infer model='${model_of[$name]}' name=output ! ${decision_of[$name]} ! jsonl path='$out.events'
                 features. ! npy path='$out.features.npy'  output. ! npy path='$out.output.npy'" >"$out.log" || die "$name: cannot be run here"
  body "$out.features.npy" >"$out.features"
  body "$out.output.npy" >"$out.output"
  if is_speech "$name"; then said_here "$out.events" >"$out.jsonl"; else sed 's/"source":"[^"]*",//' "$out.events" >"$out.jsonl"; fi
}
for name in "${examples[@]}"; do
  on_desk "$name"
  [[ -s $work/host.$name.output ]] && { is_sound "$name" || [[ -s $work/host.$name.jsonl ]]; } || failed "$name: the recording gives no output or no decision to compare"
done

# Address of a function of an image, for the plugin.
address_of() { "${tools}nm" "$1" | sed -n "s/^\([0-9a-f]*\) [tT] $2\$/0x\1/p" | head -n 1; }
counting() {   # IMAGE: the plugin's settings
  local words
  words=$counter,begin=$(address_of "$1" push_begins),end=$(address_of "$1" push_ends)
  for address in $("${tools}nm" "$1" | grep -E ' [tTwW] ' | awk '{print $1 " " $3}' | grep -E " ($double_precision)" | cut -d ' ' -f 1); do words+=",watch=0x$address"; done
  echo "$words"
}

# One node on one board. Its line of measurements is in measured.BOARD.NAME.
measure() {
  local board=$1 name=$2 out=$work/$1.$2 tools
  tools=$(prefix_of "$1")
  on_board "$board" "$name" observed "$out" observe=1 || { failed "$board $name: code $?: $(tail -n 1 "$out.log")"; return; }
  for part in features output jsonl; do
    cmp -s "$out.$part" "$work/host.$name.$part" || failed "$board $name: $part differ from this machine's"
  done
  # Memory of a flashed node. RAM: data, memory of the node, stack.
  # A brief recording suffices for that.
  local whole=${recording_of[$name]} lean
  lean=$(image "$board" "$name" node)
  check_image "$lean"
  recording_of[$name]=${brief_of[$name]:-$whole}
  RUNNEL_PLUGIN=$(counting "$lean") on_board "$board" "$name" node "$out.node" || failed "$board $name: code $?: $(tail -n 1 "$out.node.log")"
  recording_of[$name]=$whole
  [[ -n ${brief_of[$name]:-} ]] || cmp -s "$out.node.jsonl" "$work/host.$name.jsonl" || failed "$board $name: decisions of the lean image differ from this machine's"
  ! is_sound "$name" || cmp -s "$out.node.output" "$work/host.$name.output" || failed "$board $name: sound of the lean image differs from this machine's"
  local model text data_bytes used stack
  model=$(sed -n 's/^#define RUNNEL_.*_MODEL_BYTES //p' "$embedded/$name/$name.h")
  read -r text data_bytes _ < <("${tools}size" "$lean" | tail -n 1)
  used=$(number "$out.node" memory_used) stack=$(number "$out.node" stack_used)
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$name" "$board" "$((text + data_bytes))" "$model" "$((used + stack))" "$used" "$stack" "$(number "$out.node" instructions_to_prepare)" \
    "$(number "$out.node" mean)" "$(number "$out.node" most)" "$(rig_of "$folder/${name}_node.map")" >"$work/measured.$board.$name"
  # From the start, checksums included, to the first hop with a frame: 5 ms at 100 MHz of a Cortex-M.
  local ready
  ready=$(grep -o 'instructions_until_push .*' "$out.node.log" | awk '{print $NF}')
  [[ $name != digits || $board == virt-* ]] || ((ready <= 500000)) || failed "$board $name: $ready instructions until the first frame, expected at most 500000"
  # Function calls, or instructions on processors that have them.
  local doubles
  doubles=$(number "$out.node" watched)
  ((doubles == 0)) || failed "$board $name: $doubles times arithmetic in double precision for frames"
}

for board in "${boards[@]}"; do
  folder=$build/firmware/$board
  mkdir -p "$folder"
  list=""
  for name in "${examples[@]}"; do [[ " ${too_large_for[$name]:-} " == *" $board "* ]] || list+=";$embedded/$name"; done
  [[ $board != "${boards[0]}" ]] || list+=$(printf ';%s' "${extras[@]/#/$embedded/}")
  if ! { cmake -S "$root" -B "$folder" -G Ninja -D CMAKE_TOOLCHAIN_FILE="$(toolchain_of "$board")" -D CMAKE_BUILD_TYPE=Release -D RUNNEL_BOARD="$board" -D RUNNEL_EMBEDDED="${list:1}" &&
         cmake --build "$folder" --parallel "$jobs" --target node_images; } >"$folder.nodes.log" 2>&1; then
    grep -E "error|Error|undefined" "$folder.nodes.log" >&2
    die "$board: the build failed ($folder.nodes.log)"
  fi
  for name in "${examples[@]}"; do
    runs_on "$name" "$board" || continue
    while (($(jobs -rp | wc -l) >= jobs)); do wait -n || true; done
    measure "$board" "$name" &
  done
done
wait
measured=$work/measured.tsv
for name in "${examples[@]}"; do
  for board in "${boards[@]}"; do
    runs_on "$name" "$board" || continue
    cat "$work/measured.$board.$name" 2>/dev/null || failed "$board $name: not measured"
  done
done >"$measured"
tools=$(prefix_of "${boards[0]}")

# Two tiers of memory change nothing.
if [[ " ${extras[*]} " == *" tiered "* ]]; then
  on_board "${boards[0]}" tiered observed "$work/tiered" observe=1 || failed "two tiers: code $?: $(tail -n 1 "$work/tiered.log")"
  for part in features output jsonl; do cmp -s "$work/tiered.$part" "$work/host.$tiered.$part" || failed "two tiers: $part differ from this machine's"; done
  (($(number "$work/tiered" fast_used) > 0)) || failed "two tiers: the fast one is empty"
fi

# Faults, over one word, on the first board with the first example: each has its code and ends.
board=${boards[0]} name=${examples[0]} image_name=${examples[0]}
expect() {   # CODE WHAT [KEY=VALUE]...
  local code=$1 what=$2 status=0
  shift 2
  on_board "$board" "$image_name" observed "$work/fault" "$@" || status=$?
  [[ $status == "$code" ]] || failed "$what: code $status, expected $code: $(tail -n 1 "$work/fault.log")"
}
short=$data/digits/eval_wav/000_0_george_0.wav
if [[ $name == digits && -f $short ]]; then
recording_of[$name]=$short source_of[$name]="wav path='$short'"
on_desk "$name"
expect 5 "too little memory" memory=4000
expect 5 "no memory" memory=100
expect 8 "misaligned memory" shift=4
expect 4 "no self-test embedded" test=1
expect 12 "samples served late" late=1
expect 0 "pieces of 7 samples" piece=7 observe=1
cmp -s "$work/fault.output" "$work/host.$name.output" || failed "pieces of 7 samples change the output"
expect 0 "bursts of 50 hops" burst=50 observe=1
cmp -s "$work/fault.output" "$work/host.$name.output" || failed "bursts of 50 hops change the output"
expect 0 "saved and restored" save=30 observe=1
cmp -s "$work/fault.jsonl" "$work/host.$name.jsonl" || failed "saving and restoring changes decisions"
expect 0 "closed gate" gate=4000000000
recording_of[foreign]=$short image_name=foreign
expect 9 "a program for another processor"
image_name=$name
# Flipped bits in the flash image: in the model, all over it.
source "$root/firmware/examples/damage.sh"
fi

table() {
  printf '| node | board | flash | model in it | RAM | node | stack | instructions to prepare | per hop | at most | test rig in the flash |\n|---|---|---|---|---|---|---|---|---|---|---|\n'
  while IFS=$'\t' read -r one on flash model ram used stack prepare hop most rig; do
    [[ $one != "#"* ]] || continue
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$one" "$on" "$flash" "$model" "$ram" "$used" "$stack" "$prepare" "$hop" "$most" "$rig"
  done <"$1"
}
if [[ ${RUNNEL_UPDATE_BUDGETS:-0} == 1 ]]; then
  # Nodes that were not run keep their line, and lines with # stay.
  awk -F '\t' 'NR == FNR { new[$1 FS $2] = $0; order[++count] = $1 FS $2; next } ($1 FS $2) in new { print new[$1 FS $2]; delete new[$1 FS $2]; next } { print }
                END { for (i = 1; i <= count; ++i) if (order[i] in new) print new[order[i]] }' "$measured" "$budgets" | LC_ALL=C sort -t $'\t' -k 1,2 >"$work/budgets.tsv"
  cp "$work/budgets.tsv" "$budgets"
  page=$root/docs/firmware.md
  { sed '/^<!-- budgets -->$/q' "$page"; table "$budgets"; sed -n '/^<!-- end of budgets -->$/,$p' "$page"; } >"$work/page.md"
  cp "$work/page.md" "$page"
fi
while IFS=$'\t' read -r one on flash _ ram _; do
  while IFS=$'\t' read -r name2 on2 flash2 _ ram2 _; do
    [[ $one == "$name2" && $on == "$on2" ]] || continue
    ((flash * 100 <= flash2 * 102)) || failed "$one on $on: flash $flash bytes, the budget is $flash2"
    ((ram * 100 <= ram2 * 102)) || failed "$one on $on: RAM $ram bytes, the budget is $ram2"
    continue 2
  done < <(cat "$budgets" 2>/dev/null)
  failed "$one on $on: no budget in firmware/budgets.tsv (RUNNEL_UPDATE_BUDGETS=1 writes it)"
done <"$measured"
table "$measured"
[[ ! -s $work/failures ]] || die "$(wc -l <"$work/failures") failures"
say "${#examples[@]} nodes on ${#boards[@]} boards give the bytes of this machine"
