#include "base/host/read_line.h"

#include <array>

namespace runnel {

Result<bool> read_line(std::istream& in, std::string& line) {
  std::array<char, 4096> part{};
  line.clear();
  while (in.getline(part.data(), part.size()) || in.gcount() > 0) {
    const bool full = in.fail(), ended = !full && !in.eof();
    // gcount() includes the line end, which `part` does not hold.
    line.append(part.data(), static_cast<std::size_t>(in.gcount()) - (ended ? 1 : 0));
    if (line.size() > kLongestLine)
      return Status(Code::invalid_data) << "more than " << kLongestLine << " bytes without a line end";
    if (!full) return true;
    in.clear(in.rdstate() & ~std::ios::failbit);
  }
  return !line.empty();
}

}  // namespace runnel
