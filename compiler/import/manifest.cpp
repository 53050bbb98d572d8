#include "compiler/import/manifest.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/host/json/nesting.h"
#include "base/limits.h"

namespace runnel::compiler {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxBytes = limits::kManifestBytes;
// What the library that runs these models on devices does: it counts probabilities as bytes, and waits for so
// many frames below the cutoff, at the start and after a detection.
constexpr int kQuietFrames = 100, kBins = 40;

Status wrong(std::string_view key, std::string_view expected, const json& found) {
  std::string text = found.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 60) + "...";
  return Status(Code::invalid_data) << "manifest: " << key << " is " << text << ", expected " << expected;
}

Result<std::string> text_of(const json& object, const char* key, bool required) {
  const auto found = object.find(key);
  if (found == object.end()) {
    if (!required) return std::string();
    return Status(Code::invalid_data) << "manifest: no " << key;
  }
  if (!found->is_string() || (required && found->get_ref<const std::string&>().empty()))
    return wrong(key, "a text", *found);
  return found->get<std::string>();
}

Result<int> integer_of(const json& object, const char* key, int otherwise, int low, int high) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  const bool right = found->is_number_integer() && *found >= low && *found <= high;
  if (!right)
    return wrong(key, "an integer from " + std::to_string(low) + " to " + std::to_string(high), *found);
  return found->get<int>();
}

// A file beside the manifest, and nothing else.
Status check_file_name(const std::string& name) {
  const bool plain = name.find("://") == std::string::npos && !name.starts_with('/') &&
                     name.find("..") == std::string::npos && name.find('\0') == std::string::npos;
  if (plain) return {};
  return Status(Code::invalid_data) << "manifest: model \"" << name
                                    << "\", expected a file beside the manifest";
}

Status read_micro(const json& root, WakeWordManifest& manifest) {
  const auto micro = root.find("micro");
  if (micro == root.end() || !micro->is_object())
    return Status(Code::invalid_data, "manifest: no section micro");
  const auto cutoff = micro->find("probability_cutoff");
  if (cutoff == micro->end()) return Status(Code::invalid_data, "manifest: no probability_cutoff");
  if (!cutoff->is_number() || !(cutoff->get<double>() > 0 && cutoff->get<double>() <= 1))
    return wrong("probability_cutoff", "a number above 0, at most 1", *cutoff);
  manifest.probability_cutoff = cutoff->get<double>();
  const char* window = manifest.version == 1 ? "sliding_window_average_size" : "sliding_window_size";
  if (!micro->contains(window)) return Status(Code::invalid_data) << "manifest: no " << window;
  RUNNEL_ASSIGN(manifest.sliding_window, integer_of(*micro, window, 0, 1, 1000));
  // Models of version 1 were all trained with 20 ms.
  RUNNEL_ASSIGN(manifest.feature_step,
                integer_of(*micro, "feature_step_size", manifest.version == 1 ? 20 : 10, 1, 30));
  RUNNEL_ASSIGN(manifest.tensor_arena, integer_of(*micro, "tensor_arena_size", 0, 0, 1 << 30));
  return {};
}

// Digits that read back to the same number.
std::string number(double value) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value);
  return error == std::errc() ? std::string(digits, end) : std::to_string(value);
}

std::string decision_of(const WakeWordManifest& manifest, int stride) {
  // The sum of `window` bytes must be above that of as many cutoffs: half a byte more, of 256.
  const int cutoff = static_cast<int>(manifest.probability_cutoff * 255);
  const double threshold = (cutoff * manifest.sliding_window + 0.5) / (256.0 * manifest.sliding_window);
  // Frames are counted, runs take `stride` of them; those before the first run count as well.
  const int quiet = std::max(1, (kQuietFrames + 1 - stride + stride - 1) / stride);
  return "detect mode=wake-word activation=none threshold=" + number(threshold) +
         " release=" + number(cutoff / 256.0) +
         " smoothing_frames=" + std::to_string(manifest.sliding_window) +
         " refractory_frames=" + std::to_string(quiet) + " ignore=\"\"";
}

}  // namespace

bool looks_like_manifest(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    const auto letter = static_cast<char>(byte);
    if (letter == '{') return true;
    if (letter != ' ' && letter != '\n' && letter != '\r' && letter != '\t') return false;
  }
  return false;
}

