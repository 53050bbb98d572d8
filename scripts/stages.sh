# Stages of a long run in a limited time; sourced after common.sh (say), by test.sh.
#
# RUNNEL_TIME_LIMIT: seconds from the start of the script within which the last `limited` stage ends. Without it nothing is limited.
# Results: the arrays `failed` (names of failed stages) and `left_out` (names of those that had no time, with the reason, which is no
# failure).
failed=()
left_out=()
# Seconds of the limit that `limited` leaves to later stages, and what a stage needs: with less it is not begun.
kept=0
needed=30

# stage NAME COMMAND...: runs it, says how long it took, and remembers a failure.
stage() {
  local what=$1 start=$SECONDS
  shift
  say "$what"
  if "$@"; then
    say "$what: done in $((SECONDS - start)) s"
  else
    say "$what: FAILED after $((SECONDS - start)) s"
    failed+=("$what")
    return 1
  fi
}
# in_time SECONDS COMMAND...: runs it and its subprocesses for at most that long; 143 when cut off,
# whatever the cut makes of its own exit code.
in_time() {
  local seconds=$1 command watch status=0 end=$((SECONDS + $1))
  shift
  set -m   # separate process groups
  "$@" &
  command=$!
  (sleep "$seconds" && kill -TERM -- "-$command") >/dev/null 2>&1 &
  watch=$!
  set +m
  wait "$command" || status=$?
  kill -TERM -- "-$watch" 2>/dev/null || true
  wait "$watch" 2>/dev/null || true
  if [[ $status -ne 0 && $SECONDS -ge $end ]]; then status=143; fi
  return "$status"
}
# Seconds that a stage would have now.
time_left() {
  if [[ -z ${RUNNEL_TIME_LIMIT:-} ]]; then
    echo 1000000
  else
    echo $((RUNNEL_TIME_LIMIT - kept - SECONDS))
  fi
}
# limited NAME COMMAND...: a stage in the time that is left, which is cut off at its end, or not begun when that is less than `needed`.
# Succeeds when the command did; 143 when it was cut off.
limited() {
  if [[ -z ${RUNNEL_TIME_LIMIT:-} ]]; then
    stage "$@"
    return
  fi
  local what=$1 start=$SECONDS status=0 left
  left=$(time_left)
  shift
  if [[ $left -lt $needed ]]; then
    left_out+=("$what (not begun: $((left > 0 ? left : 0)) s were left, $needed needed)")
    return 1
  fi
  say "$what (at most $left s)"
  in_time "$left" "$@" || status=$?
  case $status in
    0) say "$what: done in $((SECONDS - start)) s" ;;
    143)
      left_out+=("$what (cut off after $((SECONDS - start)) s)")
      return 143
      ;;
    *)
      say "$what: FAILED after $((SECONDS - start)) s"
      failed+=("$what")
      return 1
      ;;
  esac
}
