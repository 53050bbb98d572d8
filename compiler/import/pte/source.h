// An ExecuTorch program as plain data, checked once while it is read: after read_program() every index
// points to what it should, every tensor has a size that fits into its memory, and every constant its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/limits.h"
#include "base/status.h"
#include "npu/host/vela_stream.h"

namespace runnel::compiler::pte_source {

inline constexpr std::size_t kMaxRank = limits::kImportedAxes;  // ExecuTorch's limit

struct Tensor {
  std::string name;                     // empty when the file has none
  DType dtype = DType::none;            // none: a type that nothing here computes with
  std::vector<std::int32_t> sizes;      // 0 or more each
  std::vector<std::uint8_t> dim_order;  // axes from outermost to innermost in memory
  std::size_t bytes = 0;
  // Where it lies while the program runs; neither memory nor data: supplied by the application.
  bool planned = false;
  std::uint32_t memory = 0;
  std::uint64_t offset = 0;
  // Constants; with memory, too: what a mutable buffer holds at first. In memory order.
  std::optional<std::span<const std::byte>> data;

  [[nodiscard]] bool constant() const { return data.has_value() && !planned; }
};
struct Integers {
  std::vector<std::int64_t> items;
};
struct Numbers {
  std::vector<double> items;
};
struct Tensors {
  std::vector<std::int32_t> items;
};  // values; -1: none
struct Other {
  const char* kind;
};  // of no use to any kernel here
// monostate: None.
using Value = std::variant<std::monostate, std::int64_t, bool, double, std::string, Tensor, Integers, Numbers,
                           Tensors, Other>;

struct Delegate {
  std::string id;
  std::span<const std::byte> payload;
  std::vector<std::pair<std::string, std::string>> specs;  // bytes as they stand
};

struct Instruction {
  enum class Kind { kernel, delegate, move, jump, free } kind = Kind::kernel;
  std::size_t which = 0;           // operator or delegate
  std::vector<std::int32_t> args;  // values; of a move: from, to
};

// Data that delegates find by name.
using npu::NamedData;

struct Method {
  std::string name;
  std::vector<Value> values;
  std::vector<std::int32_t> inputs, outputs;
  std::vector<std::string> operators;  // "aten::add.out"
  std::vector<Delegate> delegates;
  std::vector<Instruction> instructions;
};

struct Program {
  Method method;  // the first one
  std::vector<std::string> other_methods;
  std::vector<NamedData> named_data;
};

// Everything points into `file`, which must start 16-byte aligned and outlive the result. Errors:
// invalid_data naming the place, what was expected and what was found; unsupported for what is valid but not
// taken.
Result<Program> read_program(std::span<const std::byte> file);

// The type of a number of ExecuTorch's, none for those that nothing here computes with; -1 where there is no
// such type.
std::optional<DType> dtype_of(std::int8_t scalar_type);
// Bytes of a shape. Errors: invalid_data for negative sizes and for more than any file could mean.
Result<std::size_t> bytes_of(std::span<const std::int32_t> sizes, std::size_t element,
                             const std::string& place);
// That a dim_order names every axis once. Empty: the axes in order.
Result<std::vector<std::uint8_t>> checked_order(std::vector<std::uint8_t> order, std::size_t rank,
                                                const std::string& place);

}  // namespace runnel::compiler::pte_source
