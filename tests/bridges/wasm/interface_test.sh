#!/usr/bin/env bash
# interface_test.sh FOLDER [NODE]: interface_test.mjs with the JavaScript in FOLDER; ends with 77 without Node.js.
set -euo pipefail
node=${2:-}
if [[ ! -x $node ]]; then
  echo "SKIPPED WITHOUT NODE: scripts/install.sh wasm" >&2
  exit 77
fi
exec "$node" "$(dirname -- "${BASH_SOURCE[0]}")/interface_test.mjs" "$1"
