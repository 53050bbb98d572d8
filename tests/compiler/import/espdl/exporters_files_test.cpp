// Files of the exporter, read and written again: both files decoded side by side with nothing but the schema.
// Operators, operands and their order, the bytes, scales, sizes and layouts of constants, attributes: all
// that the exporter says is said in the same way, for every operator that it has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/espdl/target.h"
#include "compiler/import/espdl/importer.h"
#include "compiler/write/espdl/writer.h"
#include "tests/compiler/import/espdl/decoded.h"
#include "tests/compiler/json_files.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

using Numbers = std::vector<std::int64_t>;

std::int64_t product(const Numbers& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  return count;
}

// What a node of one of the two files says.
class Said {
 public:
  Said(const Decoded& file, const espdl::Node& node) : file_(file), node_(node) {}

  [[nodiscard]] bool table() const { return find_attribute(node_, "lut") != nullptr; }
  // Tables are an operator of their own here, and what changes a shape only is one Reshape.
  [[nodiscard]] std::string op() const {
    const std::string op = node_.op_type()->str();
    if (table()) return "LUT";
    return op == "Flatten" || op == "Squeeze" || op == "Unsqueeze" ? "Reshape" : op;
  }
  [[nodiscard]] std::string operand(std::size_t i) const {
    return i < node_.input()->size() ? node_.input()->Get(static_cast<std::uint32_t>(i))->str()
                                     : std::string();
  }
  [[nodiscard]] std::size_t operands() const {
    if (table() || op() == "Reshape") return 1;
    std::size_t count = node_.input()->size();
    while (count > 0 && operand(count - 1).empty()) --count;
    return count;
  }
  [[nodiscard]] Numbers shape(const std::string& name) const {
    if (const espdl::Tensor* constant = file_.find_constant(name)) return numbers(constant->dims());
    return shape_of(file_.value(name));
  }
  [[nodiscard]] std::int64_t rank() const { return static_cast<std::int64_t>(shape(operand(0)).size()); }
  [[nodiscard]] Numbers integers(std::size_t i) const {
    Numbers out;
    const espdl::Tensor& constant = file_.constant(operand(i));
    EXPECT_EQ(constant.data_type(), espdl::TensorDataType::INT64);
    for (std::int64_t k = 0; k < product(numbers(constant.dims())); ++k)
      out.push_back(raw(constant, static_cast<std::size_t>(k), 8));
    return out;
  }
  // First place, step and number of what a slice takes along every axis.
  [[nodiscard]] std::map<std::int64_t, Numbers> slice() const {
    std::map<std::int64_t, Numbers> out;
    const Numbers x = shape(operand(0)), starts = integers(1), ends = integers(2), axes = integers(3),
                  steps = integers(4);
    for (std::size_t axis = 0; axis < x.size(); ++axis)
      out[static_cast<std::int64_t>(axis)] = {0, 1, x[axis]};
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::int64_t axis = (axes[i] + rank()) % rank(), size = x[static_cast<std::size_t>(axis)];
      const auto place = [&](std::int64_t at) {
        return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
      };
      const std::int64_t first = place(starts[i]), length = place(ends[i]) - first;
      EXPECT_GT(steps[i], 0);
      out[axis] = {first, steps[i], (length + steps[i] - 1) / steps[i]};
    }
    return out;
  }
  // All that a constant or a value is.
  [[nodiscard]] std::string about(const std::string& name, bool sizes = true) const {
    if (name.empty()) return "nothing";
    std::string text;
    const auto add = [&](const Numbers& list) {
      for (const std::int64_t value : list) text += " " + std::to_string(value);
      text += ";";
    };
    if (const espdl::Tensor* constant = file_.find_constant(name)) {
      text = "constant of type " + std::to_string(static_cast<int>(constant->data_type())) + "," +
             (constant->doc_string() != nullptr ? constant->doc_string()->str() : "") + ";";
      add(numbers(constant->dims()));
      add(numbers(constant->exponents()));
      for (std::size_t i = 0;
           constant->raw_data() != nullptr && i < std::size_t{16} * constant->raw_data()->size(); ++i)
        text += " " + std::to_string(raw(*constant, i, 1));
      return text;
    }
    const espdl::ValueInfo& value = file_.value(name);
    text = "value of type " + std::to_string(static_cast<int>(type_of(value))) + ";";
    add(sizes ? shape_of(value) : Numbers{product(shape_of(value))});
    add(numbers(value.exponents()));
    return text;
  }
  // A quantized number.
  [[nodiscard]] double number(std::size_t i) const {
    const espdl::Tensor& constant = file_.constant(operand(i));
    return std::ldexp(
        static_cast<double>(raw(constant, 0, constant.data_type() == espdl::TensorDataType::INT8 ? 1 : 2)),
        static_cast<int>(constant.exponents()->Get(0)));
  }
  [[nodiscard]] double step(std::size_t i) const {
    return std::ldexp(1.0, static_cast<int>(file_.constant(operand(i)).exponents()->Get(0)));
  }
  // Attributes as text; axes counted from the front.
  [[nodiscard]] std::map<std::string, std::string> attributes() const {
    std::map<std::string, std::string> out;
    for (const espdl::Attribute* one : *node_.attribute()) {
      const std::string name = one->name()->str();
      if (table() && name != "quant_type") continue;
      std::string text;
      const auto axis = [&](std::int64_t value) {
        return value < 0 && (name == "axis" || name == "perm") ? value + rank() : value;
      };
      if (one->i() != nullptr) text += std::to_string(axis(one->i()->i()));
      if (one->f() != nullptr) text += std::to_string(one->f()->f());
      text += text_of(one);
      for (const std::int64_t value : numbers(one->ints())) text += " " + std::to_string(axis(value));
      for (std::uint32_t k = 0; one->floats() != nullptr && k < one->floats()->size(); ++k)
        text += " " + std::to_string(one->floats()->Get(k));
      out[name] = text;
    }
    if (node_.op_type()->str() == "Flatten") out.erase("axis");
    return out;
  }
  [[nodiscard]] std::string table_text() const { return about(text_of(node_, "lut")); }
  [[nodiscard]] const espdl::Node& node() const { return node_; }

 private:
  const Decoded& file_;
  const espdl::Node& node_;
};

