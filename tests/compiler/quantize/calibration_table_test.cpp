// The same model from a table as from the clips it was made of; tables that do not fit are refused by name.
#include "compiler/quantize/calibrate/calibration_table.h"

#include <gmock/gmock.h>

#include "compiler/quantize/integer_graph.h"
#include "tests/compiler/quantize/small_graph.h"

namespace runnel::test {
namespace {

using namespace compiler::quantizer;  // NOLINT(google-build-using-namespace)
using testing::HasSubstr;

void expect_same(const compiler::Graph& a, const compiler::Graph& b) {
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    EXPECT_EQ(a.tensors[i].dtype, b.tensors[i].dtype) << a.tensors[i].name;
    EXPECT_EQ(a.tensors[i].data, b.tensors[i].data) << a.tensors[i].name;
    EXPECT_EQ(a.tensors[i].exponents, b.tensors[i].exponents) << a.tensors[i].name;
    EXPECT_EQ(a.tensors[i].scales, b.tensors[i].scales) << a.tensors[i].name;
    EXPECT_EQ(a.tensors[i].zero_points, b.tensors[i].zero_points) << a.tensors[i].name;
  }
  for (std::size_t n = 0; n < a.nodes.size(); ++n)
    EXPECT_EQ(a.nodes[n].inputs, b.nodes[n].inputs) << a.nodes[n].name;
}

class Tables : public testing::Test {
 protected:
  std::string text_of(const Options& options) {
    const MemoryClips clips(small_.clips(16));
    auto made = quantize(small_.graph, clips, options);
    EXPECT_TRUE(made.ok()) << made.status().text();
    quantized_ = std::move(*made);
    const auto text = table_text(small_.graph, quantized_, options, "fbank preset=kaldi", clips.size());
    EXPECT_TRUE(text.ok()) << text.status().text();
    return *text;
  }
  std::string refusal(const std::string& text) {
    const auto table = CalibrationTable::from_text(text);
    if (!table.ok()) return std::string(table.status().text());
    return std::string(table->quantize(small_.graph).status().text());
  }
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
  }
  SmallGraph small_;
  Quantized quantized_;
};

TEST_F(Tables, GiveTheSameModelAgain) {
  struct Case {
    const char* target;
    Scheme scheme;
    DType type;
    bool split;
  };
  for (const Case& c :
       {Case{"esp32", Scheme::pow2, DType::int8, false}, Case{"esp32p4", Scheme::pow2, DType::int16, false},
        Case{"generic", Scheme::affine, DType::int8, false},
        Case{"esp32s3", Scheme::pow2, DType::int8, true}}) {
    Options options = options_for(c.target);
    options.scheme = c.scheme;
    options.type = c.type;
    options.methods = Methods{};
    options.methods->split = c.split;
    options.types = {{"point", c.type == DType::int8 ? DType::int16 : DType::int8}};
    if (c.split) {  // something to split
      const float large = 40;
      std::memcpy(small_.graph.tensors[1].data->data(), &large, sizeof large);
    }
    const auto table = CalibrationTable::from_text(text_of(options));
    ASSERT_TRUE(table.ok()) << table.status().text();
    EXPECT_EQ(table->front_end(), "fbank preset=kaldi");
    EXPECT_EQ(table->shapes().at("x"), (std::vector<std::int64_t>{1, 24, 4}));
    const auto again = table->quantize(small_.graph);
    ASSERT_TRUE(again.ok()) << again.status().text();
    expect_same(again->graph, quantized_.graph);
    EXPECT_EQ(again->error, quantized_.error);
    EXPECT_EQ(names_of(again->methods), names_of(quantized_.methods));
  }
}

TEST_F(Tables, OfAnotherModelAreRefused) {
  Options options = options_for("esp32");
  options.methods = Methods{};
  const std::string text = text_of(options);
  const float changed = 0.123f;
  std::memcpy(small_.graph.tensors[1].data->data(), &changed, sizeof changed);
  EXPECT_THAT(refusal(text), HasSubstr("made of another model"));
}

TEST_F(Tables, ThatAreBrokenAreRefusedWithThePlace) {
  Options options = options_for("esp32");
  options.methods = Methods{};
  const std::string text = text_of(options);
  ASSERT_EQ(refusal(text), "");
  EXPECT_THAT(refusal(""), HasSubstr("expected JSON"));
  EXPECT_THAT(refusal(text.substr(0, text.size() / 2)), HasSubstr("expected JSON"));
  EXPECT_THAT(refusal("[1, 2]"), HasSubstr("no \"format\""));
  EXPECT_THAT(refusal(replaced(text, "runnel calibration table", "something else")),
              HasSubstr("/format: expected runnel calibration table"));
  EXPECT_THAT(refusal(replaced(text, "\"version\": 1", "\"version\": 2")),
              HasSubstr("/version: expected an integer from 1 to 1"));
  EXPECT_THAT(refusal(replaced(text, "\"esp32\"", "\"esp8266\"")), HasSubstr("expected generic, esp32"));
  EXPECT_THAT(refusal(replaced(text, "\"scheme\": \"pow2\"", "\"scheme\": \"log\"")),
              HasSubstr("expected pow2 or affine"));
  EXPECT_THAT(refusal(replaced(text, "\"exponents\":[", "\"exponents\":[99,")),
              HasSubstr("expected an integer from -60 to 60"));
  EXPECT_THAT(refusal(replaced(text, "\"exponents\":[", "\"exponents\":[-7,")),
              HasSubstr("has 6 channels and 72 weights, found 2 scales"));
  EXPECT_THAT(refusal(replaced(text, "\"weights\":[", "\"weights\":[1,")), HasSubstr("found 1 scales"));
  EXPECT_THAT(refusal(replaced(text, "\"bias\":[", "\"bias\":[1e99,")), HasSubstr("expected a number"));
  EXPECT_THAT(refusal(replaced(text, "\"makers\":[\"", "\"makers\":[\"no ")), HasSubstr("no operator \"no "));
  EXPECT_THAT(refusal(replaced(text, "\"ranges\": {\n \"x\": [", "\"ranges\": {\n \"x\": [9,")),
              HasSubstr("expected a lower end of 0 or less"));
  EXPECT_THAT(refusal(replaced(text, "\"gate\": \"int8\"", "\"gate\": \"int7\"")),
              HasSubstr("expected int8, int16 or float32"));
  EXPECT_THAT(refusal(replaced(text, "\"gate\": \"int8\"", "\"door\": \"int8\"")),
              HasSubstr("no type that operator \"gate\" can have"));
  EXPECT_THAT(refusal(replaced(text, "\"methods\": \"", "\"methods\": \"magic, ")),
              HasSubstr("method \"magic\""));
}

TEST_F(Tables, NoiseForSelfTestsIsTheSameForTheSameSeed) {
  Options options = options_for("esp32");
  options.methods = Methods{};
  text_of(options);
  const Clip one = noise_clip(quantized_, 1), again = noise_clip(quantized_, 1),
             other = noise_clip(quantized_, 2);
  ASSERT_EQ(one[0].size(), 96u);
  EXPECT_EQ(one, again);
  EXPECT_NE(one, other);
  const auto [low, high] = std::minmax_element(one[0].begin(), one[0].end());
  const compiler::quantizer::Range range = quantized_.plan.range(small_.graph.inputs[0]);
  EXPECT_GE(static_cast<double>(*low), range.low);
  EXPECT_LE(static_cast<double>(*high), range.high);
  EXPECT_GT(static_cast<double>(*high - *low), 0.7 * (range.high - range.low));
}

}  // namespace
}  // namespace runnel::test
