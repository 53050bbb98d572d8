// The driver against a register-level device: its writes, and its handling of every answer of a device.
#include "npu/driver.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "compiler/import/load.h"
#include "compiler/ir/model_graph.h"
#include "compiler/npu/compile.h"
#include "compiler/write/writer.h"
#include "inference/host/engine.h"
#include "npu/delegate.h"
#include "npu/host/simulator/fake_device.h"
#include "npu/host/simulator/simulated_npu.h"
#include "npu/host/simulator/simulator.h"
#include "tests/npu/feed.h"
#include "tests/npu/stream_maker.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;
using Memories = std::vector<std::span<const std::byte>>;
namespace reg = npu::device_register;
namespace status_bit = npu::device_status;

// A device with a program of a convolution, pooling, a sum and a copy.
class OneDevice : public testing::Test {
 protected:
  OneDevice()
      : program_(made_programs()[0]), payload_(aligned(program_.payload)), scratch_(program_.scratch) {
    for (std::size_t i = 0; i < 512; ++i) scratch_[i] = static_cast<std::byte>(i * 7);
    device_.add_memory(program_.constants);
    device_.add_memory(scratch_);
    device_.add_memory(payload_);
    const Status status = driver_.init();
    EXPECT_TRUE(status.ok()) << status.text();
  }
  // Payload and command stream both at a multiple of 16.
  static Bytes aligned(const Bytes& payload) {
    const auto read = npu::read_payload(payload);
    Bytes out(payload.begin(), payload.begin() + 12);  // COP1 and the configuration
    out.resize(12 + 4);
    // One action of three words, then three empty ones, then the stream's tag: the stream begins at word 8.
    std::memcpy(out.data() + 12, payload.data() + 12, 4);
    const std::uint32_t nothing = 5, tag = 2u | static_cast<std::uint32_t>(read->commands.size()) << 16;
    for (int i = 0; i < 3; ++i) append(out, nothing);
    append(out, tag);
    for (std::size_t i = 0; i < read->commands.size(); ++i) append(out, read->commands[i]);
    return out;
  }
  static void append(Bytes& to, std::uint32_t word) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&word);
    to.insert(to.end(), bytes, bytes + 4);
  }
  [[nodiscard]] Memories memories() const { return {program_.constants, scratch_}; }
  Status invoke() { return driver_.invoke(payload_, memories()); }

  Program program_;
  Bytes payload_, scratch_;
  npu::FakeDevice device_;
  npu::Driver driver_{device_};
};

TEST_F(OneDevice, ComputesWhatTheSimulatorComputes) {
  const auto segment = segment_of(payload_, program_.constants, program_.scratch);
  const auto simulator = npu::Simulator::make(*segment);
  ASSERT_TRUE(simulator.ok());
  std::memcpy((*simulator)->region(npu::kScratch).data(), scratch_.data(), scratch_.size());
  ASSERT_TRUE((*simulator)->run().ok());
  const Bytes before = scratch_;
  const Status status = invoke();
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_NE(scratch_, before);
  const auto expected = (*simulator)->region(npu::kScratch);
  EXPECT_EQ(scratch_, Bytes(expected.begin(), expected.end()));
  EXPECT_EQ(device_.runs(), 1);
  EXPECT_EQ(device_.resets(), 1);
}

