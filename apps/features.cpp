// runnel features: recordings to feature matrices.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "apps/graphs.h"
#include "apps/verbs.h"
#include "features/fbank_parameters.h"
#include "features/microfrontend_options.h"

namespace runnel::apps {
namespace {

namespace fs = std::filesystem;

struct FeaturesCall {
  std::vector<std::string> inputs, set;
  std::string output, preset = "kaldi", kind, png;
};

// Presets of the fixed-point front end belong to a node of their own.
bool is_fixed_point(const std::string& name) {
  const auto presets = features::microfrontend_presets();
  return std::any_of(presets.begin(), presets.end(), [&](const features::MicrofrontendPreset& preset) { return preset.name == name; });
}

// "png path=... axis=...": which frequencies the rows of the picture stand for.
std::string picture_of(const FeaturesCall& call, const std::string& path) {
  std::string node = "png path=" + quote_value(path);
  std::string_view kind = call.kind;
  if (const auto preset = features::preset(call.preset); kind.empty() && preset.ok()) {
    for (const features::Parameter& parameter : features::parameters()) {
      if (parameter.name == "kind") kind = features::choice_at(parameter.choices, static_cast<std::size_t>(parameter.get(*preset)));
    }
  }
  if (kind == "spectrogram") return node + " axis=hz";
  if (!kind.empty() && kind != "fbank") return node;
  // The picture knows one mel scale.
  bool slaney = std::find(call.set.begin(), call.set.end(), "mel_scale=slaney") != call.set.end();
  double low = 20, high = 0, rate = 16000;
  if (const auto preset = features::preset(call.preset); preset.ok()) {
    slaney = slaney || preset->mel_scale == features::MelScale::slaney;
    low = static_cast<double>(preset->low_freq);
    high = static_cast<double>(preset->high_freq);
    rate = static_cast<double>(preset->sample_frequency);
  }
  if (slaney) return node;
  for (const features::MicrofrontendPreset& preset : features::microfrontend_presets()) {
    if (preset.name != call.preset) continue;
    low = static_cast<double>(preset.options.low_freq);
    high = static_cast<double>(preset.options.high_freq);
  }
  for (const std::string& setting : call.set) {
    for (const auto& [name, value] : {std::pair{"low_freq=", &low}, std::pair{"high_freq=", &high}, std::pair{"sample_frequency=", &rate}}) {
      if (setting.starts_with(name)) *value = std::atof(setting.c_str() + std::string_view(name).size());
    }
  }
  if (high <= 0) high += rate / 2;
  return node + " axis=mel low_freq=" + std::to_string(low) + " high_freq=" + std::to_string(high);
}

Status run_features(const FeaturesCall& call) {
  const bool fixed_point = is_fixed_point(call.preset);
  if (fixed_point && !call.kind.empty() && call.kind != "fbank") return Status(Code::invalid_argument) << "--kind " << call.kind << " of preset " << call.preset << ", expected fbank";
  std::string node = (fixed_point ? "microfrontend" : "fbank") + std::string(" preset=") + quote_value(call.preset);
  if (!fixed_point && !call.kind.empty()) node += " kind=" + call.kind;
  for (const std::string& setting : call.set) {
    const std::size_t at = setting.find('=');
    if (at == std::string::npos || at == 0) return Status(Code::invalid_argument) << "--set \"" << setting << "\", expected NAME=VALUE";
    node += " " + setting.substr(0, at) + "=" + quote_value(setting.substr(at + 1));
  }
  // The whole recipe, where a preset says that there is more to it than one node.
  if (const features::Preset* preset = fixed_point ? nullptr : features::preset_named(features::presets(), call.preset); preset != nullptr) {
    if (!preset->before.empty()) node = std::string(preset->before) + " ! " + node;
    if (!preset->after.empty()) node += " ! " + std::string(preset->after);
  }
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
    RUNNEL_ASSIGN(const auto graph, pipeline::Graph::build("wav path=" + quote_value(input) + " ! " + node + (call.png.empty() ? "" : " name=features") + " ! npy path=" + quote_value(output) +
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
  verb->add_option("INPUT", call->inputs, "Recordings")->required()->default_str("");
  verb->add_option("-o,--output", call->output, "The .npy file, or a folder for several recordings")->required();
  verb->add_option("--preset", call->preset, "Complete set of parameters to start from");
  verb->add_option("--kind", call->kind, "What to compute instead of the preset's own kind")->check(CLI::IsMember({"fbank", "mfcc", "spectrogram", "stft"}));
  verb->add_option("--png", call->png, "Also a picture of the features of one recording, with axes and a colour bar");
  verb->add_option("--set", call->set, "NAME=VALUE of a parameter (names: runnel inspect fbank, runnel inspect microfrontend)")->default_str("");
  verb->footer(preset_list());
  verb->callback([call, &exit_code] {
    if (const Status status = run_features(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
