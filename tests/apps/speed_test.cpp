// check --speed on real models. It measures: on a machine where other programs take the processor it can be
// wrong, and so it is a long test, for people who ask.
#include <gtest/gtest.h>

#include "tests/apps/support.h"
#include "tests/support/data.h"

namespace runnel::apps::test {
namespace {

TEST(CheckSpeed, NoLayerOfTheseModelsIsSlow) {
  RUNNEL_NEEDS_DATA();
  for (const char* file : {
           "espdl/models/esp32p4/cat_detect/espdet_pico_224_224_cat.espdl",
           "espdl/models/esp32p4/human_face_recognition/human_face_feat_mfn_s8_v1.espdl",
           "espdl/models/esp32p4/person_reid/person_reid_feat_osn_s8_v1.espdl",
           "espdl/models/esp32p4/pp_ocr_v6/pp_ocr_v6_rec_s16.espdl",
           "models/dtln/model_quant_1.tflite",
           "models/dtln/model_quant_2.tflite",
           "models/tflm/dtln_noise_suppression.tflite",
           "speech/moonshine/spelling_cnn_mel_int8.tflite",
       }) {
    const Output run =
        call({"check", "--speed", (runnel::test::data_folder() / file).string(), "--frames", "40"});
    if (run.err.find("the peak of this machine is unknown") != std::string::npos)
      GTEST_SKIP() << "SKIPPED: " << run.err;
    EXPECT_EQ(run.exit_code, 0) << file << ": " << run.err;
    const Json result = Json::parse(run.out, nullptr, false);
    ASSERT_TRUE(result.is_object()) << file << ": " << run.out << run.err;
    EXPECT_TRUE(result["speed"]["passed"].get<bool>()) << file << ": " << result["speed"].dump();
  }
}

}  // namespace
}  // namespace runnel::apps::test
