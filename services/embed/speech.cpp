#include "services/embed/speech.h"

#include "base/host/heap_memory.h"
#include "pipeline/host/registry.h"
#include "pipeline/nodes/host/decode/host_ctc.h"
#include "pipeline/nodes/host/decode/host_transducer.h"

namespace runnel::embedding {
namespace {

using Say = std::function<void(std::string_view)>;

// Sets what the text gives, in the order of the table.
Status set_parameters(const pipeline::NodeText& text, const pipeline::NodeType& type, pipeline::Node& node) {
  for (const pipeline::Parameter& parameter : type.parameters) {
    for (const pipeline::ParameterText& given : text.parameters) {
      if (given.key != parameter.name) continue;
      RUNNEL_ASSIGN(const pipeline::Value value, pipeline::parse_value(parameter, given.value));
      RUNNEL_TRY(pipeline::check_value(parameter, value));
      RUNNEL_TRY(parameter.set(parameter, node, value));
    }
  }
  return {};
}

// Values of the last dimension of the only output.
std::int32_t classes_of(const Model& model) noexcept {
  const Shape& shape = model.tensor(model.outputs()[0]).shape;
  return shape[shape.rank - 1];
}

std::vector<std::string_view> labels_of(const Model& model) {
  std::vector<std::string_view> labels;
  if (const fb::Pipeline* pipeline = model.pipeline(); pipeline != nullptr && pipeline->labels() != nullptr)
    for (const flatbuffers::String* label : *pipeline->labels()) labels.push_back(label->string_view());
  return labels;
}

Result<std::shared_ptr<const decoding::OwnedSearchTables>> read_tables(const decoding::SearchFiles& files,
                                                                       std::int32_t classes,
                                                                       std::string_view of) {
  auto owned = decoding::OwnedSearchTables::read(files, classes, of);
  if (!owned.ok()) return owned.status();
  return std::shared_ptr<const decoding::OwnedSearchTables>(std::move(*owned));
}

// The models that the text names, which then names their parts.
Status take_parts(pipeline::NodeText& node, const compiler::LoadOptions& load, const Say& say,
                  EmbeddedSpeech& out) {
  compiler::LoadOptions plain;
  plain.find = load.find;
  plain.verify = load.verify;
  plain.key = load.key;
  plain.operators = load.operators;
  plain.custom_operators = load.custom_operators;
  for (pipeline::ParameterText& parameter : node.parameters) {
    if ((parameter.key != "joiner" && parameter.key != "decoder") || parameter.value.empty()) continue;
    RUNNEL_ASSIGN(auto model, load_noted(parameter.value, plain, say));
    if (model->model().outputs().empty())
      return Status(Code::mismatch) << parameter.value << ": has no output, expected 1";
    out.parts.push_back({parameter.key, std::move(model)});
    parameter.value = parameter.key;
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const OwnedModel>> load_noted(const std::string& model,
                                                     const compiler::LoadOptions& options, const Say& say) {
  RUNNEL_ASSIGN(compiler::LoadedModel loaded, compiler::load_model(model, options));
  for (const std::string& note : loaded.notes) say(model + ": " + note);
  return std::move(loaded.model);
}

bool is_in_tables(std::string_view parameter) {
  for (const std::string_view one :
       {"tokens", "units", "blank", "lexicon", "grammar", "hotwords", "hotword_score"})
    if (parameter == one) return true;
  return false;
}

Result<EmbeddedSpeech> take_speech(pipeline::NodeText& node, const Model& recogniser,
                                   const compiler::LoadOptions& load, const Say& say) {
  EmbeddedSpeech out;
  const bool transducer = node.type == pipeline::Transducer::type.name;
  if (!transducer && node.type != pipeline::Ctc::type.name) return out;
  const pipeline::NodeType& type = transducer ? pipeline::Transducer::type : pipeline::Ctc::type;
  HeapMemory memory;
  pipeline::Node* const made = type.make(memory);
  if (made == nullptr) return pipeline::out_of_memory(node.type);
  if (transducer) RUNNEL_TRY(take_parts(node, load, say, out));
  RUNNEL_TRY(set_parameters(node, type, *made));
  const std::vector<std::string_view> labels = labels_of(recogniser);
  if (!transducer) {
    const auto& ctc = static_cast<const pipeline::Ctc&>(*made);
    const std::int32_t classes = classes_of(recogniser) - (ctc.endpoint == "voice" ? 1 : 0);
    RUNNEL_ASSIGN(out.tables, read_tables(pipeline::search_files_of(ctc, labels), classes, "the model"));
    return out;
  }
  for (const EmbeddedSpeech::Part& part : out.parts) {
    if (part.name != "joiner") continue;
    RUNNEL_ASSIGN(out.tables, read_tables(pipeline::search_files_of(
                                              static_cast<const pipeline::Transducer&>(*made), labels),
                                          classes_of(part.model->model()), "the joiner"));
    return out;
  }
  return Status(Code::invalid_argument) << "transducer: the parameter joiner is required";
}

}  // namespace runnel::embedding
