// runnel quantize: makes an integer model from a float model and recordings.
#include "apps/support.h"
#include "apps/verbs.h"
#include "services/quantize/quantize_model.h"

namespace runnel::apps {
namespace {

struct QuantizeCall {
  quantize::QuantizeRequest request;
  bool quiet = false;
  ModelFlags flags;
};

Status run_quantize(QuantizeCall& call) {
  ModelFlags flags = call.flags;
  call.request.target = flags.target;
  flags.target.clear();
  RUNNEL_ASSIGN(const compiler::LoadOptions load, load_options(flags));
  call.request.say = say;
  if (!call.quiet) call.request.progress = progress_line();
  return quantize::quantize_model(call.request, load).status();
}

}  // namespace

void add_quantize(Verb verb, int& exit_code) {
  auto call = std::make_shared<QuantizeCall>();
  verb.positional("INPUT", call->request.input, "Float model (.onnx, .pte)").required();
  verb.option("--calib", call->request.calib,
              "Calibration data: files or folders of recordings (with --front-end), .npy, .csv, .bin or "
              ".f32 (raw float32); NAME=PATH for models with several inputs")
      .default_str("");
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
  verb.option("--bits", call->request.bits, "Width of the integers").choices({8, 16});
  verb.option("--scheme", call->request.scheme,
              "pow2: scales are powers of two, shifts only; affine: any scale, with zero points")
      .choices({"pow2", "affine"});
  add_model_flags(verb, call->flags);
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
              "tqt, or all. Each is used where the error on clips held back does not get worse")
          .default_str("");
  const Option without =
      verb.option("--without", call->request.without, "Methods not to use").default_str("");
  verb.option("--methods", call->request.methods,
              "Exactly these methods, separated by commas, or none; nothing is chosen")
      .delimiter(',')
      .excludes(with)
      .excludes(without)
      .default_str("");
  verb.option("--bits-of", call->request.types,
              "NODE=8, NODE=16 or NODE=float for a single operator; may be repeated")
      .default_str("");
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
    if (const Status status = run_quantize(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
