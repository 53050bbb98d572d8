// runnel quantize: makes an integer model from a float model and recordings.
#include "compiler/quantize/quantize.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/espdl_output.h"
#include "apps/support.h"
#include "apps/verbs.h"
#include "base/host/output_file.h"
#include "base/host/output_name.h"
#include "compiler/espdl/target.h"
#include "compiler/import/usage.h"
#include "compiler/passes/frames_first.h"
#include "compiler/quantize/calibrate/calibration_table.h"
#include "compiler/quantize/choose/evaluate.h"
#include "compiler/quantize/integer_form.h"
#include "compiler/quantize/report.h"
#include "pipeline/host/text.h"
#include "services/calibrate/calibrated_model.h"
#include "services/calibrate/model_front_end.h"

namespace runnel::apps {

using calibrate::CalibratedModel;
using calibrate::FrontEndFlags;
using calibrate::load_calibrated;
using calibrate::open_clips;
using calibrate::read_label_names;
using calibrate::store_front_end;
using calibrate::store_labels;
namespace {

namespace quantizer = compiler::quantizer;

struct QuantizeCall {
  std::string input, output, report, scheme = "pow2", calibration = "mse", labels, name, decision,
                                     class_labels, table, save_table, layout = "source", rows = "auto";
  std::vector<std::string> calib, columns, eval, types, methods, with, without, states;
  int bits = 8, threads = 2, chunk = 0;
  std::int64_t warm_up = -1;
  std::size_t clips = 128;
  std::uint32_t seed = 1;
  double max_error = 0, budget = 0;
  quantizer::TrainingSettings training;
  quantizer::EqualizationSettings equalization;
  std::vector<std::string> scales;
  std::string trainable = "true";
  bool quiet = false;
  FrontEndFlags front_end;
  compiler::UsageOptions usage;
  ModelFlags flags;
};

Result<DType> type_of(std::string_view text) {
  if (text == "8") return DType::int8;
  if (text == "16") return DType::int16;
  if (text == "32" || text == "float") return DType::float32;
  return Status(Code::invalid_argument) << "\"" << text << "\" bits, expected 8, 16 or float";
}

// "NODE=2^-5" or "NODE=0.03125".
Status state_scale(const std::string& text, quantizer::Options& options) {
  const std::size_t at = text.rfind('=');
  const std::string number = at == std::string::npos ? "" : text.substr(at + 1);
  char* end = nullptr;
  int exponent = 0;
  bool good = at != std::string::npos && at > 0 && !number.empty();
  if (good && number.starts_with("2^")) {
    const long value = std::strtol(number.c_str() + 2, &end, 10);
    good = end != number.c_str() + 2 && *end == '\0' && value > -1000 && value < 1000;
    exponent = static_cast<int>(value);
  } else if (good) {
    const double value = std::strtod(number.c_str(), &end);
    good = *end == '\0' && std::isfinite(value) && value > 0 && std::frexp(value, &exponent) == 0.5;
    --exponent;
  }
  if (!good)
    return Status(Code::invalid_argument)
           << "--scale-of \"" << text << "\", expected NODE=2^-5, or a power of two as a number";
  if (!options.exponents.emplace(text.substr(0, at), exponent).second)
    return Status(Code::invalid_argument) << "--scale-of for \"" << text.substr(0, at) << "\" more than once";
  return {};
}

Result<quantizer::Options> options_of(const QuantizeCall& call) {
  quantizer::Options options;
  RUNNEL_ASSIGN(options.target,
                quantizer::target_rules(call.flags.target.empty() ? "generic" : call.flags.target));
  RUNNEL_ASSIGN(options.type, type_of(std::to_string(call.bits)));
  RUNNEL_ASSIGN(options.calibration, quantizer::calibration_named(call.calibration));
  options.scheme = call.scheme == "affine" ? quantizer::Scheme::affine : quantizer::Scheme::pow2;
  if (options.scheme == quantizer::Scheme::affine && options.target.esp_dl) {
    return Status(Code::invalid_argument)
           << "--scheme affine for target " << options.target.name
           << ", which has shifts only; expected --scheme pow2 or --target generic";
  }
  if (options.target.int8_weights && options.type == DType::int16)
    return Status(Code::invalid_argument) << "--bits 16 for target " << options.target.name
                                          << ", which has no weights of 16 bits; expected --bits 8";
  for (const std::string& text : call.types) {
    const std::size_t at = text.rfind('=');
    if (at == std::string::npos || at == 0)
      return Status(Code::invalid_argument)
             << "--bits-of \"" << text << "\", expected NODE=8, NODE=16 or NODE=float";
    RUNNEL_ASSIGN(const DType type, type_of(std::string_view(text).substr(at + 1)));
    if (!options.types.emplace(text.substr(0, at), type).second)
      return Status(Code::invalid_argument)
             << "--bits-of for \"" << text.substr(0, at) << "\" more than once";
  }
  for (const std::string& text : call.scales) RUNNEL_TRY(state_scale(text, options));
  options.training = call.training;
  options.training.is_scale_trainable = call.trainable == "true";
  options.equalization = call.equalization;
  if (!call.methods.empty()) {
    RUNNEL_ASSIGN(options.methods,
                  quantizer::methods_named(fmt::format("{}", fmt::join(call.methods, ", "))));
  }
  for (const std::string& name : call.with) {
    if (name == "all")
      options.offered.split = options.offered.blocks = options.offered.tqt = true;
    else
      RUNNEL_TRY(quantizer::set_method(options.offered, name, true));
  }
  for (const std::string& name : call.without)
    RUNNEL_TRY(quantizer::set_method(options.offered, name, false));
  options.max_error = call.max_error;
  options.budget = call.budget;
  options.most_clips = call.clips;
  options.seed = call.seed;
  options.threads = call.threads;
  if (!call.quiet) options.progress = progress_line();
  return options;
}

nlohmann::ordered_json json_of(const quantizer::Quantized& quantized, const quantizer::Report& report,
                               const std::optional<quantizer::Accuracy>& accuracy) {
  nlohmann::ordered_json json;
  json["methods"] = quantizer::names_of(quantized.methods);
  for (const quantizer::Trial& trial : quantized.trials)
    json["trials"].push_back(
        {{"methods", quantizer::names_of(trial.methods)}, {"held_back_error", trial.error}});
  json["clips"] = report.clips;
  for (const quantizer::OutputReport& output : report.outputs)
    json["outputs"].push_back(
        {{"name", output.name}, {"noise_to_signal", output.ratio}, {"largest_difference", output.largest}});
  for (const quantizer::OperatorReport& entry : report.operators) {
    json["operators"].push_back({{"name", entry.name},
                                 {"kind", entry.code},
                                 {"type", std::string(runnel::name_of(entry.type))},
                                 {"alone", entry.alone},
                                 {"accumulated", entry.accumulated},
                                 {"saturated", entry.saturated},
                                 {"multiply_adds", entry.products}});
  }
  if (accuracy) {
    json["evaluation"] = {{"clips", accuracy->clips},
                          {"float_correct", accuracy->real_correct},
                          {"quantized_correct", accuracy->correct},
                          {"same_decision", accuracy->same},
                          {"noise_to_signal", accuracy->noise},
                          {"classes", accuracy->classes}};
    if (accuracy->streamed_correct) json["evaluation"]["streamed_correct"] = *accuracy->streamed_correct;
  }
  return json;
}

bool is_espdl(const std::string& path) { return std::filesystem::path(path).extension() == ".espdl"; }

// Checks a file that will be written at the end, possibly hours later.
Status check_place(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored))
    return Status(Code::not_found) << path << ": there is no folder " << folder.string();
  if (std::filesystem::is_directory(path, ignored))
    return Status(Code::invalid_argument) << path << ": a folder, expected a file to write";
  return {};
}