TEST_F(OneDevice, GetsAddressesAndPorts) {
  ASSERT_TRUE(invoke().ok());
  const auto low = [&](const void* memory) { return static_cast<std::uint32_t>(device_.address_of(memory)); };
  EXPECT_EQ(device_.read(reg::kBase), low(program_.constants.data()));
  EXPECT_EQ(device_.read(reg::kBase + 8), low(scratch_.data()));
  EXPECT_EQ(device_.read(reg::kBase + 16), 0u) << "a region without memory";
  const auto read = npu::read_payload(payload_);
  EXPECT_EQ(device_.read(reg::kQueueBase), low(payload_.data() + 4 * read->first_command));
  EXPECT_EQ(device_.read(reg::kQueueSize), 4 * read->commands.size());
  EXPECT_EQ(device_.read(reg::kQueueRead), 4 * read->commands.size());
  EXPECT_EQ(device_.read(reg::kQueueConfig), 2u);
  EXPECT_EQ(device_.read(reg::kRegionConfig), 3u);  // constants on one port, scratch memory on the other
  EXPECT_EQ(device_.read(reg::kProtection), 3u);    // privileged, not secure
  EXPECT_EQ(device_.read(reg::kAxiLimit), 0x0f1f0000u);
  EXPECT_EQ(device_.read(reg::kStatus), status_bit::kEndReached) << "the interrupt is cleared";
  EXPECT_EQ(device_.flushed(), payload_.size() + program_.constants.size() + scratch_.size());
  EXPECT_EQ(device_.invalidated(), program_.constants.size() + scratch_.size());
}

TEST_F(OneDevice, AnInterruptHandlerMayTakeTheInterrupt) {
  int interrupts = 0;
  device_.on_interrupt([&] {
    ++interrupts;
    driver_.handle_interrupt();
  });
  ASSERT_TRUE(driver_.start(payload_, memories()).ok());
  EXPECT_TRUE(driver_.running());
  EXPECT_TRUE(driver_.interrupted());
  EXPECT_EQ(interrupts, 1);
  ASSERT_TRUE(driver_.finish().ok());
  EXPECT_FALSE(driver_.running());
  ASSERT_TRUE(invoke().ok());
  EXPECT_EQ(interrupts, 2);
}

TEST_F(OneDevice, CallsInTheWrongOrder) {
  EXPECT_EQ(driver_.finish().code(), Code::invalid_argument);
  ASSERT_TRUE(driver_.start(payload_, memories()).ok());
  EXPECT_EQ(driver_.start(payload_, memories()).code(), Code::invalid_argument);
  EXPECT_TRUE(driver_.finish().ok());
  npu::Driver fresh(device_);
  EXPECT_EQ(fresh.start(payload_, memories()).code(), Code::invalid_argument);
  EXPECT_EQ(driver_.start(payload_, Memories(9)).code(), Code::invalid_argument);
  EXPECT_EQ(driver_.start(std::span(payload_).first(20), memories()).code(), Code::invalid_data);
}

TEST_F(OneDevice, ASilentDeviceIsResetAndWorksAgain) {
  device_.options().silent = true;
  const Status status = invoke();
  EXPECT_EQ(status.code(), Code::io_error);
  EXPECT_NE(status.text().find("did not answer in time"), std::string_view::npos) << status.text();
  EXPECT_EQ(device_.resets(), 2);
  device_.options().silent = false;
  EXPECT_TRUE(invoke().ok());
}

TEST_F(OneDevice, EveryFaultHasItsSentence) {
  const struct {
    std::uint32_t bits;
    const char* text;
  } faults[] = {{status_bit::kBusError | 1u << status_bit::kFaultInterface | 2u << status_bit::kFaultChannel,
                 "a bus error"},
                {status_bit::kParseError, "a command that it does not know"},
                {status_bit::kWeightError, "weights that it cannot decode"},
                {status_bit::kMemoryError, "a fault of its own memory"},
                {status_bit::kRunning, "an interrupt before the end"}};
  int resets = device_.resets();
  for (const auto& fault : faults) {
    device_.options().fault = fault.bits;
    const Status status = invoke();
    EXPECT_EQ(status.code(), Code::invalid_data);
    EXPECT_NE(status.text().find(fault.text), std::string_view::npos) << status.text();
    EXPECT_EQ(device_.resets(), ++resets);
  }
  device_.options().fault = faults[0].bits;
  EXPECT_NE(invoke().text().find("port 1, channel 2"), std::string_view::npos);
  device_.options().fault = 0;
  EXPECT_TRUE(invoke().ok());
}

