// Writes the C++ tables for fbank_source_test.cpp and microfrontend_source_test.cpp, from options that
// exercise every kind of member.
#include <cstdio>

#include "features/host/fbank_source.h"
#include "features/host/microfrontend_source.h"
#include "tests/features/fbank_source_options.h"

int main() {
  const auto source = runnel::features::fbank_source(runnel::features::written_down_options(), "WrittenDown");
  const auto fixed = runnel::features::microfrontend_source(runnel::features::written_down_microfrontend(),
                                                            "WrittenMicrofrontend");
  for (const runnel::Status& status : {source.status(), fixed.status()}) {
    if (!status.ok()) return std::fprintf(stderr, "%s\n", std::string(status.text()).c_str()), 1;
  }
  std::printf(
      "// Made by write_fbank_source.\n#pragma once\n#include \"features/fbank/fbank_tables.h\"\n#include "
      "\"features/microfrontend/microfrontend_tables.h\"\n%s%s",
      source->c_str(), fixed->c_str());
}
