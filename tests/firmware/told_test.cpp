// What boards report, and two cores on a board: images in QEMU (scripts/firmware_told.sh builds them and runs
// this).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/firmware/image.h"
#include "twocores.h"

namespace runnel::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Board {
  const char* name;
  const char* emulator;
  std::vector<std::string> machine;
  std::string shift;  // of -icount: an instruction takes 2^shift ns
  const char* tools;
};
const Board kM4{kM4F, "qemu-system-arm", {"-M", kM4F}, "6", "arm-none-eabi-"};
const Board kRiscV{
    "virt-rv32imafc", "qemu-system-riscv32", {"-M", "virt", "-bios", "none"}, "0", "riscv64-unknown-elf-"};
const Board kTwoM33{"mps2-an521", "qemu-system-arm", {"-M", "mps2-an521"}, "6", "arm-none-eabi-"};
const Board kTwoHarts{"virt-rv32imafc",
                      "qemu-system-riscv32",
                      {"-M", "virt", "-smp", "2", "-bios", "none"},
                      "0",
                      "riscv64-unknown-elf-"};

#define NEEDS_IMAGES() \
  if (without_images()) GTEST_SKIP() << "SKIPPED WITHOUT IMAGES: run scripts/firmware_told.sh"

fs::path elf_of(const Board& board, const std::string& image) {
  return fs::path(std::getenv("RUNNEL_FIRMWARE")) / (std::string("told.") + board.name) / "firmware" /
         (image + ".elf");
}

// `counted`: time goes by instructions, and one thread emulates all cores in turn.
Output run_on(const Board& board, const std::string& image, const std::vector<std::string>& words,
              const std::string& plugin = {}, bool counted = true) {
  std::string semihosting = "enable=on,target=native,arg=" + image;
  for (const std::string& word : words) semihosting += ",arg=" + word;
  std::vector<std::string> call = {board.emulator};
  call.insert(call.end(), board.machine.begin(), board.machine.end());
  const std::vector<std::string> more = {"-nographic", "-monitor", "none",
                                         "-serial",    "none",     "-semihosting-config",
                                         semihosting,  "-kernel",  elf_of(board, image).string()};
  call.insert(call.end(), more.begin(), more.end());
  if (counted) {
    call.push_back("-icount");
    call.push_back("shift=" + board.shift + ",align=off,sleep=off");
  }
  if (!plugin.empty()) {
    call.push_back("-plugin");
    call.push_back(plugin);
  }
  Output output = run_program(call, 60);
  output.out += output.err;  // where semihosting prints
  return output;
}

constexpr std::size_t kSamples = 32000;
std::vector<std::int16_t> noise() {
  std::vector<std::int16_t> out(kSamples);
  std::uint32_t state = 99;
  for (std::size_t i = 0; i < out.size(); ++i) {
    state = state * 1664525U + 1013904223U;
    out[i] = static_cast<std::int16_t>((static_cast<int>(state >> 16) % 8000 - 4000) /
                                       (i / 4000 % 2 == 0 ? 1 : 32));
  }
  return out;
}

// The lines of a report in what an image prints, by kind.
std::string lines_of(const std::string& said) {
  std::istringstream in(said);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("@runnel ")) out += line + "\n";
  }
  return out;
}

class Told : public testing::TestWithParam<std::tuple<Board, const char*>> {
 protected:
  void SetUp() override {
    NEEDS_IMAGES();
    write_file(recording_, bytes_of(noise()));
  }
  [[nodiscard]] static const Board& board() { return std::get<0>(GetParam()); }
  [[nodiscard]] static bool compiled() { return std::string(std::get<1>(GetParam())) == "countedstep"; }
  Output run(std::vector<std::string> words) {
    words.insert(words.begin(), recording_.string());
    return run_on(board(), std::string(std::get<1>(GetParam())) + "_counters", words);
  }
  // What `runnel profile` makes of it.
  Json profiled(const std::string& said) {
    const fs::path file = folder_.path() / "board.txt";
    std::ofstream(file) << said;
    const Output output = run_program({program(), "profile", RUNNEL_DIGITS_MODEL, "--from-device",
                                       file.string(), "--runs", "20", "--json"});
    EXPECT_EQ(output.exit_code, 0) << output.err;
    return output.exit_code == 0 ? Json::parse(output.out) : Json();
  }
  TemporaryFolder folder_;
  fs::path recording_ = folder_.path() / "recording";
};

