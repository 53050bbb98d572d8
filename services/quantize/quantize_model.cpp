#include "services/quantize/quantize_model.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/host/output_file.h"
#include "base/host/output_name.h"
#include "compiler/espdl/target.h"
#include "compiler/passes/frames_first.h"
#include "compiler/quantize/calibrate/calibration_table.h"
#include "compiler/quantize/integer_form.h"
#include "pipeline/host/text.h"
#include "services/calibrate/model_front_end.h"
#include "services/convert/espdl_output.h"

namespace runnel::quantize {

using calibrate::CalibratedModel;
using calibrate::load_calibrated;
using calibrate::open_clips;
using calibrate::read_label_names;
using calibrate::store_front_end;
using calibrate::store_labels;
namespace {

namespace quantizer = compiler::quantizer;

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

Result<quantizer::Options> options_of(const QuantizeRequest& call) {
  quantizer::Options options;
  RUNNEL_ASSIGN(options.target, quantizer::target_rules(call.target.empty() ? "generic" : call.target));
  RUNNEL_ASSIGN(options.type, type_of(std::to_string(call.bits)));
  RUNNEL_ASSIGN(options.calibration, quantizer::calibration_named(call.calibration));
  options.scheme = call.scheme == "affine" ? quantizer::Scheme::affine : quantizer::Scheme::pow2;
  if (options.scheme == quantizer::Scheme::affine && options.target.esp_dl) {
    return Status(Code::invalid_argument)
           << "--scheme affine for target " << options.target.name
           << ", which has shifts only; expected --scheme pow2 or --target generic";
  }
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
  options.progress = call.progress;
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

Result<compiler::UsageOptions> usage_of(const QuantizeRequest& call) {
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
Status check_stream(const QuantizeRequest& call, const compiler::Graph& graph,
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
Status take_form(const QuantizeRequest& call, const quantizer::TargetRules& target,
                 compiler::LoadOptions& load, compiler::Graph& graph) {
  if (is_espdl(call.output)) return {};
  const auto notes = quantizer::take_integer_form(target, load.stream, graph);
  if (!notes.ok()) return notes.status().at(call.input);
  for (const std::string& note : *notes) call.say(call.input + ": " + note);
  return {};
}

Result<Made> from_recordings(const QuantizeRequest& call, compiler::LoadOptions& load) {
  Made made;
  RUNNEL_ASSIGN(made.options, options_of(call));
  RUNNEL_ASSIGN(const compiler::UsageOptions usage, usage_of(call));
  RUNNEL_ASSIGN(CalibratedModel loaded, load_calibrated(call.input, call.calib, call.front_end, usage, load));
  for (const std::string& note : loaded.notes) call.say(call.input + ": " + note);
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
Result<Made> from_table(QuantizeRequest& call, compiler::LoadOptions& load) {
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
  for (const std::string& note : imported.notes) call.say(call.input + ": " + note);
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
Status print_results(const QuantizeRequest& call, const Made& made, QuantizeOutcome& outcome) {
  const std::optional<quantizer::Accuracy>& accuracy = outcome.accuracy;
  const quantizer::Quantized& quantized = made.quantized;
  if (made.clips) {
    const std::vector<std::size_t> few = quantizer::some_of(quantized.clips, 32);
    RUNNEL_ASSIGN(const quantizer::Report report,
                  quantizer::report_on(quantized, *made.clips, few, made.options));
    if (made.options.progress) made.options.progress("", 1);
    outcome.report = report;
    outcome.json = json_of(quantized, report, accuracy).dump(1) + "\n";
    if (!call.report.empty())
      RUNNEL_TRY(write_file(call.report, std::as_bytes(std::span(outcome.json.data(), outcome.json.size()))));
    for (const quantizer::Trial& trial : quantized.trials)
      call.say(fmt::format("methods {}: noise to signal {:.3g} on clips held back",
                           quantizer::names_of(trial.methods), trial.error));
    call.say("methods used: " + quantizer::names_of(quantized.methods));
    std::istringstream table(quantizer::make_function_table(report));
    for (std::string line; std::getline(table, line);) call.say(line);
  } else {
    call.say(fmt::format("{}: methods {}, noise to signal {:.3g} when it was calibrated", call.table,
                         quantizer::names_of(quantized.methods), quantized.error));
  }
  if (accuracy) {
    call.say(
        fmt::format("evaluation: {} clips, correct: float {}, quantized {}{}; same decision {}; noise to "
                    "signal {:.3g}; decided among {} classes",
                    accuracy->clips, accuracy->real_correct, accuracy->correct,
                    accuracy->streamed_correct ? fmt::format(", streamed {}", *accuracy->streamed_correct)
                                               : std::string(),
                    accuracy->same, accuracy->noise, accuracy->classes));
  }
  return {};
}

Result<std::vector<std::byte>> model_bytes(const QuantizeRequest& call, Made& made,
                                           const compiler::LoadOptions& load) {
  compiler::Graph& graph = made.quantized.graph;
  if (is_espdl(call.output)) {
    compiler::EspdlWriteOptions write;
    write.target = compiler::espdl_source::target_named(made.options.target.name);
    write.chunk = call.chunk;
    write.warm_up = call.warm_up;
    write.seed = call.seed;
    return convert::espdl_bytes(graph, write, call.output, call.say);
  }
  compiler::WriteOptions write;
  write.stream = load.stream;
  auto written = compiler::write_for_use(graph, write);
  if (!written.ok()) return written.status().at(call.input);
  for (const std::string& note : written->notes) call.say(call.input + ": " + note);
  for (const std::string& refusal : written->refusals)
    call.say(call.input + ": cannot be streamed: " + refusal);
  call.say(fmt::format("{}: {} operators, {} bytes", call.output, graph.nodes.size(), written->bytes.size()));
  return std::move(written->bytes);
}

quantizer::TableRow row_named(std::string_view name) {
  if (name == "frame") return quantizer::TableRow::frame;
  if (name == "channel") return quantizer::TableRow::channel;
  return name == "clip" ? quantizer::TableRow::clip : quantizer::TableRow::automatic;
}

// Checks that need no computation.
Status check_call(const QuantizeRequest& call) {
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
                quantizer::target_rules(call.target.empty() ? "generic" : call.target));
  if (!target.esp_dl)
    return Status(Code::invalid_argument) << "target " << target.name << " for " << call.output
                                          << ", expected --target esp32 (c), esp32s3 or esp32p4";
  return {};
}

}  // namespace

Result<QuantizeOutcome> quantize_model(QuantizeRequest call, compiler::LoadOptions load) {
  if (!call.say) call.say = [](std::string_view) {};
  RUNNEL_TRY(check_call(call));
  load.target.clear();
  call.front_end.tables = {call.columns, row_named(call.rows), load.stream.time_axis.value_or(-1)};
  // Small files first, so that mistakes in them are reported early.
  std::vector<int> labels;
  std::vector<std::string> class_names = call.class_names;
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
  for (const std::string& note : made.quantized.notes) call.say(call.input + ": " + note);
  const std::string real = quantizer::real_operators(made.quantized);
  if (!real.empty()) call.say(call.input + ": operators that stay float: " + real);

  QuantizeOutcome outcome;
  compiler::Graph& graph = made.quantized.graph;
  if (!call.eval.empty()) {
    std::vector<std::string> notes;
    RUNNEL_ASSIGN(const auto clips, open_clips(call.eval, call.front_end, made.quantized.real, &notes));
    for (const std::string& note : notes) call.say(note);
    RUNNEL_ASSIGN(outcome.accuracy, quantizer::evaluate(made.quantized.real, graph, *clips, labels,
                                                        call.threads, class_names.size()));
  }
  if (!call.name.empty()) graph.name = call.name;
  graph.metadata.emplace_back("quantize.target", std::string(made.options.target.name));
  graph.metadata.emplace_back("quantize.methods", quantizer::names_of(made.quantized.methods));
  if (!call.front_end.text.empty())
    RUNNEL_TRY(store_front_end(call.front_end.text, call.front_end.sample_rate, graph));
  if (!call.decision.empty()) graph.pipeline.decision = call.decision;
  if (!class_names.empty())
    RUNNEL_TRY(store_labels(call.class_labels.empty() ? "classes" : call.class_labels, std::move(class_names),
                            graph));
  RUNNEL_TRY(quantizer::add_vectors(made.self_test, graph));
  if (made.options.progress) made.options.progress("", 1);
  RUNNEL_TRY(print_results(call, made, outcome));
  // After all measurements: the data has the layout of the file.
  if (call.layout == "frames-first") {
    // --time-axis refers to the layout of the file.
    if (load.stream.time_axis) graph.time_axes.assign(graph.inputs.size(), *load.stream.time_axis);
    load.stream.time_axis.reset();
    for (const std::string& name : compiler::put_frames_first(graph))
      call.say(call.output + ": \"" + name + "\" has frames before channels");
  }
  RUNNEL_ASSIGN(const std::vector<std::byte> bytes, model_bytes(call, made, load));
  RUNNEL_TRY(write_file(call.output, bytes));
  outcome.methods = quantizer::names_of(made.quantized.methods);
  outcome.trials = made.quantized.trials;
  outcome.error = made.quantized.error;
  outcome.bytes = bytes.size();
  return outcome;
}

}  // namespace runnel::quantize
