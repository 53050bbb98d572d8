// A line of an image's talk.
#pragma once

#include "base/status.h"
#include "firmware/startup/semihosting.h"

namespace runnel::firmware {

// The pieces, one after another as a Text has them, and the end of the line.
template <class... Pieces>
void print_line(const Pieces&... pieces) noexcept {
  Text line;
  (line << ... << pieces);
  print(line.view());
  print("\n");
}

}  // namespace runnel::firmware