TEST_F(OneDevice, FaultsInTheStreamAreReported) {
  // Memory that is too small, and an unknown command.
  const Bytes small(256);
  npu::FakeDevice device;
  device.add_memory(program_.constants);
  device.add_memory(small);
  device.add_memory(payload_);
  npu::Driver driver(device);
  ASSERT_TRUE(driver.init().ok());
  const Memories memories{program_.constants, small};
  EXPECT_NE(driver.invoke(payload_, memories).text().find("a bus error"), std::string_view::npos);
  const std::uint32_t unknown = 0x3ff;
  std::memcpy(payload_.data() + 4 * 8, &unknown, 4);
  EXPECT_NE(driver.invoke(payload_, memories).text().find("a command that it does not know"),
            std::string_view::npos);
  EXPECT_EQ(device.resets(), 3);
}

TEST_F(OneDevice, CountersCountOneRun) {
  driver_.count(0, npu::PmuEvent::axi0_read_beats);
  driver_.count(1, npu::PmuEvent::axi1_read_beats);
  driver_.count(2, npu::PmuEvent::mac_active);
  ASSERT_TRUE(invoke().ok());
  const std::uint64_t cycles = driver_.cycles();
  EXPECT_GT(cycles, 100u);
  EXPECT_GT(driver_.counter(0), 0u);
  EXPECT_GT(driver_.counter(1), 0u);
  EXPECT_GT(driver_.counter(2), 0u);
  EXPECT_EQ(driver_.counter(3), 0u) << "nothing was chosen";
  ASSERT_TRUE(invoke().ok());
  EXPECT_EQ(driver_.cycles(), cycles) << "from 0 again";
}

class Watcher final : public npu::DriverObserver {
 public:
  void begin(npu::Driver&, void* user) noexcept override {
    log += "begin" + std::to_string(*static_cast<int*>(user)) + " ";
  }
  void end(npu::Driver&, void*, const Status& status) noexcept override {
    log += status.ok() ? "end " : "failed ";
  }
  std::string log;
};

TEST_F(OneDevice, TheObserverSeesEachRun) {
  Watcher watcher;
  driver_.set_observer(&watcher);
  int number = 1;
  ASSERT_TRUE(driver_.invoke(payload_, memories(), &number).ok());
  number = 2;
  device_.options().silent = true;
  ASSERT_FALSE(driver_.invoke(payload_, memories(), &number).ok());
  EXPECT_EQ(watcher.log, "begin1 end begin2 failed ");
}

// ---- identification

TEST(Driver, RefusesDevicesThatDoNotFit) {
  npu::FakeDeviceOptions options;
  const auto init = [&] {
    npu::FakeDevice device(options);
    npu::Driver driver(device);
    return driver.init();
  };
  EXPECT_TRUE(init().ok());
  options.config = 0x20000118;
  EXPECT_TRUE(init().ok()) << "a U85";
  options.config = 0x50000008;
  EXPECT_EQ(init().code(), Code::unsupported) << "an unknown product";
  options = {};
  options.reset_reads = -1;
  EXPECT_EQ(init().code(), Code::invalid_data);
  options = {};
  options.keeps_protection = true;
  EXPECT_EQ(init().code(), Code::invalid_data);
}

