#!/usr/bin/env bash
# same_bytes_test.sh SOURCE: two builds of a part, in folders of different names, give the same bytes, which do not have a path of the build in them;
# what configuring writes has the date of SOURCE_DATE_EPOCH. The whole: scripts/reproducible.sh.
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The cache would answer the second build with what the first one made.
export SOURCE_DATE_EPOCH=1700000000 CCACHE_DISABLE=1 LC_ALL=C
# Few objects, because compiling takes its time, and those of libraries wait for all that these link. (What knows folders, runnel embed, is
# searched in the packages: fresh_root_test.sh.)
objects=(base/CMakeFiles/runnel_base.dir/status.cpp.o base/CMakeFiles/runnel_base.dir/suggest.cpp.o
  base/CMakeFiles/runnel_base_host.dir/host/late_library.cpp.o)
copies=(one "two/with a longer name")
for copy in "${copies[@]}"; do
  mkdir -p "$work/$copy"
  # Sources alone, whatever builds lie beside them, and whatever other tests do there.
  tar -C "$source" --exclude='./build*' --exclude=./.git --exclude=__pycache__ --ignore-failed-read --warning=no-file-changed -cf - . |
    tar -C "$work/$copy" -xf - || true
  cmake -S "$work/$copy" -B "$work/$copy/build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D CMAKE_INSTALL_PREFIX=/usr -D RUNNEL_TESTS=OFF -D RUNNEL_BENCH=OFF \
    -D RUNNEL_EXAMPLES=OFF -D RUNNEL_PYTHON=OFF -D RUNNEL_FFTW=OFF >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; exit 1; }
  cmake --build "$work/$copy/build" --target "${objects[@]}" -- -j1 >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; exit 1; }
done
status=0
for file in "${objects[@]}" packaging/changelog generated/services/embed/device_sources.h; do
  cmp -- "$work/${copies[0]}/build/$file" "$work/${copies[1]}/build/$file" || status=1
  if grep -qF -- "$work" "$work/${copies[0]}/build/$file"; then
    echo "$file: the path of the build is in it" >&2
    status=1
  fi
done
grep -q '14 Nov 2023' "$work/${copies[0]}/build/packaging/changelog" || { echo "the changelog has another date than SOURCE_DATE_EPOCH" >&2; status=1; }
echo "${#objects[@]} objects"
exit "$status"
