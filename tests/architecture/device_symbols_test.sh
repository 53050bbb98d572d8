#!/usr/bin/env bash
# device_symbols_test.sh CHECKER COMPILER: the checker passes a clean archive and names archive, object and symbol of each fault.
set -euo pipefail
checker=$1
compiler=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# archive NAME FLAGS...: one archive of one object from the code on stdin.
archive() {
  local name=$1
  shift
  rm -rf "$folder/tree"
  mkdir -p "$folder/tree"
  "$compiler" -std=c++20 -O1 -x c++ "$@" -c - -o "$folder/$name.o"
  ar rc "$folder/tree/lib$name.a" "$folder/$name.o"
}
fail() {
  echo "FAILED: $1" >&2
  cat "$folder/err" >&2
  failures=$((failures + 1))
}
accepts() {
  "$checker" "$folder/tree" 2>"$folder/err" || fail "$1: refused, expected to be accepted"
}
# refuses NAME REASON SYMBOL
refuses() {
  if "$checker" "$folder/tree" 2>"$folder/err"; then
    fail "$1: accepted, expected to be refused"
  elif ! grep -qF "lib$1.a:$1.o calls $3" "$folder/err" || ! grep -qF "($2)" "$folder/err"; then
    fail "$1: refused without naming $3 ($2)"
  fi
}
device=(-fno-exceptions -fno-rtti -fno-threadsafe-statics)

archive clean "${device[@]}" <<<'#include <cmath>
#include <cstring>
#include <new>
struct Shape { virtual int size() const = 0; };
void* copy(void* to, const void* from, unsigned n) { return std::memcpy(to, from, n); }
float wave(float x) { return std::sin(x); }
int* place(void* memory) { return new (memory) int(3); }
int size(const Shape& shape) { return shape.size(); }
void readable(int);
void use() { readable(1); }'
accepts clean

archive heap_new "${device[@]}" <<<'int* make() { return new int[7]; }'
refuses heap_new heap 'operator new[](unsigned long)'
archive heap_delete "${device[@]}" <<<'void drop(int* p) { delete p; }'
refuses heap_delete heap 'operator delete(void*'
archive heap_malloc "${device[@]}" <<<'#include <cstdlib>
void* make(unsigned n) { return std::malloc(n); }'
refuses heap_malloc heap malloc
archive heap_realloc "${device[@]}" <<<'#include <cstdlib>
void* more(void* p, unsigned n) { return std::realloc(p, n); }'
refuses heap_realloc heap realloc
archive heap_vector "${device[@]}" <<<'#include <vector>
void grow(std::vector<int>& v, int x) { v.push_back(x); }'
refuses heap_vector exceptions 'std::__throw_length_error'
archive throws <<<'void refuse() { throw 7; }'
refuses throws exceptions __cxa_throw
archive catches <<<'void risky(); int f() { try { risky(); } catch (...) { return 1; } return 0; }'
refuses catches exceptions __cxa_begin_catch
archive rtti -fno-exceptions <<<'struct A { virtual ~A() = default; virtual int f() { return 1; } };
struct B : A { int f() override; };
int B::f() { return 2; }
bool is_b(A* a) { return dynamic_cast<B*>(a) != nullptr; }'
refuses rtti RTTI __dynamic_cast
archive threads "${device[@]}" <<<'#include <pthread.h>
extern void* work(void*);
int start(pthread_t* t) { return pthread_create(t, nullptr, work, nullptr); }'
refuses threads threads pthread_create
archive guarded -fno-exceptions -fno-rtti <<<'int first(); int once() { static int value = first(); return value; }'
refuses guarded threads __cxa_guard_acquire
for call in 'printf("%d %d", x, x)' 'fprintf(stderr, "%d", x)' 'snprintf(text, 9, "%d", x)' 'sprintf(text, "%d", x)' 'puts(text)'; do
  archive text "${device[@]}" -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0 <<<"#include <cstdio>
char text[99];
void say(int x) { std::$call; }"
  refuses text 'formatted text' "$(sed 's/(.*//' <<<"$call")"
done
archive fortified "${device[@]}" -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 <<<'#include <cstdio>
char text[99];
void say(int x) { std::snprintf(text, x, "%d", x); std::printf("%d", x); }'
refuses fortified 'formatted text' __printf_chk
archive stream <<<'#include <iostream>
void say(int x) { std::cout << x; }'
refuses stream iostream std::cout
archive file "${device[@]}" <<<'#include <cstdio>
void* look() { return std::fopen("x", "r"); }'
refuses file files fopen
archive ends "${device[@]}" <<<'#include <cstdlib>
void stop() { std::abort(); }'
refuses ends 'ending the program' abort

rm -rf "$folder/tree" && mkdir "$folder/tree"
if "$checker" "$folder/tree" 2>"$folder/err"; then fail "an empty build was accepted"; fi

if [[ $failures -gt 0 ]]; then exit 1; fi
echo "the symbol check accepts clean code and refuses every planted fault"