// Registers of ports, power and interrupts: each generation has its own.
TEST(Driver, SetsWhatEachGenerationHas) {
  struct Generation {
    std::uint32_t config, id;
    bool u85;
  };
  for (const Generation& one :
       {Generation{0x1807, 0x10060000, false}, Generation{0x10003008, 0x10060000, false},
        Generation{0x20000118, 0x20007000, true}}) {
    npu::FakeDeviceOptions options;
    options.config = one.config;
    options.id = one.id;
    npu::FakeDevice device(options);
    npu::DriverOptions with;
    with.mac_ramp = 5;
    npu::Driver driver(device, with);
    ASSERT_TRUE(driver.init().ok());
    for (std::uint32_t i = 0; i < 4; ++i)
      EXPECT_EQ(device.read(reg::kAxiLimit + 4 * i), one.u85 ? (i < 2 ? 0xb3u : 0xb7u) : 0x0f1f0000u);
    EXPECT_EQ(device.read(reg::kAxiSram), one.u85 ? 0x1f3fu : 0u);
    EXPECT_EQ(device.read(reg::kAxiExternal), one.u85 ? 0x1f3fu : 0u);
    EXPECT_EQ(device.read(reg::kPowerControl), one.u85 ? 5u : 0u);
    EXPECT_EQ(device.read(reg::kCommand), npu::device_command::kClockMayStop) << "awake";
    // Interrupts that the stream counts are cleared with the interrupt.
    class Reported final : public npu::Device {
     public:
      std::uint32_t read(std::uint32_t offset) noexcept override {
        return offset == reg::kStatus ? 0x00030022 : offset == reg::kConfig ? config : 0;
      }
      void write(std::uint32_t offset, std::uint32_t value) noexcept override {
        if (offset == reg::kReset) return;
        if (offset == reg::kCommand) command = value;
      }
      bool wait() noexcept override { return true; }
      std::uint32_t config = 0, command = 0;
    } reporting;
    reporting.config = one.config;
    npu::DriverOptions open;
    open.privileged = false;
    open.secure = true;  // protection 0, as this device reads
    npu::Driver other(reporting, open);
    ASSERT_TRUE(other.init().ok());
    other.handle_interrupt();
    EXPECT_EQ(reporting.command, one.u85 ? 0x00030002u : 2u);
  }
}

// A sleeping device is reset for each run, and its power may go afterwards.
TEST_F(OneDevice, SleepsBetweenRuns) {
  npu::DriverOptions with;
  with.sleeps = true;
  npu::Driver driver(device_, with);
  ASSERT_TRUE(driver.init().ok());
  constexpr std::uint32_t kAsleep = npu::device_command::kClockMayStop | npu::device_command::kPowerMayStop;
  EXPECT_EQ(device_.read(reg::kCommand), kAsleep);
  const int resets = device_.resets();
  for (int run = 1; run <= 3; ++run) {
    ASSERT_TRUE(driver.invoke(payload_, memories()).ok());
    EXPECT_EQ(device_.resets(), resets + run);
    EXPECT_EQ(device_.read(reg::kCommand), kAsleep);
  }
  EXPECT_EQ(driver.totals().runs, 3u);
  EXPECT_GT(driver.totals().cycles, 300u);
  EXPECT_GT(driver.totals().near_read, 0u);
  EXPECT_GT(driver.totals().far_read, 0u);
}

TEST_F(OneDevice, RefusesStreamsForAnother) {
  npu::FakeDeviceOptions options;
  options.config = 0x3008;
  npu::FakeDevice larger(options);
  larger.add_memory(payload_);
  npu::Driver driver(larger);
  ASSERT_TRUE(driver.init().ok());
  EXPECT_EQ(driver.invoke(payload_, {}).code(), Code::mismatch);
  // A stream of a newer architecture.
  const std::uint32_t id = 0x10160000;
  std::memcpy(payload_.data() + 12, &id, 4);
  EXPECT_EQ(invoke().code(), Code::mismatch);
  EXPECT_EQ(device_.runs(), 0);
}

TEST(Driver, IsReservedByOneAtATime) {
  static npu::FakeDevice device;
  static npu::Driver first(device), second(device);
  npu::add_driver(first);
  npu::add_driver(second);
  npu::Driver* const a = npu::reserve_driver();
  npu::Driver* const b = npu::reserve_driver();
  EXPECT_NE(a, nullptr);
  EXPECT_NE(b, nullptr);
  EXPECT_NE(a, b);
  EXPECT_EQ(npu::reserve_driver(), nullptr);
  b->release();
  EXPECT_EQ(npu::reserve_driver(), b);
  // They stay reserved: no other test can get them.
}

// ---- models

fs::path data_file(const char* target, const std::string& name) {
  return data_folder() / "ethosu" / target / name;
}

