// runnel npu: lists, validates and simulates the operations of an Ethos-U command stream.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/infer/infer.h"
#include "apps/npu/npu_compile.h"
#include "apps/npu/npu_segments.h"
#include "apps/support.h"
#include "apps/verbs.h"
#include "base/host/npy.h"
#include "inference/host/engine.h"
#include "npu/decoder.h"
#include "npu/host/disassemble.h"
#include "npu/host/simulator/simulated_npu.h"
#include "npu/validate.h"

namespace runnel::apps {
namespace {

Status run_disasm(const NpuFileCall& call) {
  RUNNEL_ASSIGN(const NpuSegments segments, load_npu_segments(call.file, call.flags));
  for (const auto& [name, segment] : segments.list) {
    if (!call.json) {
      std::printf("# %s: %s, %zu words, constants %zu, scratch %zu, fast scratch %zu bytes\n", name.c_str(),
                  std::string(segment.accelerator->name).c_str(), segment.payload.commands.size(),
                  segment.constants.size(), segment.scratch, segment.fast_scratch);
    }
    npu::Decoder decoder(segment.payload.commands, *segment.accelerator);
    for (npu::Operation op;;) {
      auto more = decoder.next(op);
      if (!more.ok()) return more.status().at(call.file + ": " + name);
      if (!*more) break;
      std::printf("%s\n", (call.json ? npu::to_json(op) : npu::to_text(op)).c_str());
    }
  }
  return {};
}

// Prints violations as they are found.
class Printer final : public npu::ViolationSink {
 public:
  Printer(std::string segment, bool json) : segment_(std::move(segment)), json_(json) {}
  void report(const npu::Operation& op, std::string_view rule, std::string_view what) noexcept override {
    print(op.index, op.word, npu::name_of(op), rule, what);
  }
  // The stream is unreadable from here on.
  void stop(const Status& status) { print(-1, -1, "", npu::rule::kStream, status.text()); }
  [[nodiscard]] int count() const { return count_; }

 private:
  void print(std::int64_t index, std::int64_t word, std::string_view operation, std::string_view rule,
             std::string_view what) {
    ++count_;
    if (json_) {
      nlohmann::ordered_json line{{"segment", segment_}, {"rule", rule}, {"what", what}};
      if (index >= 0) line.update({{"index", index}, {"word", word}, {"operation", operation}});
      std::printf("%s\n", line.dump().c_str());
      return;
    }
    std::string place = segment_;
    if (index >= 0)
      place += ", operation " + std::to_string(index) + " (word " + std::to_string(word) + "), " +
               std::string(operation);
    std::printf("%s: %s: %s\n", place.c_str(), std::string(rule).c_str(), std::string(what).c_str());
  }

  std::string segment_;
  bool json_;
  int count_ = 0;
};

struct ValidateCall : NpuFileCall {
  std::string accelerator;
  std::uint64_t work = npu::ValidatorLimits().work;
};

Status run_validate(const ValidateCall& call) {
  RUNNEL_ASSIGN(const NpuSegments segments, load_npu_segments(call.file, call.flags));
  int violations = 0;
  for (const auto& [name, segment] : segments.list) {
    const npu::Accelerator* accelerator = segment.accelerator;
    if (!call.accelerator.empty()) {
      RUNNEL_ASSIGN(accelerator, npu::find_accelerator(std::string_view(call.accelerator)));
    }
    if (accelerator != segment.accelerator)
      return Status(Code::mismatch) << call.file << ": " << name << ": it is made for "
                                    << segment.accelerator->name << ", not for " << accelerator->name;
    Printer printer(name, call.json);
    // A bare payload has no information about its regions.
    const auto sizes = segment.region_sizes();
    npu::ValidatorLimits limits;
    if (segment.scratch > 0 || !segment.constants.empty()) limits.regions = sizes;
    limits.work = call.work;
    npu::Validator validator(*accelerator, limits, printer);
    npu::Decoder decoder(segment.payload.commands, *accelerator);
    for (npu::Operation op;;) {
      auto more = decoder.next(op);
      if (!more.ok()) printer.stop(more.status());
      if (!more.ok() || !*more) break;
      validator.check(op);
    }
    say(name + ": " + std::string(accelerator->name) + ", work " + std::to_string(validator.work()) +
        ", violations: " + std::to_string(printer.count()));
    violations += printer.count();
  }
  if (violations > 0) return Status(Code::invalid_data) << call.file << ": violations: " << violations;
  return {};
}

// The outputs of operations inside segments to write besides those of the model.
class OutputDump {
 public:
  Status choose(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (name == "all") {
        all_ = true;
        continue;
      }
      char* end = nullptr;
      const unsigned long index = std::strtoul(name.c_str(), &end, 10);
      if (name.empty() || *end != '\0')
        return Status(Code::invalid_argument)
               << "--dump-ofm " << name << ": expected the index of an operation, or all";
      wanted_.push_back(static_cast<std::uint32_t>(index));
    }
    return {};
  }
  [[nodiscard]] bool any() const { return all_ || !wanted_.empty(); }

