#include "apps/support.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "apps/call/progress.h"
#include "services/models/find.h"
#include "services/settings/settings.h"

namespace runnel::apps {

int fail(const Status& status) {
  say(status.text());
  return 1;
}

int refuse(const Status& wrong) {
  say(wrong.text());
  return 2;
}

void say(std::string_view text) {
  // A verb may have said it of its own answer when the end of the program finds it, too.
  if (text.find("stdout cannot be written") != std::string_view::npos) {
    static bool said = false;
    if (said) return;
    said = true;
  }
  std::string line(text);
  // Names come from outside: control characters are replaced, so that a message stays one line (as in
  // Status).
  std::replace_if(
      line.begin(), line.end(),
      [](char letter) { return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F; }, '?');
  clear_progress();
  std::fprintf(stderr, "runnel: %s\n", line.c_str());
}

void add_trust_flag(Verb verb, std::string& trust) {
  verb.option("--trust", trust,
              "Take only models that are signed by this public key, or by one of a list or folder of keys "
              "(default: the variable RUNNEL_TRUST, or all models)");
}

void add_model_flags(Verb verb, ModelFlags& flags) {
  add_trust_flag(verb, flags.trust);
  verb.option("--target", flags.target, "Target of an .espdl file: c, esp32s3, esp32p4 (default: detected)");
  verb.option("--member", flags.member,
              "Name or index of a model in an .espdl package (default: the only one)");
  verb.option("--shape", flags.shapes,
              "NAME=1x40x98: size of an input that an .onnx or .tflite file leaves open (default: a "
              "batch of 1, 128 frames)")
      .default_str("");
  verb.option("--value", flags.values,
              "NAME=16000: an input of integers of an .onnx file, fixed while importing (default: as a "
              "run-time input)")
      .default_str("");
  verb.option("--key-file", flags.key_file,
              "For encrypted models: file of 16 bytes or 32 hexadecimal digits (default: the variable "
              "RUNNEL_KEY, in digits)");
  const auto streaming = [](Option option) { option.group("Streaming of models that are not .rnl files"); };
  streaming(verb.flag("--stream", flags.stream,
                      "Refuse a model that cannot be streamed (default: import it for whole clips)"));
  streaming(verb.option("--time-axis", flags.time_axis, "Time axis of the inputs, from 0 (default: detected)")
                .range(0, 5)
                .default_str(""));
  streaming(
      verb.option("--pool-window", flags.pool_window,
                  "N[:HOP]: statistics over all time become statistics over windows of N source frames, "
                  "one every HOP of their own frames (1); clip: N is the clip of the "
                  "file; running: over all frames so far (default: they are refused)"));
  streaming(verb.option(
      "--attention-window", flags.attention_window,
      "LEFT[:RIGHT[:CHUNK]]: attention sees LEFT frames before a chunk of CHUNK "
      "frames (1) and RIGHT after it (0) (default: the band of a constant mask in the file; else refused)"));
  streaming(verb.option("--context-of", flags.contexts,
                        "TENSOR=N: keep at least N earlier frames of this tensor; may be repeated (default: "
                        "as many as needed)")
                .default_str(""));
  streaming(verb.option("--max-lookahead", flags.max_lookahead,
                        "Most source frames that an output may look ahead (default: no limit)")
                .non_negative()
                .default_str(""));
}

void add_threads_flag(Verb verb, int& threads) {
  verb.option("--threads", threads, "Threads that share heavy operators; the results are bit-identical")
      .range(1, 32);
}

namespace {

// "NAME=1x40x98" with a letter between the numbers.
Result<std::pair<std::string, std::vector<std::int64_t>>> named_integers(const std::string& text,
                                                                         char between,
                                                                         std::string_view flag) {
  const auto wrong = [&] {
    return Status(Code::invalid_argument)
           << flag << " \"" << text << "\", expected NAME=1" << between << "2" << between << "3";
  };
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0) return wrong();
  std::vector<std::int64_t> numbers;
  const char* next = text.data() + at + 1;
  const char* const end = text.data() + text.size();
  for (;;) {
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(next, end, number);
    if (error != std::errc()) return wrong();
    numbers.push_back(number);
    if (stop == end) break;
    if (*stop != between) return wrong();
    next = stop + 1;
  }
  return std::pair(text.substr(0, at), std::move(numbers));
}

// "8:2:1": at most `most` numbers separated by colons.
Result<std::vector<std::int64_t>> numbers_of(const std::string& text, std::size_t most, std::string_view flag,
                                             std::string_view expected) {
  std::vector<std::int64_t> numbers;
  const char* next = text.data();
  const char* const end = text.data() + text.size();
  for (;;) {
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(next, end, number);
    const bool good = error == std::errc() && number >= 0 && number <= (1 << 24) && numbers.size() < most;
    if (good) numbers.push_back(number);
    if (good && stop == end) return numbers;
    if (!good || *stop != ':')
      return Status(Code::invalid_argument) << flag << " \"" << text << "\", expected " << expected;
    next = stop + 1;
  }
}

Result<compiler::StreamOptions> stream_options(const ModelFlags& flags) {
  compiler::StreamOptions options;
  options.required = flags.stream;
  if (flags.time_axis >= 0) options.time_axis = flags.time_axis;
  if (flags.max_lookahead >= 0) options.max_lookahead = flags.max_lookahead;
  if (!flags.pool_window.empty()) {
    const std::size_t colon = flags.pool_window.find(':');
    const std::string window = flags.pool_window.substr(0, colon);
    if (window == "clip" || window == "running") {
      options.pool_window =
          window == "clip" ? compiler::StreamOptions::kClip : compiler::StreamOptions::kSoFar;
      if (colon != std::string::npos) {
        RUNNEL_ASSIGN(const auto hop,
                      numbers_of(flags.pool_window.substr(colon + 1), 1, "--pool-window", "clip:HOP"));
        options.pool_hop = static_cast<int>(hop[0]);
      }
    } else {
      RUNNEL_ASSIGN(const auto numbers,
                    numbers_of(flags.pool_window, 2, "--pool-window", "N, N:HOP, clip, clip:HOP or running"));
      if (numbers[0] < 1)
        return Status(Code::invalid_argument)
               << "--pool-window of " << numbers[0] << " frames, expected at least 1";
      options.pool_window = numbers[0];
      if (numbers.size() > 1) options.pool_hop = static_cast<int>(numbers[1]);
    }
  }
  if (!flags.attention_window.empty()) {
    RUNNEL_ASSIGN(const auto numbers, numbers_of(flags.attention_window, 3, "--attention-window",
                                                 "LEFT, LEFT:RIGHT or LEFT:RIGHT:CHUNK"));
    compiler::AttentionWindow window{static_cast<int>(numbers[0])};
    if (numbers.size() > 1) window.right = static_cast<int>(numbers[1]);
    if (numbers.size() > 2) window.chunk = static_cast<int>(numbers[2]);
    if (window.chunk < 1)
      return Status(Code::invalid_argument)
             << "--attention-window with chunks of " << window.chunk << " frames, expected at least 1";
    options.attention = window;
  }
  for (const std::string& text : flags.contexts) {
    const std::size_t at = text.rfind('=');
    if (at == std::string::npos || at == 0)
      return Status(Code::invalid_argument) << "--context-of \"" << text << "\", expected TENSOR=N";
    RUNNEL_ASSIGN(const auto frames, numbers_of(text.substr(at + 1), 1, "--context-of", "TENSOR=N"));
    options.contexts.insert_or_assign(text.substr(0, at), frames[0]);
  }
  return options;
}

// A setting before the first section of the settings file; empty: there is none.
Result<std::string> plain_setting(std::string_view key) {
  RUNNEL_ASSIGN(const std::vector<settings::Setting> file, settings::read_settings());
  for (const settings::Setting& setting : file) {
    if (setting.section.empty() && setting.key == key && !setting.values.empty()) return setting.values[0];
  }
  return std::string();
}

}  // namespace

