// A FlatBuffer taken apart by its schema into a tree, which can be changed and written again: what comes out
// is a valid FlatBuffer, whatever its values say, so that damage reaches the checks behind the verifier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "flatbuffers/reflection_generated.h"
#include "tests/robustness/structure/random.h"

namespace runnel::test::flat {

struct Table;
using TablePointer = std::unique_ptr<Table>;

// A number or a struct: its bytes.
struct Inline {
  Bytes bytes;
};
// A vector of numbers or structs, or a text (which ends with a zero that does not count).
struct Numbers {
  Bytes bytes;
  std::size_t element = 1;    // bytes of an element
  std::size_t alignment = 4;  // of the first element, as it was
  bool text = false;
};
// Tables, or texts.
struct Tables {
  std::vector<TablePointer> items;
};
struct Texts {
  std::vector<Numbers> items;
};
using Value = std::variant<Inline, Numbers, TablePointer, Tables, Texts>;

struct Slot {
  const reflection::Field* field = nullptr;
  Value value;
};
struct Table {
  const reflection::Object* type = nullptr;
  std::vector<Slot> slots;  // those that are there
};

// A table that is a file of its own inside of a vector of bytes: its type by what stands beside it, or null.
using Nested = const reflection::Object* (*)(const reflection::Schema& schema, const Table& owner,
                                             std::string_view field);

struct Format {
  const reflection::Schema* schema = nullptr;
  const reflection::Object* root = nullptr;
  Nested nested = nullptr;
};

// Null when the bytes are no FlatBuffer of this format, or one whose tree would be very large.
TablePointer read(const Format& format, std::span<const std::byte> file);
// With the identifier of four bytes, if there is one.
Bytes write(const Table& root, std::span<const std::byte> identifier);
// One change somewhere in the tree: a number, a vector's length, a table that is removed, repeated, or
// replaced by another one of its type, from `other` where there is one.
void change(const Format& format, Table& root, const Table* other, Random& random);

}  // namespace runnel::test::flat
