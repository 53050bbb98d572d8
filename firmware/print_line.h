// Prints a line of an image's messages.
#pragma once

#include "base/status.h"
#include "firmware/startup/semihosting.h"

namespace runnel::firmware {

// Prints the pieces in order, appended to a Text, and a line end.
template <class... Pieces>
void print_line(const Pieces&... pieces) noexcept {
  Text line;
  (line << ... << pieces);
  print(line.view());
  print("\n");
}

}  // namespace runnel::firmware
