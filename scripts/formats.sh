#!/usr/bin/env bash
# formats.sh: regenerates the tables of operators in docs/formats.md from the importers (after building the release
# preset). A test fails when they are out of date.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
cmake --build --preset release --target onnx_tests
RUNNEL_UPDATE_DOCS=1 build/tests/compiler/onnx_tests --gtest_filter='FormatsPage.*'
say "docs/formats.md is up to date"
