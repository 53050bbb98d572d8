#!/usr/bin/env bash
# page_pictures.sh [PICTURE]: opens the live page of the digits model in headless Chromium while it hears a recording at its own pace, and checks that the
# page loads, that its spectrogram moves, and that an event appears. With PICTURE, a .png, keeps what the page looked like then. Needs a built program and
# the packages of `scripts/install.sh browser`, and a recording: RUNNEL_RECORDING, or that of the test data. Ends with 77 without browser or recording.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
runnel=${RUNNEL_PROGRAM:-${RUNNEL_BUILD:-$root/build}/runnel}
model=${RUNNEL_MODEL:-${RUNNEL_BUILD:-$root/build}/models/digits/digits.rnl}
recording=${RUNNEL_RECORDING:-${RUNNEL_TEST_DATA:-}/digits/stitched_90s.wav}
[[ -x $runnel && -f $model ]] || die "$runnel and $model: build first"
browser=$(command -v chromium || command -v chromium-browser) || { say "SKIPPED WITHOUT CHROMIUM: scripts/install.sh browser"; exit 77; }
[[ -f $recording ]] || { say "SKIPPED WITHOUT A RECORDING: RUNNEL_RECORDING, with spoken digits for half a minute, or RUNNEL_TEST_DATA"; exit 77; }

folder=$(mktemp -d)
heard=
trap 'if [[ -n $heard ]]; then kill "$heard" 2>/dev/null || true; wait "$heard" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
"$runnel" listen "$model" --wav "$recording" --speed 1 --http 127.0.0.1:0 >"$folder/events" 2>"$folder/talk" &
heard=$!
for ((i = 0; i < 100; ++i)); do
  url=$(sed -n 's/.*page: \(http[^ ]*\).*/\1/p' "$folder/talk")
  if [[ -n $url ]]; then break; fi
  kill -0 "$heard" 2>/dev/null || die "the program ended: $(cat "$folder/talk")"
  sleep 0.1
done
[[ -n $url ]] || die "the program did not say where its page is"

# look MILLISECONDS ARGUMENT...: what the page is after so long.
look() {
  local patience=$1
  shift
  timeout 60 "$browser" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$folder/profile" --window-size=1100,1000 --timeout="$patience" "$@" "$url" 2>>"$folder/browser"
}
counted() { sed -n "s/.*data-$1=\"\([0-9]*\)\".*/\1/p" <<<"$page" | head -1; }
page=$(look 2500 --dump-dom)
first=$(counted columns)
page=$(look 6000 --dump-dom)
second=$(counted columns)
events=$(counted events)
[[ $page == *"</html>"* ]] || die "the page did not load: $(tail -5 "$folder/browser")"
[[ ${first:-0} -ge 10 ]] || die "the spectrogram had ${first:-no} columns after 2.5 seconds, expected at least 10"
[[ ${second:-0} -gt $first ]] || die "the spectrogram stood still: $first columns after 2.5 seconds, ${second:-none} after 6"
[[ ${events:-0} -ge 1 ]] || die "no event appeared on the page; the run said: $(cat "$folder/events")"
if [[ $# -gt 0 ]]; then
  look 6000 --screenshot="$folder/page.png" >/dev/null
  [[ -s $folder/page.png ]] || die "there is no picture: $(tail -5 "$folder/browser")"
  mv "$folder/page.png" "$1"
fi
say "the page loaded, its spectrogram moved ($first, then $second columns), $events events appeared"
