// reader_corpus FOLDER: writes the seeds of the readers (tests/fuzz/readers/reader.h) into FOLDER/KIND, a
// file each. RUNNEL_FUZZ_GROUPS: the groups, with commas.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/readers/reader.h"

int main(int count, char** arguments) {
  using namespace runnel::fuzz;  // NOLINT(google-build-using-namespace)
  if (count != 2) {
    std::fputs("usage: reader_corpus FOLDER\n", stderr);
    return 2;
  }
  std::vector<Reader> (*const groups[])() = {RUNNEL_FUZZ_GROUPS};
  for (const auto group : groups) {
    for (const Reader& reader : group()) {
      const std::filesystem::path folder = std::filesystem::path(arguments[1]) / reader.kind;
      std::error_code ignored;
      std::filesystem::create_directories(folder, ignored);
      int number = 0;
      for (const std::string& seed : reader.seeds) {
        std::ofstream out(folder / ("seed_" + std::to_string(number++)), std::ios::binary);
        if (!(out << seed).flush()) {
          std::fprintf(stderr, "%s: cannot be written\n", folder.c_str());
          return 1;
        }
      }
    }
  }
  return 0;
}
