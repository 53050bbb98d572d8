#include "services/fleet/worker_name.h"

#include <unistd.h>

#include <cctype>
#include <cstdint>
#include <cstdio>
#include <random>

namespace runnel::fleet {

std::string worker_name(const std::string& name) {
  char host[64] = {};
  std::string out = name;
  if (out.empty() && gethostname(host, sizeof host - 1) == 0) out = host;
  for (char& letter : out)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '-' && letter != '_') letter = '_';
  std::random_device random;
  const auto number = static_cast<std::uint64_t>(random()) << 32 | random();
  char digits[24];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(number));
  return out + '-' + digits;
}

}  // namespace runnel::fleet
