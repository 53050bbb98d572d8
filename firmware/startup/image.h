// What every image defines, and the start-up code calls.
#pragma once

namespace runnel::firmware {

// The result is the status of the program.
int image_main() noexcept;

}  // namespace runnel::firmware
