#include "services/embed/embed_model.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/data.h"

namespace runnel::embedding::test {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

EmbedRequest request(const fs::path& folder) {
  EmbedRequest out;
  out.model = RUNNEL_DIGITS_MODEL;
  out.output = folder.string();
  return out;
}

// Text by path below the folder.
Files files_in(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path().lexically_relative(folder).generic_string()] =
        std::string(std::istreambuf_iterator<char>(file), {});
  }
  return files;
}

bool defines(const std::string& header, const std::string& name, std::size_t value) {
  return header.find("#define RUNNEL_DIGITS_" + name + " " + std::to_string(value)) != std::string::npos;
}

TEST(EmbedModel, TheOutcomeIsWhatTheFilesSay) {
  const runnel::test::TemporaryFolder folder;
  EmbedRequest call = request(fs::path(folder.path()) / "digits");
  std::vector<std::string> said;
  call.say = [&](std::string_view sentence) { said.emplace_back(sentence); };
  call.fast = 4096;
  const auto made = embed_model(call, {});
  ASSERT_TRUE(made.ok()) << made.status().text();
  const Files files = files_in(call.output);
  ASSERT_EQ(files.size(), made->files.size());
  for (const std::string& name : made->files) EXPECT_TRUE(files.contains(name)) << name;
  const std::string& header = files.at("digits.h");
  EXPECT_EQ(made->name, "digits");
  EXPECT_TRUE(defines(header, "HOP", static_cast<std::size_t>(made->hop))) << header;
  EXPECT_TRUE(defines(header, "MEMORY_BYTES", made->memory_bytes)) << header;
  EXPECT_TRUE(defines(header, "FAST_BYTES", 4096)) << header;
  EXPECT_EQ(made->fast_bytes, 4096U);
  EXPECT_TRUE(defines(header, "SAMPLE_RATE", 16000)) << header;
  EXPECT_EQ(made->sample_rate, 16000);
  EXPECT_EQ(made->samples, "int16");
  EXPECT_GT(made->operators, static_cast<int>(made->kinds.size()));
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("model " + std::to_string(made->model_bytes) + " bytes"), std::string::npos)
      << said[0];
}

TEST(EmbedModel, OptionsOutOfTheirRangeAreNamed) {
  const runnel::test::TemporaryFolder folder;
  const auto refused = [&](const auto& change) {
    EmbedRequest call = request(fs::path(folder.path()) / "digits");
    change(call);
    const auto made = embed_model(call, {});
    EXPECT_FALSE(made.ok());
    EXPECT_EQ(made.status().code(), Code::invalid_argument);
    EXPECT_TRUE(fs::is_empty(folder.path()));
    return std::string(made.status().text());
  };
  EXPECT_EQ(refused([](EmbedRequest& call) { call.channels = 257; }), "--channels 257: expected 1 to 256");
  EXPECT_EQ(refused([](EmbedRequest& call) { call.events = 0; }), "--events 0: expected 1 to 1000");
  EXPECT_EQ(refused([](EmbedRequest& call) { call.hop = -1; }), "--hop -1: expected 0 to 2147483647");
  EXPECT_EQ(refused([](EmbedRequest& call) { call.memory = -1; }), "--memory -1: expected 0 to 67108864");
  EXPECT_EQ(refused([](EmbedRequest& call) { call.fast = kMaxMemory + 1; }),
            "--fast 67108865: expected 0 to 67108864");
  EXPECT_EQ(refused([](EmbedRequest& call) { call.samples = "int24"; }),
            "--samples int24: expected int16 or float32");
  EXPECT_EQ(refused([](EmbedRequest& call) { call.target = "cortex-m9"; }),
            "--target cortex-m9: expected cortex-m4, cortex-m7, cortex-m55, rv32imac, rv32imafc or rv64gc");
  EXPECT_EQ(refused([](EmbedRequest& call) { call.step = call.self_test = true; }),
            "--step --self-test: a compiled model has no test vectors; expected one of them");
  EXPECT_EQ(refused([](EmbedRequest& call) { call.output.clear(); }),
            "no output, expected a folder to write");
}

TEST(EmbedModel, AFloatFrontEndIsNamedForAProcessorWithoutFloatingPoint) {
  const auto named = [](const std::string& target, const std::string& front_end) {
    const runnel::test::TemporaryFolder folder;
    EmbedRequest call = request(fs::path(folder.path()) / "digits");
    std::vector<std::string> said;
    call.say = [&](std::string_view sentence) { said.emplace_back(sentence); };
    call.target = target;
    call.front_end = front_end;
    const auto made = embed_model(call, {});
    EXPECT_TRUE(made.ok()) << made.status().text();
    return said.size() > 1 ? said[0] : std::string();  // the last one has the sizes
  };
  EXPECT_EQ(named("rv32imac", ""),
            "fbank computes in floating point, which rv32imac has not: each operation takes some 50 "
            "instructions; microfrontend has fixed point");
  EXPECT_EQ(named("rv32imac", "microfrontend num_mel_bins=40 dtype=int8"), "");
  EXPECT_EQ(named("rv32imafc", ""), "");
}

// What the dry run shares with the whole program, the text of a failure among it, is one call's at a time.
TEST(EmbedModel, CallsOfSeveralThreadsTakeTurns) {
  const runnel::test::TemporaryFolder folder;
  constexpr int kThreads = 4, kRounds = 3;
  std::vector<std::string> failed(kThreads);
  const auto work = [&](int thread) {
    for (int round = 0; round < kRounds; ++round) {
      const bool step = (thread + round) % 2 == 0;
      EmbedRequest call = request(fs::path(folder.path()) / (std::to_string(thread) + std::to_string(round)));
      call.step = step;
      if (const auto made = embed_model(call, {}); !made.ok())
        failed[static_cast<std::size_t>(thread)] = made.status().text();
      EmbedRequest wrong = request(fs::path(folder.path()) / "none");
      wrong.front_end = "fbank num_mel_bins=" + std::to_string(41 + thread);
      const auto refused = embed_model(wrong, {});
      const std::string size = std::to_string(41 + thread);
      if (refused.ok() || refused.status().text().find(size) == std::string::npos)
        failed[static_cast<std::size_t>(thread)] =
            "not refused for " + size + ": " + std::string(refused.status().text());
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failed) EXPECT_EQ(failure, "");
  for (int thread = 0; thread < kThreads; ++thread) {
    for (int round = 0; round < kRounds; ++round) {
      const std::string same = (thread + round) % 2 == 0 ? "00" : "01";
      EXPECT_EQ(files_in(fs::path(folder.path()) / (std::to_string(thread) + std::to_string(round))),
                files_in(fs::path(folder.path()) / same));
    }
  }
  EXPECT_FALSE(fs::exists(fs::path(folder.path()) / "none"));
}

}  // namespace
}  // namespace runnel::embedding::test
