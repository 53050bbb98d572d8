// Conformers with every kind of positions as integers of both widths and schemes, over a window of frames.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "compiler/import/load.h"
#include "compiler/quantize/integer_form.h"
#include "compiler/quantize/quantize.h"
#include "compiler/write/writer.h"
#include "inference/host/check.h"
#include "tests/support/data.h"
#include "tests/support/npy.h"

namespace runnel {
namespace {

using namespace compiler::quantizer;  // NOLINT(google-build-using-namespace)
using compiler::AttentionWindow;

constexpr const char* kVariants[] = {"c_none13", "c_alibi", "c_learned", "c_relpos17", "c_masked"};

// The recorded clip, and noise of its kind.
MemoryClips clips_of(const std::string& name, int more) {
  std::vector<Clip> all = {
      {test::read_npy(test::data_folder() / "speech/conformer" / (name + "_x.npy")).as<float>()}};
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (int i = 0; i < more; ++i) {
    std::vector<float> clip(all[0][0].size());
    for (float& value : clip) value = normal(random);
    all.push_back({std::move(clip)});
  }
  return MemoryClips(std::move(all));
}

struct Case {
  Scheme scheme;
  DType type;
  double decibels;
};

TEST(SpeechConformersOfIntegers, StreamBitForBitWithAllTheirDecibels) {
  RUNNEL_NEEDS_DATA();
  for (const char* name : kVariants) {
    for (const Case& made_as :
         {Case{Scheme::affine, DType::int8, 40}, Case{Scheme::pow2, DType::int8, 36},
          Case{Scheme::affine, DType::int16, 80}, Case{Scheme::pow2, DType::int16, 80}}) {
      SCOPED_TRACE(name);
      compiler::LoadOptions load;
      auto imported = compiler::import_file(
          test::data_folder() / "speech/conformer" / (std::string(name) + ".onnx"), load);
      ASSERT_TRUE(imported.ok()) << imported.status().text();
      compiler::StreamOptions stream;
      stream.time_axis = 1;
      if (std::string(name) != "c_masked") stream.attention = AttentionWindow{16, 0, 1};
      Options options;
      options.target = *target_rules("generic");
      options.scheme = made_as.scheme;
      options.type = made_as.type;
      options.methods = Methods{};
      options.methods->equalize = options.methods->round = options.methods->correct_bias =
          options.methods->search = false;
      const auto notes = take_integer_form(options.target, stream, imported->graph);
      ASSERT_TRUE(notes.ok()) << notes.status().text();
      EXPECT_EQ(notes->size(), 4u);
      const auto made = quantize(imported->graph, clips_of(name, 3), options);
      ASSERT_TRUE(made.ok()) << made.status().text();
      EXPECT_GT(-10 * std::log10(made->error), made_as.decibels);
      for (std::size_t n = 0; n < made->plan.types.size(); ++n) {
        if (made->real.nodes[n].code == OpCode::log_softmax) continue;  // the output, of floats
        EXPECT_NE(made->plan.types[n], DType::float32) << made->real.nodes[n].name;
      }
      compiler::WriteOptions write;
      write.stream = stream;
      write.stream.required = true;
      const auto written = compiler::write_model(made->graph, write);
      ASSERT_TRUE(written.ok()) << written.status().text();
      const auto model = OwnedModel::from_bytes(written->bytes);
      ASSERT_TRUE(model.ok()) << model.status().text();
      const auto report = check_streaming(*model, 120, {}, 1);
      ASSERT_TRUE(report.ok()) << report.status().text();
      EXPECT_TRUE(report->differences.empty()) << report->differences[0].run;
    }
  }
}

}  // namespace
}  // namespace runnel
