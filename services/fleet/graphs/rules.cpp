#include "services/fleet/graphs/rules.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/host/json/nesting.h"
#include "base/limits.h"
#include "base/state_archive.h"
#include "services/fleet/entry.h"
#include "services/fleet/exchange.h"

namespace runnel::fleet {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::vector<Rule>& rules) {
  Json out = Json::array();
  for (const Rule& rule : rules) {
    Json one = {{"streams", rule.streams},
                {"graph", digits_of(rule.graph)},
                {"name", rule.name},
                {"time", rule.time}};
    if (rule.at) one["at"] = *rule.at;
    out.push_back(std::move(one));
  }
  return out;
}

Result<std::vector<Rule>> rules_in(const Json& list) {
  if (!list.is_array() || list.size() > Rules::kMost)
    return Status(Code::invalid_data) << "rules: expected a list of at most " << Rules::kMost;
  std::vector<Rule> out;
  for (const Json& one : list) {
    const auto text = [&](const char* name) -> Result<std::string> {
      const auto at = one.find(name);
      if (at == one.end() || !at->is_string() || at->get_ref<const std::string&>().size() > 1024)
        return Status(Code::invalid_data) << "rules: " << name << ": expected a text";
      return at->get<std::string>();
    };
    if (!one.is_object()) return Status(Code::invalid_data, "rules: expected objects");
    Rule rule;
    RUNNEL_ASSIGN(rule.streams, text("streams"));
    RUNNEL_ASSIGN(rule.name, text("name"));
    RUNNEL_ASSIGN(const std::string graph, text("graph"));
    RUNNEL_ASSIGN(rule.graph, read_digits(graph));
    const auto number = [&](const char* name, std::int64_t most) -> Result<std::int64_t> {
      const auto at = one.find(name);
      if (at == one.end() || !at->is_number_integer() || at->get<std::int64_t>() < 0 ||
          at->get<std::int64_t>() > most)
        return Status(Code::invalid_data) << "rules: " << name << ": expected 0 to " << most;
      return at->get<std::int64_t>();
    };
    RUNNEL_ASSIGN(rule.time, number("time", INT64_MAX));
    if (one.contains("at")) {
      RUNNEL_ASSIGN(rule.at, number("at", StateArchive::kMostIndex));
    }
    out.push_back(std::move(rule));
  }
  return out;
}

}  // namespace

const Rule* Rules::find(std::string_view stream) const noexcept {
  const auto at =
      std::find_if(now.rbegin(), now.rend(), [&](const Rule& rule) { return covers(rule.streams, stream); });
  return at == now.rend() ? nullptr : &*at;
}

Status Rules::add(Rule rule) {
  std::vector<Rule> old = now;
  std::erase_if(now, [&](const Rule& one) { return one.streams == rule.streams; });
  if (now.size() >= kMost) {
    now = std::move(old);
    return Status(Code::invalid_argument) << "a fleet has at most " << kMost << " rules";
  }
  now.push_back(std::move(rule));
  if (!old.empty()) before.push_back(std::move(old));
  if (before.size() > kMostBefore) before.erase(before.begin());
  return {};
}

Status Rules::take_back() {
  if (before.empty()) return Status(Code::not_found, "there is nothing to take back");
  now = std::move(before.back());
  before.pop_back();
  // Samples at which graphs took over are over.
  for (Rule& rule : now) rule.at.reset();
  return {};
}

std::string text_of(const Rules& rules) {
  Json before = Json::array();
  for (const auto& one : rules.before) before.push_back(json_of(one));
  return Json({{"now", json_of(rules.now)}, {"before", before}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Rules> read_rules(std::string_view text) {
  if (nests_deeper(text))
    return Status(Code::invalid_data) << "rules: brackets more than " << limits::kJsonNesting << " deep";
  const Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  const auto now = json.is_object() ? json.find("now") : json.end();
  const auto before = json.is_object() ? json.find("before") : json.end();
  if (now == json.end() || before == json.end() || !before->is_array() || before->size() > Rules::kMostBefore)
    return Status(Code::invalid_data, "rules: expected a JSON object with now and before");
  Rules out;
  RUNNEL_ASSIGN(out.now, rules_in(*now));
  for (const Json& one : *before) {
    RUNNEL_ASSIGN(auto rules, rules_in(one));
    out.before.push_back(std::move(rules));
  }
  return out;
}

std::string rules_subject(std::string_view bucket) { return std::string(bucket) + ".d"; }

}  // namespace runnel::fleet