// Drivers live as long as the program, and only one of its tests has such a device.
npu::FakeDeviceOptions model_options(std::uint32_t config, std::uint32_t id) {
  npu::FakeDeviceOptions options;
  options.config = config;
  options.id = id;
  options.learns_memory = true;
  return options;
}
bool add(npu::Driver& driver) {
  EXPECT_TRUE(driver.init().ok());
  npu::add_driver(driver);
  return true;
}
npu::FakeDevice& device_of_models() {
  static npu::FakeDevice device(model_options(0x1807, 0x10060000));
  static npu::Driver driver(device);
  static const bool added = add(driver);
  static_cast<void>(added);
  return device;
}
// A second device in the same program; segments find the one that they are made for.
npu::FakeDevice& u85_of_models() {
  static npu::FakeDevice device(model_options(0x20000118, 0x20007000));
  static npu::Driver driver(device);
  static const bool added = add(driver);
  static_cast<void>(added);
  return device;
}
std::vector<const OperatorDefinition*> table_of_device() {
  std::vector<const OperatorDefinition*> table(all_operators().begin(), all_operators().end());
  table.push_back(&npu::ethos_u_v1);
  return table;
}

Result<std::unique_ptr<Runner>> prepare(const fs::path& path,
                                        const std::vector<const OperatorDefinition*>& table) {
  const auto loaded = compiler::load_model(path);
  if (!loaded.ok()) return loaded.status();
  PrepareOptions options;
  options.mode = RunMode::whole;
  RUNNEL_ASSIGN(const auto engine, Engine::make(loaded->model, options, table));
  return Runner::make(engine);
}

struct DeviceModelCase {
  const char *folder, *name;
};
class DeviceModels : public testing::TestWithParam<DeviceModelCase> {};