TEST_P(Told, ProfileReadsWhatTheBoardPrints) {
  const Output output = run({"lost=1600"});
  ASSERT_EQ(output.exit_code, 0) << output.out;
  const Json out = profiled(output.out);
  ASSERT_FALSE(out.is_null());
  double in_operators = 0;
  int next = 0;
  for (const Json& row : out["steps"]) {
    EXPECT_EQ(row["first"], next);
    next += row["operators"].get<int>();
    EXPECT_GT(row["device_cycles"].get<double>(), 10);
    EXPECT_GE(row["device_runs"].get<int>(), 150);
    in_operators += row["device_cycles"].get<double>() * row["device_runs"].get<double>();
  }
  double in_nodes = 0, in_infer = 0;
  for (const Json& node : out["nodes"]) {
    in_nodes += node["cycles"].get<double>();
    if (node["name"] == "infer") in_infer = node["cycles"].get<double>();
  }
  EXPECT_GT(in_infer, in_operators);
  EXPECT_LT(in_infer, 1.3 * in_operators) << "the rest of the node copies frames";
  EXPECT_GT(in_nodes, in_infer);
  EXPECT_EQ(out["stream"]["samples"], kSamples);
  EXPECT_EQ(out["stream"]["lost"], 1600);
  EXPECT_EQ(out["stream"]["gaps"], 1);
  EXPECT_EQ(out["time"]["steps"], kSamples / 160);
  EXPECT_LE(out["memory"]["used"], out["memory"]["planned"]);
  EXPECT_GT(out["memory"]["used"], out["memory"]["arena"]);
  EXPECT_GT(out["stack"], 500);
  EXPECT_LT(out["stack"], 16000);
}

TEST_P(Told, ACounterThatWrapsChangesNothing) {
  const Output whole = run({"start=0000000000"}), wraps = run({"start=4294967000"});
  ASSERT_EQ(whole.exit_code, 0) << whole.out;
  EXPECT_GT(lines_of(whole.out).size(), 500U);
  EXPECT_EQ(lines_of(wraps.out), lines_of(whole.out));
}

TEST_P(Told, LatenessNeedsOnlyTheRateOfTheCounter) {
  const Json fast = profiled(run({}).out), slow = profiled(run({"hz=100000"}).out);
  ASSERT_FALSE(fast.is_null() || slow.is_null());
  EXPECT_EQ(fast["time"]["late"], 0);
  EXPECT_EQ(fast["time"]["behind_cycles"], 0);
  EXPECT_GT(slow["time"]["late"], 150);
  EXPECT_GT(slow["time"]["behind_cycles"].get<double>(), slow["time"]["cycles"].get<double>() / 2);
}

TEST_P(Told, TheCoresOwnCounterOrASentence) {
  const Output output = run({"core=1"});
  if (std::strstr(board().name, "virt") != nullptr) {
    ASSERT_EQ(output.exit_code, 0) << output.out;
    EXPECT_GT(profiled(output.out)["time"]["cycles"].get<double>(), 1e6);
  } else {  // QEMU has no DWT
    EXPECT_EQ(output.exit_code, 3) << output.out;
    EXPECT_NE(output.out.find("stands still"), std::string::npos) << output.out;
  }
}

