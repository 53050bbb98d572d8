// What the verbs share: talk on stderr, exit codes, model loading.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/command_line.h"
#include "base/status.h"
#include "compiler/import/load.h"

namespace runnel::apps {

// Says why on stderr ("runnel: <text>") and gives the exit code for it: 1.
int fail(const Status& status);
// A line for people on stderr.
void say(std::string_view text);

// How a model file is to be read: the same options in every verb that takes one.
struct ModelFlags {
  std::string target, member, key_file;
  std::vector<std::string> shapes, values;
  // How a model of another tool is to be streamed.
  std::string pool_window, attention_window;
  std::vector<std::string> contexts;
  std::int64_t max_lookahead = -1;
  int time_axis = -1;
  bool stream = false;
  // What a verb knows about inputs from its files; --shape and --value come first.
  compiler::OnnxOptions onnx;
};
// Adds --target, --member, --key-file, --shape, --value and, as a group of their own, what can be said about
// streaming.
void add_model_flags(Verb verb, ModelFlags& flags);
// Adds --threads, for verbs that run a model in one stream.
void add_threads_flag(Verb verb, int& threads);
// The flags as options of the loader; the key is that of the file or, without one, of the environment
// variable RUNNEL_KEY.
Result<compiler::LoadOptions> load_options(const ModelFlags& flags);

// Loads a model and tells its notes.
Result<std::shared_ptr<const OwnedModel>> load(const std::string& path, const ModelFlags& flags);

// "name" of a tensor, or "#index" when the names were stripped.
std::string tensor_label(const Model& model, int tensor);
// "[1,98,40]"
std::string shape_text(const Shape& shape);
// float32 values as the tensor's integers, rounded as the model's operators round.
std::vector<std::byte> quantize_for(const Model& model, const TensorView& tensor,
                                    std::span<const std::byte> floats);
// A tensor's name as a file name: characters outside [A-Za-z0-9._-] become "_", at most 200 of them.
std::string file_name_of(const std::string& tensor);

// Shows how far a stage has come and how long it will take, in one line on stderr.
std::function<void(std::string_view stage, double fraction)> progress_line();

}  // namespace runnel::apps
