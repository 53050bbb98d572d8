#include "services/fleet/recordings/trial.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/host/json/nesting.h"
#include "base/limits.h"

namespace runnel::fleet {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> kStates = {"begun", "failed", "apart"};

}  // namespace

std::string trial_name(std::uint64_t sequence) { return "note." + std::to_string(sequence); }
std::string apart_name(std::uint64_t sequence) { return "apart." + std::to_string(sequence); }

std::string text_of(const Trial& trial) {
  const Json object = {{"recording", trial.recording},
                       {"tries", trial.tries},
                       {"state", kStates[static_cast<std::size_t>(trial.state)]},
                       {"worker", trial.worker},
                       {"reason", trial.reason}};
  // A path may have bytes that are not UTF-8.
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Trial> parse_trial(std::string_view text) {
  if (nests_deeper(text))
    return Status(Code::invalid_data) << "a trial: brackets more than " << limits::kJsonNesting << " deep";
  const Json object = Json::parse(text, nullptr, false);
  const auto is = [&](const char* key, auto right) {
    return object.is_object() && object.contains(key) && right(object[key]);
  };
  const auto text_value = [](const Json& value) { return value.is_string(); };
  if (!is("tries", [](const Json& value) { return value.is_number_integer(); }) || !is("state", text_value) ||
      !is("recording", text_value) || !is("worker", text_value) || !is("reason", text_value))
    return Status(Code::invalid_data, "a note about a recording that no worker wrote");
  Trial trial;
  trial.tries = object["tries"].get<std::int64_t>();
  const std::string state = object["state"];
  if (state == kStates[1]) trial.state = Trial::State::failed;
  if (state == kStates[2]) trial.state = Trial::State::apart;
  trial.recording = object["recording"];
  trial.worker = object["worker"];
  trial.reason = object["reason"];
  return trial;
}

}  // namespace runnel::fleet