// A quantized model and its origin.
struct Made {
  quantizer::Quantized quantized;
  quantizer::Options options;
  std::unique_ptr<quantizer::Clips> clips;  // null: from a table
  quantizer::Clip self_test;                // input of the model's self-test
};

Result<compiler::UsageOptions> usage_of(const QuantizeCall& call) {
  compiler::UsageOptions usage = call.usage;
  for (const std::string& text : call.states) {
    const std::size_t at = text.find('=');
    if (at == std::string::npos)
      return Status(Code::invalid_argument) << "--state \"" << text << "\", expected OUTPUT=INPUT";
    usage.states.emplace_back(text.substr(0, at), text.substr(at + 1));
  }
  return usage;
}

// Reports what prevents the requested stream before minutes of work: the float model is streamed under the
// same conditions as the integer model made from it.
Status check_stream(const QuantizeCall& call, const compiler::Graph& graph,
                    const compiler::StreamOptions& stream) {
  if (!stream.given() || is_espdl(call.output)) return {};
  compiler::Graph copy = graph;
  compiler::WriteOptions write;
  write.stream = stream;
  write.stream.contexts.clear();  // of tensors that may not exist yet
  write.blocks.clear();
  if (const auto written = compiler::write_for_use(copy, write); !written.ok())
    return written.status().at(call.input);
  return {};
}

