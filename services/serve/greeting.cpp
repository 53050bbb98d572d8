#include "services/serve/greeting.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/host/json/nesting.h"
#include "base/limits.h"
#include "pipeline/host/json.h"

namespace runnel::serve {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kLeastRate = 1000, kLargestRate = limits::kStreamRate,
                       kMaxChannels = limits::kStreamChannels;
// All usual rates are multiples of this. The table of a resampler grows with the denominator of the ratio of
// rates: for 44101 to 16000 Hz it takes a tenth of a second to make, too long for a mere greeting.
constexpr std::int64_t kRateStep = 25;
constexpr std::size_t kLongestText = 200;

Status wrong(std::string_view key, std::string_view expected, const Json& found) {
  std::string text = found.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 40) + "...";
  return Status(Code::invalid_data) << "the first message: \"" << key << "\": expected " << expected
                                    << ", found " << text;
}

Status read_integer(std::string_view key, const Json& value, std::int64_t least, std::int64_t most,
                    std::int64_t& to) {
  const bool fits = value.is_number_unsigned() &&
                    value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most) &&
                    value.get<std::int64_t>() >= least;
  if (!fits)
    return wrong(key, "a whole number from " + std::to_string(least) + " to " + std::to_string(most), value);
  to = value.get<std::int64_t>();
  return {};
}

Status read(const std::string& key, const Json& value, Greeting& greeting) {
  if (key == "format") {
    for (const pipeline::SampleCode code : pipeline::kSampleCodes) {
      if (value.is_string() && value.get_ref<const std::string&>() == pipeline::name_of(code)) {
        greeting.format = code;
        return {};
      }
    }
    return wrong(key, "one of s16, s32, s24, s24_3, float", value);
  }
  if (key == "rate") {
    RUNNEL_TRY(read_integer(key, value, kLeastRate, kLargestRate, greeting.rate));
    if (greeting.rate % kRateStep == 0) return {};
    return Status(Code::invalid_data) << "the first message: \"rate\": expected a multiple of " << kRateStep
                                      << " Hz, found " << greeting.rate;
  }
  if (key == "channels") {
    std::int64_t channels = 0;
    RUNNEL_TRY(read_integer(key, value, 1, kMaxChannels, channels));
    greeting.channels = static_cast<std::int32_t>(channels);
    return {};
  }
  if (key == "source") {
    if (!value.is_string() || value.get_ref<const std::string&>().size() > kLongestText)
      return wrong(key, "a text of at most 200 bytes", value);
    greeting.source = value.get<std::string>();
    return {};
  }
  if (key == "token") {
    if (!value.is_string())
      return Status(Code::invalid_data, "the first message: \"token\": expected a text");
    greeting.token = value.get<std::string>();
    return {};
  }
  if (key == "progress") {
    if (!value.is_boolean()) return wrong(key, "true or false", value);
    greeting.progress = value.get<bool>();
    return {};
  }
  return Status(Code::invalid_data) << "the first message: unknown key "
                                    << pipeline::json_string(key.substr(0, 40))
                                    << ", expected some of format, rate, channels, source, token, progress";
}

}  // namespace

Result<Greeting> parse_greeting(std::span<const std::byte> message) {
  if (message.size() > Greeting::kLongest) {
    return Status(Code::invalid_data)
           << "the first message has " << message.size() << " bytes, expected at most " << Greeting::kLongest;
  }
  const auto* text = reinterpret_cast<const char*>(message.data());
  if (nests_deeper({text, message.size()}))
    return Status(Code::invalid_data)
           << "the first message has brackets more than " << limits::kJsonNesting << " deep";
  const Json json = Json::parse(text, text + message.size(), nullptr, false);
  if (json.is_discarded() || !json.is_object())
    return Status(Code::invalid_data,
                  "the first message is not a JSON object, e.g. {\"format\":\"s16\",\"rate\":16000}");
  Greeting greeting;
  for (const auto& [key, value] : json.items()) RUNNEL_TRY(read(key, value, greeting));
  return greeting;
}

}  // namespace runnel::serve
