// Writes the C++ that fbank_source_test.cpp is compiled with: tables of options that exercise every kind of member.
#include <cstdio>

#include "features/host/fbank_source.h"
#include "tests/features/fbank_source_options.h"

int main() {
  const auto source = runnel::features::fbank_source(runnel::features::written_down_options(), "WrittenDown");
  if (!source.ok()) return std::fprintf(stderr, "%s\n", std::string(source.status().text()).c_str()), 1;
  std::printf("// Made by write_fbank_source.\n#pragma once\n#include \"features/fbank_tables.h\"\n%s", source->c_str());
}
