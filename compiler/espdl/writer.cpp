#include "compiler/espdl/writer.h"

#include <algorithm>

#include "base/host/out_of_memory.h"
#include "compiler/espdl/lowering.h"
#include "compiler/espdl/pipeline_metadata.h"
#include "compiler/espdl/serialize.h"
#include "compiler/espdl/target.h"
#include "compiler/espdl/test_values.h"
#include "compiler/run_whole.h"

namespace runnel::compiler {
namespace {

using espdl_source::Constant;
using espdl_source::Lowering;

Result<EspdlTarget> target_of(const Graph& graph, const EspdlWriteOptions& options) {
  if (options.target != EspdlTarget::automatic) return options.target;
  for (const auto& [key, value] : graph.metadata) {
    if (key == "espdl.target" && espdl_source::target_named(value) != EspdlTarget::automatic) return espdl_source::target_named(value);
  }
  return Status(Code::invalid_argument) << "no target: expected c (or esp32), esp32s3 or esp32p4";
}

// The target's name in front, then what the graph has, then what stands around the model. The importer's own entries say where a graph came from.
MetadataEntries metadata_of(const Graph& graph, EspdlTarget target) {
  MetadataEntries out = {{"target", std::string(espdl_source::name_of(target))}};
  for (const auto& entry : graph.metadata) {
    if (entry.first != "target" && entry.first != "source.format" && entry.first != "espdl.target") out.push_back(entry);
  }
  for (auto& entry : pipeline_entries(graph.pipeline)) out.push_back(std::move(entry));
  return out;
}

Constant test_value(const std::string& name, const Tensor& tensor, std::vector<std::byte> data) {
  Constant out;
  out.name = name;
  out.dims = espdl_source::wide(tensor.shape);
  out.dtype = tensor.dtype;
  out.exponents = tensor.exponents;
  out.data = std::move(data);
  return out;
}

Status add_test_values(const Graph& graph, std::uint32_t seed, Lowering& to) {
  const auto inputs = espdl_source::test_inputs(graph, graph.vectors, 1, {}, seed);
  RUNNEL_ASSIGN(const std::vector<Buffers> outputs, run_whole(graph, inputs));
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) to.model.test_inputs.push_back(test_value(to.name_of(graph.inputs[i]), to.at(graph.inputs[i]), inputs[0][i]));
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    to.model.test_outputs.push_back(test_value(to.name_of(graph.outputs[i]), to.at(graph.outputs[i]), outputs[0][i]));
  }
  return {};
}

// What was written gives the recorded outputs when it is read and run.
Status check_written(const EspdlWritten& written, const EspdlWriteOptions& options) {
  EspdlOptions read;
  read.target = written.target;
  if (options.key != nullptr) read.key = *options.key;
  const auto again = import_espdl(written.bytes, read);
  if (!again.ok()) return again.status().at("what was written cannot be read again");
  RUNNEL_ASSIGN(const std::int64_t differing, espdl_source::differing_elements(again->graph, all_operators()));
  if (differing != 0) {
    return Status(Code::mismatch) << "what was written gives other results than the graph: " << differing << " elements of the test outputs differ (-1: its test values do not fit)";
  }
  return {};
}

Result<EspdlWritten> write(const Graph& graph, const EspdlWriteOptions& options) {
  EspdlWritten written;
  RUNNEL_ASSIGN(written.target, target_of(graph, options));
  Lowering lowering(graph, written.target);
  espdl_source::lower(lowering, graph);
  written.notes = std::move(lowering.notes);
  written.refusals = lowering.refusals();
  if (!written.refusals.empty()) return written;
  RUNNEL_TRY(add_test_values(graph, options.seed, lowering));
  lowering.model.metadata = metadata_of(graph, written.target);
  RUNNEL_ASSIGN(written.bytes, espdl_source::serialize(lowering.model, options.key));
  RUNNEL_TRY(check_written(written, options));
  return written;
}

}  // namespace

Result<EspdlWritten> write_espdl(const Graph& graph, const EspdlWriteOptions& options) {
  return catching_bad_alloc("writing the .espdl file", [&] { return write(graph, options); });
}

}  // namespace runnel::compiler
