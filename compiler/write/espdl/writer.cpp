#include "compiler/write/espdl/writer.h"

#include <algorithm>

#include "base/host/out_of_memory.h"
#include "compiler/espdl/pipeline_metadata.h"
#include "compiler/espdl/target.h"
#include "compiler/espdl/test_values.h"
#include "compiler/run_whole.h"
#include "compiler/write/espdl/lowering.h"
#include "compiler/write/espdl/serialize.h"
#include "compiler/write/espdl/streaming_form.h"

namespace runnel::compiler {
namespace {

using espdl_source::Constant;
using espdl_source::Lowering;

Result<EspdlTarget> target_of(const Graph& graph, const EspdlWriteOptions& options) {
  if (options.target != EspdlTarget::automatic) return options.target;
  // The importer writes one entry, the quantizer the other.
  std::string_view other;
  for (const std::string_view entry : {"espdl.target", "quantize.target"}) {
    for (const auto& [key, value] : graph.metadata) {
      if (key != entry) continue;
      if (espdl_source::target_named(value) != EspdlTarget::automatic)
        return espdl_source::target_named(value);
      other = value;
    }
  }
  Status status(Code::invalid_argument);
  status << "no target";
  if (!other.empty()) status << ", because the model was made for \"" << other << "\"";
  return status << ": expected c (or esp32), esp32s3 or esp32p4";
}

// First the target's name, then the graph's metadata, then the pipeline settings. The importer's own
// entries say where a graph came from.
MetadataEntries metadata_of(const Graph& graph, EspdlTarget target) {
  MetadataEntries out = {{"target", std::string(espdl_source::name_of(target))}};
  for (const auto& entry : graph.metadata) {
    if (entry.first != "target" && entry.first != "source.format" && entry.first != "espdl.target" &&
        entry.first != "quantize.target")
      out.push_back(entry);
  }
  for (auto& entry : pipeline_entries(graph.pipeline)) out.push_back(std::move(entry));
  return out;
}

void set_entry(MetadataEntries& entries, const std::string& key, std::string value) {
  const auto known =
      std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first == key; });
  if (known != entries.end())
    known->second = std::move(value);
  else
    entries.emplace_back(key, std::move(value));
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

// What is written, and how it runs.
struct Plan {
  Graph graph;
  int calls = 1;
  StreamingForm form;  // without its graph; not used when calls are not cut
};

// Joined along time; all axes before that one are 1.
std::vector<std::byte> joined(const std::vector<Buffers>& calls, std::size_t position) {
  std::vector<std::byte> all;
  for (const Buffers& call : calls) all.insert(all.end(), call[position].begin(), call[position].end());
  return all;
}

bool frame_major(const Tensor& tensor, int axis) {
  return std::all_of(tensor.shape.begin(), tensor.shape.begin() + axis,
                     [](std::int32_t dim) { return dim == 1; });
}

// After its warm-up the streaming form gives the frames of the graph over the same recording.
Status check_form(const Graph& given, const Plan& plan, int chunk, const std::vector<Buffers>& inputs,
                  const std::vector<Buffers>& outputs) {
  const auto major = [&](const std::vector<TensorId>& ids, const std::vector<int>& axes) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (!frame_major(plan.graph.tensors[static_cast<std::size_t>(ids[i])], axes[i])) return false;
    }
    return true;
  };
  if (!major(plan.graph.inputs, plan.form.input_axes) || !major(plan.graph.outputs, plan.form.output_axes))
    return {};
  Buffers recording;
  for (std::size_t i = 0; i < plan.graph.inputs.size(); ++i) recording.push_back(joined(inputs, i));
  RUNNEL_ASSIGN(const std::vector<Buffers> whole,
                run_whole(given, {recording}, std::int64_t{chunk} * plan.calls));
  for (std::size_t i = 0; i < plan.graph.outputs.size(); ++i) {
    const Tensor& tensor = plan.graph.tensors[static_cast<std::size_t>(plan.graph.outputs[i])];
    const std::vector<std::byte> stream = joined(outputs, i);
    const auto frames =
        static_cast<std::size_t>(tensor.shape[static_cast<std::size_t>(plan.form.output_axes[i])]) *
        static_cast<std::size_t>(plan.calls);
    const std::size_t frame = stream.size() / frames,
                      head = frame * static_cast<std::size_t>(plan.form.heads[i]),
                      warm_up = frame * static_cast<std::size_t>(plan.form.lags[i]) + head;
    if (warm_up >= stream.size() || head >= whole[0][i].size()) continue;
    const std::size_t bytes = std::min(stream.size() - warm_up, whole[0][i].size() - head);
    const auto first = whole[0][i].begin() + static_cast<std::ptrdiff_t>(head);
    if (!std::equal(first, first + static_cast<std::ptrdiff_t>(bytes),
                    stream.begin() + static_cast<std::ptrdiff_t>(warm_up))) {
      return Status(Code::mismatch) << "the streaming form of output \"" << tensor.name
                                    << "\" is not the offline result " << plan.form.lags[i]
                                    << " frames later";
    }
  }
  return {};
}