Result<WakeWordManifest> read_manifest(std::span<const std::byte> bytes) {
  if (bytes.size() > kMaxBytes)
    return Status(Code::invalid_data)
           << "manifest: " << bytes.size() << " bytes, expected at most " << kMaxBytes;
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  if (nests_deeper({text, bytes.size()}))
    return Status(Code::invalid_data) << "manifest: brackets more than " << limits::kJsonNesting << " deep";
  const json root = json::parse(text, text + bytes.size(), nullptr, false);
  if (!root.is_object())
    return Status(Code::invalid_data,
                  "neither a model file nor JSON, expected a model or the manifest of one");
  RUNNEL_ASSIGN(const std::string type, text_of(root, "type", true));
  if (type != "micro")
    return Status(Code::unsupported) << "manifest: type \"" << type << "\", expected micro (microWakeWord)";
  WakeWordManifest manifest;
  RUNNEL_ASSIGN(manifest.version, integer_of(root, "version", 1, 1, 1 << 20));
  if (manifest.version > 2)
    return Status(Code::unsupported) << "manifest: version " << manifest.version << ", expected 1 or 2";
  RUNNEL_ASSIGN(manifest.wake_word, text_of(root, "wake_word", true));
  RUNNEL_ASSIGN(manifest.model, text_of(root, "model", true));
  RUNNEL_TRY(check_file_name(manifest.model));
  RUNNEL_ASSIGN(manifest.author, text_of(root, "author", false));
  RUNNEL_ASSIGN(manifest.website, text_of(root, "website", false));
  if (const auto languages = root.find("trained_languages");
      languages != root.end() && languages->is_array()) {
    for (const json& language : *languages) {
      if (language.is_string())
        manifest.languages += (manifest.languages.empty() ? "" : ",") + language.get<std::string>();
    }
  }
  RUNNEL_TRY(read_micro(root, manifest));
  return manifest;
}

Status apply_manifest(const WakeWordManifest& manifest, Graph& graph) {
  const auto tensor = [&](TensorId id) -> const Tensor& {
    return graph.tensors[static_cast<std::size_t>(id)];
  };
  if (graph.inputs.size() != 1 || graph.outputs.size() != 1) {
    return Status(Code::mismatch) << "manifest: the model has " << graph.inputs.size() << " inputs and "
                                  << graph.outputs.size() << " outputs, expected one each";
  }
  const Tensor &in = tensor(graph.inputs[0]), &out = tensor(graph.outputs[0]);
  const bool fed = in.shape.size() == 3 && in.shape[0] == 1 && in.shape[2] == kBins &&
                   (in.dtype == DType::int8 || in.dtype == DType::float32);
  if (!fed)
    return Status(Code::mismatch) << "manifest: input \"" << in.name
                                  << "\" of the model, expected [1, frames, " << kBins
                                  << "] of int8 or float32";
  const std::size_t values = element_count(out.shape);
  if (values != 1)
    return Status(Code::mismatch) << "manifest: output \"" << out.name << "\" has " << values
                                  << " values, expected one probability";
  PipelineSettings& settings = graph.pipeline;
  settings.usage = UsageKind::step;
  settings.step = in.shape[1];
  settings.sample_rate = 16000;
  settings.front_end =
      "microfrontend preset=micro-wake-word frame_shift=" + std::to_string(manifest.feature_step) +
      " dtype=" + std::string(name_of(in.dtype));
  settings.decision = decision_of(manifest, in.shape[1]);
  settings.labels = {manifest.wake_word};
  const std::pair<const char*, std::string> facts[] = {
      {"author", manifest.author},
      {"website", manifest.website},
      {"trained_languages", manifest.languages},
      {"probability_cutoff", number(manifest.probability_cutoff)},
      {"sliding_window_size", std::to_string(manifest.sliding_window)},
      {"feature_step_size", std::to_string(manifest.feature_step)},
      {"tensor_arena_size", manifest.tensor_arena > 0 ? std::to_string(manifest.tensor_arena) : ""}};
  for (const auto& [key, value] : facts) {
    if (!value.empty()) graph.metadata.emplace_back(std::string("microwakeword.") + key, value);
  }
  return {};
}

}  // namespace runnel::compiler
