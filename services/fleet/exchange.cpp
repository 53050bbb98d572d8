#include "services/fleet/exchange.h"

#include <algorithm>

namespace runnel::fleet {

const std::string* find(const Headers& headers, std::string_view name) noexcept {
  const auto at =
      std::find_if(headers.begin(), headers.end(), [&](const auto& header) { return header.first == name; });
  return at == headers.end() ? nullptr : &at->second;
}

bool covers(std::string_view filter, std::string_view subject) noexcept {
  for (;;) {
    if (filter == ">") return !subject.empty();
    const std::size_t a = filter.find('.'), b = subject.find('.');
    const std::string_view part = filter.substr(0, a), word = subject.substr(0, b);
    if (word.empty() || (part != "*" && part != word)) return false;
    const bool last = a == std::string_view::npos, end = b == std::string_view::npos;
    if (last || end) return last && end;
    filter.remove_prefix(a + 1);
    subject.remove_prefix(b + 1);
  }
}

}  // namespace runnel::fleet
