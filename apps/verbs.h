// The verbs of the program. Each function adds the options of its verb, whose callback sets the exit code.
#pragma once

#include "apps/command_line.h"

namespace runnel::apps {

void add_run(Verb verb, int& exit_code);
void add_listen(Verb verb, int& exit_code);
void add_serve(Verb verb, int& exit_code);
void add_devices(Verb verb, int& exit_code);
void add_batch(Verb verb, int& exit_code);
void add_merge(Verb verb, int& exit_code);
void add_features(Verb verb, int& exit_code);
void add_score(Verb verb, int& exit_code);
void add_infer(Verb verb, int& exit_code);
void add_import(Verb verb, int& exit_code);
void add_export(Verb verb, int& exit_code);
void add_embed(Verb verb, int& exit_code);
void add_quantize(Verb verb, int& exit_code);
void add_inspect(Verb verb, int& exit_code);
void add_models(Verb verb, int& exit_code);
void add_check(Verb verb, int& exit_code);
void add_bench(Verb verb, int& exit_code);
void add_profile(Verb verb, int& exit_code);
void add_npu(Verb verb, int& exit_code);

// In the order of the help. Options are added only for the verb of the call.
struct VerbEntry {
  const char* name;
  const char* help;
  void (*add)(Verb verb, int& exit_code);
};
inline constexpr VerbEntry kVerbs[] = {
    {"run", "Run a text graph, e.g. \"wav path=a.wav ! fbank ! npy path=a.npy\", or a .rnlg file", add_run},
    {"listen", "Listen with a model: its decisions as JSON lines", add_listen},
    {"serve", "Serve many streams over TCP: samples in, decisions out as JSON lines (docs/serve.md)",
     add_serve},
    {"devices", "List capture devices: names, rates, channels, formats", add_devices},
    {"batch", "A model over many recordings: events as JSON lines, in the order of the input", add_batch},
    {"merge", "Merge the outputs of all shards of a batch, checked to be complete", add_merge},
    {"features", "Feature matrices of recordings, [frames, dims] as .npy or Kaldi archives", add_features},
    {"score", "Score the decisions of a run: accuracy, confusion, false accepts per hour", add_score},
    {"infer",
     "Run a model on raw tensors (.npy, or .bin in the model's type and shape order) or recordings, which go "
     "through the model's front end",
     add_infer},
    {"import",
     "Convert a model of another tool (.espdl, .tflite, .pte, .onnx) or a microWakeWord manifest to a .rnl "
     "file",
     add_import},
    {"export", "Write an integer model with power-of-two scales as an .espdl file for ESP-DL", add_export},
    {"embed", "Write a model and its graph as C++ source for firmware", add_embed},
    {"quantize", "Make an integer model from a float model with calibration data, and report its accuracy",
     add_quantize},
    {"inspect", "Print the static properties of a model file, a graph, or a node", add_inspect},
    {"models", "List the models that have a name, with their labels, licence and size", add_models},
    {"check", "Verify a model on this machine: self-test vectors, and streamed equal to whole", add_check},
    {"bench", "Measure the speed of a model on this machine", add_bench},
    {"profile", "Measure the time of a model per operator", add_profile},
    {"npu", "Arm Ethos-U: compile models; list, validate, estimate and simulate compiled ones", add_npu},
};

}  // namespace runnel::apps
