// runnel npu: what an Ethos-U would do: list the operations of a command stream, judge them, compute them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/infer.h"
#include "apps/npu_compile.h"
#include "apps/support.h"
#include "apps/verbs.h"
#include "base/host/npy.h"
#include "inference/host/engine.h"
#include "npu/decoder.h"
#include "npu/host/disassemble.h"
#include "npu/host/segment.h"
#include "npu/host/simulated_npu.h"
#include "npu/validate.h"

namespace runnel::apps {
namespace {

// A file and the segments in it, which point into it.
struct Segments {
  std::vector<std::byte> bytes;
  std::shared_ptr<const OwnedModel> model;
  std::vector<std::pair<std::string, npu::Segment>> list;   // with their names
};

bool starts_with(std::span<const std::byte> bytes, std::string_view text) { return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0; }

// A model of any kind with parts for the Ethos-U, a driver payload, or a Vela stream.
Result<Segments> load_segments(const std::string& path, const ModelFlags& flags) {
  Segments out;
  RUNNEL_ASSIGN(out.bytes, read_whole_file(path));
  if (starts_with(out.bytes, "COP") || starts_with(out.bytes, "vela_bin_stream")) {
    auto segment = npu::read_segment(out.bytes);
    if (!segment.ok()) return segment.status().at(path);
    out.list.emplace_back(path, *std::move(segment));
    return out;
  }
  out.bytes.clear();
  RUNNEL_ASSIGN(out.model, load(path, flags));
  const Model& model = out.model->model();
  for (int i = 0; i < model.operator_count(); ++i) {
    const fb::Operator& op = model.op(i);
    if (op.code() != fb::OpCode::delegate || DelegateSegment(model, op).kind() != "ethos-u") continue;
    const std::string name = "operator " + std::to_string(i);
    auto segment = npu::read_segment(model, op);
    if (!segment.ok()) return segment.status().at(path + ": " + name);
    out.list.emplace_back(name, *std::move(segment));
  }
  if (out.list.empty()) return Status(Code::invalid_data) << path << ": no operator is computed by an Ethos-U";
  return out;
}

struct FileCall {
  std::string file;
  ModelFlags flags;
  bool json = false;
};

Status run_disasm(const FileCall& call) {
  RUNNEL_ASSIGN(const Segments segments, load_segments(call.file, call.flags));
  for (const auto& [name, segment] : segments.list) {
    if (!call.json) {
      std::printf("# %s: %s, %zu words, constants %zu, scratch %zu, fast scratch %zu bytes\n", name.c_str(), std::string(segment.accelerator->name).c_str(),
                  segment.payload.commands.size(), segment.constants.size(), segment.scratch, segment.fast_scratch);
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

// Prints violations as they come.
class Printer final : public npu::ViolationSink {
 public:
  Printer(std::string segment, bool json) : segment_(std::move(segment)), json_(json) {}
  void report(const npu::Operation& op, std::string_view rule, std::string_view what) noexcept override {
    print(op.index, op.word, npu::name_of(op), rule, what);
  }
  // A stream that cannot be read any further.
  void stop(const Status& status) { print(-1, -1, "", npu::rule::kStream, status.text()); }
  [[nodiscard]] int count() const { return count_; }

 private:
  void print(std::int64_t index, std::int64_t word, std::string_view operation, std::string_view rule, std::string_view what) {
    ++count_;
    if (json_) {
      nlohmann::ordered_json line{{"segment", segment_}, {"rule", rule}, {"what", what}};
      if (index >= 0) line.update({{"index", index}, {"word", word}, {"operation", operation}});
      std::printf("%s\n", line.dump().c_str());
      return;
    }
    std::string place = segment_;
    if (index >= 0) place += ", operation " + std::to_string(index) + " (word " + std::to_string(word) + "), " + std::string(operation);
    std::printf("%s: %s: %s\n", place.c_str(), std::string(rule).c_str(), std::string(what).c_str());
  }

  std::string segment_;
  bool json_;
  int count_ = 0;
};

struct ValidateCall : FileCall {
  std::string accelerator;
  std::uint64_t work = npu::ValidatorLimits().work;
};

Status run_validate(const ValidateCall& call) {
  RUNNEL_ASSIGN(const Segments segments, load_segments(call.file, call.flags));
  int violations = 0;
  for (const auto& [name, segment] : segments.list) {
    const npu::Accelerator* accelerator = segment.accelerator;
    if (!call.accelerator.empty()) { RUNNEL_ASSIGN(accelerator, npu::find_accelerator(std::string_view(call.accelerator))); }
    if (accelerator != segment.accelerator) return Status(Code::mismatch) << call.file << ": " << name << ": it is made for " << segment.accelerator->name << ", not for " << accelerator->name;
    Printer printer(name, call.json);
    // A bare payload says nothing about its regions.
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
    say(name + ": " + std::string(accelerator->name) + ", work " + std::to_string(validator.work()) + ", violations: " + std::to_string(printer.count()));
    violations += printer.count();
  }
  if (violations > 0) return Status(Code::invalid_data) << call.file << ": violations: " << violations;
  return {};
}

// Which outputs of operations inside segments are written besides those of the model.
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
      if (name.empty() || *end != '\0') return Status(Code::invalid_argument) << "--dump-ofm " << name << ": expected the index of an operation, or all";
      wanted_.push_back(static_cast<std::uint32_t>(index));
    }
    return {};
  }
  [[nodiscard]] bool any() const { return all_ || !wanted_.empty(); }

  void write(const std::filesystem::path& folder, int segment, const npu::Operation& op, std::span<const std::int32_t> values) {
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
};

Status run_sim(const SimCall& call) {
  OutputDump dump;
  RUNNEL_TRY(dump.choose(call.dump_ofm));
  std::optional<npu::SimulatedNpu> simulated;
  const auto use_simulator = [&](InferCall& changed, const Model& model) -> Status {
    bool any = false;
    for (int i = 0; i < model.operator_count(); ++i) any = any || (model.op(i).code() == fb::OpCode::delegate && DelegateSegment(model, model.op(i)).kind() == "ethos-u");
    if (!any) return Status(Code::invalid_data) << call.model << ": no operator is computed by an Ethos-U";
    npu::SegmentObserver observer;
    if (dump.any()) observer = [&](int segment, const npu::Operation& op, std::span<const std::int32_t> values) { dump.write(call.output, segment, op, values); };
    simulated.emplace(model, npu::SimulatorOptions{call.work}, observer);
    changed.operators = simulated->table();
    return {};
  };
  RUNNEL_TRY(run_infer(call, use_simulator));
  RUNNEL_TRY(dump.status());
  return simulated ? simulated->status() : Status();
}

CLI::App* add_file_verb(CLI::App* parent, const char* name, const char* help, const std::shared_ptr<FileCall>& call) {
  CLI::App* verb = parent->add_subcommand(name, help);
  verb->add_option("FILE", call->file, "Model file (.rnl, .tflite, .pte) with parts for the Ethos-U, or a driver payload (COP1), or a Vela stream")->required();
  verb->add_flag("--json", call->json, "One JSON object per line");
  add_model_flags(verb, call->flags);
  return verb;
}

}  // namespace

void add_npu(CLI::App& app, int& exit_code) {
  CLI::App* npu = app.add_subcommand("npu", "Arm Ethos-U: compile models; list, validate and simulate compiled ones");
  npu->require_subcommand(1);
  add_npu_compile(npu, exit_code);
  auto disasm = std::make_shared<FileCall>();
  add_file_verb(npu, "disasm", "List the operations of a command stream, one per line", disasm)->callback([disasm, &exit_code] {
    if (const Status status = run_disasm(*disasm); !status.ok()) exit_code = fail(status);
  });
  auto validate = std::make_shared<ValidateCall>();
  CLI::App* judge = add_file_verb(npu, "validate", "Say what the hardware would not take; the exit code is 0 only when there is nothing", validate);
  judge->add_option("--accelerator", validate->accelerator, "The device: ethos-u55-32/64/128/256, ethos-u65-256/512, ethos-u85-...; the file must be made for it (default: what the file says)")->default_str("");
  judge->add_option("--work", validate->work, "Multiply-adds, elements and copied bytes that a run may cost");
  judge->callback([validate, &exit_code] {
    if (const Status status = run_validate(*validate); !status.ok()) exit_code = fail(status);
  });
  auto sim = std::make_shared<SimCall>();
  CLI::App* run = npu->add_subcommand("sim", "Run a model on raw tensors as infer does, its parts for the Ethos-U in a simulator");
  run->add_option("MODEL", sim->model, "Model file (.rnl, .tflite, .pte) with parts for the Ethos-U")->required();
  run->add_option("-i,--input", sim->inputs, "NAME=FILE for each input; float32 is quantized with the tensor's scale")->default_str("");
  run->add_option("-o,--output", sim->output, "Folder for the outputs, one NAME.npy each")->required();
  run->add_flag("--sequence", sim->sequence, "Inputs have one more leading axis, the steps; outputs get the same");
  run->add_option("--state", sim->states, "OUTPUT=INPUT: copied from step to step; an input without -i starts at zero")->default_str("");
  run->add_option("--dump", sim->dump, "Write these tensors besides the outputs: NAME,..., or all")->delimiter(',')->default_str("");
  run->add_option("--dump-ofm", sim->dump_ofm, "Write what these operations inside the segments computed: INDEX,..., or all; ofm_SEGMENT_INDEX.npy, int32")->delimiter(',')->default_str("");
  run->add_flag("--dequantize", sim->dequantize, "Write quantized outputs as float32");
  run->add_option("--work", sim->work, "Multiply-adds, elements and copied bytes that a run of a segment may cost");
  add_model_flags(run, sim->flags);
  run->callback([sim, &exit_code] {
    if (const Status status = run_sim(*sim); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