// Files for ESP-DL keep its operators.
Status take_form(const QuantizeCall& call, const quantizer::TargetRules& target, compiler::LoadOptions& load,
                 compiler::Graph& graph) {
  if (is_espdl(call.output)) return {};
  const auto notes = quantizer::take_integer_form(target, load.stream, graph);
  if (!notes.ok()) return notes.status().at(call.input);
  for (const std::string& note : *notes) say(call.input + ": " + note);
  return {};
}

Result<Made> from_recordings(const QuantizeCall& call, compiler::LoadOptions& load) {
  Made made;
  RUNNEL_ASSIGN(made.options, options_of(call));
  RUNNEL_ASSIGN(const compiler::UsageOptions usage, usage_of(call));
  RUNNEL_ASSIGN(CalibratedModel loaded, load_calibrated(call.input, call.calib, call.front_end, usage, load));
  for (const std::string& note : loaded.notes) say(call.input + ": " + note);
  RUNNEL_TRY(take_form(call, made.options.target, load, loaded.graph));
  RUNNEL_TRY(check_stream(call, loaded.graph, load.stream));
  auto quantized = quantizer::quantize(loaded.graph, *loaded.clips, made.options);
  if (!quantized.ok()) return quantized.status().at(call.input);
  made.quantized = std::move(*quantized);
  if (!call.save_table.empty()) {
    RUNNEL_ASSIGN(const std::string text, quantizer::table_text(loaded.graph, made.quantized, made.options,
                                                                call.front_end.text, loaded.clips->size()));
    RUNNEL_TRY(write_file(call.save_table, std::as_bytes(std::span(text.data(), text.size()))));
  }
  made.clips = std::move(loaded.clips);
  RUNNEL_TRY(made.clips->read(made.quantized.clips[0], made.self_test));
  return made;
}

// Repeats the decisions of an earlier calibration, without recordings.
Result<Made> from_table(QuantizeCall& call, compiler::LoadOptions& load) {
  RUNNEL_ASSIGN(const std::vector<std::byte> bytes, read_whole_file(call.table));
  const auto table =
      quantizer::CalibrationTable::from_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!table.ok()) return table.status().at(call.table);
  if (!call.front_end.text.empty() && call.front_end.text != table->front_end()) {
    return Status(Code::mismatch) << call.table << ": calibrated with the front end \"" << table->front_end()
                                  << "\", found \"" << call.front_end.text << "\"";
  }
  call.front_end.text = table->front_end();
  for (const auto& shape : table->shapes()) load.onnx.data_shapes[shape.first] = shape.second;
  RUNNEL_ASSIGN(compiler::ImportedGraph imported, compiler::import_file(call.input, load));
  RUNNEL_ASSIGN(const compiler::UsageOptions usage, usage_of(call));
  RUNNEL_TRY(compiler::apply_usage(usage, imported.graph));
  for (const std::string& note : imported.notes) say(call.input + ": " + note);
  Made made;
  made.options = table->options();
  RUNNEL_TRY(take_form(call, made.options.target, load, imported.graph));
  RUNNEL_TRY(check_stream(call, imported.graph, load.stream));
  auto quantized = table->quantize(imported.graph);
  if (!quantized.ok()) return quantized.status().at(call.table);
  made.quantized = std::move(*quantized);
  made.self_test = quantizer::noise_clip(made.quantized, call.seed);
  return made;
}

