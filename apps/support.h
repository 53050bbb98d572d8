// Shared by the verbs: messages on stderr, exit codes, model loading.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/command_line.h"
#include "base/status.h"
#include "compiler/import/load.h"
#include "services/describe/tensors.h"
#include "services/trust/trust.h"

namespace runnel::apps {

// Prints the error on stderr ("runnel: <text>") and returns the exit code 1.
int fail(const Status& status);
// The same for a wrong call, which is refused before anything is done: the exit code 2.
int refuse(const Status& wrong);
// Prints a message on stderr.
void say(std::string_view text);

// How to read a model: the same options in every verb that takes one, by name or file.
struct ModelFlags {
  std::string target, member, key_file;
  std::string trust;  // whose signatures are taken; empty: trust_place()
  std::vector<std::string> shapes, values;
  // How to stream a model of another tool.
  std::string pool_window, attention_window;
  std::vector<std::string> contexts;
  std::int64_t max_lookahead = -1;
  int time_axis = -1;
  bool stream = false;
  // Shapes and values that a verb knows from its files; --shape and --value override them.
  compiler::OnnxOptions onnx;
};
// Help texts of the argument MODEL.
inline constexpr const char* kAnyModel =
    "Name of a model (see `runnel models`), or its file (.rnl, .espdl, .tflite, .pte, .onnx, or a manifest)";
inline constexpr const char* kWholeModel =
    "Name of a model (see `runnel models`), or its file, with its front end and decision";
// Adds --trust, --target, --member, --key-file, --shape, --value and, as a separate group, the options of
// streaming.
void add_model_flags(Verb verb, ModelFlags& flags);
// Adds --threads, for verbs that run a model in one stream.
void add_threads_flag(Verb verb, int& threads);
// Converts the flags to options of the loader; the key comes from the file or, without one, from the
// environment variable RUNNEL_KEY.
Result<compiler::LoadOptions> load_options(const ModelFlags& flags);

// Adds --trust alone, for verbs whose graphs may name models.
void add_trust_flag(Verb verb, std::string& trust);
// Whose signatures are taken: that of --trust, else of RUNNEL_TRUST, else of the settings file
// (trust = "KEYS"). Null: all models are taken. Errors: those of Trust::read().
Result<std::shared_ptr<const trust::Trust>> trusted(const std::string& given);

// Options of a loader that finds models by name, for graphs whose text may hold `model=NAME`. Errors: those
// of trusted().
Result<compiler::LoadOptions> named_models(const std::string& trust);

// The model of `listen` without one: from RUNNEL_MODEL, the settings file (model = "NAME"), or
// models::kDefaultModel.
Result<std::string> default_model();

// Loads a model and prints its notes.
Result<std::shared_ptr<const OwnedModel>> load(const std::string& path, const ModelFlags& flags);

using describe::quantize_for;
using describe::tensor_label;
// "[1,98,40]"
std::string shape_text(const Shape& shape);
// A tensor's name as a file name: characters outside [A-Za-z0-9._-] become "_", at most 200 of them.
std::string file_name_of(const std::string& tensor);

// Shows the progress of a stage and the remaining time (progress.h).
std::function<void(std::string_view stage, double fraction)> progress_line();

}  // namespace runnel::apps
