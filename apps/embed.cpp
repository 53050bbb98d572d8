// runnel embed: a model and its graph as C++ source for firmware.
#include "apps/call/progress.h"
#include "apps/support.h"
#include "apps/verbs.h"
#include "services/embed/embed_model.h"

namespace runnel::apps {
namespace {

struct EmbedCall {
  embedding::EmbedRequest request;
  std::size_t memory = 0, fast = 0;
  ModelFlags flags;
};

constexpr auto kMaxMemory = static_cast<std::size_t>(embedding::kMaxMemory);

Status run_embed(EmbedCall& call) {
  const Patience patience("embedding " + call.request.model);
  ModelFlags flags = call.flags;
  call.request.target = flags.target;
  flags.target.clear();
  RUNNEL_ASSIGN(const compiler::LoadOptions load, load_options(flags));
  call.request.memory = static_cast<std::int64_t>(call.memory);
  call.request.fast = static_cast<std::int64_t>(call.fast);
  call.request.say = say;
  return embedding::embed_model(call.request, load).status();
}

}  // namespace

void add_embed(Verb verb, int& exit_code) {
  auto call = std::make_shared<EmbedCall>();
  verb.positional("MODEL", call->request.model, kWholeModel).required();
  verb.option("-o,--output", call->request.output,
              "Folder to write: sources, header, and the files of the build system")
      .required();
  verb.option("--build-system", call->request.build_system,
              "What the folder is: a CMake library, a component of ESP-IDF, a module of Zephyr, a library of "
              "Arduino or of Mbed OS, a WebAssembly module (default: cmake)")
      .choices({"cmake", "esp-idf", "zephyr", "arduino", "mbed", "wasm"});
  verb.option("--name", call->request.name,
              "Name of the library and of runnel_NAME in C (default: the file's name)");
  verb.option("--front-end", call->request.front_end,
              "Graph text before the model (default: the model's own)");
  verb.option("--decision", call->request.decision, "Graph text after the model (default: the model's own)");
  verb.option("--sample-rate", call->request.sample_rate,
              "Sample rate in Hz (default: the model's, else 16000)")
      .positive()
      .default_str("");
  verb.option("--channels", call->request.channels, "Channels of the samples").range(1, 256);
  verb.option(
          "--samples", call->request.samples,
          "Type of the samples (default: int16 for one channel where the front end takes it, else float32)")
      .choices({"int16", "float32"});
  verb.option("--hop", call->request.hop, "Samples per block (default: the front end's hop)")
      .positive()
      .default_str("");
  verb.option("--events", call->request.events, "Capacity of the queue of decisions").range(1, 1000);
  verb.option("--memory", call->memory,
              "Bytes of memory as measured on the board (runnel_counters), instead of the bound")
      .range(std::size_t{0}, kMaxMemory, "BYTES")
      .default_str("");
  verb.option(
          "--fast", call->fast,
          "Bytes of a second tier of fast memory for scratch, tensors, state and weights (default: one tier)")
      .range(std::size_t{0}, kMaxMemory, "BYTES")
      .default_str("");
  verb.flag("--step", call->request.step,
            "Compile the model into constants and calls of the kernels that it uses: no model file is "
            "read on the device; for streaming models");
  verb.flag("--counters", call->request.counters,
            "Times by node and operator, marks of memory and stack, lateness, for runnel_measure() and "
            "runnel_tell()");
  verb.option("--cores", call->request.cores,
              "Split heavy operators for this many cores, which runnel_use_cores() gives to the program")
      .range(1, 8);
  verb.flag("--self-test", call->request.self_test, "Keep the model's test vectors, for runnel_self_test()");
  const Option partition = verb.flag(
      "--model-partition", call->request.in_partition,
      "Write a profile, whose model lies in a partition of flash, and the model's image (.rnli) beside "
      "it (docs/model-slots.md)");
  verb.option("--profile", call->request.profile,
              "Further models that the profile must take, separated by commas; each gets an image")
      .delimiter(',')
      .needs(partition);
  verb.option("--model-version", call->request.model_version, "Version of the images").needs(partition);
  verb.option("--key", call->request.key, "File of the key that signs the images (runnel image keys)")
      .needs(partition);
  verb.option("--runnel", call->request.runnel, "Source tree of runnel that the folder builds with");
  add_model_flags(verb, call->flags);
  verb.callback([call, &exit_code] {
    if (const Status status = run_embed(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
