#include "base/host/json/nesting.h"

#include <cstddef>

namespace runnel {

bool nests_deeper(std::string_view json, int most) noexcept {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char letter = json[i];
    if (quoted && letter == '\\')
      ++i;
    else if (letter == '"')
      quoted = !quoted;
    else if (!quoted && (letter == '{' || letter == '[') && ++depth > most)
      return true;
    else if (!quoted && (letter == '}' || letter == ']'))
      --depth;
  }
  return false;
}

}  // namespace runnel
