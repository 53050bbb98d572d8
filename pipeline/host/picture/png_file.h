// Pictures as PNG files.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"
#include "pipeline/host/picture/picture.h"

namespace runnel::pipeline {

// Whether this build can encode PNG (libpng, RUNNEL_PNG).
bool has_png() noexcept;
// The file's bytes, 8 bits for each of red, green and blue. Errors: unsupported in a build without libpng,
// not_found on a machine without.
Result<std::vector<std::byte>> encode_png(const Picture& picture);

}  // namespace runnel::pipeline
