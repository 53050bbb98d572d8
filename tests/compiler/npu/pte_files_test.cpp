// Compiled graphs as ExecuTorch programs: every field that its loader and the back end of the Ethos-U look
// at, and results after reading back.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "compiler/import/load.h"
#include "compiler/import/pte/importer.h"
#include "compiler/import/pte/pte_generated.h"
#include "compiler/write/pte/writer.h"
#include "compiler/write/same_results.h"
#include "npu/host/simulator/simulated_npu.h"
#include "npu/host/vela_stream.h"
#include "tests/compiler/npu/on_npu.h"
#include "tests/compiler/npu/random_network.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

namespace ethos_u = compiler::ethos_u;

struct Written {
  compiler::Graph original;
  compiler::WrittenPte file;
};
Result<Written> write(const compiler::Graph& graph, ethos_u::Options options) {
  options.borders_in_scratch = true;
  RUNNEL_ASSIGN(auto compiled, ethos_u::compile(graph, options));
  RUNNEL_ASSIGN(auto file, compiler::write_pte(compiled.graph));
  return Written{graph, std::move(file)};
}
Result<compiler::Graph> network(const std::string& path) {
  RUNNEL_ASSIGN(auto imported, compiler::import_file(data_folder() / path, {}));
  return std::move(imported.graph);
}
Status same_after_reading(const Written& written) {
  RUNNEL_ASSIGN(const compiler::PteImport read, compiler::import_pte(written.file.bytes));
  return compiler::check_same_results(written.original, read.graph, 1, 5, npu::simulating_operators());
}
std::string text_of(const flatbuffers::Vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

TEST(PteFiles, HaveWhatTheLoaderLooksAt) {
  RUNNEL_NEEDS_DATA();
  const auto graph = network("executorch/et_arduino_kws.pte");
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  const auto written = write(*graph, npu_options("ethos-u55-128"));
  ASSERT_TRUE(written.ok()) << written.status().text();
  const auto& bytes = written->file.bytes;
  EXPECT_GE(bytes.size(), 64u) << "the head that ExecuTorch reads";
  EXPECT_EQ(std::memcmp(bytes.data() + 4, "ET12", 4), 0);
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  ASSERT_TRUE(pte::VerifyProgramBuffer(verifier));
  const pte::Program& program = *pte::GetProgram(bytes.data());
  EXPECT_EQ(program.version(), 0u);
  ASSERT_EQ(program.execution_plan()->size(), 1u);
  const pte::ExecutionPlan& plan = *program.execution_plan()->Get(0);
  EXPECT_EQ(plan.name()->str(), "forward");
  ASSERT_NE(plan.container_meta_type(), nullptr);
  EXPECT_NE(plan.container_meta_type()->encoded_inp_str()->str().find("builtins.tuple"), std::string::npos);
  ASSERT_EQ(plan.delegates()->size(), 1u);
  const pte::Delegate& delegate = *plan.delegates()->Get(0);
  EXPECT_EQ(delegate.id()->str(), "EthosUBackend");
  EXPECT_EQ(delegate.processed()->location(), 0) << "inline";
  EXPECT_EQ(delegate.processed()->index(), 0u);
  std::map<std::string, std::string> specs;
  for (const pte::CompileSpec* spec : *delegate.compile_specs())
    specs[spec->key()->str()] = text_of(*spec->value());
  EXPECT_EQ(specs["target"], "ethos-u55-128");
  EXPECT_EQ(specs["output_format"], "vela");
  EXPECT_NE(specs["compile_flags"].find("--accelerator-config=ethos-u55-128"), std::string::npos);
  EXPECT_NE(specs["compile_flags"].find("--memory-mode=Shared_Sram"), std::string::npos);
  // The payload: at a multiple of 16, whole blocks, command stream and places of inputs and outputs.
  const auto* const data = program.backend_delegate_data()->Get(0)->data();
  EXPECT_EQ((reinterpret_cast<const std::byte*>(data->data()) - bytes.data()) % 16, 0);
  EXPECT_EQ(data->size() % 16, 0u);
  const auto payload = std::as_bytes(std::span(data->data(), data->size()));
  EXPECT_EQ(std::memcmp(payload.data(), "vela_bin_stream", 16), 0);
  EXPECT_EQ(std::memcmp(payload.data() + payload.size() - 32, "vela_end_stream", 16), 0);
  const auto stream = npu::read_vela_stream(payload, {});
  ASSERT_TRUE(stream.ok()) << stream.status().text();
  EXPECT_EQ(std::memcmp(stream->commands.data(), "COP1", 4), 0);
  EXPECT_EQ((stream->commands.data() - bytes.data()) % 16, 0);
  EXPECT_EQ((stream->weights.data() - bytes.data()) % 16, 0);
  ASSERT_EQ(stream->inputs.size(), 1u);
  EXPECT_EQ(stream->inputs[0].bytes, 490u);
  EXPECT_EQ(stream->inputs[0].element, 1);
  EXPECT_EQ(stream->inputs[0].region, 1);
  EXPECT_EQ(stream->inputs[0].offset % 16, 0);
  EXPECT_EQ(stream->inputs[0].shape[0], 1) << "shapes end at the sixth axis";
  EXPECT_EQ(stream->outputs[0].shape[5], 12);
  // Calls: quantize, the delegate with its operands in the payload's order, dequantize.
  const auto& instructions = *plan.chains()->Get(0)->instructions();
  ASSERT_EQ(instructions.size(), 3u);
  EXPECT_EQ(instructions.Get(0)->args_type(), pte::InstructionArguments::KernelCall);
  ASSERT_EQ(instructions.Get(1)->args_type(), pte::InstructionArguments::DelegateCall);
  const auto& quantize = *instructions.Get(0)->args_as_KernelCall()->args();
  const auto& call = *instructions.Get(1)->args_as_DelegateCall()->args();
  ASSERT_EQ(quantize.size(), 8u);
  EXPECT_EQ(quantize.Get(6), quantize.Get(7)) << "the output, twice";
  EXPECT_EQ(call.Get(0), quantize.Get(6));
  EXPECT_EQ(plan.operators()->Get(0)->name()->str(), "quantized_decomposed::quantize_per_tensor");
  EXPECT_EQ(plan.operators()->Get(0)->overload()->str(), "out");
  EXPECT_EQ(plan.operators()->Get(1)->name()->str(), "quantized_decomposed::dequantize_per_tensor");
  // Planned memory: number 1, inside its size; element 0 is reserved.
  ASSERT_EQ(plan.non_const_buffer_sizes()->size(), 2u);
  EXPECT_EQ(plan.non_const_buffer_sizes()->Get(0), 0);
  EXPECT_EQ(static_cast<std::size_t>(plan.non_const_buffer_sizes()->Get(1)), written->file.memory);
  for (const pte::Value* value : *plan.values()) {
    const pte::Tensor* const tensor = value->val_as_Tensor();
    if (tensor == nullptr) continue;
    EXPECT_EQ(tensor->dim_order()->size(), tensor->sizes()->size());
    for (flatbuffers::uoffset_t i = 0; i < tensor->dim_order()->size(); ++i)
      EXPECT_EQ(tensor->dim_order()->Get(i), i);
    ASSERT_NE(tensor->allocation_info(), nullptr);
    EXPECT_EQ(tensor->allocation_info()->memory_id(), 1u);
    EXPECT_EQ(tensor->allocation_info()->memory_offset_low() % 16, 0u);
    EXPECT_LT(tensor->allocation_info()->memory_offset_low(), written->file.memory);
    EXPECT_EQ(tensor->storage_offset(), 0);
    EXPECT_EQ(tensor->data_buffer_idx(), 0u);
  }
  ASSERT_NE(program.constant_segment(), nullptr);
  EXPECT_EQ(program.constant_segment()->offsets()->size(), 1u) << "no constants";
  EXPECT_EQ(program.constant_buffer()->size(), 0u);
  const Status same = same_after_reading(*written);
  EXPECT_TRUE(same.ok()) << same.text();
}

TEST(PteFiles, GiveTheBytesOfTheOriginal) {
  RUNNEL_NEEDS_DATA();
  for (const char* name :
       {"kws_ref_model", "person_detect", "str_ww_ref_model", "ad01_int8", "micro_speech_quantized"}) {
    const auto graph = network(std::string("ethosu/models/") + name + ".tflite");
    ASSERT_TRUE(graph.ok()) << graph.status().text();
    for (const char* accelerator : {"ethos-u55-128", "ethos-u65-512"}) {
      const auto written = write(*graph, npu_options(accelerator));
      ASSERT_TRUE(written.ok()) << name << ": " << written.status().text();
      const Status same = same_after_reading(*written);
      EXPECT_TRUE(same.ok()) << name << ": " << same.text();
    }
  }
  // What a payload cannot state.
  const auto graph = network("ethosu/models/kws_ref_model.tflite");
  const auto written = write(*graph, npu_options("ethos-u65-512", "Dedicated_Sram"));
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.status().text().find("fast scratch memory"), std::string_view::npos)
      << written.status().text();
}

