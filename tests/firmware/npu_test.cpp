// The NPU driver on a Cortex-M55 in QEMU, whose device plays back the simulator's runs: compiled networks for
// three generations give the same bytes there and here, in a session and in an embedded program, and every
// fault has its message. Run by scripts/npu_firmware_tests.sh, which builds the image.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/crc32c.h"
#include "embed/npu/runnel_npu.h"
#include "embed/program.h"
#include "firmware/npu/recorded_run.h"
#include "inference/host/engine.h"
#include "npu/block_program.h"
#include "npu/delegate.h"
#include "npu/host/simulator/fake_device.h"
#include "npudigits.h"
#include "tests/firmware/image.h"

namespace runnel {
namespace {

using namespace test;
using firmware::RecordedRun;
using Bytes = std::vector<std::byte>;
namespace reg = npu::device_register;

constexpr std::int64_t kFrames = 60;

// One run: the device's inputs and outputs.
struct Recorded {
  RecordedRun run;
  Bytes written;
};

// A device that computes and records.
class Recorder final : public npu::Device {
 public:
  Recorder(std::uint32_t config, std::uint32_t id) : device_(options(config, id)) {
    about.config = config;
    about.id = id;
  }

  firmware::RecordedRuns about;
  std::vector<Recorded> runs;
  // Regions that a program only writes, by the program's address.
  std::map<const std::byte*, std::uint32_t> outputs;

  std::uint32_t read(std::uint32_t offset) noexcept override { return device_.read(offset); }
  void write(std::uint32_t offset, std::uint32_t value) noexcept override {
    if (offset != reg::kCommand || (value & npu::device_command::kRun) == 0)
      return device_.write(offset, value);
    Recorded one;
    const auto* const payload = seen_.front().data();
    const std::uint32_t only_written = outputs[payload];
    one.run.written = 1u << npu::kScratch | only_written;
    if (device_.read(reg::kBase + 8 * npu::kFastScratch) != 0) one.run.written |= 1u << npu::kFastScratch;
    one.run.stream_bytes = device_.read(reg::kQueueSize);
    one.run.stream_crc = crc32c(at(reg::kQueueBase).first(one.run.stream_bytes));
    std::span<const std::byte> regions[RecordedRun::kRegions];
    for (std::uint32_t i = 0; i < RecordedRun::kRegions; ++i) {
      if (device_.read(reg::kBase + 8 * i) == 0) continue;
      regions[i] = at(reg::kBase + 8 * i);
      one.run.bytes[i] = static_cast<std::uint32_t>(regions[i].size());
      one.run.crc[i] = crc32c(regions[i]);
    }
    device_.write(offset, value);
    seen_.clear();
    one.run.status = npu::device_status::kEndReached;
    one.run.cycles = device_.read(reg::kPmuCycles);
    for (std::uint32_t i = 0; i < 4; ++i) one.run.events[i] = device_.read(reg::kPmuCounter + 4 * i);
    for (std::uint32_t i = 0; i < RecordedRun::kRegions; ++i) {
      if ((one.run.written >> i & 1) != 0)
        one.written.insert(one.written.end(), regions[i].begin(), regions[i].end());
    }
    runs.push_back(std::move(one));
  }
  bool wait() noexcept override { return device_.wait(); }
  std::uint64_t address_of(const void* memory) noexcept override { return device_.address_of(memory); }
  void flush(std::span<const std::byte> memory) noexcept override {
    device_.flush(memory);
    seen_.push_back(memory);
  }

