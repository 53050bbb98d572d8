// Manifests of microWakeWord: what they say, and what is refused.
#include "compiler/import/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/limits.h"

namespace runnel::compiler {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json good(int version = 2) {
  json micro = {{"probability_cutoff", 0.5}, {"tensor_arena_size", 22860}};
  micro[version == 1 ? "sliding_window_average_size" : "sliding_window_size"] = 4;
  return {{"type", "micro"},      {"version", version},
          {"wake_word", "Hello"}, {"model", "hello.tflite"},
          {"author", "Somebody"}, {"website", "https://example.org"},
          {"micro", micro},       {"trained_languages", {"en", "de", 5}}};
}

Result<WakeWordManifest> read(const std::string& text) {
  return read_manifest({reinterpret_cast<const std::byte*>(text.data()), text.size()});
}
std::string why(const json& manifest) { return std::string(read(manifest.dump()).status().text()); }

TEST(Manifest, OfBothVersions) {
  for (const int version : {1, 2}) {
    const auto found = read(good(version).dump());
    ASSERT_TRUE(found.ok()) << found.status().text();
    EXPECT_EQ(found->version, version);
    EXPECT_EQ(found->wake_word, "Hello");
    EXPECT_EQ(found->model, "hello.tflite");
    EXPECT_EQ(found->author, "Somebody");
    EXPECT_EQ(found->website, "https://example.org");
    EXPECT_EQ(found->languages, "en,de");
    EXPECT_EQ(found->probability_cutoff, 0.5);
    EXPECT_EQ(found->sliding_window, 4);
    EXPECT_EQ(found->feature_step, version == 1 ? 20 : 10);
    EXPECT_EQ(found->tensor_arena, 22860);
  }
  json without_version = good(1);
  without_version.erase("version");
  EXPECT_EQ(read(without_version.dump())->version, 1);
}

TEST(Manifest, IsToldFromAModel) {
  const auto looks = [](const std::string& text) {
    return looks_like_manifest({reinterpret_cast<const std::byte*>(text.data()), text.size()});
  };
  EXPECT_TRUE(looks("{}"));
  EXPECT_TRUE(looks(" \r\n\t{"));
  EXPECT_FALSE(looks("RNL1{"));
  EXPECT_FALSE(looks(" \n"));
  EXPECT_FALSE(looks(""));
}

TEST(Manifest, IsRefusedWithWhatWasExpectedAndFound) {
  const struct {
    const char* at;
    json value;
    const char* sentence;
  } cases[] = {
      {"/type", "macro", "type \"macro\", expected micro (microWakeWord)"},
      {"/type", 3, "type is 3, expected a text"},
      {"/version", 3, "version 3, expected 1 or 2"},
      {"/version", 0, "version is 0, expected an integer from 1 to 1048576"},
      {"/version", "2", "version is \"2\", expected an integer"},
      {"/wake_word", "", "wake_word is \"\", expected a text"},
      {"/wake_word", std::string(100, 'x'), nullptr},
      {"/model", "../hello.tflite", "model \"../hello.tflite\", expected a file beside the manifest"},
      {"/model", "/etc/passwd", "expected a file beside the manifest"},
      {"/model", "https://example.org/hello.tflite", "expected a file beside the manifest"},
      {"/model", json::array({1}), "model is [1], expected a text"},
      {"/author", 5, "author is 5, expected a text"},
      {"/website", nullptr, "website is null, expected a text"},
      {"/micro", 5, "no section micro"},
      {"/micro/probability_cutoff", 0, "probability_cutoff is 0, expected a number above 0, at most 1"},
      {"/micro/probability_cutoff", 1.5, "expected a number above 0, at most 1"},
      {"/micro/probability_cutoff", "high", "probability_cutoff is \"high\", expected a number"},
      {"/micro/sliding_window_size", 0, "sliding_window_size is 0, expected an integer from 1 to 1000"},
      {"/micro/sliding_window_size", 4.5, "sliding_window_size is 4.5, expected an integer"},
      {"/micro/feature_step_size", 31, "feature_step_size is 31, expected an integer from 1 to 30"},
      {"/micro/tensor_arena_size", -1, "tensor_arena_size is -1, expected an integer from 0"},
      {"/micro/tensor_arena_size", std::string(100, 'y'), "yyy..., expected an integer"},
  };
  for (const auto& one : cases) {
    json manifest = good();
    manifest[json::json_pointer(one.at)] = one.value;
    if (one.sentence == nullptr)
      EXPECT_EQ(why(manifest), "") << one.at;
    else
      EXPECT_THAT(why(manifest), HasSubstr(one.sentence)) << one.at;
  }
  for (const char* const missing : {"type", "wake_word", "model"}) {
    json manifest = good();
    manifest.erase(missing);
    EXPECT_EQ(why(manifest), std::string("manifest: no ") + missing);
  }
  for (const char* const missing : {"probability_cutoff", "sliding_window_size"}) {
    json manifest = good();
    manifest["micro"].erase(missing);
    EXPECT_EQ(why(manifest), std::string("manifest: no ") + missing);
  }
  EXPECT_THAT(why(json::array({1})), HasSubstr("neither a model file nor JSON"));
  EXPECT_THAT(std::string(read("{\"type\":").status().text()), HasSubstr("neither a model file nor JSON"));
  EXPECT_THAT(std::string(read(std::string(1000, '[')).status().text()), HasSubstr("brackets more than"));
  EXPECT_THAT(std::string(read(std::string(limits::kManifestBytes + 1, ' ')).status().text()),
              HasSubstr("expected at most"));
}

Graph model() {
  Graph graph;
  graph.tensors.push_back({"frames", {1, 3, 40}, DType::int8, {}, {}, {}, -1, false, {}});
  graph.tensors.push_back({"probability", {1, 1}, DType::uint8, {}, {}, {}, -1, false, {}});
  graph.inputs = {0};
  graph.outputs = {1};
  return graph;
}

TEST(Manifest, GivesAModelItsUse) {
  const WakeWordManifest manifest = *read(good().dump());
  Graph graph = model();
  ASSERT_TRUE(apply_manifest(manifest, graph).ok());
  EXPECT_EQ(graph.pipeline.usage, UsageKind::step);
  EXPECT_EQ(graph.pipeline.step, 3);
  EXPECT_EQ(graph.pipeline.front_end, "microfrontend preset=micro-wake-word frame_shift=10 dtype=int8");
  // A cutoff of 127 of 255 for the mean of four bytes: more than 508 of 1024.
  EXPECT_EQ(graph.pipeline.decision,
            "detect mode=wake-word activation=none threshold=0.49658203125 release=0.49609375 "
            "smoothing_frames=4 refractory_frames=33 ignore=\"\"");
  EXPECT_EQ(graph.pipeline.labels, std::vector<std::string>{"Hello"});
  const auto fact = [&](const std::string& key) {
    const auto at = std::find_if(graph.metadata.begin(), graph.metadata.end(),
                                 [&](const auto& one) { return one.first == "microwakeword." + key; });
    return at == graph.metadata.end() ? std::string() : at->second;
  };
  EXPECT_EQ(fact("author"), "Somebody");
  EXPECT_EQ(fact("trained_languages"), "en,de");
  EXPECT_EQ(fact("tensor_arena_size"), "22860");
}

TEST(Manifest, RefusesAModelThatItDoesNotFit) {
  const WakeWordManifest manifest = *read(good().dump());
  const auto refusal = [&](Graph graph) { return std::string(apply_manifest(manifest, graph).text()); };
  Graph two = model();
  two.inputs = {0, 0};
  EXPECT_THAT(refusal(two), HasSubstr("2 inputs and 1 outputs, expected one each"));
  Graph narrow = model();
  narrow.tensors[0].shape = {1, 3, 32};
  EXPECT_THAT(refusal(narrow), HasSubstr("input \"frames\" of the model, expected [1, frames, 40]"));
  Graph wide = model();
  wide.tensors[0].dtype = DType::int16;
  EXPECT_THAT(refusal(wide), HasSubstr("of int8 or float32"));
  Graph many = model();
  many.tensors[1].shape = {1, 2};
  EXPECT_THAT(refusal(many), HasSubstr("output \"probability\" has 2 values, expected one probability"));
}

}  // namespace
}  // namespace runnel::compiler
