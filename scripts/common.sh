# Shared code of the scripts (source it): strict mode, the project's folder, messages on stderr, the clock.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
name=${0##*/}
jobs=${RUNNEL_JOBS:-$(nproc)}

say() { printf '%s: %s\n' "$name" "$*" >&2; }
die() {
  say "$*"
  exit 1
}