Status add_test_values(const Graph& given, const Plan& plan, const EspdlWriteOptions& options, Lowering& to) {
  const Graph& graph = plan.graph;
  const auto inputs =
      espdl_source::test_inputs(graph, given.vectors, plan.calls, plan.form.input_axes, options.seed);
  RUNNEL_ASSIGN(const std::vector<Buffers> outputs, run_whole(graph, inputs));
  if (options.chunk > 0) RUNNEL_TRY(check_form(given, plan, options.chunk, inputs, outputs));
  const auto add = [&](const std::vector<TensorId>& ids, const std::vector<Buffers>& calls,
                       const std::vector<int>& axes, std::vector<Constant>& list) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      for (std::size_t call = 0; call < calls.size(); ++call) {
        list.push_back(test_value(to.name_of(ids[i]), to.at(ids[i]), calls[call][i]));
        if (calls.size() > 1) espdl_source::label_call(list.back(), static_cast<int>(call), axes[i]);
      }
    }
  };
  add(graph.inputs, inputs, plan.form.input_axes, to.model.test_inputs);
  add(graph.outputs, outputs, plan.form.output_axes, to.model.test_outputs);
  return {};
}

// Enough calls that everything that is kept holds real frames in the last ones.
int calls_for(const StreamingForm& form, int chunk) {
  constexpr std::int64_t kLeast = 4, kMax = 256;
  return static_cast<int>(std::clamp(form.context / chunk + 3, kLeast, kMax));
}

// What was written gives the recorded outputs when it is read and run.
Status check_written(const EspdlWritten& written, const EspdlWriteOptions& options) {
  EspdlOptions read;
  read.target = written.target;
  if (options.key != nullptr) read.key = *options.key;
  const auto again = import_espdl(written.bytes, read);
  if (!again.ok()) return again.status().at("what was written cannot be read again");
  RUNNEL_ASSIGN(const std::int64_t differing,
                espdl_source::differing_elements(again->graph, all_operators()));
  if (differing != 0) {
    return Status(Code::mismatch) << "what was written gives other results than the graph: " << differing
                                  << " elements of the test outputs differ (-1: its test values do not fit)";
  }
  return {};
}

Result<EspdlWritten> write(const Graph& given, const EspdlWriteOptions& options) {
  EspdlWritten written;
  RUNNEL_ASSIGN(written.target, target_of(given, options));
  Plan plan;
  if (options.chunk > 0) {
    RUNNEL_ASSIGN(plan.form, streaming_form(given, options.chunk, options.warm_up));
    written.refusals = plan.form.refusals;
    if (!written.refusals.empty()) return written;
    plan.graph = std::move(plan.form.graph);
    plan.calls = calls_for(plan.form, options.chunk);
    for (std::size_t i = 0; i < plan.form.lags.size(); ++i) {
      const std::int64_t lag = plan.form.lags[i], head = plan.form.heads[i], tail = plan.form.tails[i];
      if (lag + head + tail == 0) continue;
      std::string note = "output \"" +
                         plan.graph.tensors[static_cast<std::size_t>(plan.graph.outputs[i])].name +
                         "\": its first " + std::to_string(lag + head) + " frames are warm-up";
      if (head > 0 || tail > 0)
        note += "; of a whole recording's result the first " + std::to_string(head) + " and the last " +
                std::to_string(tail) + " frames have padding between layers, which the stream has not";
      written.notes.push_back(std::move(note));
    }
  } else {
    plan.graph = given;
  }
  Lowering lowering(plan.graph, written.target);
  lowering.model.metadata = given.metadata;  // where the graph came from; what the file says follows below
  espdl_source::lower(lowering, plan.graph);
  written.notes.insert(written.notes.end(), lowering.notes.begin(), lowering.notes.end());
  written.refusals = lowering.refusals();
  if (!written.refusals.empty()) return written;
  RUNNEL_TRY(add_test_values(given, plan, options, lowering));
  lowering.model.metadata = metadata_of(given, written.target);
  if (options.chunk > 0) set_entry(lowering.model.metadata, "chunk", std::to_string(options.chunk));
  RUNNEL_ASSIGN(written.bytes, espdl_source::serialize(lowering.model, options.key));
  RUNNEL_TRY(check_written(written, options));
  return written;
}

}  // namespace

Result<EspdlWritten> write_espdl(const Graph& graph, const EspdlWriteOptions& options) {
  return catching_bad_alloc("writing the .espdl file", [&] { return write(graph, options); });
}

}  // namespace runnel::compiler
