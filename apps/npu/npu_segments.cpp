#include "apps/npu/npu_segments.h"

#include <cstring>

#include "inference/delegate.h"
#include "services/models/find.h"

namespace runnel::apps {
namespace {

bool starts_with(std::span<const std::byte> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

}  // namespace

Result<NpuSegments> load_npu_segments(const std::string& name_or_path, const ModelFlags& flags) {
  NpuSegments out;
  RUNNEL_ASSIGN(const std::string path, models::find_model(name_or_path));
  RUNNEL_ASSIGN(const compiler::LoadOptions options, load_options(flags));
  RUNNEL_ASSIGN(out.bytes, compiler::read_verified(path, options));
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
    if (code_of(op) != OpCode::delegate || DelegateSegment(model, op).kind() != "ethos-u") continue;
    const std::string name = "operator " + std::to_string(i);
    auto segment = npu::read_segment(model, op);
    if (!segment.ok()) return segment.status().at(path + ": " + name);
    out.list.emplace_back(name, *std::move(segment));
    if (!npu::is_stepped(model, op)) continue;
    auto stepped = npu::read_stepped_segment(model, op);
    const std::string block = name + ", block";
    if (!stepped.ok()) return stepped.status().at(path + ": " + block);
    out.list.emplace_back(block, std::move(stepped->segment));
  }
  if (out.list.empty())
    return Status(Code::invalid_data) << path << ": no operator is computed by an Ethos-U";
  return out;
}

Verb add_npu_file_verb(Verb parent, const char* name, const char* help,
                       const std::shared_ptr<NpuFileCall>& call) {
  Verb verb = parent.verb(name, help);
  verb.positional(
          "FILE", call->file,
          "Model file (.rnl, .tflite, .pte) with parts for the Ethos-U, or a driver payload (COP1, COP2), "
          "or a Vela stream")
      .required();
  verb.flag("--json", call->json, "One JSON object per line");
  add_model_flags(verb, call->flags);
  return verb;
}

}  // namespace runnel::apps
