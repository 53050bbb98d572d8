// The function that every image defines and the start-up code calls.
#pragma once

namespace runnel::firmware {

// Returns the program's exit status.
int image_main() noexcept;

}  // namespace runnel::firmware