 private:
  static npu::FakeDeviceOptions options(std::uint32_t config, std::uint32_t id) {
    npu::FakeDeviceOptions made;
    made.config = config;
    made.id = id;
    made.learns_memory = true;
    return made;
  }
  // The flushed memory from a register's address on.
  std::span<const std::byte> at(std::uint32_t offset) {
    const std::uint32_t address = device_.read(offset);
    for (const auto& memory : seen_) {
      const std::uint64_t first = device_.address_of(memory.data());
      if (address >= first && address < first + memory.size()) return memory.subspan(address - first);
    }
    return {};
  }
  npu::FakeDevice device_;
  std::vector<std::span<const std::byte>> seen_;
};

// One device of each kind, for all recordings: drivers live as long as the program.
struct Attached {
  Attached(std::uint32_t config, std::uint32_t id) : recorder(config, id) {
    EXPECT_TRUE(driver.init().ok());
    npu::add_driver(driver);
  }
  Recorder recorder;
  npu::Driver driver{recorder};
};
Recorder& recorder_of(const std::string& accelerator) {
  static auto* const u55 = new Attached(0x1807, 0x10060000);
  static auto* const u65 = new Attached(0x10003008, 0x10060000);
  static auto* const u85 = new Attached(0x20000118, 0x20007000);
  return (accelerator == "ethos-u55-128" ? u55 : accelerator == "ethos-u65-256" ? u65 : u85)->recorder;
}

std::vector<const OperatorDefinition*> with_npu() {
  std::vector<const OperatorDefinition*> table(all_operators().begin(), all_operators().end());
  table.push_back(&npu::ethos_u_v1);
  return table;
}
void note_outputs(const Model& model, Recorder& recorder) {
  for (int i = 0; i < model.operator_count(); ++i) {
    if (code_of(model.op(i)) != OpCode::delegate || !npu::is_stepped(model, model.op(i))) continue;
    const auto block = npu::read_block_program(model, model.op(i), std::size_t{1} << 20);
    EXPECT_TRUE(block.ok()) << block.status().text();
    if (block.ok() && block->output.own())
      recorder.outputs[block->payload.data()] = 1u << block->output.region;
  }
}
void write_runs(const std::filesystem::path& path, const firmware::RecordedRuns& about,
                const std::vector<Recorded>& all) {
  const auto head = std::as_bytes(std::span(&about, 1));
  Bytes bytes(head.begin(), head.end());
  for (const Recorded& one : all) {
    const auto record = std::as_bytes(std::span(&one.run, 1));
    bytes.insert(bytes.end(), record.begin(), record.end());
    bytes.insert(bytes.end(), one.written.begin(), one.written.end());
  }
  write_file(path, bytes);
}

// Networks on one device, and random bytes: digits, one frame a call, for a U55 and a U65; a clip for the
// U85, compiled by Arm.
struct Recording {
  TemporaryFolder folder;
  std::filesystem::path model = folder.path() / "npu.rnl", in = folder.path() / "in",
                        out = folder.path() / "out", runs_file = folder.path() / "runs";
  firmware::RecordedRuns about;
  std::vector<Recorded> runs;
  Bytes input, output, cpu;

