// A written .espdl file, decoded with nothing but the schema: its accessors, and how to get at what they
// hold.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "compiler/espdl/espdl_generated.h"

namespace runnel::test {

inline std::uint32_t u32(const std::vector<std::byte>& file, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, file.data() + at, 4);
  return value;
}

// A file in aligned memory.
class Decoded {
 public:
  explicit Decoded(const std::vector<std::byte>& file) : blocks_((file.size() + 15) / 16) {
    EXPECT_EQ(std::memcmp(file.data(), "EDL2", 4), 0);
    EXPECT_EQ(u32(file, 4), 0u);
    EXPECT_EQ(u32(file, 8), file.size() - 16);
    EXPECT_EQ(u32(file, 12), 0u);
    std::memcpy(blocks_.data(), file.data() + 16, file.size() - 16);
    flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(blocks_.data()), file.size() - 16);
    EXPECT_TRUE(verifier.VerifyBuffer<espdl::Model>(nullptr));
    model = flatbuffers::GetRoot<espdl::Model>(blocks_.data());
    graph = model->graph();
  }
  // Null when there is none of that name.
  [[nodiscard]] const espdl::Tensor* find_constant(const std::string& name) const {
    return find(*graph->initializer(), name);
  }
  [[nodiscard]] const espdl::ValueInfo* find_value(const std::string& name) const {
    for (const auto* list : {graph->value_info(), graph->input(), graph->output()}) {
      const espdl::ValueInfo* const found = list != nullptr ? find(*list, name) : nullptr;
      if (found != nullptr) return found;
    }
    return nullptr;
  }
  // These must be there.
  [[nodiscard]] const espdl::Tensor& constant(const std::string& name) const {
    return needed(find_constant(name), "constant", name, *graph->initializer());
  }
  [[nodiscard]] const espdl::Node& node(const std::string& name) const {
    return needed(find(*graph->node(), name), "node", name, *graph->node());
  }
  [[nodiscard]] const espdl::ValueInfo& value(const std::string& name) const {
    return needed(find_value(name), "value", name, *graph->value_info());
  }

  const espdl::Model* model = nullptr;
  const espdl::Graph* graph = nullptr;

 private:
  struct alignas(16) Block {
    std::byte bytes[16];
  };
  template <class T>
  static const T* find(const flatbuffers::Vector<flatbuffers::Offset<T>>& list, const std::string& name) {
    for (const T* one : list) {
      if (one->name()->str() == name) return one;
    }
    return nullptr;
  }
  template <class T>
  static const T& needed(const T* found, const char* what, const std::string& name,
                         const flatbuffers::Vector<flatbuffers::Offset<T>>& list) {
    if (found == nullptr) ADD_FAILURE() << "no " << what << " " << name;
    return found != nullptr ? *found : *list.Get(0);
  }

  std::vector<Block> blocks_;
};

template <class V>
std::vector<std::int64_t> numbers(const V* from) {
  std::vector<std::int64_t> out;
  for (std::uint32_t i = 0; from != nullptr && i < from->size(); ++i) out.push_back(from->Get(i));
  return out;
}

inline std::vector<std::int64_t> shape_of(const espdl::ValueInfo& value) {
  std::vector<std::int64_t> out;
  for (const auto* dim : *value.value_info_type()->value_as_TensorTypeAndShape()->shape()->dim())
    out.push_back(dim->value()->dim_value());
  return out;
}

inline espdl::TensorDataType type_of(const espdl::ValueInfo& value) {
  return value.value_info_type()->value_as_TensorTypeAndShape()->elem_type();
}

// Null when the node has none of that name.
inline const espdl::Attribute* find_attribute(const espdl::Node& node, const std::string& name) {
  if (node.attribute() == nullptr) return nullptr;
  for (const espdl::Attribute* one : *node.attribute()) {
    if (one->name()->str() == name) return one;
  }
  return nullptr;
}
inline const espdl::Attribute* attribute(const espdl::Node& node, const std::string& name) {
  const espdl::Attribute* const found = find_attribute(node, name);
  if (found == nullptr) ADD_FAILURE() << node.name()->str() << " has no attribute " << name;
  return found != nullptr ? found : node.attribute()->Get(0);
}
// Empty when it is absent or no text.
inline std::string text_of(const espdl::Attribute* attribute) {
  const auto* const s = attribute != nullptr ? attribute->s() : nullptr;
  return s == nullptr ? std::string() : std::string(s->begin(), s->end());
}
inline std::string text_of(const espdl::Node& node, const std::string& name) {
  return text_of(attribute(node, name));
}

// Integer `index` of a constant whose elements have so many bytes.
inline std::int64_t raw(const espdl::Tensor& tensor, std::size_t index, std::size_t element) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(tensor.raw_data()->Data());
  std::uint64_t value = 0;
  std::memcpy(&value, bytes + index * element, element);
  const int shift = static_cast<int>(64 - 8 * element);
  return static_cast<std::int64_t>(value << shift) >> shift;
}

}  // namespace runnel::test
