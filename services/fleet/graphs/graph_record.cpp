#include "services/fleet/graphs/graph_record.h"

#include <nlohmann/json.hpp>

#include "base/host/json/nesting.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "embed/partition/image_header.h"
#include "services/fleet/entry.h"

namespace runnel::fleet {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongest = std::size_t{64} << 10;  // of a text in a record

Result<std::string> text_in(const Json& object, const char* name) {
  const auto at = object.find(name);
  if (at == object.end() || !at->is_string() || at->get_ref<const std::string&>().size() > kLongest)
    return Status(Code::invalid_data) << name << ": expected a text of at most " << kLongest << " bytes";
  return at->get<std::string>();
}

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string text_of(const GraphRecord& record) {
  Json models = Json::array();
  for (const GraphRecord::Blob& blob : record.models) {
    models.push_back({{"sha256", blob.sha256}, {"bytes", blob.bytes}});
    if (!blob.signature.empty()) models.back()["signature"] = blob.signature;
  }
  return Json({{"graph", digits_of(record.identity)},
               {"name", record.name},
               {"version", record.version},
               {"around", record.around},
               {"models", models},
               {"front_end", record.front_end},
               {"labels", record.labels}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<GraphRecord> read_graph_record(std::string_view text) {
  if (nests_deeper(text))
    return Status(Code::invalid_data) << "a graph: brackets more than " << limits::kJsonNesting << " deep";
  const Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) return Status(Code::invalid_data, "a graph: expected a JSON object");
  GraphRecord out;
  RUNNEL_ASSIGN(const std::string digits, text_in(json, "graph"));
  RUNNEL_ASSIGN(out.identity, read_digits(digits));
  RUNNEL_ASSIGN(out.name, text_in(json, "name"));
  RUNNEL_ASSIGN(out.version, text_in(json, "version"));
  RUNNEL_ASSIGN(out.around, text_in(json, "around"));
  RUNNEL_ASSIGN(out.front_end, text_in(json, "front_end"));
  const auto models = json.find("models"), labels = json.find("labels");
  if (models == json.end() || !models->is_array() || models->size() > GraphRecord::kMostModels)
    return Status(Code::invalid_data) << "models: expected a list of at most " << GraphRecord::kMostModels;
  for (const Json& one : *models) {
    GraphRecord::Blob blob;
    if (!one.is_object()) return Status(Code::invalid_data, "models: expected objects");
    RUNNEL_ASSIGN(blob.sha256, text_in(one, "sha256"));
    if (blob.sha256.size() != 64 || !is_hexadecimal(blob.sha256))
      return Status(Code::invalid_data, "models: sha256: expected 64 hexadecimal digits");
    const auto bytes = one.find("bytes");
    if (bytes == one.end() || !bytes->is_number_unsigned() || bytes->get<std::uint64_t>() == 0 ||
        bytes->get<std::uint64_t>() > GraphRecord::kMostBytes)
      return Status(Code::invalid_data) << "models: bytes: expected 1 to " << GraphRecord::kMostBytes;
    blob.bytes = bytes->get<std::uint64_t>();
    if (one.contains("signature")) {
      RUNNEL_ASSIGN(blob.signature, text_in(one, "signature"));
      if (blob.signature.size() != 2 * embed::kImageHeaderBytes || !is_hexadecimal(blob.signature))
        return Status(Code::invalid_data)
               << "models: signature: expected " << 2 * embed::kImageHeaderBytes << " hexadecimal digits";
    }
    out.models.push_back(std::move(blob));
  }
  if (labels == json.end() || !labels->is_array() || labels->size() > 65536)
    return Status(Code::invalid_data, "labels: expected a list of at most 65536");
  for (const Json& one : *labels) {
    if (!one.is_string()) return Status(Code::invalid_data, "labels: expected texts");
    out.labels.push_back(one.get<std::string>());
  }
  return out;
}

std::string record_subject(std::string_view bucket, std::uint32_t identity) {
  return std::string(bucket) + ".g." + digits_of(identity);
}

std::string part_subject(std::string_view bucket, const GraphRecord::Blob& blob, std::uint64_t part) {
  return std::string(bucket) + ".m." + blob.sha256 + '.' + std::to_string(part);
}

std::uint64_t parts_of(const GraphRecord::Blob& blob) noexcept {
  return (blob.bytes + GraphRecord::kPart - 1) / GraphRecord::kPart;
}

std::string sha256_of(std::span<const std::byte> bytes) {
  const Sha256Digest sum = sha256(bytes);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const auto one : sum) {
    const auto value = static_cast<unsigned>(one);
    out += kDigits[value >> 4];
    out += kDigits[value & 15];
  }
  return out;
}

}  // namespace runnel::fleet