  explicit Recording(const std::string& accelerator) {
    const bool u85 = accelerator == "ethos-u85-256";
    const std::string source =
        (data_folder() / (u85 ? "ethosu/models/kws_ref_model.tflite" : "digits/digits_c_s8.espdl")).string();
    const std::string compiled = (data_folder() / "ethosu85/u85-256/kws_ref_model_vela.tflite").string();
    const Output made =
        u85 ? run_program({program(), "import", compiled, "-o", model.string()})
            : run_program({program(), "npu", "compile", source, "-o", model.string(), "--accelerator",
                           accelerator, "--memory-mode", "Shared_Sram", "--block", "1", "--quiet"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    const Output plain =
        run_program({program(), "import", source, "-o", (folder.path() / "cpu.rnl").string()});
    EXPECT_EQ(plain.exit_code, 0) << plain.err;
    if (made.exit_code != 0 || plain.exit_code != 0) return;
    Recorder& recorder = recorder_of(accelerator);
    const RunMode mode = u85 ? RunMode::whole : RunMode::stream;
    cpu = run(folder.path() / "cpu.rnl", {all_operators().begin(), all_operators().end()}, mode, recorder);
    recorder.runs.clear();
    output = run(model, with_npu(), mode, recorder);
    about = recorder.about;
    runs = std::move(recorder.runs);
    recorder.runs.clear();
    write_file(in, input);
  }
  // Runs `input` as the image does; creates it if empty.
  Bytes run(const std::filesystem::path& path, const std::vector<const OperatorDefinition*>& table,
            RunMode mode, Recorder& recorder) {
    auto owned = OwnedModel::from_file(path);
    EXPECT_TRUE(owned.ok()) << owned.status().text();
    const Model& loaded = (*owned)->model();
    note_outputs(loaded, recorder);
    PrepareOptions options;
    options.mode = mode;
    const auto engine = Engine::make(*owned, options, table);
    EXPECT_TRUE(engine.ok()) << engine.status().text();
    if (!engine.ok()) return {};
    const auto runner = *Runner::make(*engine);
    Session& session = runner->session();
    const Prepared& prepared = (*engine)->prepared();
    if (input.empty()) {
      std::mt19937 random(5);
      input.resize(session.input(0).size() * (mode == RunMode::whole ? 3 : kFrames));
      for (std::byte& byte : input) byte = static_cast<std::byte>(random());
    }
    Bytes found;
    std::size_t at = 0;
    for (; mode == RunMode::whole && at < input.size(); at += session.input(0).size()) {
      std::memcpy(session.input(0).data(), input.data() + at, session.input(0).size());
      session.run(prepared.block());
      const auto result = session.tensor(loaded.outputs()[0]);
      found.insert(found.end(), result.begin(), result.end());
    }
    for (bool ended = mode == RunMode::whole;
         mode == RunMode::stream && (!ended || session.flush_calls_left() > 0);) {
      const auto block = session.input(0);
      ended = ended || at == input.size();
      if (!ended) std::memcpy(block.data(), input.data() + at, block.size());
      at += ended ? 0 : block.size();
      session.run(ended ? 0 : prepared.block());
      const OutputFrames frames = session.output(0);
      found.insert(found.end(), frames.data,
                   frames.data + static_cast<std::size_t>(frames.count) *
                                     prepared.placement(loaded.outputs()[0]).frame_bytes);
    }
    return found;
  }
};
Recording& recording(const std::string& accelerator = "ethos-u55-128") {
  static auto* const all = new std::map<std::string, std::unique_ptr<Recording>>;
  auto& one = (*all)[accelerator];
  if (one == nullptr) one = std::make_unique<Recording>(accelerator);
  return *one;
}
ImageOutput play(const Recording& r, const std::vector<Recorded>& runs) {
  write_runs(r.runs_file, r.about, runs);
  return run_image(kM55, "npu_image",
                   {r.model.string(), r.in.string(), r.out.string(), r.runs_file.string()});
}

class NpuFirmware : public testing::TestWithParam<const char*> {};

TEST_P(NpuFirmware, GivesTheBytesOfThisMachine) {
  RUNNEL_NEEDS_IMAGES();
  Recording& r = recording(GetParam());
  ASSERT_FALSE(r.output.empty());
  EXPECT_EQ(r.output, r.cpu) << "the compiled network here";
  ASSERT_GE(r.runs.size(), 3u);
  const ImageOutput output = play(r, r.runs);
  ASSERT_EQ(output.exit_code, 0) << output.said;
  EXPECT_EQ(read_file(r.out), r.output) << output.said;
  EXPECT_EQ(output.said.find("call "), std::string::npos) << output.said;
  const long runs = static_cast<long>(r.runs.size());
  EXPECT_EQ(output.number("runs"), runs) << output.said;
  EXPECT_EQ(output.number("interrupts"), runs);
  EXPECT_EQ(output.number("resets"), 1) << "at the beginning";
  long cycles = 0;
  for (const Recorded& one : r.runs) cycles += one.run.cycles;
  EXPECT_EQ(output.number("cycles"), cycles);
}

TEST_P(NpuFirmware, FaultsAndSilenceHaveTheirSentences) {
  RUNNEL_NEEDS_IMAGES();
  Recording& r = recording(GetParam());
  namespace bits = npu::device_status;
  const bool u85 = std::string(GetParam()).find("u85") != std::string::npos;
  struct Fault {
    std::uint32_t status;
    const char* sentence;
  };
  std::vector<Fault> faults = {{bits::kBusError | 1u << bits::kFaultInterface | 2u << bits::kFaultChannel,
                                "the device reports a bus error at byte "},
                               {bits::kParseError, "the device reports a command that it does not know"},
                               {bits::kWeightError, "the device reports weights that it cannot decode"},
                               {bits::kMemoryError, "the device reports a fault of its own memory"},
                               {0, "the device reports an interrupt before the end"},
                               {RecordedRun::kSilent, "the device did not answer in time"}};
  if (u85) faults.push_back({bits::kBranchError | 0x00050000u, "the device reports a jump to nowhere"});
  // A clip for each fault on the U85, as its recording is short; else one recording with all of them.
  for (std::size_t first = 0; first < faults.size(); first += u85 ? 1 : faults.size()) {
    auto runs = r.runs;
    std::size_t at = u85 ? 1 : 3;
    const std::size_t count = u85 ? 1 : faults.size();
    for (std::size_t i = 0; i < count; ++i, at += 4) runs.at(at).run.status = faults[first + i].status;
    const ImageOutput output = play(r, runs);
    ASSERT_EQ(output.exit_code, 0) << output.said;
    at = u85 ? 1 : 3;
    for (std::size_t i = 0; i < count; ++i, at += 4)
      EXPECT_NE(output.said.find("call " + std::to_string(at) + ": " + faults[first + i].sentence),
                std::string::npos)
          << output.said;
    EXPECT_TRUE(first > 0 || output.said.find(", port 1, channel 2") != std::string::npos) << output.said;
    EXPECT_EQ(output.number("resets"), 1 + static_cast<long>(count));
    // The others continue unaffected; a failed run's segment outputs are zeros.
    const Bytes found = read_file(r.out);
    EXPECT_EQ(found.size(), r.output.size());
    EXPECT_NE(found, r.output);
  }
}

INSTANTIATE_TEST_SUITE_P(All, NpuFirmware,
                         testing::Values("ethos-u55-128", "ethos-u65-256", "ethos-u85-256"));

TEST(NpuImage, OneBitThatDiffersIsSeen) {
  RUNNEL_NEEDS_IMAGES();
  Recording& r = recording();
  auto runs = r.runs;
  runs[2].run.crc[npu::kConstants] ^= 1;
  const ImageOutput output = play(r, runs);
  ASSERT_EQ(output.exit_code, 0) << output.said;
  EXPECT_NE(output.said.find("call 2: the device reports a bus error"), std::string::npos) << output.said;
  // Histories in the scratch memory, too.
  runs = r.runs;
  runs[2].written[10] ^= std::byte{1};
  const ImageOutput later = play(r, runs);
  EXPECT_NE(later.said.find("call 3: the device reports a bus error"), std::string::npos) << later.said;
}

// ---- a program that runnel embed wrote

// Its model's output here, and what the device did meanwhile.
struct Embedded {
  TemporaryFolder folder;
  std::filesystem::path in = folder.path() / "in", out = folder.path() / "out",
                        runs_file = folder.path() / "runs";
  firmware::RecordedRuns about;
  std::vector<Recorded> runs;
  Bytes output;

  Embedded() {
    std::vector<std::int16_t> samples(24000);
    std::mt19937 random(9);
    for (std::size_t i = 0; i < samples.size(); ++i)
      samples[i] =
          static_cast<std::int16_t>(static_cast<int>(random() % 8000) - 4000) / (i / 4000 % 2 == 0 ? 1 : 64);
    write_file(in, bytes_of(samples));
    Recorder& recorder = recorder_of("ethos-u55-128");
    recorder.runs.clear();
    const auto model = Model::open(runnel_npudigits.model.bytes());
    EXPECT_TRUE(model.ok());
    note_outputs(*model, recorder);
    RUNNEL_ALIGNED static unsigned char memory[RUNNEL_NPUDIGITS_MEMORY_BYTES + RUNNEL_OBSERVE_BYTES];
    const runnel_options options = {memory, sizeof memory, nullptr, 0, keep, &output};
    runnel_node* node = nullptr;
    EXPECT_EQ(runnel_prepare(&runnel_npudigits, &options, &node), RUNNEL_OK) << runnel_last_failure();
    if (node == nullptr) return;
    for (std::size_t at = 0; at < samples.size(); at += RUNNEL_NPUDIGITS_HOP)
      EXPECT_EQ(runnel_push_int16(node, samples.data() + at, RUNNEL_NPUDIGITS_HOP), RUNNEL_OK);
    EXPECT_EQ(runnel_end(node), RUNNEL_OK);
    about = recorder.about;
    runs = std::move(recorder.runs);
    recorder.runs.clear();
  }
  static void keep(void* user, runnel_stage stage, const void* frames, std::size_t count,
                   std::size_t frame_bytes, std::int64_t) {
    const auto* const from = static_cast<const std::byte*>(frames);
    if (stage == RUNNEL_OUTPUT)
      static_cast<Bytes*>(user)->insert(static_cast<Bytes*>(user)->end(), from, from + count * frame_bytes);
  }
  ImageOutput play(const std::vector<Recorded>& played, const std::vector<std::string>& more = {}) const {
    write_runs(runs_file, about, played);
    std::vector<std::string> words = {in.string(), out.string(), runs_file.string()};
    words.insert(words.end(), more.begin(), more.end());
    return run_image(kM55, "npu_node_image", words);
  }
};
Embedded& embedded() {
  static auto* const one = new Embedded;
  return *one;
}

TEST(NpuNode, AnEmbeddedProgramGivesTheBytesOfThisMachine) {
  RUNNEL_NEEDS_IMAGES();
  Embedded& e = embedded();
  ASSERT_GT(e.output.size(), 1000u);
  ASSERT_GT(e.runs.size(), 60u);
  const ImageOutput output = e.play(e.runs);
  ASSERT_EQ(output.exit_code, 0) << output.said;
  EXPECT_EQ(read_file(e.out), e.output) << output.said;
  const long runs = static_cast<long>(e.runs.size());
  EXPECT_EQ(output.number("npu_runs"), runs) << output.said;
  EXPECT_EQ(output.number("npu_failures"), 0);
  EXPECT_EQ(output.number("interrupts"), runs);
  EXPECT_GT(output.number("npu_cycles"), runs * 100);
  EXPECT_EQ(output.said.find("push "), std::string::npos) << output.said;
}

// Without a device the program for the CPU, in the same image, gives the same bytes.
TEST(NpuNode, TheProgramForTheCpuTakesItsPlace) {
  RUNNEL_NEEDS_IMAGES();
  Embedded& e = embedded();
  const ImageOutput output = e.play(e.runs, {"cpu"});
  ASSERT_EQ(output.exit_code, 0) << output.said;
  EXPECT_NE(output.said.find("without an NPU: "), std::string::npos) << output.said;
  EXPECT_EQ(read_file(e.out), e.output) << output.said;
  EXPECT_EQ(output.number("npu_runs"), 0) << output.said;
}

// The device's own counters beside their estimate here.
TEST(NpuNode, TheReportHasTheCountersOfTheNpu) {
  RUNNEL_NEEDS_IMAGES();
  Embedded& e = embedded();
  const ImageOutput output = e.play(e.runs, {"tell"});
  ASSERT_EQ(output.exit_code, 0) << output.said;
  const std::filesystem::path file = e.folder.path() / "board.txt";
  std::ofstream(file) << output.said;
  const Output read = run_program(
      {program(), "profile", RUNNEL_NPU_MODEL, "--from-device", file.string(), "--runs", "5", "--json"});
  ASSERT_EQ(read.exit_code, 0) << read.err;
  const auto json = nlohmann::json::parse(read.out);
  EXPECT_EQ(json["npu"]["runs"], e.runs.size());
  EXPECT_DOUBLE_EQ(json["npu"]["cycles_per_run"].get<double>() * static_cast<double>(e.runs.size()),
                   static_cast<double>(output.number("npu_cycles")));
  EXPECT_GT(json["npu"]["near_read_beats_per_run"].get<double>() +
                json["npu"]["far_read_beats_per_run"].get<double>(),
            0);
  ASSERT_EQ(json["npu"]["estimated"].size(), 1U);
  EXPECT_GT(json["npu"]["estimated"][0]["cycles"].get<double>(), 0);
}

TEST(NpuNode, FailuresReachTheApplication) {
  RUNNEL_NEEDS_IMAGES();
  Embedded& e = embedded();
  auto runs = e.runs;
  runs[4].run.status = npu::device_status::kWeightError;
  runs[9].run.status = RecordedRun::kSilent;
  const ImageOutput output = e.play(runs);
  ASSERT_EQ(output.exit_code, 0) << output.said;
  EXPECT_NE(output.said.find(": the device reports weights that it cannot decode"), std::string::npos)
      << output.said;
  EXPECT_NE(output.said.find(": the device did not answer in time"), std::string::npos) << output.said;
  EXPECT_EQ(output.number("npu_failures"), 2) << output.said;
  EXPECT_EQ(output.number("resets"), 3);
}

}  // namespace
}  // namespace runnel
