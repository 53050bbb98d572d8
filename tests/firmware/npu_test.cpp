// The NPU driver on a Cortex-M55 in QEMU, whose device plays back the simulator's runs: a compiled network
// steps its stream with the same bytes there and here, and every fault has its message. Run by
// scripts/npu_firmware_tests.sh, which builds the image.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/crc32c.h"
#include "firmware/npu/recorded_run.h"
#include "inference/host/engine.h"
#include "npu/block_program.h"
#include "npu/delegate.h"
#include "npu/host/simulator/fake_device.h"
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
  Recorder() : device_(options()) {}

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
  static npu::FakeDeviceOptions options() {
    npu::FakeDeviceOptions made;
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

// The digits network for a U55-128, one frame a call, and a recording of random bytes; made once.
struct Recording {
  TemporaryFolder folder;
  std::filesystem::path model = folder.path() / "digits_npu.rnl", in = folder.path() / "in",
                        out = folder.path() / "out", runs = folder.path() / "runs";
  Bytes input, output, cpu;
  Recorder recorder;
  npu::Driver driver{recorder};

  Recording() {
    const std::string source = (data_folder() / "digits/digits_c_s8.espdl").string();
    const Output made = run_program({program(), "npu", "compile", source, "-o", model.string(),
                                     "--accelerator", "ethos-u55-128", "--block", "1", "--quiet"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    const Output plain =
        run_program({program(), "import", source, "-o", (folder.path() / "cpu.rnl").string()});
    EXPECT_EQ(plain.exit_code, 0) << plain.err;
    if (made.exit_code != 0 || plain.exit_code != 0) return;
    EXPECT_TRUE(driver.init().ok());
    npu::add_driver(driver);
    std::vector<const OperatorDefinition*> table(all_operators().begin(), all_operators().end());
    cpu = run(folder.path() / "cpu.rnl", table);
    table.push_back(&npu::ethos_u_v1);
    output = run(model, table);
    write_file(in, input);
    write_runs(recorder.runs);
  }
  void write_runs(const std::vector<Recorded>& all) const {
    Bytes bytes;
    for (const Recorded& one : all) {
      const auto record = std::as_bytes(std::span(&one.run, 1));
      bytes.insert(bytes.end(), record.begin(), record.end());
      bytes.insert(bytes.end(), one.written.begin(), one.written.end());
    }
    write_file(runs, bytes);
  }
  // Streams `input` as the image does; creates it if empty.
  Bytes run(const std::filesystem::path& path, const std::vector<const OperatorDefinition*>& table) {
    auto owned = OwnedModel::from_file(path);
    EXPECT_TRUE(owned.ok()) << owned.status().text();
    const Model& loaded = (*owned)->model();
    for (int i = 0; i < loaded.operator_count(); ++i) {
      if (code_of(loaded.op(i)) != OpCode::delegate) continue;
      const auto block = npu::read_block_program(loaded, loaded.op(i), std::size_t{1} << 20);
      EXPECT_TRUE(block.ok()) << block.status().text();
      if (block.ok() && block->output.own())
        recorder.outputs[block->payload.data()] = 1u << block->output.region;
    }
    PrepareOptions options;
    options.mode = RunMode::stream;
    const auto engine = Engine::make(*owned, options, table);
    EXPECT_TRUE(engine.ok()) << engine.status().text();
    if (!engine.ok()) return {};
    const auto runner = *Runner::make(*engine);
    Session& session = runner->session();
    const Prepared& prepared = (*engine)->prepared();
    if (input.empty()) {
      std::mt19937 random(5);
      input.resize(session.input(0).size() * kFrames);
      for (std::byte& byte : input) byte = static_cast<std::byte>(random());
    }
    Bytes found;
    std::size_t at = 0;
    for (bool ended = false; !ended || session.flush_calls_left() > 0;) {
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
// Drivers live as long as the program.
Recording& recording() {
  static auto* const one = new Recording;
  return *one;
}
ImageOutput play(const Recording& r) {
  return run_image(kM55, "npu_image", {r.model.string(), r.in.string(), r.out.string(), r.runs.string()});
}

TEST(NpuFirmware, ACompiledNetworkStepsItsStream) {
  RUNNEL_NEEDS_IMAGES();
  Recording& r = recording();
  ASSERT_FALSE(r.output.empty());
  EXPECT_EQ(r.output, r.cpu) << "the compiled network here";
  ASSERT_GE(r.recorder.runs.size(), static_cast<std::size_t>(kFrames));
  r.write_runs(r.recorder.runs);
  const ImageOutput output = play(r);
  ASSERT_EQ(output.exit_code, 0) << output.said;
  EXPECT_EQ(read_file(r.out), r.output) << output.said;
  EXPECT_EQ(output.said.find("call "), std::string::npos) << output.said;
  const long runs = static_cast<long>(r.recorder.runs.size());
  EXPECT_EQ(output.number("runs"), runs) << output.said;
  EXPECT_EQ(output.number("interrupts"), runs);
  EXPECT_EQ(output.number("resets"), 1) << "at the beginning";
}

TEST(NpuFirmware, FaultsAndSilenceHaveTheirSentences) {
  RUNNEL_NEEDS_IMAGES();
  Recording& r = recording();
  auto runs = r.recorder.runs;
  ASSERT_GT(runs.size(), 40u);
  namespace bits = npu::device_status;
  runs[3].run.status = bits::kBusError | 1u << bits::kFaultInterface | 2u << bits::kFaultChannel;
  runs[7].run.status = bits::kParseError;
  runs[11].run.status = bits::kWeightError;
  runs[15].run.status = bits::kMemoryError;
  runs[19].run.status = 0;
  runs[23].run.status = RecordedRun::kSilent;
  r.write_runs(runs);
  const ImageOutput output = play(r);
  ASSERT_EQ(output.exit_code, 0) << output.said;
  for (const char* line : {"call 3: the device reports a bus error at byte ", ", port 1, channel 2",
                           "call 7: the device reports a command that it does not know",
                           "call 11: the device reports weights that it cannot decode",
                           "call 15: the device reports a fault of its own memory",
                           "call 19: the device reports an interrupt before the end",
                           "call 23: the device did not answer in time"}) {
    EXPECT_NE(output.said.find(line), std::string::npos) << line << " in " << output.said;
  }
  EXPECT_EQ(output.number("resets"), 7);
  EXPECT_EQ(output.number("interrupts"), static_cast<long>(runs.size()) - 1);
  // The others continue unaffected; a failed run's segment outputs are zeros.
  const Bytes found = read_file(r.out);
  EXPECT_EQ(found.size(), r.output.size());
  EXPECT_NE(found, r.output);
}

TEST(NpuFirmware, OneBitThatDiffersIsSeen) {
  RUNNEL_NEEDS_IMAGES();
  Recording& r = recording();
  auto runs = r.recorder.runs;
  runs[2].run.crc[npu::kConstants] ^= 1;
  r.write_runs(runs);
  const ImageOutput output = play(r);
  ASSERT_EQ(output.exit_code, 0) << output.said;
  EXPECT_NE(output.said.find("call 2: the device reports a bus error"), std::string::npos) << output.said;
  // Histories in the scratch memory, too.
  runs = r.recorder.runs;
  runs[2].written[10] ^= std::byte{1};
  r.write_runs(runs);
  const ImageOutput later = play(r);
  EXPECT_NE(later.said.find("call 3: the device reports a bus error"), std::string::npos) << later.said;
}

}  // namespace
}  // namespace runnel
