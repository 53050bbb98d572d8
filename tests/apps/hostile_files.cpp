#include "tests/apps/hostile_files.h"

#include <cstdint>

#include "base/limits.h"

namespace runnel::apps::test {
namespace {

// Protobuf's encoding, for .onnx files that no exporter writes.
std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  return out + static_cast<char>(value);
}
std::string number(int field, std::uint64_t value) {
  return varint(static_cast<unsigned>(field) << 3) + varint(value);
}
std::string bytes(int field, const std::string& content) {
  return varint((static_cast<unsigned>(field) << 3) | 2) + varint(content.size()) + content;
}
std::string many(const std::string& piece, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += piece;
  return out;
}

std::string value_info(const std::string& name, const std::vector<std::int64_t>& dims) {
  std::string shape;
  for (const std::int64_t dim : dims) shape += bytes(1, number(1, static_cast<std::uint64_t>(dim)));
  return bytes(1, name) + bytes(2, bytes(1, number(1, 1) + bytes(2, shape)));
}
std::string node(const std::string& type, const std::vector<std::string>& inputs, const std::string& output,
                 const std::string& more = {}) {
  std::string out;
  for (const std::string& input : inputs) out += bytes(1, input);
  return bytes(1, out + bytes(2, output) + bytes(3, output) + bytes(4, type) + more);
}
// An initializer of int64: a shape.
std::string shape_tensor(const std::string& name, const std::vector<std::int64_t>& values) {
  std::string raw(values.size() * 8, '\0');
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t b = 0; b < 8; ++b)
      raw[8 * i + b] = static_cast<char>(static_cast<std::uint64_t>(values[i]) >> (8 * b));
  return bytes(5, number(1, values.size()) + number(2, 7) + bytes(8, name) + bytes(9, raw));
}
std::string onnx(const std::string& graph) {
  return number(1, 8) + bytes(2, "a test") + bytes(7, graph) + bytes(8, bytes(1, "") + number(2, 17));
}

std::string deep_branches(int depth) {
  std::string graph = bytes(2, "g") + bytes(12, value_info("y", {1}));
  for (int i = 0; i < depth; ++i)
    graph = node("If", {"c"}, "y", bytes(5, bytes(1, "then_branch") + bytes(6, graph) + number(20, 5))) +
            bytes(2, "g") + bytes(12, value_info("y", {1}));
  return onnx(graph);
}

}  // namespace

std::string large_constants(int count) {
  std::string graph = shape_tensor("shape", {1, 8192, 16384});
  std::string last = "x";
  for (int i = 0; i < count; ++i) {
    const std::string constant = "c" + std::to_string(i), sum = "s" + std::to_string(i);
    graph += node("ConstantOfShape", {"shape"}, constant) + node("Add", {last, constant}, sum);
    last = sum;
  }
  return onnx(graph + bytes(2, "g") + bytes(11, value_info("x", {1, 8192, 16384})) +
              bytes(12, value_info(last, {1, 8192, 16384})));
}

std::string large_products(int count) {
  std::string graph = shape_tensor("shape", {4096, 4096});
  graph += node("ConstantOfShape", {"shape"}, "w");
  std::string last = "x";
  for (int i = 0; i < count; ++i) {
    const std::string product = "p" + std::to_string(i);
    graph += node("MatMul", {last, "w"}, product);
    last = product;
  }
  return onnx(graph + bytes(2, "g") + bytes(11, value_info("x", {1, 400, 4096})) +
              bytes(12, value_info(last, {1, 400, 4096})));
}

std::string HostileFiles::file(const std::string& name) const { return (folder_.path() / name).string(); }

std::string HostileFiles::written(const std::string& name, const std::string& content) const {
  write_text(file(name), content);
  EXPECT_LT(content.size(), limits::kSmallFileBytes);
  return file(name);
}

std::vector<std::string> HostileFiles::all() const {
  std::string zeros(1 << 19, '\0');
  return {written("constants.onnx", large_constants(1)),
          written("more-constants.onnx", large_constants(12)),
          written("products.onnx", large_products(64)),
          written("branches.onnx", deep_branches(40)),
          written("messages.onnx", deep_branches(2000)),
          written("manifest.json",
                  "{\"type\":\"micro\",\"model\":" + many("[", 300'000) + "1" + many("]", 300'000) + "}"),
          written("empty.tflite", std::string("\x1c\0\0\0TFL3", 8) + zeros),
          written("empty.rnl", std::string("\x1c\0\0\0RNL1", 8) + zeros),
          written("empty.pte", std::string("\x1c\0\0\0ET12", 8) + zeros),
          written("empty.espdl", "EDL2" + zeros)};
}

}  // namespace runnel::apps::test
