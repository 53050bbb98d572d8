// Which graph hears which streams: the value of the key `d` of the bucket. The last rule that covers a stream
// counts; a stream without one is heard by the graph with which its worker was started.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/status.h"

namespace runnel::fleet {

struct Rule {
  std::string streams;  // "audio.hall.>"
  std::uint32_t graph = 0;
  std::optional<std::int64_t> at;  // sample of the run under way from which the graph hears
  std::string name;                // of the model, for people
  std::int64_t time = 0;           // ns since 1970 at which it was made

  friend bool operator==(const Rule&, const Rule&) = default;
};

struct Rules {
  static constexpr std::size_t kMost = limits::kFleetRules, kMostBefore = 16;

  std::vector<Rule> now;
  std::vector<std::vector<Rule>> before;  // newest last, for taking back

  // Null: no rule covers it.
  [[nodiscard]] const Rule* find(std::string_view stream) const noexcept;
  // Adds a rule, in place of one for the same streams. Errors: invalid_argument for more than kMost.
  Status add(Rule rule);
  // The rules before the last change. Error: not_found.
  Status take_back();

  friend bool operator==(const Rules&, const Rules&) = default;
};

std::string text_of(const Rules& rules);
// Errors: invalid_data, with the field.
Result<Rules> read_rules(std::string_view text);
std::string rules_subject(std::string_view bucket);

}  // namespace runnel::fleet
