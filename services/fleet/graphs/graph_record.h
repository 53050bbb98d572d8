// A graph as a fleet keeps it, so that every worker can run it: in the key-value bucket, the record under
// g.IDENTITY, and each model in parts under m.SHA256.NUMBER.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/status.h"
#include "services/fleet/exchange.h"

namespace runnel::fleet {

struct GraphRecord {
  struct Blob {
    std::string sha256;  // 64 hexadecimal digits
    std::uint64_t bytes = 0;
    // Its signature as services/trust/signature_file.h has it, in hexadecimal digits; empty: it has none.
    std::string signature = {};

    friend bool operator==(const Blob&, const Blob&) = default;
  };
  static constexpr std::size_t kPart = std::size_t{512} << 10;
  static constexpr std::uint64_t kMostBytes = limits::kFleetModelBytes;  // of a model
  static constexpr std::size_t kMostModels = limits::kFleetModels;

  std::uint32_t identity = 0;  // of graph, models and version (Runner::identity)
  std::string name;            // for people
  std::string version;         // of runnel
  std::string around;          // the graph between samples and events; its models are model:0, model:1, …
  std::vector<Blob> models;
  std::string front_end;            // text before the first model, for comparison
  std::vector<std::string> labels;  // of the decision

  friend bool operator==(const GraphRecord&, const GraphRecord&) = default;
};

std::string text_of(const GraphRecord& record);
// Errors: invalid_data, with the field.
Result<GraphRecord> read_graph_record(std::string_view text);

std::string record_subject(std::string_view bucket, std::uint32_t identity);
std::string part_subject(std::string_view bucket, const GraphRecord::Blob& blob, std::uint64_t part);
std::uint64_t parts_of(const GraphRecord::Blob& blob) noexcept;
// 64 hexadecimal digits.
std::string sha256_of(std::span<const std::byte> bytes);

}  // namespace runnel::fleet
