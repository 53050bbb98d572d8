// runnel features: recordings of sound and tables of sensors to feature matrices.
#include <algorithm>
#include <map>

#include "apps/graphs.h"
#include "apps/verbs.h"
#include "features/fbank_parameters.h"
#include "features/microfrontend_options.h"

namespace runnel::apps {
namespace {

namespace fs = std::filesystem;

struct FeaturesCall {
  std::vector<std::string> inputs, set, source;
  std::string output, preset = "kaldi", kind, png;
};

// Presets of the fixed-point front end belong to a node of their own.
bool is_fixed_point(const std::string& name) {
  const auto presets = features::microfrontend_presets();
  return std::any_of(presets.begin(), presets.end(), [&](const features::MicrofrontendPreset& preset) { return preset.name == name; });
}

// Windows over sensors, which know no presets.
bool is_of_windows(const std::string& kind) { return kind == "statistics" || kind == "framing"; }

// The options of a preset after the settings of the call; a setting that is wrong is told when the graph is built.
template <class Options>
Options options_of(const FeaturesCall& call, Options options) {
  for (const std::string& setting : call.set) {
    const std::size_t at = std::min(setting.find('='), setting.size());
    if (at < setting.size()) (void)set(options, std::string_view(setting).substr(0, at), std::string_view(setting).substr(at + 1));
  }
  return options;
}

std::string mel_axis(double low, double high, const char* scale) {
  return " axis=mel mel_scale=" + std::string(scale) + " low_freq=" + std::to_string(low) + " high_freq=" + std::to_string(high);
}

// "png path=... axis=...": which frequencies the rows of the picture stand for.
std::string picture_of(const FeaturesCall& call, const std::string& path) {
  const std::string node = "png path=" + quote_value(path);
  if (is_of_windows(call.kind)) return node;
  if (const auto preset = features::microfrontend_preset(call.preset); preset.ok()) {
    const features::MicrofrontendOptions options = options_of(call, *preset);
    return node + mel_axis(static_cast<double>(options.low_freq), static_cast<double>(options.high_freq), "htk");
  }
  const auto preset = features::preset(call.preset);
  if (!preset.ok()) return node;
  features::FbankOptions options = options_of(call, *preset);
  if (!call.kind.empty()) (void)set(options, "kind", call.kind);
  if (options.kind == features::FeatureKind::spectrogram) return node + " axis=hz";
  // Stacked frames and those with an energy have other rows.
  const features::Preset* const recipe = features::preset_named(features::presets(), call.preset);
  if (options.kind != features::FeatureKind::fbank || options.use_energy || !recipe->after.empty()) return node;
  const double high = static_cast<double>(options.high_freq) + (options.high_freq > 0 ? 0 : static_cast<double>(options.sample_frequency) / 2);
  return node + mel_axis(static_cast<double>(options.low_freq), high, options.mel_scale == features::MelScale::slaney ? "slaney" : "htk");
}

// " NAME=VALUE ..." of parameters as they were given with `option`.
Result<std::string> parameters_of(const std::vector<std::string>& settings, std::string_view option) {
  std::string text;
  for (const std::string& setting : settings) {
    const std::size_t at = setting.find('=');
    if (at == std::string::npos || at == 0) return Status(Code::invalid_argument) << option << " \"" << setting << "\", expected NAME=VALUE";
    text += " " + setting.substr(0, at) + "=" + quote_value(setting.substr(at + 1));
  }
  return text;
}

// What makes features of samples.
Result<std::string> nodes_of(const FeaturesCall& call) {
  RUNNEL_ASSIGN(const std::string settings, parameters_of(call.set, "--set"));
  if (is_of_windows(call.kind)) {
    if (call.preset != FeaturesCall().preset) return Status(Code::invalid_argument) << "--kind " << call.kind << " with --preset " << call.preset << ": expected one of them";
    return call.kind + settings;
  }
  const bool fixed_point = is_fixed_point(call.preset);
  if (fixed_point && !call.kind.empty() && call.kind != "fbank") return Status(Code::invalid_argument) << "--kind " << call.kind << " of preset " << call.preset << ", expected fbank";
  std::string nodes = (fixed_point ? "microfrontend" : "fbank") + std::string(" preset=") + quote_value(call.preset);
  if (!fixed_point && !call.kind.empty()) nodes += " kind=" + call.kind;
  nodes += settings;
  // The whole recipe, where a preset says that there is more to it than one node.
  if (const features::Preset* preset = fixed_point ? nullptr : features::preset_named(features::presets(), call.preset); preset != nullptr) {
    if (!preset->before.empty()) nodes = std::string(preset->before) + " ! " + nodes;
    if (!preset->after.empty()) nodes += " ! " + std::string(preset->after);
  }
  return nodes;
}

// The node that reads this file.
std::string source_of(const std::string& input) {
  const std::string extension = fs::path(input).extension().string();
  const char* node = extension == ".csv" || extension == ".tsv" ? "csv" : extension == ".npy" ? "npy" : "wav";
  return node + (" path=" + quote_value(input));
}

Status run_features(const FeaturesCall& call) {
  RUNNEL_ASSIGN(const std::string node, nodes_of(call));
  RUNNEL_ASSIGN(const std::string source_settings, parameters_of(call.source, "--source"));
  const bool many = call.inputs.size() > 1 || fs::is_directory(call.output);
  if (many && !call.png.empty()) return Status(Code::invalid_argument) << "--png " << call.png << ": expected one recording, found " << call.inputs.size();
  const auto output_of = [&](const std::string& input) { return many ? (fs::path(call.output) / (fs::path(input).stem().string() + ".npy")).string() : call.output; };
  std::map<std::string, std::string> made_of;
  for (const std::string& input : call.inputs) {
    const auto [other, fresh] = made_of.emplace(output_of(input), input);
    if (!fresh) return Status(Code::invalid_argument) << other->second << " and " << input << " would both become " << other->first;
  }
  if (many) {
    std::error_code error;
    fs::create_directories(call.output, error);
    if (error) return Status(Code::io_error) << call.output << ": cannot be created: " << error.message();
  }
  compiler::FileLoader loader;
  for (const std::string& input : call.inputs) {
    const std::string output = output_of(input);
    pipeline::GraphOptions options = graph_options(loader);
    options.insert_conversions = true;
    RUNNEL_ASSIGN(const auto graph, pipeline::Graph::build(source_of(input) + source_settings + " ! " + node + (call.png.empty() ? "" : " name=features") + " ! npy path=" + quote_value(output) +
                                                                      (call.png.empty() ? "" : " features. ! " + picture_of(call, call.png)), options));
    RUNNEL_TRY(graph->run());
  }
  return {};
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

void add_features(CLI::App& app, int& exit_code) {
  auto call = std::make_shared<FeaturesCall>();
  CLI::App* verb = app.add_subcommand("features", "Feature matrices of recordings, [frames, dims] as .npy");
  verb->add_option("INPUT", call->inputs, "Recordings; tables of sensors as .csv, .tsv or .npy")->required()->default_str("");
  verb->add_option("-o,--output", call->output, "The .npy file, or a folder for several recordings")->required();
  verb->add_option("--preset", call->preset, "Complete set of parameters to start from");
  verb->add_option("--kind", call->kind, "What to compute instead of the preset's own kind; of sensors: statistics of windows, or the windows themselves")->check(CLI::IsMember({"fbank", "mfcc", "spectrogram", "stft", "statistics", "framing"}));
  verb->add_option("--png", call->png, "Also a picture of the features of one recording, with axes and a colour bar");
  verb->add_option("--set", call->set, "NAME=VALUE of a parameter (names: runnel inspect fbank, microfrontend, statistics or framing)")->default_str("");
  verb->add_option("--source", call->source, "NAME=VALUE of how the input is read (names: runnel inspect csv, npy or wav)")->default_str("");
  verb->footer(preset_list());
  verb->callback([call, &exit_code] {
    if (const Status status = run_features(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
