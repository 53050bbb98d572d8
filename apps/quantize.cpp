// runnel quantize: makes an integer model from a float model and recordings.
#include <filesystem>
#include <system_error>

#include "apps/call/contained.h"
#include "apps/support.h"
#include "apps/verbs.h"
#include "services/quantize/quantize_model.h"

namespace runnel::apps {
namespace {

struct QuantizeCall {
  quantize::QuantizeRequest request;
  bool quiet = false;
  ModelFlags flags;
  Containment containment;
};

// Whether the input can be read and prepared within the limits of its size: in a child, so that what follows,
// whose length is that of the calibration data, cannot be surprised.
Status try_reading(const QuantizeCall& call, const compiler::LoadOptions& options) {
  if (!has_limits_of_its_own(call.request.input)) return {};
  return contained(call.containment, {.model = call.request.input, .opened = {}, .doing = {}}, options,
                   [&call](const compiler::LoadOptions& inside) -> Result<std::vector<std::byte>> {
                     const Status read = compiler::import_file(call.request.input, inside).status();
                     // Whatever else is wrong is judged with the sizes that the data say.
                     if (read.code() == Code::out_of_memory) return read;
                     return std::vector<std::byte>();
                   })
      .status();
}

// All of it within the limits of the call, and no others: they would be those of reading a model.
Status quantize_limited(const QuantizeCall& call, const compiler::LoadOptions& options) {
  Containment limits = call.containment;
  limits.max_memory = limits.max_memory.value_or(0);
  limits.max_seconds = limits.max_seconds.value_or(0);
  const Status status = contained(limits, {.model = call.request.input, .opened = {}, .doing = {}}, options,
                                  [&](const compiler::LoadOptions&) -> Result<std::vector<std::byte>> {
                                    RUNNEL_TRY(quantize::quantize_model(call.request, options).status());
                                    return std::vector<std::byte>();
                                  })
                            .status();
  if (status.ok()) return status;
  // A child that was ended while it wrote could not clean up.
  for (const std::string& file : {call.request.output, call.request.report, call.request.save_table}) {
    std::error_code none;
    if (!file.empty()) std::filesystem::remove(file + ".part", none);
  }
  return status;
}

Status run_quantize(QuantizeCall& call) {
  ModelFlags flags = call.flags;
  call.request.target = flags.target;
  flags.target.clear();
  RUNNEL_ASSIGN(const compiler::LoadOptions load, load_options(flags));
  call.request.say = say;
  if (!call.quiet) call.request.progress = progress_line();
  if (call.containment.limited()) return quantize_limited(call, load);
  RUNNEL_TRY(try_reading(call, load));
  return quantize::quantize_model(call.request, load).status();
}

// What single methods can be told, by the names that ESP-PPQ has for it.
void add_method_settings(Verb verb, quantize::QuantizeRequest& call) {
  const auto setting = [](Option option) { return option.group("Settings of methods"); };
  compiler::quantizer::TrainingSettings& tqt = call.training;
  setting(verb.option("--tqt-steps", tqt.steps, "tqt, blocks: steps of the training of each block"))
      .range(1, 1000000);
  setting(
      verb.option("--tqt-lr", tqt.lr,
                  "tqt, blocks: rate at the start; log2 of scales move by about this in a step, weights by "
                  "twice this share of an integer step"))
      .range(1e-9, 1.0);
  setting(verb.option("--tqt-block-size", tqt.block_size, "tqt, blocks: layers that are trained together"))
      .range(1, 1000);
  setting(verb.option("--tqt-int-lambda", tqt.int_lambda,
                      "tqt: weight of the distance of log2 scales from the middle between two exponents"))
      .range(0.0, 1e9);
  setting(verb.option("--tqt-gamma", tqt.gamma,
                      "tqt, blocks: weight of the difference between quantized and float weights"))
      .range(0.0, 1e9);
  setting(verb.option("--tqt-is-scale-trainable", call.trainable, "tqt: scales are trained, too"))
      .choices({"true", "false"});
  setting(verb.option("--tqt-interested-layers", tqt.interested_layers,
                      "tqt, blocks: layers whose weights are trained, by name: A,B (default: all)"))
      .delimiter(',')
      .default_str("");
  compiler::quantizer::EqualizationSettings& equalize = call.equalization;
  setting(verb.option("--equalization-iterations", equalize.iterations,
                      "equalize: times that all layers are visited; ends where nothing changes"))
      .range(1, 1000);
  setting(verb.option("--equalization-value-threshold", equalize.value_threshold,
                      "equalize: channels whose largest weights before and after add up to less stay"))
      .range(0.0, 1e9);
  setting(verb.option("--equalization-opt-level", equalize.opt_level,
                      "equalize: 1, factors pass activations and pools; 2, sums and differences, too"))
      .choices({1, 2});
  setting(verb.option("--equalization-interested-layers", equalize.interested_layers,
                      "equalize: only factors next to these layers move, by name: A,B (default: all)"))
      .delimiter(',')
      .default_str("");
}

}  // namespace

void add_quantize(Verb verb, int& exit_code) {
  auto call = std::make_shared<QuantizeCall>();
  verb.positional("INPUT", call->request.input, "Float model (.onnx, .pte, .tflite)").required();
  verb.option("--calib", call->request.calib,
              "Calibration data: files or folders of recordings (with --front-end), .npy, .csv, .bin or "
              ".f32 (raw float32); NAME=PATH for models with several inputs")
      .default_str("");
  verb.option("--columns", call->request.columns,
              "Columns of .csv files that are data, by the names of the first line (or counted from 1): "
              "ax,ay,... (default: all)")
      .delimiter(',')
      .default_str("");
  verb.option(
          "--rows", call->request.rows,
          "What a line of a .csv file holds: frame, all channels at one time; channel, one channel at all "
          "times of a clip; clip, all values in the layout of the input; auto, what the number of columns "
          "fits")
      .choices({"auto", "frame", "channel", "clip"});
  verb.option(
      "--table", call->request.table,
      "Calibration table of an earlier run, instead of --calib: makes the same model without the recordings");
  verb.option("--save-table", call->request.save_table, "Write the decisions as a calibration table");
  verb.option("-o,--output", call->request.output,
              "The file to write: .rnl, or .espdl for ESP-DL (targets esp32, esp32s3, esp32p4)")
      .required();
  verb.option("--chunk", call->request.chunk,
              "Frames per call of an .espdl file: writes the streaming form with StreamingCache nodes "
              "(default: whole clips)")
      .range(1, 1 << 20)
      .default_str("");
  verb.option("--warm-up", call->request.warm_up,
              "Streaming form: frames at the start of an output that may differ from the whole recording's, "
              "where layers inside the network pad (default: such networks are refused)")
      .non_negative()
      .default_str("");
  verb.option("--bits", call->request.bits, "Width of the integers").choices({8, 16});
  verb.option("--scheme", call->request.scheme,
              "pow2: scales are powers of two, shifts only; affine: any scale, with zero points")
      .choices({"pow2", "affine"});
  add_model_flags(verb, call->flags);
  add_limits(verb, call->containment);
  verb.find("--target")
      .description(
          "Whose arithmetic: generic, esp32 (c), esp32s3, esp32p4, ethos-u or an accelerator such as "
          "ethos-u55-128 (default: generic)");
  verb.remove("--member");
  verb.option("--front-end,--frontend", call->request.front_end.text,
              "Graph text from samples to the model's input, e.g. \"fbank preset=kaldi "
              "num_mel_bins=40\": used on recordings and stored in the model with every parameter");
  verb.option("--sample-rate", call->request.front_end.sample_rate,
              "Sample rate in Hz of the sound (default: the front end's)");
  verb.option("--state", call->request.states,
              "OUTPUT=INPUT: state that goes from run to run, zeros at the start; the clips are then "
              "consecutive steps")
      .default_str("");
  verb.option("--window", call->request.usage.window,
              "Frames per run of a model for windows of a stream, without state between runs; a clip of the "
              "calibration is a window (default: as in the file)")
      .default_str("");
  verb.option("--hop", call->request.usage.hop, "Frames from one window to the next (default: the window)")
      .default_str("");
  verb.option("--layout", call->request.layout,
              "Layout of inputs and outputs: source, as in the .onnx file; frames-first, [1, T, C] where the "
              "file has [1, C, T], so that streams need no transposition")
      .choices({"source", "frames-first"});
  verb.option("--decision", call->request.decision,
              "Graph text after the model, stored in it, e.g. \"detect threshold=0.6\"");
  verb.option("--classes", call->request.class_labels,
              "File with the names of the output's channels, one per line, stored in the model");
  verb.option("--name", call->request.name, "Name of the model (default: the one in the file)");
  verb.option("--calibration", call->request.calibration,
              "How ranges follow from the data, before the search")
      .choices({"minmax", "percentile", "kl", "mse"});
  const Option with =
      verb.option(
              "--with", call->request.with,
              "Methods to try besides the usual ones (equalize, round, bias, search, sums): split, blocks, "
              "tqt, or all, separated by commas. Each is used where the error on clips held back does not "
              "get worse")
          .delimiter(',')
          .default_str("");
  const Option without =
      verb.option("--without", call->request.without, "Methods not to use, separated by commas")
          .delimiter(',')
          .default_str("");
  verb.option("--methods", call->request.methods,
              "Exactly these methods, separated by commas, or none; nothing is chosen")
      .delimiter(',')
      .excludes(with)
      .excludes(without)
      .default_str("");
  verb.option("--bits-of", call->request.types,
              "NODE=8, NODE=16 or NODE=float for a single operator; may be repeated")
      .default_str("");
  verb.option("--scale-of", call->request.scales,
              "NODE=2^-5: the scale of the result of a single operator, which nothing changes (power-of-two "
              "scales); may be repeated (default: chosen)")
      .default_str("");
  add_method_settings(verb, call->request);
  verb.option("--max-error", call->request.max_error,
              "Largest noise-to-signal ratio of the outputs: operators become int16, and float where that is "
              "not enough, until it is met (0: none)")
      .range(0.0, 1e9);
  verb.option("--budget", call->request.budget,
              "Largest share of the multiply-adds that may become int16 or float for that (0: all)")
      .range(0.0, 1.0);
  verb.option("--clips", call->request.clips,
              "Most clips for searching and rounding; ranges are computed from all")
      .range(1, 1 << 20);
  verb.option("--report", call->request.report, "Write the measurements of every operator as JSON");
  const Option eval =
      verb.option("--eval", call->request.eval, "Labelled data, as --calib, for measuring the accuracy")
          .default_str("");
  const Option labels = verb.option(
      "--labels", call->request.labels,
      "Classes of the --eval clips, in order: .csv with a column label_id, .i32, or one number per line");
  eval.needs(labels);
  verb.option("--seed", call->request.seed,
              "Seed of the order in which blocks and tqt see the clips, and of the self-test's input without "
              "a recording (--table)");
  verb.option("--threads", call->request.threads, "Threads; the result is the same for any number")
      .range(1, 32);
  verb.flag("--quiet", call->quiet, "No progress on stderr");
  verb.callback([call, &exit_code] {
    if (call->request.calib.empty() == call->request.table.empty())
      exit_code = refuse(Status(Code::invalid_argument, "expected --calib DATA or --table FILE"));
    else if (const Status status = run_quantize(*call); !status.ok())
      exit_code = fail(status);
  });
}

}  // namespace runnel::apps
