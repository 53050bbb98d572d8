#!/usr/bin/env bash
# hardening_test.sh BUILD: what the compiler and linker were asked for (RUNNEL_HARDENING) is in every program and library that is installed: PIE, full
# RELRO, no executable stack, no writable and executable segment, checked calls of the C library, a stack protector, and control-flow
# protection where the processor has it. `hardening-check` of Debian's devscripts judges the same where it is found.
set -euo pipefail
build=$1
export LC_ALL=C
failed=0
wrong() { echo "$1: $2" >&2; failed=1; }

files=("$build/runnel")
for file in "$build"/lib/librunnel.so.*.* "$build"/lib/runnel/*.so "$build"/lib/gstreamer-1.0/*.so "$build"/python/runnel/_runnel*.so; do
  if [[ -f $file && ! -L $file ]]; then files+=("$file"); fi
done
[[ ${#files[@]} -ge 3 ]] || wrong "$build" "${#files[@]} files, expected the program, the library and modules"

for file in "${files[@]}"; do
  header=$(readelf -hW "$file") segments=$(readelf -lW "$file") dynamic=$(readelf -dW "$file") symbols=$(readelf --dyn-syms -W "$file")
  [[ $header == *"DYN ("* ]] || wrong "$file" "is not position-independent"
  [[ $segments == *GNU_RELRO* ]] || wrong "$file" "no read-only relocations (RELRO)"
  [[ $dynamic == *BIND_NOW* || $dynamic == *"Flags: NOW"* ]] || wrong "$file" "functions are bound late: RELRO is partial"
  [[ $segments == *GNU_STACK* ]] || wrong "$file" "nothing is said about its stack"
  ! grep -E 'GNU_STACK.* RWE' <<<"$segments" >/dev/null || wrong "$file" "an executable stack"
  ! grep -E 'LOAD.* RWE' <<<"$segments" >/dev/null || wrong "$file" "a segment that is writable and executable"
  [[ $dynamic != *RPATH* && $dynamic != *RUNPATH* || $dynamic == *ORIGIN* || $file == *gstreamer* ]] || wrong "$file" "a path of the build for libraries"
  [[ $dynamic != *TEXTREL* ]] || wrong "$file" "relocations in code"
  [[ $symbols == *__stack_chk_fail* ]] || wrong "$file" "no function has a stack protector"
  # Small modules may call nothing that has a checked form.
  if [[ $file == "$build/runnel" ]]; then
    grep -E '__[a-z]+_chk(@|$| )' <<<"$symbols" | grep -v stack_chk >/dev/null || wrong "$file" "no checked call of the C library (_FORTIFY_SOURCE)"
  fi
  case $header in
    # endbr64 at the beginning of functions. The mark for the loader is not there: Debian's start files have none.
    *X86-64*) [[ $(grep -a -o $'\xf3\x0f\x1e\xfa' "$file" | wc -l) -ge 10 ]] || wrong "$file" "no function is protected against jumps to elsewhere (-fcf-protection)" ;;
  esac
done

# The rules find something: a program that was built without them must fail.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'int main(void) { return 0; }' >"$work/plain.c"
if cc -no-pie -Wl,-z,norelro "$work/plain.c" -o "$work/plain" 2>"$work/log"; then
  plain=$(readelf -hlW "$work/plain")
  [[ $plain != *GNU_RELRO* && $plain != *"DYN ("* ]] || wrong "$work/plain" "a program without protection was not found out"
fi

if command -v hardening-check >/dev/null; then
  for file in "${files[@]}"; do
    # Control-flow protection is judged above, by processor.
    answer=$(hardening-check --nocfprotection "$file") || {
      # "(ignored)" is its own word for what a library need not have.
      missing=$(grep ': no, ' <<<"$answer" | grep -v -i -e 'fortify' -e '(ignored)' || true)
      [[ -z $missing ]] || wrong "$file" "$missing"
    }
  done
  echo "hardening-check: ${#files[@]} files"
else
  echo "hardening-check: not here (Debian package devscripts), the rules above alone"
fi
echo "${#files[@]} files"
exit "$failed"