// Moves between segments stay on the CPU; anything else is refused by name.
TEST(PteFiles, GiveTheBytesOfRandomNetworks) {
  int written_files = 0, calls = 0, kernels = 0;
  for (std::uint32_t seed = 0; seed < 160; ++seed) {
    SCOPED_TRACE(seed);
    const compiler::Graph graph = random_network({seed % 2 == 0, false}, seed);
    auto options = npu_options((seed % 3 == 2 ? kU85 : kU55AndU65).of(seed / 3));
    std::mt19937 random(seed);
    std::map<std::string, bool> stays;
    options.allow = [&](const compiler::Graph&, const compiler::Node& node) {
      const bool moves = node.code == OpCode::reshape || node.code == OpCode::transpose ||
                         node.code == OpCode::concat || node.code == OpCode::slice;
      return !moves || !stays.try_emplace(node.name, random() % 2 == 0).first->second;
    };
    const auto written = write(graph, options);
    if (!written.ok()) {
      EXPECT_EQ(written.status().code(), Code::unsupported) << written.status().text();
      continue;
    }
    ++written_files;
    const pte::ExecutionPlan& plan = *pte::GetProgram(written->file.bytes.data())->execution_plan()->Get(0);
    for (const pte::Instruction* instruction : *plan.chains()->Get(0)->instructions())
      (instruction->args_type() == pte::InstructionArguments::DelegateCall ? calls : kernels) += 1;
    const Status same = same_after_reading(*written);
    EXPECT_TRUE(same.ok()) << same.text();
  }
  EXPECT_GT(written_files, 60);
  EXPECT_GT(calls, written_files);
  EXPECT_GT(kernels, 10);
}

}  // namespace
}  // namespace runnel::test
