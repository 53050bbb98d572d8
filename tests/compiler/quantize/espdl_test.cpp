// What the quantizer makes for ESP-DL's chips, written as .espdl and decoded with nothing but the schema: the
// rules that hold between scales, biases, tables and sums.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/espdl/espdl_generated.h"
#include "compiler/espdl/target.h"
#include "compiler/import/espdl/importer.h"
#include "compiler/quantize/quantize.h"
#include "compiler/run_whole.h"
#include "compiler/write/espdl/writer.h"
#include "tests/compiler/quantize/small_graph.h"

namespace runnel::test {
namespace {

using namespace compiler::quantizer;  // NOLINT(google-build-using-namespace)

// A chip and a width.
struct Case {
  const char* target;
  DType type;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.target << ' ' << runnel::name_of(one.type); }

class QuantizedEspdl : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    SmallGraph small(32);
    const MemoryClips clips(small.clips(16));
    Options options = options_for(GetParam().target);
    options.type = GetParam().type;
    if (options.type ==
        DType::int16) {  // sums keep scales of their own, so that operands are brought to the result's
      options.methods = Methods{};
      options.methods->equalize = false;
    }
    const auto made = quantize(small.graph, clips, options);
    ASSERT_TRUE(made.ok()) << made.status().text();
    graph_ = made->graph;
    compiler::EspdlWriteOptions write;
    write.target = compiler::espdl_source::target_named(GetParam().target);
    auto written = compiler::write_espdl(graph_, write);
    ASSERT_TRUE(written.ok()) << written.status().text();
    ASSERT_THAT(written->refusals, testing::IsEmpty());
    bytes_ = std::move(written->bytes);
    blocks_.resize((bytes_.size() + 15) / 16);
    std::memcpy(blocks_.data(), bytes_.data() + 16, bytes_.size() - 16);
    file_ = flatbuffers::GetRoot<espdl::Model>(blocks_.data())->graph();
    for (const auto* list : {file_->input(), file_->output(), file_->value_info()}) {
      for (const espdl::ValueInfo* value : *list) {
        if (value->exponents() != nullptr && value->exponents()->size() > 0)
          exponents_[value->name()->str()] = value->exponents()->Get(0);
      }
    }
    for (const espdl::Tensor* tensor : *file_->initializer()) constants_[tensor->name()->str()] = tensor;
  }
  bool wide() const { return GetParam().type == DType::int16; }
  std::int64_t exponent(const flatbuffers::String* name) const {
    const auto found = exponents_.find(name->str());
    if (found == exponents_.end()) ADD_FAILURE() << name->str() << " has no exponent";
    return found == exponents_.end() ? 0 : found->second;
  }
  static std::string text(const espdl::Node& node, const char* name) {
    for (const espdl::Attribute* attribute : *node.attribute()) {
      if (attribute->name()->str() == name && attribute->s() != nullptr)
        return {attribute->s()->begin(), attribute->s()->end()};
    }
    return "";
  }

  struct alignas(16) Block {
    std::byte bytes[16];
  };
  compiler::Graph graph_;
  std::vector<std::byte> bytes_;
  std::vector<Block> blocks_;
  const espdl::Graph* file_ = nullptr;
  std::map<std::string, std::int64_t> exponents_;
  std::map<std::string, const espdl::Tensor*> constants_;
};

