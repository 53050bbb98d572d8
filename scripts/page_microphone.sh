#!/usr/bin/env bash
# page_microphone.sh: a browser speaks to runnel. Headless Chromium, whose microphone is a recording of spoken digits, opens
# the live page over HTTPS and presses its button. Compared are
#  * the events of the run with those of the same samples as a recording, byte for byte (the run keeps the samples that it got, with zeros
#    where some were lost);
#  * these events with those of the original: where a piece of the original around an event has arrived whole (found by correlation, because the
#    browser begins at an unknown sample, converts the rate by its own filter, and a busy machine makes it stutter), an event with this
#    label is within 60 ms of its place. Ends with 77 where no piece arrived whole.
# Then the faults: a broken connection, a second tab, a take-over, a closed tab, a refused permission. Prints the latency from sample
# to event. Needs a built program, the packages of `scripts/install.sh browser`, and a recording: RUNNEL_RECORDING, or that of the
# test data. RUNNEL_PICTURE: a .png file for the page while it listens. Ends with 77 without browser or recording.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
runnel=$(realpath -- "${RUNNEL_PROGRAM:-${RUNNEL_BUILD:-$root/build}/runnel}")
model=$(realpath -- "${RUNNEL_MODEL:-${RUNNEL_BUILD:-$root/build}/models/digits/digits.rnl}")
recording=${RUNNEL_RECORDING:-${RUNNEL_TEST_DATA:-}/digits/stitched_90s.wav}
[[ -x $runnel && -f $model ]] || die "$runnel and $model: build first"
browser=$(command -v chromium || command -v chromium-browser) || { say "SKIPPED WITHOUT CHROMIUM: scripts/install.sh browser"; exit 77; }
/usr/bin/python3 -c "import websocket" 2>/dev/null || { say "SKIPPED WITHOUT PYTHON'S WEBSOCKET: scripts/install.sh browser"; exit 77; }
[[ -f $recording ]] || { say "SKIPPED WITHOUT A RECORDING: RUNNEL_RECORDING, with spoken digits for 15 seconds, or RUNNEL_TEST_DATA"; exit 77; }
/usr/bin/python3 -c "import numpy" 2>/dev/null || { say "SKIPPED WITHOUT NUMPY: scripts/install.sh python"; exit 77; }
command -v openssl >/dev/null || { say "SKIPPED WITHOUT OPENSSL"; exit 77; }
seconds=15

folder=$(mktemp -d)
runs=()
trap 'for run in "${runs[@]}"; do kill "$run" 2>/dev/null || true; wait "$run" 2>/dev/null || true; done; rm -rf "$folder"' EXIT
"$runnel" run "wav path=$(realpath -- "$recording") duration=$seconds ! wav path=$folder/spoken.wav" >/dev/null 2>"$folder/messages"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
  -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2>/dev/null
tls=(--tls-cert "$folder/certificate.pem" --tls-key "$folder/key.pem")

url_of() {  # url_of FILE PID: where the run says that its page is
  local url=
  for ((i = 0; i < 200; ++i)); do
    url=$(sed -n 's/.*page: \(http[^ ]*\).*/\1/p' "$1")
    if [[ -n $url ]]; then echo "$url"; return; fi
    kill -0 "$2" 2>/dev/null || die "the program ended: $(cat "$1")"
    sleep 0.1
  done
  die "the program did not say where its page is"
}
chain="fbank num_mel_bins=40 high_freq=7600 ! infer model=$model ! detect"
"$runnel" run "browser name=microphone ! wav path=$folder/heard.wav encoding=float32
microphone. ! $chain ! jsonl" --on-gap zeros --http 127.0.0.1:0 "${tls[@]}" >"$folder/spoken.jsonl" 2>"$folder/messages" &
first=$!
"$runnel" listen "$model" --browser --http 127.0.0.1:0 >"$folder/second.jsonl" 2>"$folder/messages2" &
second=$!
runs+=("$first" "$second")
url=$(url_of "$folder/messages" "$first")
url2=$(url_of "$folder/messages2" "$second")
found=$(timeout 200 /usr/bin/python3 "$root/scripts/page_speak.py" "$browser" "$url" "$folder/profile" "$folder/spoken.wav" $((seconds + 1)) "$url2") || die "the browser could not be asked: $found"
for run in "$first" "$second"; do kill -INT "$run"; wait "$run" || die "the run failed: $(cat "$folder/messages" "$folder/messages2")"; done
runs=()

"$runnel" run "wav path=$folder/heard.wav ! $chain ! jsonl" >"$folder/heard.jsonl" 2>/dev/null
"$runnel" run "wav path=$folder/spoken.wav ! $chain ! jsonl" >"$folder/original.jsonl" 2>/dev/null
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$root/scripts" /usr/bin/python3 - "$folder" "$found" <<'PYTHON'
import json, statistics, sys
from page_alignment import arrived
folder, found = sys.argv[1], json.loads(sys.argv[2])

def events(name):
    with open(f"{folder}/{name}.jsonl", encoding="utf-8") as lines:
        return [{**event, "source": ""} for event in map(json.loads, lines) if event["type"] == "event"]

def expect(true, what):
    if not true:
        sys.exit(f"{what}\nfound {json.dumps(found)}")

spoken, heard, original = events("spoken"), events("heard"), events("original")
expect(spoken == heard, f"live {spoken}\nas a recording {heard}: not the same events")
expect(len(original) >= 3, f"only {len(original)} events in the recording")

missing, whole = arrived(original, spoken, f"{folder}/spoken.wav", f"{folder}/heard.wav")
expect(not missing, f"{missing} have arrived whole, and are not among {spoken}")
expect(found["secure"] == "https:" and "is off" in found["before"] and "listening" in found["during"], "the page over HTTPS")
faults = found["faults"]
expect("lost" in faults["gap"], "no gap after a broken connection")
expect("another page" in faults["second_refused"], "a second tab was not refused")
expect("taken over" in faults["first_after"] and faults["second_after"] == "open", "the second tab did not take over")
expect("is off" in faults["after_closing"], "a closed tab was not noticed")
expect("refused" in faults["denied"], "a refused permission was not told")
with open(f"{folder}/second.jsonl", encoding="utf-8") as lines:
    summary = [r for r in map(json.loads, lines) if r["type"] == "summary"][0]
expect(summary["gaps"] >= 1 and summary["lost_samples"] > 0, f"no counted gap: {summary}")
late = sorted(found["latencies_ms"])
print(f"{len(spoken)} events, byte for byte those of the samples that arrived; {whole} of {len(original)} pieces of the original arrived whole, and have their events")
if late:
    print(f"from sample to event in the page: median {statistics.median(late):.1f} ms, p99 {late[min(len(late) - 1, int(0.99 * len(late)))]:.1f} ms, {len(late)} events")
if not whole:
    print("SKIPPED IN PART: THE MACHINE WAS TOO BUSY FOR SOUND IN REAL TIME", file=sys.stderr)
    sys.exit(77)
PYTHON
