#!/bin/sh
# start_test.sh PROGRAM "MODULE ...": what every run of the program opens, against the list below. A library that few runs need is opened when it is used
# (cmake/RunnelModule.cmake): each one costs every start, libcpp-httplib alone 1.7 ms and 4 MB.
set -eu
allowed="ld-linux-x86-64.so ld-linux-aarch64.so libc.so libfftw3f.so libfmt.so libgcc_s.so libm.so libsndfile.so libstdc++.so"
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
[ -n "$needed" ] || { echo "$1 needs no library at all: was it read?" >&2; exit 1; }
failed=0
for library in $needed; do
  case " $allowed " in
    *" ${library%%.so*}.so "*) ;;
    *) echo "$1 opens $library at its start, expected only: $allowed" >&2; failed=1 ;;
  esac
done
# The program reaches what it opens later.
folder=$(dirname "$1")/lib/runnel
for module in $2; do
  if [ ! -f "$folder/$module.so" ]; then
    echo "$folder/$module.so is missing" >&2
    failed=1
  fi
done
exit $failed
