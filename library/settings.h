// The settings of a program as text: "rate=48000 threshold=0.7" (runnel_host.h has the list).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace runnel::library {

struct Settings {
  std::int64_t rate = 16000;  // 0: that of the front end
  std::int64_t channels = 1, chunk = 0, events = 1024, frames = 0;
  double threshold = -1;  // negative: the decision's own
  bool zeros_in_gaps = false;
  std::string front_end, decision, key_file, trust;
  std::string source = "samples";
};

// Errors: those of graphs for parameters of a node.
Result<Settings> parse_settings(std::string_view text);

}  // namespace runnel::library
