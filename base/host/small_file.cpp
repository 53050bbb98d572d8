#include "base/host/small_file.h"

#include <cstddef>
#include <fstream>

#include "base/limits.h"

namespace runnel {

Result<std::string> read_small_file(const std::string& path) {
  // A larger file is not a small file; some devices never end.
  constexpr std::size_t kMax = limits::kSmallTextBytes;
  std::ifstream in(path, std::ios::binary);
  std::string text(kMax + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.is_open() || in.bad()) return Status(Code::not_found) << path << ": cannot be read";
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMax) return Status(Code::invalid_data) << path << ": more than " << kMax << " bytes";
  return text;
}

}  // namespace runnel