// The operators and the errors of the outputs, as text and as JSON.
Status print_results(const QuantizeCall& call, const Made& made,
                     const std::optional<quantizer::Accuracy>& accuracy) {
  const quantizer::Quantized& quantized = made.quantized;
  if (made.clips) {
    const std::vector<std::size_t> few = quantizer::some_of(quantized.clips, 32);
    RUNNEL_ASSIGN(const quantizer::Report report,
                  quantizer::report_on(quantized, *made.clips, few, made.options));
    if (made.options.progress) made.options.progress("", 1);
    if (!call.report.empty()) {
      const std::string text = json_of(quantized, report, accuracy).dump(1) + "\n";
      RUNNEL_TRY(write_file(call.report, std::as_bytes(std::span(text.data(), text.size()))));
    }
    for (const quantizer::Trial& trial : quantized.trials)
      say(fmt::format("methods {}: noise to signal {:.3g} on clips held back",
                      quantizer::names_of(trial.methods), trial.error));
    say("methods used: " + quantizer::names_of(quantized.methods));
    std::istringstream table(quantizer::make_function_table(report));
    for (std::string line; std::getline(table, line);) say(line);
  } else {
    say(fmt::format("{}: methods {}, noise to signal {:.3g} when it was calibrated", call.table,
                    quantizer::names_of(quantized.methods), quantized.error));
  }
  if (accuracy) {
    say(
        fmt::format("evaluation: {} clips, correct: float {}, quantized {}{}; same decision {}; noise to "
                    "signal {:.3g}; decided among {} classes",
                    accuracy->clips, accuracy->real_correct, accuracy->correct,
                    accuracy->streamed_correct ? fmt::format(", streamed {}", *accuracy->streamed_correct)
                                               : std::string(),
                    accuracy->same, accuracy->noise, accuracy->classes));
  }
  return {};
}

Result<std::vector<std::byte>> model_bytes(const QuantizeCall& call, Made& made,
                                           const compiler::LoadOptions& load) {
  compiler::Graph& graph = made.quantized.graph;
  if (is_espdl(call.output)) {
    compiler::EspdlWriteOptions write;
    write.target = compiler::espdl_source::target_named(made.options.target.name);
    write.chunk = call.chunk;
    write.warm_up = call.warm_up;
    write.seed = call.seed;
    return espdl_bytes(graph, write, call.output);
  }
  compiler::WriteOptions write;
  write.stream = load.stream;
  auto written = compiler::write_for_use(graph, write);
  if (!written.ok()) return written.status().at(call.input);
  for (const std::string& note : written->notes) say(call.input + ": " + note);
  for (const std::string& refusal : written->refusals) say(call.input + ": cannot be streamed: " + refusal);
  say(fmt::format("{}: {} operators, {} bytes", call.output, graph.nodes.size(), written->bytes.size()));
  return std::move(written->bytes);
}

quantizer::TableRow row_named(std::string_view name) {
  if (name == "frame") return quantizer::TableRow::frame;
  if (name == "channel") return quantizer::TableRow::channel;
  return name == "clip" ? quantizer::TableRow::clip : quantizer::TableRow::automatic;
}

// Checks that need no computation.
Status check_call(const QuantizeCall& call) {
  if (call.calib.empty() == call.table.empty())
    return Status(Code::invalid_argument, "expected --calib DATA or --table FILE");
  if (!call.table.empty() && !(call.report.empty() && call.save_table.empty()))
    return Status(Code::invalid_argument, "--report and --save-table need --calib DATA");
  if (call.chunk > 0 && !is_espdl(call.output))
    return Status(Code::invalid_argument)
           << "--chunk for " << call.output
           << ", expected an .espdl file; .rnl files are streamed in chunks of any size";
  if (call.warm_up >= 0 && call.chunk == 0)
    return Status(Code::invalid_argument, "--warm-up belongs to the streaming form: expected --chunk, too");
  for (const std::string* path : {&call.output, &call.report, &call.save_table}) {
    if (!path->empty()) RUNNEL_TRY(check_place(*path));
  }
  RUNNEL_TRY(check_output_name(call.output, {".rnl", ".espdl"}));
  RUNNEL_TRY(check_output_name(call.report, {".json"}));
  RUNNEL_TRY(check_output_name(call.save_table, {".json"}));
  if (!call.decision.empty()) RUNNEL_TRY(pipeline::parse_graph(call.decision).status());
  if (!std::isfinite(call.max_error) || !std::isfinite(call.budget))
    return Status(Code::invalid_argument, "--max-error and --budget: expected finite numbers");
  if (!is_espdl(call.output) || !call.table.empty()) return {};
  RUNNEL_ASSIGN(const quantizer::TargetRules target,
                quantizer::target_rules(call.flags.target.empty() ? "generic" : call.flags.target));
  if (!target.esp_dl)
    return Status(Code::invalid_argument) << "target " << target.name << " for " << call.output
                                          << ", expected --target esp32 (c), esp32s3 or esp32p4";
  return {};
}