TEST_P(QuantizedEspdl, ScalesBiasesTablesAndSumsFollowTheRules) {
  const bool per_channel = std::string(GetParam().target) == "esp32p4";
  const double bias_bits = wide() ? (std::string(GetParam().target) == "esp32" ? 64 : 40)
                           : std::string(GetParam().target) == "esp32s3" ? 20
                                                                         : 32;
  std::map<std::string, int> kinds;
  for (const espdl::Node* node : *file_->node()) {
    const std::string kind = node->op_type()->str();
    ++kinds[kind];
    EXPECT_EQ(text(*node, "quant_type"), wide() ? "S16" : "S8") << kind;
    if (kind == "Conv" || kind == "Gemm") {
      const espdl::Tensor &w = *constants_.at(node->input()->Get(1)->str()),
                          &b = *constants_.at(node->input()->Get(2)->str());
      const std::int64_t channels =
          w.dims()->Get(w.dims()->size() - 1) * (kind == "Conv" && w.dims()->Get(w.dims()->size() - 1) == 1
                                                     ? w.dims()->Get(w.dims()->size() - 2)
                                                     : 1);
      EXPECT_EQ(w.exponents()->size(), per_channel ? static_cast<std::size_t>(channels) : 1u)
          << node->name()->str();
      EXPECT_EQ(b.exponents()->size(), w.exponents()->size());
      EXPECT_EQ(w.data_type(), wide() ? espdl::TensorDataType::INT16 : espdl::TensorDataType::INT8);
      EXPECT_EQ(b.data_type(), wide() ? espdl::TensorDataType::INT64 : espdl::TensorDataType::INT32);
      EXPECT_THAT(w.doc_string()->str(), testing::HasSubstr("layout ==> "));
      for (flatbuffers::uoffset_t i = 0; i < w.exponents()->size(); ++i) {
        EXPECT_EQ(b.exponents()->Get(i), w.exponents()->Get(i) + exponent(node->input()->Get(0)))
            << node->name()->str();
        EXPECT_GE(exponent(node->output()->Get(0)), w.exponents()->Get(i) + exponent(node->input()->Get(0)))
            << node->name()->str() << " shifts to the left";
      }
      const auto* bytes = reinterpret_cast<const std::byte*>(b.raw_data()->Data());
      for (std::int64_t i = 0; i < b.dims()->Get(0); ++i) {
        std::int64_t value = 0;
        std::int32_t narrow = 0;
        std::memcpy(&narrow, bytes + i * 4, 4);
        value = narrow;
        if (wide()) std::memcpy(&value, bytes + i * 8, 8);
        EXPECT_LT(std::abs(static_cast<double>(value)), std::ldexp(1.0, static_cast<int>(bias_bits) - 1))
            << node->name()->str();
      }
    } else if (kind == "Add") {
      EXPECT_EQ(exponent(node->input()->Get(0)), exponent(node->output()->Get(0)));
      EXPECT_EQ(exponent(node->input()->Get(1)), exponent(node->output()->Get(0)));
    } else if (const std::string table = text(*node, "lut"); !table.empty()) {
      ++kinds["table"];
      const espdl::Tensor& values = *constants_.at(table);
      EXPECT_EQ(values.dims()->Get(0), wide() ? 257 : 256);
      EXPECT_EQ(values.exponents()->Get(0), exponent(node->output()->Get(0)));
      EXPECT_EQ(values.doc_string(), nullptr);
      // Entry k is the function of x = k - 128 (or of every 256th x), rounded to the result's scale.
      const bool even = per_channel;
      const int step = wide() ? 256 : 1, low = wide() ? -32768 : -128;
      for (int k = 0; k < static_cast<int>(values.dims()->Get(0)); ++k) {
        std::int16_t entry = 0;
        std::memcpy(&entry,
                    reinterpret_cast<const std::byte*>(values.raw_data()->Data()) + k * (wide() ? 2 : 1),
                    wide() ? 2 : 1);
        if (!wide()) entry = static_cast<std::int8_t>(entry);
        const double x = std::ldexp(static_cast<double>(low + k * step),
                                    static_cast<int>(exponent(node->input()->Get(0))));
        const double scaled =
            std::ldexp(1 / (1 + std::exp(-x)), -static_cast<int>(exponent(node->output()->Get(0))));
        // Close to a tie float32 may fall to either side.
        const double expected =
            std::min(even ? std::nearbyint(scaled) : std::floor(scaled + 0.5), wide() ? 32767.0 : 127.0);
        EXPECT_NEAR(entry, expected, std::abs(scaled - std::floor(scaled) - 0.5) < 0.01 ? 1 : 0) << k;
      }
    }
  }
  // Constants are padded to whole elements of 16 bytes, with zeros.
  for (const auto& entry : constants_) {
    const espdl::Tensor& tensor = *entry.second;
    std::size_t count = 1;
    for (const std::int64_t dim : *tensor.dims()) count *= static_cast<std::size_t>(dim);
    const std::size_t element = tensor.data_type() == espdl::TensorDataType::INT8    ? 1
                                : tensor.data_type() == espdl::TensorDataType::INT16 ? 2
                                : tensor.data_type() == espdl::TensorDataType::INT32 ? 4
                                                                                     : 8;
    const auto* const bytes = reinterpret_cast<const std::byte*>(tensor.raw_data()->Data());
    ASSERT_EQ(tensor.raw_data()->size(), (count * element + 15) / 16) << entry.first;
    for (std::size_t i = count * element; i < std::size_t{16} * tensor.raw_data()->size(); ++i)
      EXPECT_EQ(bytes[i], std::byte{0}) << entry.first << ' ' << i;
  }
  EXPECT_EQ(kinds["Conv"], 3);
  EXPECT_EQ(kinds["Gemm"], 1);
  EXPECT_EQ(kinds["Add"], 1);
  if (wide()) {
    EXPECT_GE(kinds["RequantizeLinear"], 1) << "an operand of the sum has another scale";
  }
  EXPECT_EQ(kinds["table"], 1);
  ASSERT_NE(file_->test_inputs_value(), nullptr);
  EXPECT_EQ(file_->test_outputs_value()->size(), 1u);
}

