#include "inference/model/verify_lists.h"

#include <cstdint>

#include "base/limits.h"
#include "inference/model/model_generated.h"
#include "inference/model/table_lists.h"

namespace runnel {
namespace {

using flatbuffers::Offset;
using flatbuffers::Table;
using flatbuffers::Verifier;

// The number of parts of an operator, in `parts`; false where the file is damaged.
bool count_parts(const Table& op, Verifier& verifier, std::uint32_t& parts) noexcept {
  parts = 0;
  if (!op.VerifyTableStart(verifier) ||
      !op.VerifyField<std::uint8_t>(verifier, fb::Operator::VT_OPTIONS_TYPE, 1) ||
      !op.VerifyOffset(verifier, fb::Operator::VT_OPTIONS)) {
    return false;
  }
  const auto type = static_cast<fb::Options>(op.GetField<std::uint8_t>(fb::Operator::VT_OPTIONS_TYPE, 0));
  const auto* const options = op.GetPointer<const Table*>(fb::Operator::VT_OPTIONS);
  if (type == fb::Options::DelegateOptions && options != nullptr) {
    const flatbuffers::Vector<Offset<flatbuffers::String>>* list = nullptr;
    if (!options->VerifyTableStart(verifier) ||
        !list_at(*options, fb::DelegateOptions::VT_PARTS, verifier, list)) {
      return false;
    }
    if (list != nullptr) parts = list->size();
    verifier.EndTable();
  }
  return verifier.EndTable();
}

}  // namespace

Status verify_lists_of_parts(std::span<const std::byte> section) noexcept {
  const auto* const start = reinterpret_cast<const std::uint8_t*>(section.data());
  Verifier verifier(start, section.size(), 16, 4 * (limits::kModelTensors + limits::kModelOperators));
  const flatbuffers::uoffset_t root = verifier.VerifyOffset(std::size_t{0});
  if (root == 0) return {};
  const Table& graph = *reinterpret_cast<const Table*>(start + root);
  const flatbuffers::Vector<Offset<Table>>* operators = nullptr;
  if (!graph.VerifyTableStart(verifier) || !list_at(graph, fb::Graph::VT_OPERATORS, verifier, operators))
    return {};
  for (std::uint32_t i = 0; operators != nullptr && i < operators->size(); ++i) {
    std::uint32_t parts = 0;
    if (!count_parts(*operators->Get(i), verifier, parts)) return {};
    if (parts > limits::kModelOperands) {
      return Status(Code::invalid_data) << "operator " << i << ": a delegate of " << parts
                                        << " parts, expected at most " << limits::kModelOperands;
    }
  }
  return {};
}

}  // namespace runnel