Status run_quantize(QuantizeCall call) {
  RUNNEL_TRY(check_call(call));
  ModelFlags flags = call.flags;
  flags.target.clear();
  RUNNEL_ASSIGN(compiler::LoadOptions load, load_options(flags));
  call.front_end.tables = {call.columns, row_named(call.rows), load.stream.time_axis.value_or(-1)};
  // Small files first, so that mistakes in them are reported early.
  std::vector<int> labels;
  std::vector<std::string> class_names;
  if (!call.eval.empty()) {
    RUNNEL_ASSIGN(labels, quantizer::read_labels(call.labels));
  }
  if (!call.class_labels.empty()) {
    RUNNEL_ASSIGN(class_names, read_label_names(call.class_labels));
  }
  Made made;
  if (call.table.empty()) {
    RUNNEL_ASSIGN(made, from_recordings(call, load));
  } else {
    RUNNEL_ASSIGN(made, from_table(call, load));
  }
  for (const std::string& note : made.quantized.notes) say(call.input + ": " + note);
  const std::string real = quantizer::real_operators(made.quantized);
  if (!real.empty()) say(call.input + ": operators that stay float: " + real);

  std::optional<quantizer::Accuracy> accuracy;
  compiler::Graph& graph = made.quantized.graph;
  if (!call.eval.empty()) {
    std::vector<std::string> notes;
    RUNNEL_ASSIGN(const auto clips, open_clips(call.eval, call.front_end, made.quantized.real, &notes));
    for (const std::string& note : notes) say(note);
    RUNNEL_ASSIGN(accuracy, quantizer::evaluate(made.quantized.real, graph, *clips, labels, call.threads,
                                                class_names.size()));
  }
  if (!call.name.empty()) graph.name = call.name;
  graph.metadata.emplace_back("quantize.target", std::string(made.options.target.name));
  graph.metadata.emplace_back("quantize.methods", quantizer::names_of(made.quantized.methods));
  if (!call.front_end.text.empty())
    RUNNEL_TRY(store_front_end(call.front_end.text, call.front_end.sample_rate, graph));
  if (!call.decision.empty()) graph.pipeline.decision = call.decision;
  if (!class_names.empty()) RUNNEL_TRY(store_labels(call.class_labels, std::move(class_names), graph));
  RUNNEL_TRY(quantizer::add_vectors(made.self_test, graph));
  if (made.options.progress) made.options.progress("", 1);
  RUNNEL_TRY(print_results(call, made, accuracy));
  // After all measurements: the data has the layout of the file.
  if (call.layout == "frames-first") {
    // --time-axis refers to the layout of the file.
    if (load.stream.time_axis) graph.time_axes.assign(graph.inputs.size(), *load.stream.time_axis);
    load.stream.time_axis.reset();
    for (const std::string& name : compiler::put_frames_first(graph))
      say(call.output + ": \"" + name + "\" has frames before channels");
  }
  RUNNEL_ASSIGN(const std::vector<std::byte> bytes, model_bytes(call, made, load));
  return write_file(call.output, bytes);
}

}  // namespace

