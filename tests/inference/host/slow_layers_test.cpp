// What counts as a slow layer, and that real models of every kind run on kernels, not on the loops that
// define the results.
#include "inference/host/slow_layers.h"

#include <gtest/gtest.h>

#include "compiler/import/load.h"
#include "inference/host/describe.h"
#include "tests/support/data.h"

namespace runnel {
namespace {

StepProfile step_of(int op, double share, double peak_share) {
  StepProfile step;
  step.type = "conv";
  step.name = "layer " + std::to_string(op);
  step.operators = {op};
  step.kernel = "reference";
  step.microseconds = 3;
  step.share = share;
  step.peak_share = peak_share;
  return step;
}

TEST(SlowLayers, TakeMuchOfTheTimeAndLittleOfTheMachine) {
  Profile profile;
  profile.peak.float_gmacs = 50;
  profile.steps = {step_of(0, 0.21, 0.09), step_of(1, 0.19, 0.01), step_of(2, 0.6, 0.11)};
  const std::vector<StepProfile> slow = slow_steps(profile);
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].operators, std::vector<int>{0});
  EXPECT_EQ(slow_text(slow[0]),
            "layer conv layer 0 takes 21 % of the time at 9 % of the machine's peak, with kernel reference; "
            "expected at least 10 % of a layer that takes more than 20 %");
  profile.steps[0].microseconds = 0.05;
  EXPECT_TRUE(slow_steps(profile).empty()) << "a call, not a loop";
  profile.steps[0].microseconds = 3;
  profile.peak = {};
  EXPECT_TRUE(slow_steps(profile).empty()) << "where the peak is unknown nothing can be said";
}

TEST(SlowLayers, NoLayerOfTheseModelsIsOnTheReference) {
  RUNNEL_NEEDS_DATA();
  if (best_isa() < Isa::avx2) GTEST_SKIP() << "SKIPPED: kernels of x86-64";
  for (const char* file : {
           "espdl/models/esp32p4/cat_detect/espdet_pico_224_224_cat.espdl",
           "espdl/models/esp32p4/human_face_recognition/human_face_feat_mfn_s8_v1.espdl",
           "espdl/models/esp32p4/person_reid/person_reid_feat_osn_s8_v1.espdl",
           "espdl/models/esp32p4/pp_ocr_v6/pp_ocr_v6_rec_s16.espdl",
           "models/dtln/model_quant_1.tflite",
           "models/dtln/model_quant_2.tflite",
           "models/tflm/dtln_noise_suppression.tflite",
           "models/tflm/trained_lstm_int8.tflite",
           "speech/moonshine/spelling_cnn_mel_int8.tflite",
       }) {
    const auto loaded = compiler::load_model(test::data_folder() / file);
    ASSERT_TRUE(loaded.ok()) << file << ": " << loaded.status().text();
    const auto about = describe_model(loaded->model);
    ASSERT_TRUE(about.ok()) << file << ": " << about.status().text();
    int named = 0;
    for (std::size_t i = 0; i < about->operators.size(); ++i) {
      const OperatorDescription& op = about->operators[i];
      EXPECT_FALSE(op.reference) << file << ", operator " << i << ": " << op.type << " " << op.name;
      named += op.kernel == "plain" ? 0 : 1;
    }
    EXPECT_GT(named, 0) << file << ": nothing is reported";
  }
}

}  // namespace
}  // namespace runnel