Result<compiler::LoadOptions> load_options(const ModelFlags& flags) {
  RUNNEL_ASSIGN(compiler::LoadOptions options, named_models(flags.trust));
  options.target = flags.target;
  options.member = flags.member;
  options.onnx = flags.onnx;
  RUNNEL_ASSIGN(options.stream, stream_options(flags));
  for (const std::string& text : flags.shapes) {
    RUNNEL_ASSIGN(auto shape, named_integers(text, 'x', "--shape"));
    options.onnx.shapes.insert_or_assign(std::move(shape.first), std::move(shape.second));
  }
  for (const std::string& text : flags.values) {
    RUNNEL_ASSIGN(auto value, named_integers(text, ',', "--value"));
    options.onnx.values.insert_or_assign(std::move(value.first), std::move(value.second));
  }
  if (flags.key_file.empty()) {
    RUNNEL_ASSIGN(options.key, crypto::Key::from_environment("RUNNEL_KEY"));
  } else {
    RUNNEL_ASSIGN(options.key, crypto::Key::from_file(flags.key_file));
  }
  return options;
}

Result<std::shared_ptr<const trust::Trust>> trusted(const std::string& given) {
  if (!given.empty()) return trust::Trust::read(given);
  if (const char* const variable = std::getenv("RUNNEL_TRUST"); variable != nullptr)
    return trust::trust_of_environment();
  RUNNEL_ASSIGN(const std::string place, plain_setting("trust"));
  if (place.empty()) return std::shared_ptr<const trust::Trust>();
  auto out = trust::Trust::read(place);
  if (!out.ok()) return out.status().at(settings::settings_path());
  return out;
}

Result<compiler::LoadOptions> named_models(const std::string& trust) {
  compiler::LoadOptions options;
  RUNNEL_ASSIGN(auto trusts, trusted(trust));
  options.verify = trust::verifier(std::move(trusts));
  options.find = [](std::string_view name) { return models::find_model(name); };
  return options;
}

Result<std::string> default_model() {
  if (const char* const variable = std::getenv("RUNNEL_MODEL"); variable != nullptr && *variable != '\0')
    return std::string(variable);
  RUNNEL_ASSIGN(std::string model, plain_setting("model"));
  return model.empty() ? std::string(models::kDefaultModel) : std::move(model);
}

Result<std::shared_ptr<const OwnedModel>> load(const std::string& path, const ModelFlags& flags) {
  RUNNEL_ASSIGN(const compiler::LoadOptions options, load_options(flags));
  RUNNEL_ASSIGN(compiler::LoadedModel loaded, compiler::load_model(path, options));
  for (const std::string& note : loaded.notes) say(path + ": " + note);
  return loaded.model;
}

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (int axis = 0; axis < shape.rank; ++axis) text += (axis > 0 ? "," : "") + std::to_string(shape[axis]);
  return text + "]";
}

std::string file_name_of(const std::string& tensor) {
  std::string name = tensor.substr(0, 200);
  for (char& letter : name) {
    const bool keep = (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z') ||
                      (letter >= '0' && letter <= '9') || letter == '.' || letter == '_' || letter == '-';
    if (!keep) letter = '_';
  }
  return name;
}

std::function<void(std::string_view, double)> progress_line() {
  auto line = std::make_shared<ProgressLine>();
  return [line](std::string_view stage, double fraction) { line->show(stage, fraction); };
}

}  // namespace runnel::apps
