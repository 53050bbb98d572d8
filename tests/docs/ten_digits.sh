#!/usr/bin/env bash
# ten_digits.sh FILE: the recording of scripts/demo.sh. Fails without sox or the voice.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for voice in /usr/share/asterisk/sounds/en*/digits; do [[ -f $voice/9.wav ]] && break; done
sox -R -n -r 8000 -c 1 -b 16 "$folder/pause.wav" synth 0.6 pinknoise vol -60dB
parts=("$folder/pause.wav")
for digit in 0 1 2 3 4 5 6 7 8 9; do
  sox -R "$voice/$digit.wav" -r 8000 -c 1 -b 16 "$folder/$digit.wav" norm -12
  parts+=("$folder/$digit.wav" "$folder/pause.wav")
done
sox "${parts[@]}" "$1"
