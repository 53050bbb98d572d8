// The driver of an NPU on a board that has none: a model with segments for an Ethos-U is run by Session,
// and the device is a block of registers in RAM that plays back what the simulator did. Command line:
//     PROGRAM MODEL INPUT OUTPUT RUNS
// RUNS: of firmware/npu/recorded_run.h; which of the three generations the device is, is said there. A model
// without a stream takes clips. Prints each failed run, and resources used.
#include <algorithm>

#include "firmware/feature_runner.h"
#include "firmware/npu/played_device.h"
#include "firmware/print_line.h"
#include "firmware/startup/image.h"
#include "firmware/startup/stack.h"
#include "inference/ops/definitions.h"
#include "inference/session.h"
#include "npu/delegate.h"

extern "C" void npu_interrupt_handler();

namespace {

using namespace runnel;
using namespace runnel::firmware;
// The driver's view of the played device.
class ImageDevice final : public npu::Device {
 public:
  explicit ImageDevice(PlayedDevice& device) noexcept : device_(device) {}
  std::uint32_t read(std::uint32_t offset) noexcept override { return device_.read(offset); }
  void write(std::uint32_t offset, std::uint32_t value) noexcept override { device_.write(offset, value); }
  bool wait() noexcept override;

 private:
  PlayedDevice& device_;
};

npu::Driver* the_driver = nullptr;
volatile std::uint32_t interrupts = 0;

// Sleeps until the handler has run; a device that is silent for this long is broken.
bool ImageDevice::wait() noexcept {
  for (int i = 0; i < 10000; ++i) {
    if (the_driver->interrupted()) return true;
    __asm volatile("yield");
  }
  return false;
}

constexpr const OperatorDefinition* kOperators[] = {
    &npu::ethos_u_v1,
    &ops::kQuantize,
    &ops::kQuantizeTflite,
    &ops::kDequantize,
    &ops::kDequantizeTflite,
    &ops::kRequantize,
    &ops::kRequantizeTflite,
    &ops::kReshape,
    &ops::kTranspose,
    &ops::kSlice,
    &ops::kConcat,
    &ops::kSoftmax,
    &ops::kSoftmaxTflite,
    &ops::kLut,
    &ops::kConv,
    &ops::kConvHybrid,
    &ops::kAveragePool,
    &ops::kRelu,
    &ops::kReluTflite,
    &ops::kAdd,
    &ops::kAddTflite,
    &ops::kPad,
};

alignas(64) std::byte file[160 * 1024];
alignas(64) std::byte storage[160 * 1024];

Status run_model(const Arguments& arguments) noexcept {
  HostFile model_file, in, out;
  static HostFile runs;
  if (!model_file.open_to_read(arguments.words[1])) return Status(Code::not_found) << "cannot read the model";
  const std::size_t size = model_file.read(file, sizeof file);
  if (size == sizeof file)
    return Status(Code::out_of_memory) << "a model of " << sizeof file << " bytes or more";
  if (!in.open_to_read(arguments.words[2]) || !out.open_to_write(arguments.words[3]) ||
      !runs.open_to_read(arguments.words[4]))
    return Status(Code::not_found) << "cannot open a file";
  static PlayedDevice device;
  if (!device.open(runs)) return Status(Code::invalid_data) << "no recorded runs";
  static ImageDevice seen(device);
  static npu::Driver driver(seen);
  the_driver = &driver;
  NpuInterrupt::use(npu_interrupt_handler);
  RUNNEL_TRY(driver.init());
  npu::add_driver(driver);

  FixedMemory memory(storage);
  RUNNEL_ASSIGN(const Model model, Model::open({file, size}));
  PrepareOptions options;
  options.mode = model.plan() != nullptr ? RunMode::stream : RunMode::whole;
  options.slack = false;
  RUNNEL_ASSIGN(const Prepared* const prepared, Prepared::make(model, kOperators, options, memory));
  RUNNEL_ASSIGN(Workspace* const workspace, Workspace::make(*prepared, memory));
  const std::span<std::byte> state(static_cast<std::byte*>(memory.allocate(prepared->state_bytes(), 16)),
                                   prepared->state_bytes());
  if (state.data() == nullptr)
    return Status(Code::out_of_memory) << "no memory for a state of " << prepared->state_bytes() << " bytes";
  RUNNEL_ASSIGN(Session session, Session::make(*prepared, *workspace, state));
  int calls = 0;
  const std::span<std::byte> clip = session.input(0);
  for (; options.mode == RunMode::whole && in.read(clip.data(), clip.size()) == clip.size(); ++calls) {
    session.run(prepared->block());
    if (!npu::last_run().ok()) print_line("call ", calls, ": ", npu::last_run().text());
    const std::span<const std::byte> result = session.tensor(model.outputs()[0]);
    if (!out.write(result.data(), result.size())) return Status(Code::io_error) << "cannot write the output";
  }
  for (bool ended = options.mode == RunMode::whole;
       options.mode == RunMode::stream && (!ended || session.flush_calls_left() > 0); ++calls) {
    const std::span<std::byte> block = session.input(0);
    if (!ended) ended = in.read(block.data(), block.size()) < block.size();
    session.run(ended ? 0 : prepared->block());
    if (!npu::last_run().ok()) print_line("call ", calls, ": ", npu::last_run().text());
    const OutputFrames frames = session.output(0);
    const std::size_t frame_bytes = prepared->placement(model.outputs()[0]).frame_bytes;
    if (frames.count > 0 && !out.write(frames.data, static_cast<std::size_t>(frames.count) * frame_bytes))
      return Status(Code::io_error) << "cannot write the output";
  }
  print_line("calls ", calls, " runs ", device.runs(), " interrupts ", std::uint32_t{interrupts}, " resets ",
             device.resets(), " cycles ", npu::driver_totals().cycles);
  print_line("bytes memory ", memory.used(), " state ", prepared->state_bytes());
  return {};
}

}  // namespace

void npu_interrupt_handler() {
  interrupts = interrupts + 1;
  the_driver->handle_interrupt();
}

int runnel::firmware::image_main() noexcept {
  paint_stack();
  static Arguments arguments;
  arguments.count = command_line(arguments.text, arguments.words);
  if (arguments.count != 5) return fail("expected MODEL INPUT OUTPUT RUNS");
  if (const Status status = run_model(arguments); !status.ok()) return fail(status.text());
  print_line("stack ", stack_used());
  return 0;
}
