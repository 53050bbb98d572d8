// In builds without libpng.
#include "pipeline/host/picture/png_file.h"

namespace runnel::pipeline {

bool has_png() noexcept { return false; }

Result<std::vector<std::byte>> encode_png(const Picture&) {
  return Status(Code::unsupported,
                "this program was built without libpng, expected a build with RUNNEL_PNG=ON (Debian package "
                "libpng-dev)");
}

}  // namespace runnel::pipeline
