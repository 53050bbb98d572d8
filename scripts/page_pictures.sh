#!/usr/bin/env bash
# page_pictures.sh [PICTURE [TERMINAL [SERVER]]]: opens the live page of the digits model in headless Chromium while it plays a
# recording in real time, and checks that the page loads, that its spectrogram moves, and that an event appears; then
# does the same with the view in a terminal, and with the page of a server while Python's client of WebSockets streams the recording to
# it, whose events must be those of the run. PICTURE, TERMINAL, SERVER: .png files for pictures (of the page four, page_look.py). Needs a
# built program and the packages of `scripts/install.sh browser`, and a recording: RUNNEL_RECORDING, or that of the test
# data. Ends with 77 without browser or recording.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
picture=${1:+$(realpath -- "$1")}
terminal=${2:+$(realpath -- "$2")}
server=${3:+$(realpath -- "$3")}
runnel=$(realpath -- "${RUNNEL_PROGRAM:-${RUNNEL_BUILD:-$root/build}/runnel}")
model=$(realpath -- "${RUNNEL_MODEL:-${RUNNEL_BUILD:-$root/build}/models/digits/digits.rnl}")
recording=${RUNNEL_RECORDING:-${RUNNEL_TEST_DATA:-}/digits/stitched_90s.wav}
[[ -x $runnel && -f $model ]] || die "$runnel and $model: build first"
browser=$(command -v chromium || command -v chromium-browser) || { say "SKIPPED WITHOUT CHROMIUM: scripts/install.sh browser"; exit 77; }
/usr/bin/python3 -c "import websocket" 2>/dev/null || { say "SKIPPED WITHOUT PYTHON'S WEBSOCKET: scripts/install.sh browser"; exit 77; }
[[ -f $recording ]] || { say "SKIPPED WITHOUT A RECORDING: RUNNEL_RECORDING, with spoken digits for half a minute, or RUNNEL_TEST_DATA"; exit 77; }

folder=$(mktemp -d)
touch "$folder/messages" "$folder/listening"
listener=
trap 'if [[ -n $listener ]]; then kill "$listener" 2>/dev/null || true; wait "$listener" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
recording=$(realpath -- "$recording")
cd "$(dirname -- "$recording")"        # the page shows the name as given
"$runnel" listen "$model" --wav "$(basename -- "$recording")" --speed 1 --http 127.0.0.1:0 >"$folder/events" 2>"$folder/messages" &
listener=$!
for ((i = 0; i < 100; ++i)); do
  url=$(sed -n 's/.*page: \(http[^ ]*\).*/\1/p' "$folder/messages")
  if [[ -n $url ]]; then break; fi
  kill -0 "$listener" 2>/dev/null || die "the program ended: $(cat "$folder/messages")"
  sleep 0.1
done
[[ -n $url ]] || die "the program did not say where its page is"

found=$(timeout 90 /usr/bin/python3 "$root/scripts/page_look.py" "$browser" "$url" "$folder/profile" ${picture:+"$folder/page.png"}) || die "the browser could not be asked"
number() { sed -n "s/.*\"$1\": {\"columns\": \([0-9]*\), \"events\": \([0-9]*\)}.*/\\$2/p" <<<"$found"; }
number_of() { sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" <<<"$found"; }
first=$(number first 1) second=$(number second 1) events=$(number second 2)
[[ $found == *'"title": "runnel"'* ]] || die "the page did not load: $found"
[[ $first -ge 10 ]] || die "the spectrogram had $first columns after half a minute, expected at least 10"
[[ $second -gt $first ]] || die "the spectrogram stood still at $first columns"
[[ $events -ge 1 ]] || die "no event appeared on the page; the run said: $(cat "$folder/events")"
[[ $(number_of width) -le 360 ]] || die "the page is wider than a window of 360 pixels: $found"
[[ $(number_of nodes) -ge 4 && $(number_of curves) -ge 1 ]] || die "the graph or the curves are missing: $found"
[[ $found == *'"theme": ["light dark", "dark"]'* ]] || die "the key t does not change the theme: $found"
if [[ -n $picture ]]; then
  for kind in "" -dark -narrow -narrow-dark; do mv "$folder/page$kind.png" "${picture%.png}$kind.png"; done
fi

shown=$(/usr/bin/python3 "$root/scripts/terminal_look.py" 12 "$folder/terminal.html" "$runnel" listen "$model" --wav "$(basename -- "$recording")" --speed 1 --ui)
[[ $shown =~ ^1[12]\.[0-9]\ s\ \ \[#*\.*\]\ -?[0-9]+\ dB\ .*\ [01]\. ]] || die "the terminal showed no time, level and shares after 12 seconds: $shown"
if grep -v '^<b>' "$folder/terminal.html" | grep -q ' dB '; then die "the view was left behind in lines above the last: $(cat "$folder/terminal.html")"; fi
grep -q 'type&quot;:&quot;event' "$folder/terminal.html" || die "no event was shown above the view"
if [[ -n $terminal ]]; then
  "$browser" --headless=new --no-sandbox --user-data-dir="$folder/other" --hide-scrollbars --window-size=1000,150 --screenshot="$folder/terminal.png" "file://$folder/terminal.html" 2>/dev/null
  mv "$folder/terminal.png" "$terminal"
fi

# The page of a server, and streams over WebSocket with a client that is not ours.
kill "$listener"; wait "$listener" 2>/dev/null || true
"$runnel" serve "$model" --http 127.0.0.1:0 >"$folder/listening" 2>"$folder/serve" &
listener=$!
for ((i = 0; i < 200; ++i)); do
  if grep '"listening"' "$folder/listening" >/dev/null; then break; fi
  sleep 0.1
done
url=$(sed -n 's/.*"http":"\([^"]*\)".*/\1/p' "$folder/listening")
[[ -n $url ]] || die "the server did not say where its page is: $(cat "$folder/serve")"
/usr/bin/python3 "$root/scripts/page_streams.py" "$url" "$(basename -- "$recording")" 3 "$folder/seen" >"$folder/streamed" &
streams=$!
seen=$(timeout 90 /usr/bin/python3 "$root/scripts/page_look.py" "$browser" "$url" "$folder/third" "${server:+$folder/server.png}" 3) || die "the browser could not be asked"
touch "$folder/seen"
wait "$streams" || die "the streams failed: $(cat "$folder/streamed")"
[[ $seen == *kitchen* ]] || die "the page of the server showed no streams: $seen"
"$runnel" listen "$model" --wav "$(basename -- "$recording")" 2>/dev/null | sed -n 's/"source":"[^"]*",//; /"event"/p' >"$folder/expected"
for who in kitchen hall garden; do
  sed -n "/\"source\":\"$who\"/{/\"event\"/{s/\"source\":\"[^\"]*\",//;p}}" "$folder/streamed" | cmp - "$folder/expected" || die "$who heard other events than the recording has"
done
if [[ -n $server ]]; then mv "$folder/server.png" "$server"; fi
say "the page loaded, its spectrogram moved ($first, then $second columns), $events events appeared; the terminal showed $shown"
