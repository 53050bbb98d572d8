// What reads foreign bytes, each as one function that takes any bytes: for the fuzzers (KIND_fuzzer) and for
// a short test of every build (readers_test.cpp). tests/fuzz/README.md has the list.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace runnel::fuzz {

struct Reader {
  std::string_view kind;  // of its fuzzer, and of its folder in tests/corpus
  // Ok, or why the bytes were refused. Ends the program where something holds that must not.
  Status (*feed)(std::span<const std::byte> bytes) = nullptr;
  std::vector<std::string> seeds;  // each is taken
};

// The groups: each is a library of its own, so that a fuzzer has no more than it needs.
std::vector<Reader> speech_readers();
std::vector<Reader> settings_readers();
std::vector<Reader> trust_readers();
std::vector<Reader> fleet_readers();
std::vector<Reader> device_readers();
std::vector<Reader> npu_readers();

// A file below tests/corpus; ends the program where there is none.
std::string corpus_file(const std::string& name);

// Ends the program with this sentence.
void insist(bool holds, const char* what);

std::string_view text_of(std::span<const std::byte> bytes) noexcept;
std::span<const std::byte> bytes_of(std::string_view text) noexcept;

}  // namespace runnel::fuzz
