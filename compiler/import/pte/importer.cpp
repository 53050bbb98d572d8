#include "compiler/import/pte/importer.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/host/out_of_memory.h"
#include "compiler/import/obstacles.h"
#include "compiler/import/pte/builder.h"
#include "compiler/import/pte/bundle.h"
#include "compiler/import/pte/kernels.h"
#include "compiler/passes/fuse.h"
#include "compiler/write/writer.h"

namespace runnel::compiler {
namespace pte_source {
namespace {

bool has_identifier(std::span<const std::byte> bytes, const char* identifier) {
  return bytes.size() >= 8 && std::memcmp(bytes.data() + 4, identifier, 4) == 0;
}

// Kernels that are not known and instructions that are not taken, all at once.
Status check_instructions(const Method& method) {
  std::map<std::string, int> obstacles;
  for (const Instruction& instruction : method.instructions) {
    if (instruction.kind == Instruction::Kind::jump) ++obstacles["jumps (control flow)"];
    if (instruction.kind != Instruction::Kind::kernel ||
        find_kernel(method.operators[instruction.which]) != nullptr)
      continue;
    ++obstacles[method.operators[instruction.which]];
  }
  return obstacle_status(obstacles, "kernels", "times");
}

Status convert(Builder& builder, const Program& program, std::size_t index) {
  const Method& method = program.method;
  const Instruction& instruction = method.instructions[index];
  Call call{"", index, instruction.args};
  switch (instruction.kind) {
    case Instruction::Kind::free:
    case Instruction::Kind::jump:
      return {};
    case Instruction::Kind::move: {
      call.name = "move";
      RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
      return builder.write(call, call.args[1], x);
    }
    case Instruction::Kind::delegate: {
      const Delegate& delegate = method.delegates[instruction.which];
      call.name = "delegate " + delegate.id;
      return convert_delegate(builder, call, delegate, program.named_data);
    }
    case Instruction::Kind::kernel:
      break;
  }
  call.name = method.operators[instruction.which];
  const Kernel& kernel = *find_kernel(call.name);
  if (call.args.size() < kernel.least || call.args.size() > kernel.most) {
    return call.fail() << call.args.size() << " operands, expected " << kernel.least
                       << (kernel.most > kernel.least ? " or more" : "")
                       << "; another version of ExecuTorch may have others";
  }
  return kernel.convert(builder, call);
}

// Names that the file gives, else numbers.
std::string name_of(const Method& method, std::int32_t value, const char* what, std::size_t index) {
  const auto* tensor = std::get_if<Tensor>(&method.values[static_cast<std::size_t>(value)]);
  return tensor != nullptr && !tensor->name.empty() ? tensor->name : what + std::to_string(index);
}

// Outputs in the program's order of axes, each a tensor of its own that something computes.
Status add_output(Builder& builder, const Method& method, std::size_t index) {
  const std::int32_t value = method.outputs[index];
  const Call call{name_of(method, value, "output", index), method.instructions.size(), {}};
  if (!std::holds_alternative<Tensor>(method.values[static_cast<std::size_t>(value)]))
    return Status(Code::unsupported) << "output \"" << call.name << "\" is no tensor";
  RUNNEL_ASSIGN(const Operand held, builder.read(call, value));
  RUNNEL_ASSIGN(TensorId id, builder.plain(call, held));
  const auto taken = [&](const std::vector<TensorId>& list) {
    return std::ranges::find(list, id) != list.end();
  };
  if (taken(builder.graph.inputs) || taken(builder.graph.outputs) || builder.at(id).data) {
    const std::vector<std::int32_t> shape = builder.at(id).shape;
    RUNNEL_ASSIGN(id, builder.emit(call, OpCode::reshape, {id}, {}, {shape, DType::none, std::nullopt}));
  }
  builder.at(id).name = call.name;
  builder.graph.outputs.push_back(id);
  return {};
}

Result<PteImport> import_program(std::span<const std::byte> file, OperatorTable operators) {
  PteImport out;
  const bool bundled = has_identifier(file, "BP08");
  std::vector<std::byte> inner;  // an aligned copy
  if (bundled) {
    RUNNEL_ASSIGN(const auto program, bundled_program(file));
    inner.assign(program.begin(), program.end());
  }
  const std::span<const std::byte> bytes = bundled ? std::span<const std::byte>(inner) : file;
  if (!has_identifier(bytes, "ET12")) return Status(Code::invalid_data) << "no ET12 at byte 4 of the program";
  RUNNEL_ASSIGN(const Program program, read_program(bytes));
  const Method& method = program.method;
  RUNNEL_TRY(check_instructions(method));
  Builder builder(method, bytes.size());
  builder.set_scales(scales_of(method));
  for (std::size_t i = 0; i < method.inputs.size(); ++i)
    RUNNEL_TRY(builder.add_input(method.inputs[i], name_of(method, method.inputs[i], "input", i)));
  RUNNEL_TRY(builder.add_variables());
  for (std::size_t i = 0; i < method.instructions.size(); ++i) RUNNEL_TRY(convert(builder, program, i));
  if (method.outputs.empty() || method.inputs.empty())
    return Status(Code::unsupported) << "method \"" << method.name << "\" has " << method.inputs.size()
                                     << " inputs and " << method.outputs.size()
                                     << " outputs, expected 1 or more of each";
  for (std::size_t i = 0; i < method.outputs.size(); ++i) RUNNEL_TRY(add_output(builder, method, i));
  // With a single input, time is the axis after batch and channels.
  for (const TensorId id : builder.graph.inputs) {
    const auto rank = static_cast<int>(builder.at(id).shape.size());
    builder.graph.time_axes.push_back(builder.graph.inputs.size() == 1 ? std::min(2, rank - 1) : -1);
    builder.graph.time_axis_reason = "as PyTorch has it, after batch and channels";
  }
  fuse(builder.graph);
  out.graph = std::move(builder.graph);
  out.graph.metadata.emplace_back("source.format", bundled ? "bpte" : "pte");
  out.graph.metadata.emplace_back("pte.method", method.name);
  if (!program.other_methods.empty()) {
    std::string names;
    for (const std::string& name : program.other_methods) names += (names.empty() ? "" : ", ") + name;
    out.notes.push_back("method \"" + method.name + "\" is taken; left out: " + names);
  }
  if (bundled) RUNNEL_TRY(add_test_cases(file, method.name, out.graph, out.notes));
  out.graph.pipeline.usage = builder.stateful()                 ? UsageKind::step
                             : can_stream(out.graph, operators) ? UsageKind::stream
                                                                : UsageKind::whole;
  return out;
}

}  // namespace
}  // namespace pte_source

bool is_pte(std::span<const std::byte> bytes) {
  return pte_source::has_identifier(bytes, "ET12") || pte_source::has_identifier(bytes, "BP08");
}

Result<PteImport> import_pte(std::span<const std::byte> bytes, OperatorTable operators) {
  return catching_bad_alloc("importing the model", [&]() -> Result<PteImport> {
    // Aligned, wherever the caller's bytes lie.
    const std::vector<std::byte> file(bytes.begin(), bytes.end());
    return pte_source::import_program(file, operators);
  });
}

std::vector<std::pair<std::string_view, std::string_view>> pte_kernels() {
  std::vector<std::pair<std::string_view, std::string_view>> all;
  for (const auto& kernel : pte_source::kernels()) all.emplace_back(kernel.name, kernel.remarks);
  std::ranges::sort(all);
  return all;
}

}  // namespace runnel::compiler
