// A transducer in a program in ROM: encoder, decoder and joiner are constants, and the texts are those of the
// same graph on a host.
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "compiledtransducer.h"
#include "compiler/import/load.h"
#include "embed/program.h"
#include "tests/embed/sound.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"
#include "transduced.h"

namespace runnel {
namespace {

constexpr std::size_t kRoom = std::size_t{512} << 10;  // hosts pack weights for their vector units

struct Decision {
  std::string text;
  std::int64_t begin = 0, end = 0;
  friend bool operator==(const Decision&, const Decision&) = default;
};

class EmbeddedTransducer : public testing::TestWithParam<const runnel_program*> {
 protected:
  EmbeddedTransducer() : bytes_(new (std::align_val_t(64)) unsigned char[kRoom]) {
    const runnel_options options = {bytes_, kRoom, nullptr, 0, nullptr, nullptr};
    EXPECT_EQ(runnel_prepare(GetParam(), &options, &node_), RUNNEL_OK) << runnel_last_failure();
  }
  ~EmbeddedTransducer() override { ::operator delete[](bytes_, std::align_val_t(64)); }

  void take(std::vector<Decision>& to) {
    for (runnel_event event; runnel_poll(node_, &event) == 1;)
      to.push_back({event.label, event.begin, event.end});
  }
  // Blocks of `block` samples; before each of them `between` runs.
  template <class Between>
  std::vector<Decision> run(std::size_t block, const Between& between) {
    std::vector<Decision> decisions;
    const std::vector<std::int16_t> samples = runnel::test::tones_with_pauses();
    EXPECT_EQ(runnel_reset(node_), RUNNEL_OK);
    for (std::size_t at = 0; at < samples.size(); at += block) {
      between(at / block);
      EXPECT_EQ(runnel_push_int16(node_, samples.data() + at, std::min(block, samples.size() - at)),
                RUNNEL_OK);
      take(decisions);
    }
    EXPECT_EQ(runnel_end(node_), RUNNEL_OK);
    take(decisions);
    return decisions;
  }

  unsigned char* bytes_;
  runnel_node* node_ = nullptr;
};

// Final results of the same graph on this host.
std::vector<Decision> on_host() {
  test::TemporaryFolder folder;
  const std::string wav = (folder.path() / "a.wav").string(), out = (folder.path() / "out.jsonl").string();
  pipeline::test::write_recording(wav, runnel::test::tones_with_pauses());
  compiler::FileLoader loader;
  const auto model = compiler::load_model(DIGITS_MODEL, {});
  EXPECT_TRUE(model.ok());
  if (!model.ok()) return {};
  const std::string front_end = model->model->model().pipeline()->front_end()->str();
  pipeline::GraphOptions options;
  options.nodes = pipeline::test::test_nodes();
  options.models = &loader;
  options.operators = all_operators();
  pipeline::test::run_graph("wav path=" + wav + " ! " + front_end +
                                " ! infer model=" DIGITS_MODEL " ! transducer joiner=" TRANSDUCER_PARTS
                                "/joiner.onnx decoder=" TRANSDUCER_PARTS
                                "/decoder.onnx blank=silence units=words partials=0 silence_after=0.2 "
                                "max_tokens=16 ! jsonl path=" +
                                out,
                            options);
  std::vector<Decision> all;
  std::istringstream lines(pipeline::test::read_text(out));
  for (std::string line; std::getline(lines, line);) {
    const auto record = nlohmann::json::parse(line);
    const auto samples = [&](const char* field) {
      return static_cast<std::int64_t>(record[field].get<double>() * 16000 + 0.5);
    };
    all.push_back({record["text"].get<std::string>(), samples("start"), samples("end")});
  }
  return all;
}

TEST_P(EmbeddedTransducer, GivesTheTextsOfAHost) {
  const auto decisions = run(160, [](std::size_t) {});
  ASSERT_GT(decisions.size(), 2U);
  bool several = false;
  for (const Decision& one : decisions) several = several || one.text.find(' ') != std::string::npos;
  EXPECT_TRUE(several) << "texts of more than one token";
  EXPECT_EQ(decisions.size(), on_host().size());
  EXPECT_EQ(decisions, on_host());
  EXPECT_EQ(run(33, [](std::size_t) {}), decisions) << "any block size";
}

TEST_P(EmbeddedTransducer, IsSavedAndRestoredInMidWord) {
  const auto decisions = run(160, [](std::size_t) {});
  std::vector<unsigned char> saved(runnel_saved_bytes(node_));
  const auto restored = run(160, [&](std::size_t block) {
    ASSERT_EQ(runnel_save(node_, saved.data(), saved.size()), RUNNEL_OK);
    const std::vector<std::int16_t> other(480, static_cast<std::int16_t>(3000 * (block % 3)));
    ASSERT_EQ(runnel_push_int16(node_, other.data(), other.size()), RUNNEL_OK);
    ASSERT_EQ(runnel_restore(node_, saved.data(), saved.size()), RUNNEL_OK);
  });
  EXPECT_EQ(restored, decisions);
}

// What is said of the model in ROM is of all three.
TEST_P(EmbeddedTransducer, CountsAllItsModels) {
  std::size_t bytes = GetParam()->model.count;
  EXPECT_EQ(GetParam()->models.size(), 2U);
  for (const embed::NamedModel& one : GetParam()->models) bytes += one.file.count;
  EXPECT_EQ(runnel_facts_of(GetParam()).model_bytes, bytes);
}

// Damage in the joiner, and a node whose models have other names, are refused.
TEST_P(EmbeddedTransducer, DamagedModelsAreRefused) {
  std::vector<unsigned char> damaged(GetParam()->models[0].file.first,
                                     GetParam()->models[0].file.first + GetParam()->models[0].file.count);
  damaged[damaged.size() / 2] ^= 1;
  std::vector<embed::NamedModel> models(GetParam()->models.begin(), GetParam()->models.end());
  models[0].file.first = damaged.data();
  runnel_program program = *GetParam();
  program.models = models;
  const runnel_options options = {bytes_, kRoom, nullptr, 0, nullptr, nullptr};
  runnel_node* node = nullptr;
  EXPECT_EQ(runnel_prepare(&program, &options, &node), RUNNEL_INVALID_DATA);
  models[0] = {"something else", GetParam()->models[0].file};
  program.models = models;
  EXPECT_NE(runnel_prepare(&program, &options, &node), RUNNEL_OK);
  EXPECT_STRNE(runnel_last_failure(), "");
}

INSTANTIATE_TEST_SUITE_P(Programs, EmbeddedTransducer,
                         testing::Values(&runnel_transduced, &runnel_compiledtransducer),
                         [](const auto& one) { return std::string(one.param->name); });

}  // namespace
}  // namespace runnel
