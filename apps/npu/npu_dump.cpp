// runnel npu dump: the weights and scales of an Ethos-U's streams as tensors.
#include <filesystem>

#include "apps/npu/npu_segments.h"
#include "base/host/npy.h"
#include "base/host/output_name.h"
#include "npu/host/simulator/simulator.h"

namespace runnel::apps {
namespace {

namespace fs = std::filesystem;

struct DumpCall : NpuFileCall {
  std::string output;
};

Status dump_weights(npu::Simulator& simulator, const npu::Operation& op, const fs::path& path) {
  RUNNEL_ASSIGN(const std::vector<std::int16_t>* const weights, simulator.weights_of(op));
  const std::int64_t shape[] = {op.ofm.depth, op.kernel.taps_y(), op.kernel.taps_x(),
                                op.kind == npu::OperationKind::conv ? op.ifm.depth : 1};
  return write_npy(path, DType::int16, shape, std::as_bytes(std::span(*weights)));
}

// One row for each channel: bias, multiplier, shift.
Status dump_scales(const npu::Simulator& simulator, const npu::Operation& op, const fs::path& path) {
  std::vector<std::int64_t> values;
  for (const npu::ScaleRecord& record : simulator.scales_of(op))
    values.insert(values.end(), {record.bias, std::int64_t{record.multiplier}, record.shift});
  const std::int64_t shape[] = {op.ofm.depth, 3};
  return write_npy(path, DType::int64, shape, std::as_bytes(std::span(values)));
}

Status run_dump(const DumpCall& call) {
  RUNNEL_ASSIGN(const NpuSegments segments, load_npu_segments(call.file, call.flags));
  RUNNEL_TRY(check_output_name(call.output, {}));
  std::error_code error;
  fs::create_directories(call.output, error);
  if (error) return Status(Code::io_error) << call.output << ": " << error.message();
  int number = 0, files = 0;
  for (const auto& [name, segment] : segments.list) {
    // A run copies streams to where operations read them; inputs do not matter.
    RUNNEL_ASSIGN(const auto simulator, npu::Simulator::make(segment));
    Status status;
    const Status ran = simulator->run([&](const npu::Operation& op, std::span<const std::int32_t>) {
      if (!npu::convolves(op) || op.u85.second_weights || !status.ok()) return;
      const std::string end = "_" + std::to_string(number) + "_" + std::to_string(op.index) + ".npy";
      status = dump_weights(*simulator, op, fs::path(call.output) / ("weights" + end));
      if (status.ok()) status = dump_scales(*simulator, op, fs::path(call.output) / ("scales" + end));
      files += 2;
    });
    if (!ran.ok()) return ran.at(call.file + ": " + name);
    RUNNEL_TRY(status);
    ++number;
  }
  say(call.file + ": " + std::to_string(files) + " files");
  return {};
}

}  // namespace

void add_npu_dump(Verb npu, int& exit_code) {
  auto call = std::make_shared<DumpCall>();
  Verb verb =
      npu.verb("dump",
               "Write the weights and scales of every convolution: weights_SEGMENT_INDEX.npy, int16 "
               "[out][ky][kx][in], and scales_SEGMENT_INDEX.npy, int64 [out][bias, multiplier, shift]");
  verb.positional("FILE", call->file,
                  "Model file (.rnl, .tflite, .pte) with parts for the Ethos-U, or a Vela stream")
      .required();
  verb.option("-o,--output", call->output, "Folder for the files").required();
  add_model_flags(verb, call->flags);
  verb.callback([call, &exit_code] {
    if (const Status status = run_dump(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
