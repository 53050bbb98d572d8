#!/usr/bin/env bash
# check_device_symbols.sh BUILD_DEVICE_FOLDER
#
# Fails when the device libraries (every archive below the folder, built with the preset `device`) use what firmware
# lacks: the heap, exceptions, RTTI, threads, formatted text and files. The linker also sees what headers and templates
# drag in. Builds nothing.
set -euo pipefail

if [[ $# -ne 1 || ! -d $1 ]]; then
  echo "usage: ${0##*/} BUILD_DEVICE_FOLDER (configure and build it with the preset device first)" >&2
  exit 2
fi
if ! command -v nm >/dev/null; then
  echo "${0##*/}: nm was not found (Debian package binutils)" >&2
  exit 2
fi
mapfile -t archives < <(find "$1" -name '*.a' -not -path '*/CMakeFiles/*' | sort)
if [[ ${#archives[@]} -eq 0 ]]; then
  echo "${0##*/}: no archive below $1; build it with: cmake --preset device && cmake --build --preset device" >&2
  exit 2
fi

# Reason, then a pattern for the whole demangled name. Inlined placement new leaves no symbol, so every `operator new` is a heap.
rules=(
  'heap|operator (new|delete)(\[\])?\(.*|(__libc_)?(malloc|calloc|realloc|free)|aligned_alloc|posix_memalign|memalign|strdup'
  'exceptions|__cxa_(throw|rethrow|allocate_exception|free_exception|begin_catch|end_catch|get_exception_ptr)|__gxx_personality_.*|_Unwind_.*|std::__throw_.*|std::terminate\(\)|std::rethrow_exception.*'
  'RTTI|__dynamic_cast|typeinfo (for|name for) .*|vtable for __cxxabiv1::.*|__cxa_bad_(cast|typeid)'
  'threads|pthread_.*|std::thread::.*|std::mutex::.*|std::condition_variable.*|__cxa_guard_.*|thrd_.*|mtx_.*|sem_(init|wait|post).*'
  'formatted text|(v|__)?(f|s|sn|as|d)?printf(_chk)?|__v?(f|s|sn|as)printf_chk|v(s|sn|f|as|d)?printf|(f|s)?scanf|__isoc[0-9]+_.*|f?puts|f?putc|putchar|strto(d|f|l|ll|ul|ull)|std::to_chars.*'
  'files|f(open|close|read|write|flush|seek|tell|gets)|open(64)?|read|write|close|stdout|stderr|stdin'
  'iostream|std::(basic_)?([io]|io|s|f|[io]f|[io]string)?stream.*|std::(basic_)?(ostream|istream|ostringstream|stringstream|ifstream|ofstream|fstream|filebuf|stringbuf)<?.*|std::(cout|cerr|clog|cin)|std::ios_base.*|std::locale.*'
  'ending the program|abort|exit|_exit|quick_exit|__assert_fail|__assert_func|raise'
)

found=0
for archive in "${archives[@]}"; do
  while IFS= read -r line; do
    # archive:member:                  U symbol
    if [[ ! $line =~ ^(.*):[[:space:]]+[Uwv][[:space:]](.+)$ ]]; then continue; fi
    member=${BASH_REMATCH[1]##*/}
    symbol=${BASH_REMATCH[2]%%@*}
    for rule in "${rules[@]}"; do
      pattern="^(${rule#*|})\$"
      if [[ $symbol =~ $pattern ]]; then
        echo "$member calls $symbol (${rule%%|*})" >&2
        found=$((found + 1))
      fi
    done
  done < <(nm -C -A --undefined-only "$archive" | sort -u)
done

if [[ $found -gt 0 ]]; then
  echo "${0##*/}: $found forbidden symbols in the device libraries" >&2
  echo "(operator delete often comes from a public virtual destructor: make it protected and non-virtual, as in base/memory.h)" >&2
  exit 1
fi
echo "device libraries: ${#archives[@]} archives without heap, exceptions, RTTI, threads, text formatting or files" >&2
