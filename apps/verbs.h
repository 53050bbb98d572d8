// The verbs of the program. Each function adds the options of its verb, whose callback sets the exit code.
#pragma once

#include "apps/command_line.h"

namespace runnel::apps {

void add_run(Verb verb, int& exit_code);
void add_listen(Verb verb, int& exit_code);
void add_serve(Verb verb, int& exit_code);
void add_work(Verb verb, int& exit_code);
void add_send(Verb verb, int& exit_code);
void add_deploy(Verb verb, int& exit_code);
void add_fleet(Verb verb, int& exit_code);
void add_devices(Verb verb, int& exit_code);
void add_batch(Verb verb, int& exit_code);
void add_merge(Verb verb, int& exit_code);
void add_features(Verb verb, int& exit_code);
void add_score(Verb verb, int& exit_code);
void add_infer(Verb verb, int& exit_code);
void add_import(Verb verb, int& exit_code);
void add_export(Verb verb, int& exit_code);
void add_embed(Verb verb, int& exit_code);
void add_image(Verb verb, int& exit_code);
void add_sign(Verb verb, int& exit_code);
void add_quantize(Verb verb, int& exit_code);
void add_inspect(Verb verb, int& exit_code);
void add_models(Verb verb, int& exit_code);
void add_check(Verb verb, int& exit_code);
void add_bench(Verb verb, int& exit_code);
void add_profile(Verb verb, int& exit_code);
void add_npu(Verb verb, int& exit_code);

// Verbs about the program itself.
void add_config(Verb verb, const CommandLine& program, int& exit_code);
void add_manual(Verb verb, const CommandLine& program, int& exit_code);

// In the order of the help. Options are added only for the verb of the call.
struct VerbEntry {
  const char* door;  // heading in the overview; docs/README.md has the same doors
  const char* name;
  const char* help;
  const char* example;
  void (*add)(Verb verb, int& exit_code);
  void (*add_about)(Verb verb, const CommandLine& program, int& exit_code) = nullptr;  // instead of `add`
};
inline constexpr const char* kUse = "Use it";
inline constexpr const char* kBring = "Put a model in";
inline constexpr const char* kProgram = "About models and the program";
inline constexpr VerbEntry kVerbs[] = {
    {kUse, "listen", "Listen with a model: its decisions as JSON lines", "runnel listen digits --wav a.wav",
     add_listen},
    {kUse, "run", "Run a text graph, or a .rnlg file", "runnel run 'wav path=a.wav ! fbank ! npy path=a.npy'",
     add_run},
    {kUse, "batch", "A model over many recordings: events as JSON lines, in the order of the input",
     "runnel batch digits recordings/ -o out.jsonl --jobs 4", add_batch},
    {kUse, "merge", "Merge the outputs of all shards of a batch, checked to be complete",
     "runnel merge out-*.jsonl -o out.jsonl", add_merge},
    {kUse, "score", "Score the decisions of a run: accuracy, confusion, false accepts per hour",
     "runnel score out.jsonl --labels labels.csv --table", add_score},
    {kUse, "serve", "Serve many streams over TCP: samples in, decisions out as JSON lines (docs/serve.md)",
     "runnel serve digits --listen 127.0.0.1:7000", add_serve},
    {kUse, "work",
     "Share many streams with other workers over NATS: none is lost when one dies (docs/fleet.md)",
     "runnel work digits --nats nats://127.0.0.1:4222", add_work},
    {kUse, "send",
     "Send a microphone, recordings, a pipe or a sensor to the workers of a fleet: nothing is lost when the "
     "link is away (docs/fleet.md)",
     "runnel send nats://127.0.0.1:4222 --stream audio.hall.1 --wav a.wav", add_send},
    {kUse, "deploy",
     "Let another model hear the streams of a fleet, from one sample to the next (docs/fleet.md)",
     "runnel deploy better.rnl --streams 'audio.hall.>'", add_deploy},
    {kUse, "fleet", "Tell what runs where in a fleet, or what was heard in a stream (docs/fleet.md)",
     "runnel fleet status", add_fleet},
    {kUse, "devices", "List capture devices: names, rates, channels, formats", "runnel devices", add_devices},
    {kUse, "features", "Feature matrices of recordings, [frames, dims] as .npy or Kaldi archives",
     "runnel features a.wav -o a.npy --png a.png", add_features},
    {kUse, "infer",
     "Run a model on raw tensors (.npy, or .bin in the model's type and shape order) or recordings, which go "
     "through the model's front end",
     "runnel infer digits -i logmel=a.wav -o out", add_infer},
    {kBring, "import",
     "Convert a model of another tool (.espdl, .tflite, .pte, .onnx) or a microWakeWord manifest to a .rnl "
     "file",
     "runnel import alexa.json -o alexa.rnl", add_import},
    {kBring, "quantize",
     "Make an integer model from a float model with calibration data, and report its accuracy",
     "runnel quantize model.onnx --calib clips/ -o model.rnl", add_quantize},
    {kBring, "check", "Verify a model on this machine: self-test vectors, and streamed equal to whole",
     "runnel check model.rnl", add_check},
    {kBring, "inspect", "Print the static properties of a model file, a graph, or a node",
     "runnel inspect digits", add_inspect},
    {kBring, "profile", "Measure the time of a model per operator", "runnel profile digits --sort",
     add_profile},
    {kBring, "bench", "Measure the speed of a model on this machine", "runnel bench digits --sessions 8",
     add_bench},
    {kBring, "export", "Write an integer model with power-of-two scales as an .espdl file for ESP-DL",
     "runnel export model.rnl -o model.espdl --target esp32s3", add_export},
    {kBring, "embed", "Write a model and its graph as C++ source for firmware",
     "runnel embed digits -o firmware/digits", add_embed},
    {kBring, "image", "Images of models for partitions of flash: make, sign, verify, make keys",
     "runnel image verify digits.rnli --public-key maker.pub", add_image},
    {kBring, "sign", "Sign a model, so that --trust takes it; make keys (docs/signing.md)",
     "runnel sign digits.rnl --key maker.key", add_sign},
    {kBring, "npu", "Arm Ethos-U: compile models; list, validate, estimate and simulate compiled ones",
     "runnel npu compile model.tflite -o model.rnl", add_npu},
    {kProgram, "models", "List the models that have a name; fetch public ones",
     "runnel models get silero-vad", add_models},
    {kProgram, "config", "Show the settings: defaults of options from the environment and the settings file",
     "runnel config", nullptr, add_config},
    {kProgram, "manual", "Write the man pages, or the completion of a shell",
     "runnel manual bash > ~/.local/share/bash-completion/completions/runnel", nullptr, add_manual},
};

}  // namespace runnel::apps
