#include "services/wyoming/message.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/host/json/nesting.h"

namespace runnel::wyoming {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kAtOnce = std::size_t{1} << 14;  // bytes that are received at a time
constexpr std::size_t kLongestType = 64;

Status broken(std::string_view what) { return Status(Code::invalid_data) << "a message: " << what; }

Status read_length(const Json& header, const char* key, std::size_t most, std::size_t& length) {
  length = 0;
  const auto found = header.find(key);
  if (found == header.end() || found->is_null()) return {};
  if (found->is_number_unsigned() && found->get<std::uint64_t>() <= most) {
    length = static_cast<std::size_t>(found->get<std::uint64_t>());
    return {};
  }
  std::string text = found->dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 40) + "...";
  return broken(key) << ": expected a whole number of bytes up to " << most << ", found " << text;
}

}  // namespace

std::span<std::byte> MessageReader::room() {
  // What was used makes room; a payload that the caller still had is over.
  if (at_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + at_, arrived());
    filled_ -= std::exchange(at_, 0);
  }
  if (bytes_.size() < filled_ + kAtOnce) bytes_.resize(filled_ + kAtOnce);
  return std::span(bytes_).subspan(filled_);
}

Result<bool> MessageReader::read_line() {
  const std::byte* const begin = bytes_.data() + at_;
  const std::byte* const end = begin + std::min(arrived(), limits_.line + 1);
  const std::byte* const feed = std::find(begin + std::min(searched_, limits_.line), end, std::byte{'\n'});
  if (feed == end) {
    if (arrived() > limits_.line) return broken("its line has more than ") << limits_.line << " bytes";
    searched_ = arrived();
    return false;
  }
  searched_ = 0;
  const auto length = static_cast<std::size_t>(feed - begin);
  at_ += length + 1;
  RUNNEL_TRY(parse_line({reinterpret_cast<const char*>(begin), length}));
  has_line_ = true;
  return true;
}

Status MessageReader::parse_line(std::string_view line) {
  if (nests_deeper(line)) return broken("its brackets are more than ") << limits::kJsonNesting << " deep";
  Json header = Json::parse(line.begin(), line.end(), nullptr, false);
  if (!header.is_object()) return broken("its line is not a JSON object, e.g. {\"type\":\"describe\"}");
  const auto type = header.find("type");
  if (type == header.end() || !type->is_string() || type->get_ref<const std::string&>().empty() ||
      type->get_ref<const std::string&>().size() > kLongestType)
    return broken("\"type\": expected a text of 1 to ") << kLongestType << " bytes";
  RUNNEL_TRY(read_length(header, "data_length", limits_.data, data_length_));
  RUNNEL_TRY(read_length(header, "payload_length", limits_.payload, payload_length_));
  pending_.type = type->get<std::string>();
  pending_.data = Json::object();
  if (const auto data = header.find("data"); data != header.end() && !data->is_null()) {
    if (!data->is_object()) return broken("\"data\": expected an object");
    pending_.data = std::move(*data);
  }
  return {};
}

Status MessageReader::merge_data(std::string_view text) {
  if (nests_deeper(text)) return broken("its brackets are more than ") << limits::kJsonNesting << " deep";
  const Json more = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!more.is_object())
    return broken("the ") << text.size() << " bytes of data that follow its line are not a JSON object";
  pending_.data.update(more);
  return {};
}

Result<bool> MessageReader::next(Message& message) {
  if (!has_line_) {
    RUNNEL_ASSIGN(const bool whole, read_line());
    if (!whole) return false;
  }
  if (arrived() < data_length_ + payload_length_) return false;
  has_line_ = false;
  const std::byte* const data = bytes_.data() + at_;
  at_ += data_length_ + payload_length_;
  if (data_length_ > 0) RUNNEL_TRY(merge_data({reinterpret_cast<const char*>(data), data_length_}));
  message = std::move(pending_);
  pending_ = {};
  message.payload = {data + data_length_, payload_length_};
  return true;
}

std::string message_text(std::string_view type, const Json& data) {
  const auto text_of = [](const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  Json header = {{"type", type}};
  if (data.empty()) return text_of(header) + "\n";
  const std::string text = text_of(data);
  header["data_length"] = text.size();
  return text_of(header) + "\n" + text;
}

}  // namespace runnel::wyoming