namespace {

// What single methods can be told, by the names that ESP-PPQ has for it.
void add_method_settings(Verb verb, QuantizeCall& call) {
  const auto setting = [](Option option) { return option.group("Settings of methods"); };
  quantizer::TrainingSettings& tqt = call.training;
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
  quantizer::EqualizationSettings& equalize = call.equalization;
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
  verb.positional("INPUT", call->input, "Float model (.onnx, .pte, .tflite)").required();
  verb.option("--calib", call->calib,
              "Calibration data: files or folders of recordings (with --front-end), .npy, .csv, .bin or "
              ".f32 (raw float32); NAME=PATH for models with several inputs")
      .default_str("");
  verb.option("--columns", call->columns,
              "Columns of .csv files that are data, by the names of the first line (or counted from 1): "
              "ax,ay,... (default: all)")
      .delimiter(',')
      .default_str("");
  verb.option(
          "--rows", call->rows,
          "What a line of a .csv file holds: frame, all channels at one time; channel, one channel at all "
          "times of a clip; clip, all values in the layout of the input; auto, what the number of columns "
          "fits")
      .choices({"auto", "frame", "channel", "clip"});
  verb.option(
      "--table", call->table,
      "Calibration table of an earlier run, instead of --calib: makes the same model without the recordings");
  verb.option("--save-table", call->save_table, "Write the decisions as a calibration table");
  verb.option("-o,--output", call->output,
              "The file to write: .rnl, or .espdl for ESP-DL (targets esp32, esp32s3, esp32p4)")
      .required();
  verb.option("--chunk", call->chunk,
              "Frames per call of an .espdl file: writes the streaming form with StreamingCache nodes "
              "(default: whole clips)")
      .range(1, 1 << 20)
      .default_str("");
  verb.option("--warm-up", call->warm_up,
              "Streaming form: frames at the start of an output that may differ from the whole recording's, "
              "where layers inside the network pad (default: such networks are refused)")
      .non_negative()
      .default_str("");
  verb.option("--bits", call->bits, "Width of the integers").choices({8, 16});
  verb.option("--scheme", call->scheme,
              "pow2: scales are powers of two, shifts only; affine: any scale, with zero points")
      .choices({"pow2", "affine"});
  add_model_flags(verb, call->flags);
  verb.find("--target")
      .description(
          "Whose arithmetic: generic, esp32 (c), esp32s3, esp32p4, ethos-u or an accelerator such as "
          "ethos-u55-128 (default: generic)");
  verb.remove("--member");
  verb.option("--front-end,--frontend", call->front_end.text,
              "Graph text from samples to the model's input, e.g. \"fbank preset=kaldi "
              "num_mel_bins=40\": used on recordings and stored in the model with every parameter");
  verb.option("--sample-rate", call->front_end.sample_rate,
              "Sample rate in Hz of the sound (default: the front end's)");
  verb.option("--state", call->states,
              "OUTPUT=INPUT: state that goes from run to run, zeros at the start; the clips are then "
              "consecutive steps")
      .default_str("");
  verb.option("--window", call->usage.window,
              "Frames per run of a model for windows of a stream, without state between runs; a clip of the "
              "calibration is a window (default: as in the file)")
      .default_str("");
  verb.option("--hop", call->usage.hop, "Frames from one window to the next (default: the window)")
      .default_str("");
  verb.option("--layout", call->layout,
              "Layout of inputs and outputs: source, as in the .onnx file; frames-first, [1, T, C] where the "
              "file has [1, C, T], so that streams need no transposition")
      .choices({"source", "frames-first"});
  verb.option("--decision", call->decision,
              "Graph text after the model, stored in it, e.g. \"detect threshold=0.6\"");
  verb.option("--classes", call->class_labels,
              "File with the names of the output's channels, one per line, stored in the model");
  verb.option("--name", call->name, "Name of the model (default: the one in the file)");
  verb.option("--calibration", call->calibration, "How ranges follow from the data, before the search")
      .choices({"minmax", "percentile", "kl", "mse"});
  const Option with =
      verb.option(
              "--with", call->with,
              "Methods to try besides the usual ones (equalize, round, bias, search, sums): split, blocks, "
              "tqt, or all, separated by commas. Each is used where the error on clips held back does not "
              "get "
              "worse")
          .delimiter(',')
          .default_str("");
  const Option without = verb.option("--without", call->without, "Methods not to use, separated by commas")
                             .delimiter(',')
                             .default_str("");
  verb.option("--methods", call->methods,
              "Exactly these methods, separated by commas, or none; nothing is chosen")
      .delimiter(',')
      .excludes(with)
      .excludes(without)
      .default_str("");
  verb.option("--bits-of", call->types,
              "NODE=8, NODE=16 or NODE=float for a single operator; may be repeated")
      .default_str("");
  verb.option("--scale-of", call->scales,
              "NODE=2^-5: the scale of the result of a single operator, which nothing changes (power-of-two "
              "scales); may be repeated (default: chosen)")
      .default_str("");
  add_method_settings(verb, *call);
  verb.option("--max-error", call->max_error,
              "Largest noise-to-signal ratio of the outputs: operators become int16, and float where that is "
              "not enough, until it is met (0: none)")
      .range(0.0, 1e9);
  verb.option("--budget", call->budget,
              "Largest share of the multiply-adds that may become int16 or float for that (0: all)")
      .range(0.0, 1.0);
  verb.option("--clips", call->clips, "Most clips for searching and rounding; ranges are computed from all")
      .range(1, 1 << 20);
  verb.option("--report", call->report, "Write the measurements of every operator as JSON");
  const Option eval =
      verb.option("--eval", call->eval, "Labelled data, as --calib, for measuring the accuracy")
          .default_str("");
  const Option labels = verb.option(
      "--labels", call->labels,
      "Classes of the --eval clips, in order: .csv with a column label_id, .i32, or one number per line");
  eval.needs(labels);
  verb.option("--seed", call->seed,
              "Seed of the order in which blocks and tqt see the clips, and of the self-test's input without "
              "a recording (--table)");
  verb.option("--threads", call->threads, "Threads; the result is the same for any number").range(1, 32);
  verb.flag("--quiet", call->quiet, "No progress on stderr");
  verb.callback([call, &exit_code] {
    if (const Status status = run_quantize(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
