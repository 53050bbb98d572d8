#include "services/net/access/token.h"

namespace runnel::net {

bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept {
  volatile unsigned difference = a.size() == b.size() ? 0U : 1U;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const char other = i < a.size() ? a[i] : '\0';
    difference = difference |
                 static_cast<unsigned>(static_cast<unsigned char>(other) ^ static_cast<unsigned char>(b[i]));
  }
  return difference == 0;
}

}  // namespace runnel::net
