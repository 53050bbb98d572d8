// What a request makes of a model: nodes, operators, labels and sizes, found by a dry run.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/embed/sources.h"
#include "compiler/import/load.h"
#include "pipeline/host/text.h"
#include "services/embed/dry_run.h"
#include "services/embed/embed_model.h"
#include "services/embed/speech.h"

namespace runnel::embedding {

struct ProgramPlan {
  std::shared_ptr<const OwnedModel> model;
  std::vector<pipeline::NodeText> chain;
  EmbeddedSpeech decoder;             // without tables: there is no decoder of speech
  bool keep_names = false;            // a node asks for a tensor by its name
  compiler::EmbeddedProgram program;  // interpreted, with all but memory_bytes and what a mode adds
  DryRun dry;

  [[nodiscard]] const decoding::SearchTables* search() const {
    return decoder.tables == nullptr ? nullptr : &decoder.tables->tables();
  }
};

// Errors: those of embed_model() before it writes. One call at a time (turn()); `request.say` is set.
Result<ProgramPlan> plan_program(const EmbedRequest& request, compiler::LoadOptions load);

// What --counters, --cores and frames of which a part passes by the model make of the node of the inference:
// one that measures operators, splits them, or keeps these parts.
void extend_infer(compiler::EmbeddedProgram& program);

// The functions of runnel.h have one text of a failure, and NPUs one list, for the whole program: held by who
// plans.
std::mutex& turn();

// Labels of a decision without others.
std::vector<std::string> numbers_of_classes(const Model& model);

}  // namespace runnel::embedding
