// An .espdl model as plain data: everything the importer needs, checked once while it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/limits.h"
#include "base/status.h"
#include "compiler/espdl/container.h"

namespace runnel::compiler::espdl_source {

inline constexpr std::int64_t kMaxElements = limits::kImportedElements;  // of one tensor
inline constexpr std::size_t kMaxNodes = limits::kImportedOperators;

// An initializer or a recorded test value.
struct Constant {
  std::string name;
  std::vector<std::int64_t> dims;  // no dimension is negative; the product is `count`
  std::int64_t count = 0;
  DType dtype = DType::none;
  std::vector<std::int8_t> exponents;  // empty for float32 and for plain integers
  std::string layout;                  // after "layout ==> "; empty when there is none
  std::string doc = {};                // other text about it
  std::vector<std::byte> data;         // exactly count elements, in the file's byte order
};

// What a file says about a value between nodes.
struct Value {
  DType dtype = DType::none;
  std::optional<std::vector<std::int64_t>> shape;
  std::vector<std::int8_t> exponents;
};

using Attribute = std::variant<std::monostate, float, std::int64_t, std::string, std::vector<float>,
                               std::vector<std::int64_t>>;

struct Node {
  std::string name;  // "Conv #3" when the file has none
  std::string op;
  std::vector<std::string> inputs, outputs;  // empty: an optional operand that is absent
  std::map<std::string, Attribute, std::less<>> attributes;

  // The attribute as an integer (or text, or integers), or the default when the node has none.
  // Errors: invalid_data when it has another type.
  [[nodiscard]] Result<std::int64_t> integer(std::string_view key, std::int64_t fallback) const;
  [[nodiscard]] Result<float> number(std::string_view key, float fallback) const;
  [[nodiscard]] Result<std::string> text(std::string_view key, std::string_view fallback) const;
  [[nodiscard]] Result<std::vector<std::int64_t>> integers(std::string_view key,
                                                           std::vector<std::int64_t> fallback) const;
};

struct Model {
  std::string name;
  std::vector<Node> nodes;  // in execution order
  std::vector<std::string> inputs, outputs;
  std::map<std::string, Value, std::less<>> values;  // graph inputs, outputs and everything between
  std::map<std::string, Constant, std::less<>> constants;
  std::vector<Constant> test_inputs, test_outputs;
  std::vector<std::pair<std::string, std::string>> metadata;

  [[nodiscard]] const Constant* constant(std::string_view constant_name) const;
};

// Errors: invalid_data naming tensor or node, what was expected and what was found.
Result<Model> read_model(const EspdlPayload& payload);

// Elements of an integer constant (int8 .. int64). Errors: invalid_data for other types.
Result<std::vector<std::int64_t>> integers_of(const Constant& constant);
// Elements of any numeric constant as real numbers, exponents applied.
Result<std::vector<double>> numbers_of(const Constant& constant);

}  // namespace runnel::compiler::espdl_source
