#include "tests/fuzz/readers/reader.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace runnel::fuzz {

void insist(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::string corpus_file(const std::string& name) {
  std::ifstream in(std::string(RUNNEL_CORPUS) + "/" + name, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  insist(!text.empty(), "a file of the corpus is not where it was");
  return text;
}

std::string_view text_of(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace runnel::fuzz
