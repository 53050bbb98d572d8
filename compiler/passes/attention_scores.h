// What is between the two products of an attention, read backwards from its softmax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler {

// softmax(scale * (q k + p r(key - query)) + bias) v, as nodes and tensors of a graph. q and p: [.., time,
// C], k: [.., C, time], all with the same one or two axes before.
struct AttentionPattern {
  std::size_t scores = 0, softmax = 0, sum = 0;  // nodes: q k, the softmax, the product with v
  // Integers: the constant that scores are multiplied with.
  std::optional<std::size_t> scaled;
  TensorId factor = kAbsent;
  // Floats.
  float scale = 1;
  struct Bias {
    std::size_t node = 0;       // which adds it, for messages
    int heads = 1;              // 1: all share it
    std::vector<float> values;  // [heads][frames][frames], query by key
  };
  std::vector<Bias> biases;
  std::vector<bool> hidden;  // [frames][frames], query by key: masked; empty: nothing is
  struct Positions {
    TensorId queries = kAbsent;  // p
    int heads = 1, columns = 0, channels = 0;
    std::vector<float> table;          // [heads][columns][channels]
    std::vector<std::int32_t> column;  // [frames][frames]: which of the table; -1: none
                                       // (zero), -2: it gets the score of another query
    float factor = 1;                  // beside that of q k
  };
  std::optional<Positions> positions;
};

// Values of a mask that are added to scores: this and below it hides the key.
inline constexpr float kHidden = -1e4f;

// Is node `product` one of queries and keys over all frames? `time_axes`: per tensor, -1: no stream.
bool multiplies_queries_and_keys(const Graph& graph, const std::vector<int>& time_axes, std::size_t product);

// The pattern around it. `graph` has the tensors and its nodes. Errors: unsupported, naming the operator that
// has no place in it.
Result<AttentionPattern> read_attention(const Graph& graph, const std::vector<int>& time_axes,
                                        std::size_t product);

}  // namespace runnel::compiler
