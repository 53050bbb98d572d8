// Parts of a network that a back end computes, an NPU for example (docs/delegates.md).
//
// A segment is an operator with the code `delegate`. To everybody but its back end it is opaque: a kind,
// constants that the back end needs, attributes, what it reads and what it writes. A back end is an
// OperatorDefinition with the code `delegate` and the segment's kind as name, and is in the OperatorTable
// that the application passes in; where the table has none, preparing the model is refused, naming the kind.
// Its check() looks at the constants before anything else does: they come from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "inference/custom.h"
#include "inference/model/model.h"
#include "inference/operator.h"

namespace runnel {

// One segment. A view into the model, which has been verified; allocates nothing.
class DelegateSegment {
 public:
  // `op` must have the code `delegate`.
  DelegateSegment(const Model& model, const fb::Operator& op) noexcept
      : model_(model), op_(op), options_(*op.options_as_DelegateOptions()) {}

  [[nodiscard]] std::string_view kind() const noexcept;
  // Constants of the back end, by position or name: their bytes stand at a multiple of 64 in the file's
  // weights; empty when there is none of that name.
  [[nodiscard]] int parts() const noexcept;
  [[nodiscard]] std::string_view part_name(int part) const noexcept;
  [[nodiscard]] std::span<const std::byte> part(int part) const noexcept;
  [[nodiscard]] std::span<const std::byte> part(std::string_view name) const noexcept;
  [[nodiscard]] CustomAttributes attributes() const noexcept { return CustomAttributes(op_); }
  // What it reads and writes: tensors of the model. An input that is absent is -1.
  [[nodiscard]] std::span<const std::int32_t> inputs() const noexcept;
  [[nodiscard]] std::span<const std::int32_t> outputs() const noexcept;

 private:
  const Model& model_;
  const fb::Operator& op_;
  const fb::DelegateOptions& options_;
};

// Ready-made functions for the definition of a back end: operands are present, parts are constants; and what
// the segment does to time when its attributes say it (docs/delegates.md), else a refusal to be streamed.
Status check_delegate(const Model& model, const fb::Operator& op) noexcept;
Status stream_delegate(const Model& model, const fb::Operator& op, TimeAxes axes,
                       streaming::NodeRule& rule) noexcept;

namespace ops {
// For every kind that no other definition names: checks, and refuses to prepare. Part of
// all_operators().
extern const OperatorDefinition kDelegate;
// The same, but prepares, to be described and never to be run: inspect counts the memory around it.
extern const OperatorDefinition delegate_described;
}  // namespace ops

}  // namespace runnel