// What is written though the exporter leaves it out: defaults.
const std::map<std::string, std::string> kDefaults = {
    {"allowzero", "0"}, {"direction", "forward"}, {"approximate", "none"}};

void compare_attributes(const Said& theirs, const Said& ours) {
  auto mine = ours.attributes();
  for (const auto& [name, text] : theirs.attributes()) {
    // ESP-DL does not read it, and always counts the padding.
    if (name != "count_include_pad") {
      EXPECT_EQ(mine[name], text) << name;
    }
    mine.erase(name);
  }
  for (const auto& [name, text] : mine) {
    const auto known = kDefaults.find(name);
    if (known == kDefaults.end())
      ADD_FAILURE() << "attribute " << name << " is not the exporter's";
    else
      EXPECT_EQ(text, known->second) << name;
  }
}

void compare(const Said& theirs, const Said& ours) {
  ASSERT_EQ(ours.op(), theirs.op());
  const std::string op = theirs.op();
  SCOPED_TRACE(op + " \"" + theirs.node().name()->str() + "\"");
  compare_attributes(theirs, ours);
  if (theirs.table()) {
    EXPECT_EQ(ours.table_text(), theirs.table_text());
  }
  // The exporter knows the sizes of what it moves about only as far as their product.
  const bool sizes = op != "GRU" && op != "LSTM" && op != "Transpose";
  ASSERT_EQ(ours.operands(), theirs.operands());
  for (std::size_t i = 0; i < theirs.operands(); ++i) {
    SCOPED_TRACE("operand " + std::to_string(i));
    if (op == "Slice" && i > 0) continue;
    if ((op == "Clip" && i > 0) ||
        (op == "Pad" && i == 2)) {  // on the scale of the result, where the exporter has one of their own
      EXPECT_NEAR(ours.number(i), theirs.number(i), ours.step(i) / 2 + theirs.step(i) / 2);
      continue;
    }
    EXPECT_EQ(ours.about(ours.operand(i), false), theirs.about(theirs.operand(i), false));
  }
  if (op == "Slice") {
    EXPECT_EQ(ours.slice(), theirs.slice());
  }
  ASSERT_EQ(ours.node().output()->size(), theirs.node().output()->size());
  for (std::uint32_t i = 0; i < theirs.node().output()->size(); ++i) {
    EXPECT_EQ(ours.about(ours.node().output()->Get(i)->str(), sizes),
              theirs.about(theirs.node().output()->Get(i)->str(), sizes))
        << "result " << i;
  }
}

TEST(ExportersFiles, SayTheSameOfEveryOperator) {
  RUNNEL_NEEDS_DATA();
  const auto all = conformance_manifest();
  std::set<std::string> operators;
  for (const auto& entry : all["entries"]) {
    if (entry["kind"] != "op") continue;
    const auto file = data_folder() / "conformance" / entry["file"].get<std::string>();
    SCOPED_TRACE(file.string());
    const auto bytes = read_file(file);
    const auto read = compiler::import_espdl(
        bytes, {.target = compiler::espdl_source::target_named(entry["target"].get<std::string>())});
    ASSERT_TRUE(read.ok()) << read.status().text();
    const auto written = compiler::write_espdl(read->graph);
    ASSERT_TRUE(written.ok()) << written.status().text();
    ASSERT_TRUE(written->refusals.empty()) << written->refusals[0];
    const Decoded theirs(bytes), ours(written->bytes);
    ASSERT_EQ(ours.graph->node()->size(), theirs.graph->node()->size());
    for (std::uint32_t i = 0; i < theirs.graph->node()->size(); ++i) {
      compare({theirs, *theirs.graph->node()->Get(i)}, {ours, *ours.graph->node()->Get(i)});
      operators.insert(theirs.graph->node()->Get(i)->op_type()->str());
    }
  }
  EXPECT_GT(operators.size(), 45u);
}

}  // namespace
}  // namespace runnel::test
