#!/usr/bin/env bash
# spelling.sh: codespell over pages, scripts and sources.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/../.."
if ! command -v codespell >/dev/null; then
  echo "SKIPPED WITHOUT CODESPELL: scripts/install.sh test"
  exit 77
fi
# Words of the field and names in data that the list takes for mistakes.
codespell --ignore-words tests/docs/spelling.txt --skip './build*,./.git,*.onnx,*.png,*.wav,*.json,*.espdl,./tests/corpus,*.csv,*.tsv,LICENSE' .