TEST_P(Told, TheSelfTestIsALineToo) {
  const Output output = run({"test=1"});
  if (compiled()) {
    EXPECT_EQ(output.exit_code, 4);
    EXPECT_NE(output.out.find("@runnel 1 test program=countedstep code=4 said="), std::string::npos)
        << output.out;
    return;
  }
  ASSERT_EQ(output.exit_code, 0) << output.out;
  EXPECT_EQ(profiled(output.out)["self_test"]["code"], 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, Told, testing::Combine(testing::Values(kM4, kRiscV), testing::Values("counted", "countedstep")),
    [](const auto& one) {
      return std::string(std::get<0>(one.param).tools[0] == 'a' ? "Arm" : "RiscV") + std::get<1>(one.param);
    });

// ---- two cores

void keep(void* user, runnel_stage stage, const void* frames, std::size_t count, std::size_t frame_bytes,
          std::int64_t) {
  const auto* const from = static_cast<const std::byte*>(frames);
  auto& out = *static_cast<std::vector<std::byte>*>(user);
  if (stage == RUNNEL_OUTPUT) out.insert(out.end(), from, from + count * frame_bytes);
}
std::vector<std::byte> of_this_machine() {
  std::vector<std::byte> out;
  constexpr std::size_t kRoom = std::size_t{256} << 10;
  struct Aligned {
    alignas(64) unsigned char bytes[kRoom];
  };
  const auto memory = std::make_unique<Aligned>();
  const runnel_options options = {memory->bytes, kRoom, nullptr, 0, keep, &out};
  runnel_node* node = nullptr;
  EXPECT_EQ(runnel_prepare(&runnel_twocores, &options, &node), RUNNEL_OK) << runnel_last_failure();
  const auto samples = noise();
  EXPECT_EQ(runnel_push_int16(node, samples.data(), samples.size()), RUNNEL_OK);
  EXPECT_EQ(runnel_end(node), RUNNEL_OK);
  return out;
}

// Where the image has the functions that the plugin counts between.
std::string marks_of(const Board& board, const std::string& image) {
  const Output output = run_program({std::string(board.tools) + "nm", elf_of(board, image).string()});
  std::istringstream in(output.out);
  std::string out, address, type, name;
  while (in >> address >> type >> name) {
    for (const char* mark :
         {"push_begins", "push_ends", "job_handed", "wait_begins", "wait_ends", "part_begins", "part_ends"}) {
      if (name == mark) out += std::string(",") + mark + "=0x" + address;
    }
  }
  return out;
}

class TwoCores : public testing::TestWithParam<std::tuple<Board, const char*>> {};

TEST_P(TwoCores, GiveTheBytesOfOne) {
  NEEDS_IMAGES();
  const auto& [board, name] = GetParam();
  const std::string image = std::string(name) + "_cores";
  const TemporaryFolder folder;
  const fs::path in = folder.path() / "in", out = folder.path() / "out";
  write_file(in, bytes_of(noise()));
  const std::string plugin = std::string(std::getenv("RUNNEL_COUNT_CORES")) + marks_of(board, image);
  double alone = 0;
  std::vector<std::byte> expected;
  for (const char* cores : {"1", "2"}) {
    const Output output = run_on(board, image, {in.string(), out.string(), cores}, plugin);
    ASSERT_EQ(output.exit_code, 0) << output.out;
    const ImageOutput said{output.out, 0};
    const std::vector<std::byte> found = read_file(out);
    ASSERT_GT(found.size(), 300U);
    if (*cores == '1') {
      expected = found;
      alone = static_cast<double>(said.number("first"));
      EXPECT_EQ(said.number("jobs"), 0);
      if (std::string(name) == "twocores") {
        EXPECT_EQ(found, of_this_machine());
      }
      continue;
    }
    EXPECT_EQ(found, expected);
    EXPECT_GT(said.number("jobs"), 100);
    const double busiest = static_cast<double>(std::max(said.number("first"), said.number("second"))),
                 path = static_cast<double>(said.number("path"));
    std::printf(
        "%s on %s: %.0f instructions on one core; on two %.0f on the busiest (%.2f times), longest path %.0f "
        "(%.2f times), "
        "%ld jobs\n",
        name, board.name, alone, busiest, alone / busiest, path, alone / path, said.number("jobs"));
    EXPECT_LT(busiest, alone);
    EXPECT_LT(path, alone);
  }
  // Both cores at the same time, in threads of the emulator.
  for (int round = 0; round < 3; ++round) {
    const Output output = run_on(board, image, {in.string(), out.string(), "2"}, {}, false);
    ASSERT_EQ(output.exit_code, 0) << output.out;
    EXPECT_EQ(read_file(out), expected) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(All, TwoCores,
                         testing::Combine(testing::Values(kTwoM33, kTwoHarts),
                                          testing::Values("twocores", "twovibration")),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param).tools[0] == 'a' ? "Arm" : "RiscV") +
                                  std::get<1>(one.param);
                         });

}  // namespace
}  // namespace runnel::test