// An operand is rounded to the sum's scale first, then both are added and saturate.
TEST_P(QuantizedEspdl, SumsRoundTheirOperandsFirst) {
  const bool even = std::string(GetParam().target) == "esp32p4";
  const auto node = std::find_if(graph_.nodes.begin(), graph_.nodes.end(),
                                 [](const compiler::Node& one) { return one.code == OpCode::add; });
  ASSERT_NE(node, graph_.nodes.end());
  compiler::Graph sum = graph_;
  sum.nodes = {*node};
  sum.inputs = node->inputs;
  sum.outputs = node->outputs;
  sum.vectors.clear();
  const auto exponent_of = [&](compiler::TensorId id) {
    return graph_.tensors[static_cast<std::size_t>(id)].exponents[0];
  };
  const std::size_t values = 32 * 6, bytes = wide() ? 2 : 1;
  std::vector<std::vector<std::byte>> inputs(2, std::vector<std::byte>(values * bytes));
  std::vector<std::vector<std::int16_t>> integers(2, std::vector<std::int16_t>(values));
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t k = 0; k < values; ++k) {
      const auto value =
          static_cast<std::int16_t>(wide() ? static_cast<int>(k * 7919 + i * 104729) % 65536 - 32768
                                           : static_cast<int>(k * 37 + i * 91) % 256 - 128);
      integers[i][k] = value;
      std::memcpy(inputs[i].data() + k * bytes, &value, bytes);
    }
  }
  const auto results = compiler::run_whole(sum, {inputs});
  ASSERT_TRUE(results.ok()) << results.status().text();
  const double low = wide() ? -32768 : -128, high = wide() ? 32767 : 127;
  for (std::size_t k = 0; k < values; ++k) {
    double total = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      const double scaled = std::ldexp(static_cast<double>(integers[i][k]),
                                       exponent_of(node->inputs[i]) - exponent_of(node->outputs[0]));
      total += std::clamp(even ? std::nearbyint(scaled) : std::floor(scaled + 0.5), low, high);
    }
    std::int16_t found = 0;
    std::memcpy(&found, (*results)[0][0].data() + k * bytes, bytes);
    if (!wide()) found = static_cast<std::int8_t>(found);
    ASSERT_EQ(found, std::clamp(total, low, high)) << "value " << k;
  }
}

TEST_P(QuantizedEspdl, ReadsBackIdentical) {
  compiler::EspdlOptions options;
  options.target = compiler::espdl_source::target_named(GetParam().target);
  const auto again = compiler::import_espdl(bytes_, options);
  ASSERT_TRUE(again.ok()) << again.status().text();
  compiler::EspdlWriteOptions write;
  write.target = options.target;
  const auto rewritten = compiler::write_espdl(again->graph, write);
  ASSERT_TRUE(rewritten.ok()) << rewritten.status().text();
  EXPECT_EQ(rewritten->bytes, bytes_);
}

INSTANTIATE_TEST_SUITE_P(Targets, QuantizedEspdl,
                         testing::Values(Case{"esp32", DType::int8}, Case{"esp32s3", DType::int8},
                                         Case{"esp32p4", DType::int8}, Case{"esp32", DType::int16},
                                         Case{"esp32s3", DType::int16}, Case{"esp32p4", DType::int16}),
                         [](const auto& test) {
                           return std::string(test.param.target) +
                                  (test.param.type == DType::int8 ? "_s8" : "_s16");
                         });

}  // namespace
}  // namespace runnel::test
