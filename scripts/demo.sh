#!/usr/bin/env bash
# demo.sh: builds runnel and lets it listen to ten spoken digits; one JSON object per line on stdout, messages on
# stderr.
#
# The recording is made of the ten digit prompts of Debian's asterisk-core-sounds-en-wav, with a pause around each.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
if [[ $# -gt 0 ]]; then die "takes no arguments"; fi

"$root/scripts/install.sh" build demo
cd "$root"

# An existing build folder keeps its settings; a new one gets only the program and the model.
settings=()
if [[ ! -f build/CMakeCache.txt ]]; then settings=(-D RUNNEL_TESTS=OFF -D RUNNEL_BENCH=OFF); fi
log=$(mktemp)
folder=$(mktemp -d)
trap 'rm -rf "$log" "$folder"' EXIT

# Reads Ninja's log and shows what is left: on a terminal in one line, elsewhere at every tenth.
show_progress() {
  local line done all percent shown=-10 left started=$SECONDS
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$log"
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]} percent=$((100 * BASH_REMATCH[1] / BASH_REMATCH[2])) left=
    if ((percent > 4)); then left=$(((SECONDS - started) * (all - done) / done)) left=", about $(((left + 59) / 60)) min left"; fi
    if [[ -t 2 && ${TERM:-dumb} != dumb ]]; then
      printf '\r%s: building, %d of %d steps (%d %%)%s\033[K' "$name" "$done" "$all" "$percent" "$left" >&2
    elif ((percent >= shown + 10)); then
      shown=$percent
      say "building, $done of $all steps ($percent %)$left"
    fi
  done
  if [[ -t 2 && ${TERM:-dumb} != dumb ]]; then printf '\r\033[K' >&2; fi
}

say "building"
if ! cmake --preset release ${settings[@]+"${settings[@]}"} >"$log" 2>&1 ||
  ! NINJA_STATUS='[%f/%t] ' cmake --build --preset release --parallel "$jobs" --target runnel_program runnel_models 2>&1 | show_progress; then
  tail -n 40 "$log" >&2
  die "the build failed; its last lines are above"
fi
program=build/runnel
model=build/models/digits/digits.rnl
for file in "$program" "$model"; do
  [[ -f $file ]] || die "the build made no $file"
done

# The voices of the package lie in folders en*; take the first that speaks all ten digits.
voice=
for candidate in /usr/share/asterisk/sounds/en*/digits; do
  complete=1
  for digit in 0 1 2 3 4 5 6 7 8 9; do
    [[ -f $candidate/$digit.wav ]] || complete=0
  done
  if [[ $complete -eq 1 ]]; then
    voice=$candidate
    break
  fi
done
[[ -n $voice ]] || die "no folder /usr/share/asterisk/sounds/en*/digits holds 0.wav to 9.wav (Debian package asterisk-core-sounds-en-wav)"

# Every prompt at the same level, 12 dB below full scale. Pauses are quiet noise, not zeros, as in any room; -R makes it the same
# noise in every run.
pause=$folder/pause.wav
sox -R -n -r 8000 -c 1 -b 16 "$pause" synth 0.6 pinknoise vol -60dB
parts=("$pause")
for digit in 0 1 2 3 4 5 6 7 8 9; do
  sox -R "$voice/$digit.wav" -r 8000 -c 1 -b 16 "$folder/$digit.wav" norm -12
  parts+=("$folder/$digit.wav" "$pause")
done
sox "${parts[@]}" "$folder/ten-digits.wav"

# The recording is kept, for what comes next.
recording=build/demo/ten-digits.wav
mkdir -p build/demo
mv "$folder/ten-digits.wav" "$recording"

say "listening to the digits 0 to 9 (${voice%/digits})"
cd build/demo   # so that records name the recording without its folder
"$root/$program" listen digits --wav ten-digits.wav | tee "$folder/events.jsonl"

missed=
for digit in 0 1 2 3 4 5 6 7 8 9; do
  grep -q "\"label\":\"$digit\"" "$folder/events.jsonl" || missed+=" $digit"
done
if [[ -n $missed ]]; then say "spoken, but not recognised:$missed (models/digits/README.md says why)"; fi

cat >&2 <<END

The recording is $recording. Three things to try next, in $root:

  $program listen                                  # say digits to your microphone
  $program features $recording -o a.npy --png a.png   # what the model sees, as a picture
  $program models available                        # public models that one command fetches
END