  void write(const std::filesystem::path& folder, int segment, const npu::Operation& op,
             std::span<const std::int32_t> values) {
    if (!all_ && std::find(wanted_.begin(), wanted_.end(), op.index) == wanted_.end()) return;
    const std::string name = "ofm_" + std::to_string(segment) + "_" + std::to_string(op.index) + ".npy";
    const std::int64_t shape[] = {op.ofm.height, op.ofm.width, op.ofm.depth};
    const Status status = write_npy(folder / name, DType::int32, shape, std::as_bytes(values));
    if (!status.ok() && status_.ok()) status_ = status;
  }
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  std::vector<std::uint32_t> wanted_;
  bool all_ = false;
  Status status_;
};

struct SimCall : InferCall {
  std::vector<std::string> dump_ofm;
  std::uint64_t work = npu::SimulatorOptions().work;
  npu::DeviceDescription device;
};

Status run_sim(const SimCall& call) {
  OutputDump dump;
  RUNNEL_TRY(dump.choose(call.dump_ofm));
  std::optional<npu::SimulatedNpu> simulated;
  const auto use_simulator = [&](InferCall& changed, const Model& model) -> Status {
    bool any = false;
    for (int i = 0; i < model.operator_count(); ++i)
      any = any || (code_of(model.op(i)) == OpCode::delegate &&
                    DelegateSegment(model, model.op(i)).kind() == "ethos-u");
    if (!any) return Status(Code::invalid_data) << call.model << ": no operator is computed by an Ethos-U";
    npu::SegmentObserver observer;
    if (dump.any())
      observer = [&](int segment, const npu::Operation& op, std::span<const std::int32_t> values) {
        dump.write(call.output, segment, op, values);
      };
    simulated.emplace(model, npu::SimulatorOptions{call.work, call.device}, observer);
    changed.operators = simulated->table();
    return {};
  };
  RUNNEL_TRY(run_infer(call, use_simulator));
  RUNNEL_TRY(dump.status());
  return simulated ? simulated->status() : Status();
}

}  // namespace

void add_npu(Verb npu, int& exit_code) {
  npu.require_verb();
  add_npu_compile(npu, exit_code);
  auto disasm = std::make_shared<NpuFileCall>();
  add_npu_file_verb(npu, "disasm", "List the operations of a command stream, one per line", disasm)
      .callback([disasm, &exit_code] {
        if (const Status status = run_disasm(*disasm); !status.ok()) exit_code = fail(status);
      });
  auto validate = std::make_shared<ValidateCall>();
  Verb judge = add_npu_file_verb(
      npu, "validate",
      "Report everything that the hardware would refuse; the exit code is 0 only when there is nothing",
      validate);
  judge
      .option("--accelerator", validate->accelerator,
              "The device: ethos-u55-32/64/128/256, ethos-u65-256/512, ethos-u85-...; the file must be "
              "compiled for it (default: the file's own)")
      .default_str("");
  judge.option("--work", validate->work, "Most multiply-adds, elements and copied bytes per run");
  judge.callback([validate, &exit_code] {
    if (const Status status = run_validate(*validate); !status.ok()) exit_code = fail(status);
  });
  add_npu_estimate(npu, exit_code);
  add_npu_compare(npu, exit_code);
  add_npu_dump(npu, exit_code);
  add_npu_regions(npu, exit_code);
  auto sim = std::make_shared<SimCall>();
  Verb run =
      npu.verb("sim", "Run a model on raw tensors like infer, with its Ethos-U segments in a simulator");
  run.positional("MODEL", sim->model, "Model file (.rnl, .tflite, .pte) with parts for the Ethos-U")
      .required();
  run.option("-i,--input", sim->inputs,
             "NAME=FILE for each input; float32 is quantized with the tensor's scale")
      .default_str("");
  run.option("-o,--output", sim->output, "Folder for the outputs, one NAME.npy each").required();
  run.flag("--sequence", sim->sequence, "Inputs have one more leading axis, the steps; outputs get the same");
  run.option("--state", sim->states,
             "OUTPUT=INPUT: copied from step to step; an input without -i starts at zero")
      .default_str("");
  run.option("--dump", sim->dump, "Write these tensors besides the outputs: NAME,..., or all")
      .delimiter(',')
      .default_str("");
  run.option("--dump-ofm", sim->dump_ofm,
             "Write the outputs of these operations inside the segments: INDEX,..., or all; "
             "ofm_SEGMENT_INDEX.npy, int32")
      .delimiter(',')
      .default_str("");
  run.flag("--dequantize", sim->dequantize, "Write quantized outputs as float32");
  run.option("--accelerator", sim->device.accelerator,
             "The device; a model compiled for another one is refused (default: the model's own)")
      .default_str("");
  run.option("--memory-mode", sim->device.memory_mode, "The same for the memory mode").default_str("");
  run.option("--system", sim->device.system_config, "The same for the system configuration").default_str("");
  run.option("--work", sim->work, "Most multiply-adds, elements and copied bytes per run of a segment");
  add_model_flags(run, sim->flags);
  run.callback([sim, &exit_code] {
    if (const Status status = run_sim(*sim); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
