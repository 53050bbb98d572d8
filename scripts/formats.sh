#!/usr/bin/env bash
# formats.sh: writes the tables of operators in docs/formats.md anew, from what the importers say (the release build is built first). A test
# fails when they are out of date.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
cmake --build --preset release --target onnx_tests
RUNNEL_UPDATE_DOCS=1 build/tests/compiler/onnx_tests --gtest_filter='FormatsPage.*'
say "docs/formats.md is up to date"
