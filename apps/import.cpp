// runnel import: converts model files of other tools to .rnl files.
#include <cstdint>
#include <cstring>

#include "apps/call/contained.h"
#include "apps/support.h"
#include "apps/verbs.h"
#include "base/host/output_name.h"
#include "services/convert/import_model.h"

namespace runnel::apps {
namespace {

struct ImportCall {
  convert::ImportRequest request;
  ModelFlags flags;
  Containment containment;
};

// The result: the number of operators, and the model.
Result<std::vector<std::byte>> import_contained(const ImportCall& call,
                                                const compiler::LoadOptions& options) {
  RUNNEL_ASSIGN(const convert::ImportedModel model, convert::make_model(call.request, options));
  const std::uint64_t operators = model.operators;
  std::vector<std::byte> answer(sizeof operators + model.bytes.size());
  std::memcpy(answer.data(), &operators, sizeof operators);
  if (!model.bytes.empty())
    std::memcpy(answer.data() + sizeof operators, model.bytes.data(), model.bytes.size());
  return answer;
}

Status run_import(ImportCall& call) {
  RUNNEL_TRY(check_output_name(call.request.output, {".rnl"}));
  RUNNEL_ASSIGN(const compiler::LoadOptions options, load_options(call.flags));
  call.request.say = say;
  RUNNEL_TRY(convert::read_names(call.request));
  RUNNEL_ASSIGN(
      const std::vector<std::byte> answer,
      contained(call.containment, {.model = call.request.input, .opened = {}, .doing = "importing"}, options,
                [&call](const compiler::LoadOptions& inside) { return import_contained(call, inside); }));
  std::uint64_t operators = 0;
  if (answer.size() < sizeof operators)
    return Status(Code::io_error) << call.request.input << ": no result of the import";
  std::memcpy(&operators, answer.data(), sizeof operators);
  convert::ImportedModel model;
  model.operators = static_cast<std::size_t>(operators);
  model.bytes.assign(answer.begin() + sizeof operators, answer.end());
  return convert::write_model(call.request, model);
}

}  // namespace

void add_import(Verb verb, int& exit_code) {
  auto call = std::make_shared<ImportCall>();
  verb.positional("INPUT", call->request.input, "Model file").required();
  verb.option("-o,--output", call->request.output, "The .rnl file to write").required();
  add_model_flags(verb, call->flags);
  add_containment(verb, call->containment);
  verb.flag("--pow2", call->request.pow2,
            "Fold multipliers into power-of-two scales (shifts only) and report the change of the results");
  verb.flag("--encrypt", call->request.encrypt,
            "Encrypt the .rnl file (AES-128-GCM) with the key of --key-file or RUNNEL_KEY");
  verb.option("--name", call->request.name,
              "Name of the model (default: the one in the file, or the file's name)");
  verb.option("--front-end,--frontend", call->request.front_end,
              "Graph text from samples to the model's input, e.g. \"fbank preset=kaldi "
              "num_mel_bins=40\"; stored with every parameter");
  verb.option("--sample-rate", call->request.sample_rate,
              "Sample rate in Hz of the sound (default: the front end's)");
  verb.option("--decision", call->request.decision,
              "Graph text after the model, e.g. \"detect threshold=0.6\"");
  const Option labels = verb.option("--labels", call->request.labels,
                                    "File with the names of the output's channels, one per line");
  verb.option("--tokens", call->request.tokens,
              "File with the tokens of a speech recogniser, stored as the labels: tokens.txt or a "
              "sentencepiece .vocab (without its scores)")
      .excludes(labels);
  verb.option("--usage", call->request.usage.usage,
              "How the model takes a stream (default: as in the file; else stream if possible, or whole)")
      .choices({"stream", "step", "window", "whole"});
  verb.option("--window", call->request.usage.window,
              "Frames per clip (usage window, whole; default: the length of the input)")
      .default_str("");
  verb.option("--hop", call->request.usage.hop, "Frames from one window to the next (default: the window)")
      .default_str("");
  verb.option("--step", call->request.usage.step,
              "New frames per run (usage step; default: the length of the input, without the context)")
      .default_str("");
  verb.option("--context", call->request.usage.context, "Frames of context before each step (default: 0)")
      .default_str("");
  verb.option("--look-ahead", call->request.usage.look_ahead,
              "Frames that each step sees after its own; the first run waits for them (default: 0)")
      .default_str("");
  verb.option("--output-frames", call->request.usage.output_frames,
              "Frames that a step gives, which divide those it takes (default: as many, where an output has "
              "them; else all its values are one frame)")
      .default_str("");
  verb.option("--state", call->request.states,
              "OUTPUT=INPUT: state that goes from run to run, zeros at the start (usage step)")
      .default_str("");
  verb.option("--block", call->request.blocks,
              "Source frames per block whose exact memory the file records; may be repeated (default: 1)")
      .positive()
      .default_str("");
  verb.flag("--strip-names", call->request.strip_names, "Leave out the names of tensors and operators");
  verb.callback([call, &exit_code] {
    if (const Status status = run_import(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