TEST_P(DeviceModels, GiveTheRecordedBytes) {
  RUNNEL_NEEDS_DATA();
  const bool u85 = std::string(GetParam().folder).find("u85") != std::string::npos;
  const npu::FakeDevice& device = u85 ? u85_of_models() : device_of_models();
  const auto table = table_of_device();
  const auto runner =
      prepare(data_folder() / GetParam().folder / (std::string(GetParam().name) + "_vela.tflite"), table);
  ASSERT_TRUE(runner.ok()) << runner.status().text();
  Session& session = (*runner)->session();
  for (int round = 0; round < 2; ++round) {
    const std::string name = std::string(GetParam().name) + ".%0." + std::to_string(round) + ".bin";
    const auto file = [&](const char* what) {
      return data_file("io", std::string(name).replace(name.find('%'), 1, what));
    };
    const Bytes input = read_file(file("in")), output = read_file(file("out"));
    ASSERT_EQ(session.input(0).size(), input.size());
    std::memcpy(session.input(0).data(), input.data(), input.size());
    const int runs = device.runs();
    session.run((*runner)->prepared().block());
    EXPECT_TRUE(npu::last_run().ok()) << npu::last_run().text();
    EXPECT_EQ(device.runs(), runs + 1);
    const auto found = session.tensor((*runner)->model().outputs()[0]);
    EXPECT_EQ(Bytes(found.begin(), found.end()), output) << round;
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceModels,
                         testing::Values(DeviceModelCase{"ethosu/vela/u55-128", "kws_ref_model"},
                                         DeviceModelCase{"ethosu/vela/u55-128", "str_ww_ref_model"},
                                         DeviceModelCase{"ethosu/vela/u55-128", "person_detect"},
                                         DeviceModelCase{"ethosu/vela/u55-128", "hello_world_int8"},
                                         DeviceModelCase{"ethosu85/u85-256", "kws_ref_model"},
                                         DeviceModelCase{"ethosu85/u85-256", "str_ww_ref_model"},
                                         DeviceModelCase{"ethosu85/u85-256", "hello_world_int8"}));

TEST(DeviceModel, AFaultGivesZerosAndItsReason) {
  RUNNEL_NEEDS_DATA();
  npu::FakeDevice& device = device_of_models();
  const auto table = table_of_device();
  const auto runner = prepare(data_file("vela/u55-128", "kws_ref_model_vela.tflite"), table);
  ASSERT_TRUE(runner.ok()) << runner.status().text();
  Session& session = (*runner)->session();
  device.options().fault = npu::device_status::kWeightError;
  session.run((*runner)->prepared().block());
  device.options().fault = 0;
  EXPECT_FALSE(npu::last_run().ok());
  for (const std::byte byte : session.tensor((*runner)->model().outputs()[0])) EXPECT_EQ(byte, std::byte{0});
  session.run((*runner)->prepared().block());
  EXPECT_TRUE(npu::last_run().ok());
}

// ---- streams

// The digits network on the device, with its histories in the session.
using GraphChange = std::function<void(compiler::Graph&)>;
Result<Bytes> compiled_digits(int block, const GraphChange& change) {
  RUNNEL_ASSIGN(const auto loaded, compiler::load_model(data_folder() / "digits/digits_c_s8.espdl"));
  compiler::ethos_u::Options options;
  options.program.accelerator = *npu::find_accelerator(std::string_view("ethos-u55-128"));
  options.block = block;
  RUNNEL_ASSIGN(auto compiled,
                compiler::ethos_u::compile(compiler::graph_of(loaded.model->model()), options));
  if (change) change(compiled.graph);
  compiler::WriteOptions write;
  write.blocks.clear();
  RUNNEL_ASSIGN(const auto written, compiler::write_model(compiled.graph, write));
  return written.bytes;
}
std::shared_ptr<const OwnedModel> digits(int block, const GraphChange& change = {}) {
  const auto bytes = compiled_digits(block, change);
  const auto owned = bytes.ok() ? OwnedModel::from_bytes(*bytes) : bytes.status();
  EXPECT_TRUE(owned.ok()) << owned.status().text();
  return owned.ok() ? *owned : nullptr;
}
// Frame by frame on the CPU.
std::shared_ptr<const OwnedModel> digits_of_the_cpu() {
  const auto loaded = compiler::load_model(data_folder() / "digits/digits_c_s8.espdl");
  EXPECT_TRUE(loaded.ok()) << loaded.status().text();
  return loaded.ok() ? loaded->model : nullptr;
}
Bytes stream(const std::shared_ptr<const OwnedModel>& owned,
             const std::vector<const OperatorDefinition*>& table, std::int64_t block, const Bytes& input) {
  PrepareOptions options;
  options.mode = RunMode::stream;
  options.frames = block;
  const auto engine = Engine::make(owned, options, table);
  EXPECT_TRUE(engine.ok()) << engine.status().text();
  if (!engine.ok()) return {};
  const auto runner = *Runner::make(*engine);
  Session& session = runner->session();
  const Prepared& prepared = (*engine)->prepared();
  const std::size_t frame = prepared.placement(owned->model().outputs()[0]).frame_bytes;
  Bytes out;
  std::size_t at = 0;
  for (bool ended = false; !ended || session.flush_calls_left() > 0;) {
    const auto to = session.input(0);
    ended = ended || at == input.size();
    if (!ended) std::memcpy(to.data(), input.data() + at, to.size());
    at += ended ? 0 : to.size();
    session.run(ended ? 0 : prepared.block());
    EXPECT_TRUE(npu::last_run().ok()) << npu::last_run().text();
    const OutputFrames frames = session.output(0);
    out.insert(out.end(), frames.data, frames.data + static_cast<std::size_t>(frames.count) * frame);
  }
  return out;
}

TEST(DeviceStream, GivesTheBytesOfTheCpu) {
  RUNNEL_NEEDS_DATA();
  npu::FakeDevice& device = device_of_models();
  const auto cpu = digits_of_the_cpu(), compiled = digits(1);
  ASSERT_TRUE(cpu && compiled);
  constexpr std::size_t kFrames = 64;
  Bytes input(kFrames * 40);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::byte>(i * i * 31 + i / 7);
  const Bytes expected = stream(cpu, table_of_device(), 1, input);
  ASSERT_FALSE(expected.empty());
  for (const std::int64_t block : {1, 4, 16}) {
    const int runs = device.runs();
    EXPECT_EQ(stream(compiled, table_of_device(), block, input), expected) << block;
    EXPECT_GE(device.runs(), runs + static_cast<int>(kFrames)) << "one for each frame";
  }
}

// The attributes of a stepped segment are checked when the file is opened: later code divides by them and
// counts calls without checks.
TEST(DeviceStream, NumbersOfBlocksAreChecked) {
  RUNNEL_NEEDS_DATA();
  using Numbers = std::vector<std::int64_t>;
  const auto refused = [](const std::string& name, const std::function<void(Numbers&)>& change) {
    const auto compiled = compiled_digits(1, [&](compiler::Graph& graph) {
      for (compiler::Node& node : graph.nodes) {
        auto* const segment = std::get_if<compiler::DelegateOptions>(&node.options);
        if (segment == nullptr) continue;
        for (auto& attribute : segment->attributes) {
          if (attribute.name == name) change(std::get<Numbers>(attribute.value));
        }
      }
    });
    const auto owned = compiled.ok() ? OwnedModel::from_bytes(*compiled) : compiled.status();
    if (!owned.ok()) return std::string(owned.status().text());
    std::string text;
    for (const OperatorDefinition* const definition :
         {&npu::ethos_u_v1, npu::simulating_operators().back()}) {
      for (int i = 0; i < (*owned)->model().operator_count(); ++i) {
        const auto& op = (*owned)->model().op(i);
        if (code_of(op) == runnel::OpCode::delegate)
          text += std::string(definition->check((*owned)->model(), op).text()) + '\n';
      }
    }
    return text;
  };
  const auto twice = [](const std::string& line) { return line + '\n' + line + '\n'; };
  EXPECT_EQ(refused("block_frames", [](Numbers&) {}), twice(""));
  EXPECT_EQ(refused("block_frames", [](Numbers& v) { v[0] = 1000; }),
            twice("attribute block_frames has 1000 frames for 1, unlike attribute stream_window"));
  EXPECT_EQ(refused("stream_window", [](Numbers& v) { v[1] = 3; }),
            twice("attribute block_frames has 1 frames for 1, unlike attribute stream_window"));
  EXPECT_EQ(refused("stream_axes", [](Numbers& v) { v[0] = 2; }),
            twice("attribute stream_axes holds 2 and 1"));
  EXPECT_EQ(refused("block_states", [](Numbers& v) { v[0] = -1; }).find("a history of "), 0u);
}

// A file may state a segment's streaming rule and have no block program. The program for clips has no
// history, even for a block as long as its clip.
TEST(DeviceStream, WithoutAProgramForBlocksIsRefused) {
  RUNNEL_NEEDS_DATA();
  device_of_models();
  const auto model = digits(1, [](compiler::Graph& graph) {
    for (compiler::Node& node : graph.nodes) {
      auto* const segment = std::get_if<compiler::DelegateOptions>(&node.options);
      if (segment == nullptr) continue;
      for (std::size_t i = segment->parts.size(); i-- > 0;) {
        if (segment->parts[i].rfind("block_", 0) != 0) continue;
        segment->parts.erase(segment->parts.begin() + static_cast<std::ptrdiff_t>(i));
        node.inputs.erase(node.inputs.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  });
  ASSERT_TRUE(model);
  PrepareOptions options;
  options.mode = RunMode::stream;
  options.frames = model->model().tensor(model->model().inputs()[0]).shape[1];
  const std::vector<const OperatorDefinition*> device = table_of_device();
  for (const OperatorTable table : {OperatorTable(device), npu::simulating_operators()}) {
    const auto engine = Engine::make(model, options, table);
    ASSERT_FALSE(engine.ok());
    EXPECT_NE(engine.status().text().find("has no program for the blocks of a stream"),
              std::string_view::npos)
        << engine.status().text();
  }
}

TEST(DeviceModel, ForAnotherDeviceIsNotPrepared) {
  RUNNEL_NEEDS_DATA();
  device_of_models();
  const auto table = table_of_device();
  const auto runner = prepare(data_file("vela/u65-256", "kws_ref_model_vela.tflite"), table);
  EXPECT_EQ(runner.status().code(), Code::mismatch) << runner.status().text();
}

}  // namespace
}  // namespace runnel::test
