// runnel features: feature matrices from recordings of sound and sensors.
#include <algorithm>

#include "apps/batch/recordings_call.h"
#include "apps/call/progress.h"
#include "apps/graphs.h"
#include "apps/verbs.h"
#include "base/host/output_name.h"
#include "features/fbank/fbank_parameters.h"
#include "features/microfrontend/microfrontend_options.h"
#include "services/front_ends/recipe.h"

namespace runnel::apps {
namespace {

namespace fs = std::filesystem;
using front_ends::is_of_windows;

struct FeaturesCall : RecordingsCall {
  std::vector<std::string> set, source;
  std::string preset = "kaldi", kind, png, trust;
};

// The options of a preset, overridden by the call; building the graph reports wrong settings.
template <class Options>
Options options_of(const FeaturesCall& call, Options options) {
  for (const std::string& setting : call.set) {
    const std::size_t at = std::min(setting.find('='), setting.size());
    if (at < setting.size())
      (void)set(options, std::string_view(setting).substr(0, at), std::string_view(setting).substr(at + 1));
  }
  return options;
}

std::string mel_axis(double low, double high, const char* scale) {
  return " axis=mel mel_scale=" + std::string(scale) + " low_freq=" + std::to_string(low) +
         " high_freq=" + std::to_string(high);
}

// "png path=... axis=...": the frequencies of the rows of the picture.
std::string picture_of(const FeaturesCall& call, const std::string& path) {
  const std::string node = "png path=" + quote_value(path);
  if (is_of_windows(call.kind)) return node;
  if (const auto preset = features::microfrontend_preset(call.preset); preset.ok()) {
    const features::MicrofrontendOptions options = options_of(call, *preset);
    return node +
           mel_axis(static_cast<double>(options.low_freq), static_cast<double>(options.high_freq), "htk");
  }
  const auto preset = features::preset(call.preset);
  if (!preset.ok()) return node;
  features::FbankOptions options = options_of(call, *preset);
  if (!call.kind.empty()) (void)set(options, "kind", call.kind);
  if (options.kind == features::FeatureKind::spectrogram) return node + " axis=hz";
  // Stacked frames and frames with an energy have other rows.
  const features::Preset* const recipe = features::preset_named(features::presets(), call.preset);
  if (options.kind != features::FeatureKind::fbank || options.use_energy || !recipe->after.empty())
    return node;
  const double high = static_cast<double>(options.high_freq) +
                      (options.high_freq > 0 ? 0 : static_cast<double>(options.sample_frequency) / 2);
  return node + mel_axis(static_cast<double>(options.low_freq), high,
                         options.mel_scale == features::MelScale::slaney ? "slaney" : "htk");
}

// " NAME=VALUE ..." of the parameters given with `option`.
Result<std::string> parameters_of(const std::vector<std::string>& settings, std::string_view option) {
  std::string text;
  for (const std::string& setting : settings) {
    const std::size_t at = setting.find('=');
    if (at == std::string::npos || at == 0)
      return Status(Code::invalid_argument) << option << " \"" << setting << "\", expected NAME=VALUE";
    text += " " + setting.substr(0, at) + "=" + quote_value(setting.substr(at + 1));
  }
  return text;
}

// The node that reads this file.
std::string source_of(const std::string& input) {
  const std::string extension = fs::path(input).extension().string();
  const char* node = extension == ".csv" || extension == ".tsv" ? "csv" : extension == ".npy" ? "npy" : "wav";
  return node + (" path=" + quote_value(input));
}

// One recording into one file, perhaps with a picture.
Status run_one(const FeaturesCall& call, const std::string& node, const std::string& source_settings) {
  const Patience patience("features of " + call.inputs[0]);
  if (call.output == "-")
    return Status(Code::invalid_argument,
                  "-o -: an array needs a file; rows of --format csv may go to the standard output");
  RUNNEL_ASSIGN(const compiler::LoadOptions named, named_models(call.trust));
  compiler::FileLoader loader(named);
  pipeline::GraphOptions options = graph_options(loader);
  options.insert_conversions = true;
  const bool picture = !call.png.empty();
  RUNNEL_ASSIGN(const auto graph,
                pipeline::Graph::build(source_of(call.inputs[0]) + source_settings + " ! " + node +
                                           (picture ? " name=features" : "") +
                                           " ! npy path=" + quote_value(call.output) +
                                           (picture ? " features. ! " + picture_of(call, call.png) : ""),
                                       options));
  return graph->run();
}

// Whether an input names several recordings.
bool names_many(const std::string& input) {
  std::error_code error;
  const std::string extension = fs::path(input).extension().string();
  const bool there = fs::exists(input, error);
  return input.starts_with('@') || fs::is_directory(input, error) || extension == ".jsonl" ||
         extension == ".ndjson" || (!there && input.find_first_of("*?[") != std::string::npos);
}

// Processes many recordings as a batch: into a folder, one array, or a Kaldi archive.
Status run_many(FeaturesCall& call, const std::string& node, const std::string& source_settings) {
  batch::OutputFormat format = batch::format_of_name(call.output);
  if (!call.format.empty() && !batch::parse_format(call.format, format))
    return Status(Code::invalid_argument) << "--format " << call.format;
  if (call.format.empty() && (format == batch::OutputFormat::jsonl || batch::is_transcript(format)))
    format = batch::OutputFormat::files;
  if (call.output == "-" && format == batch::OutputFormat::files)
    return Status(Code::invalid_argument, "-o -: --format files needs a folder");
  RUNNEL_TRY(batch::check_name(call.output, format));
  for (std::string* text : {&call.sources.wav, &call.sources.csv, &call.sources.npy})
    *text = source_settings.empty() ? "" : source_settings.substr(1);
  const bool sensors = is_of_windows(call.kind);
  call.list.is_recording = sensors ? batch::is_sensor_name : batch::is_sound_name;
  RUNNEL_ASSIGN(const batch::Shard shard, choose_shard(call.shard));
  std::string output = output_name(call.output, shard);
  std::string after_source = node + " ! frame_rows to=" + std::string(batch::name_of(format));
  if (format == batch::OutputFormat::files) {
    after_source += " folder=" + quote_value(output);
    RUNNEL_ASSIGN(output, index_of_folder(output, shard));
  }
  RUNNEL_ASSIGN(const compiler::LoadOptions named, named_models(call.trust));
  compiler::FileLoader loader(named);
  Notes notes;
  pipeline::GraphOptions options = graph_options(loader);
  options.insert_conversions = true;
  options.note = [&](std::string_view note) { notes(note); };
  // Check the graph now: an error in it would affect every recording. For sensors, the first recording is
  // needed.
  if (!sensors) RUNNEL_TRY(check_after_source(after_source, loader));
  RecordingsWork work{
      .format = format, .prefix = {}, .keyed = format != batch::OutputFormat::npy, .make = {}};
  if (format == batch::OutputFormat::npy) work.prefix = batch::array_header({}, 0);
  if (format == batch::OutputFormat::csv) {
    RUNNEL_ASSIGN(work.prefix, batch::frame_header(after_source, options));
  }
  work.make = [&] { return std::make_unique<batch::GraphWorker>(after_source, call.sources, options); };
  CallChecksum sum;
  sum.add("features");
  sum.add(after_source);
  sum.add(call.sources);
  sum.add(call.inputs);
  return run_recordings(call, shard, output, sum.value(), work);
}

Status run_features(FeaturesCall& call) {
  RUNNEL_ASSIGN(const std::string settings, parameters_of(call.set, "--set"));
  if (is_of_windows(call.kind) && call.preset != FeaturesCall().preset)
    return Status(Code::invalid_argument)
           << "--kind " << call.kind << " with --preset " << call.preset << ": expected one of them";
  RUNNEL_ASSIGN(const std::string node, front_ends::recipe_text(call.preset, call.kind, settings));
  RUNNEL_ASSIGN(const std::string source_settings, parameters_of(call.source, "--source"));
  RUNNEL_TRY(check_output_name(call.png, {".png"}));
  std::error_code error;
  const bool many = call.inputs.size() > 1 || names_many(call.inputs[0]) ||
                    fs::is_directory(call.output, error) || !call.format.empty() || !call.shard.empty() ||
                    call.resume || call.output.ends_with(".ark");
  if (!many) return run_one(call, node, source_settings);
  if (!call.png.empty())
    return Status(Code::invalid_argument)
           << "--png " << call.png << ": expected one recording and one .npy file";
  return run_many(call, node, source_settings);
}

std::string preset_list() {
  std::string text = "Presets:\n";
  const auto add = [&](const auto& presets) {
    for (const auto& preset : presets) {
      text += "  " + std::string(preset.name);
      text.append(preset.name.size() < 24 ? 24 - preset.name.size() : 1, ' ');
      text += std::string(preset.help) + '\n';
    }
  };
  add(features::presets());
  add(features::microfrontend_presets());
  return text + "All parameters of one: runnel inspect PRESET";
}

}  // namespace

void add_features(Verb verb, int& exit_code) {
  auto call = std::make_shared<FeaturesCall>();
  verb.positional("INPUT", call->inputs,
                  "Recordings; sensor tables as .csv, .tsv or .npy; folders, patterns, manifests (.jsonl) "
                  "and @FILE as in batch")
      .required()
      .default_str("");
  add_trust_flag(verb, call->trust);
  verb.option("-o,--output", call->output,
              "The .npy file; for several recordings a folder, an .npy file for all of them, or an .ark "
              "with its .scp")
      .required();
  verb.option("--format", call->format,
              "For several recordings: files, npy, ark, csv or jsonl (default: by the name of OUT)")
      .choices({"jsonl", "csv", "npy", "ark", "files"});
  add_run_flags(verb, *call);
  verb.option("--raw", call->sources.raw,
              "Format of files named .raw and .pcm, e.g. \"raw=s16le rate=16000 channels=1\"");
  verb.option("--preset", call->preset, "Complete set of parameters to start from");
  verb.option("--kind", call->kind,
              "What to compute instead of the preset's own kind; for sensors: statistics of windows, or the "
              "windows themselves")
      .choices({"fbank", "mfcc", "spectrogram", "stft", "statistics", "framing"});
  verb.option("--png", call->png,
              "Also a picture of the features of one recording, with axes and a colour bar");
  verb.option("--set", call->set,
              "NAME=VALUE of a parameter (names: runnel inspect fbank, microfrontend, statistics or framing)")
      .default_str("");
  verb.option("--source", call->source,
              "NAME=VALUE of how the input is read (names: runnel inspect csv, npy or wav)")
      .default_str("");
  verb.footer(preset_list());
  verb.callback([call, &exit_code] {
    if (const Status status = run_features(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
