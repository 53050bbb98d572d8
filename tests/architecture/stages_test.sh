#!/usr/bin/env bash
# stages_test.sh SCRIPTS: stages (scripts/stages.sh) end in their time, say what became of them, and never pass for what they are not.
set -euo pipefail
scripts=$1
# shellcheck source=/dev/null
source "$scripts/common.sh"
# shellcheck source=/dev/null
source "$scripts/stages.sh"
faults=0
expect() {   # WHAT EXPECTED FOUND, where * of what is expected is any number of seconds
  # shellcheck disable=SC2053
  if [[ $3 != $2 ]]; then
    echo "$1: expected \"$2\", found \"$3\"" >&2
    faults=$((faults + 1))
  fi
}
code() {   # COMMAND...: sets $status
  status=0
  "$@" 2>/dev/null || status=$?
}

# Without a limit nothing is cut off or left out.
unset RUNNEL_TIME_LIMIT
needed=1000
code limited quick true
expect "a stage without a limit" "0 0 0" "$status ${#failed[@]} ${#left_out[@]}"
code limited wrong false
expect "a failure without a limit" "1 wrong" "$status ${failed[*]}"
failed=()

# Its own exit code counts in time.
SECONDS=0 RUNNEL_TIME_LIMIT=100 needed=30 kept=60
code limited quick true
expect "a stage that fits" "0 0 0" "$status ${#failed[@]} ${#left_out[@]}"
code limited wrong false
expect "a failure in time" "1 wrong" "$status ${failed[*]}"
failed=()

# What is kept for later stages is not there.
kept=80
code limited late true
expect "a stage without time" "1 0 late (not begun: * s were left, 30 needed)" "$status ${#failed[@]} ${left_out[*]}"
left_out=()

# A cut ends all of its processes.
beside=$(mktemp -u)
slow() { (while :; do echo alive >"$beside"; sleep 0.1; done) & sleep 60; }
SECONDS=0 RUNNEL_TIME_LIMIT=2 needed=1 kept=0
code limited slow slow
expect "a stage that is cut off" "143 0 slow (cut off after * s)" "$status ${#failed[@]} ${left_out[*]}"
rm -f "$beside"
sleep 0.5
expect "what a cut leaves" "nothing" "$([[ -e $beside ]] && echo something || echo nothing)"
rm -f "$beside"
exit $((faults > 0))
