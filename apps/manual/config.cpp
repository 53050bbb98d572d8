// runnel config: the settings in effect and where they come from.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "apps/support.h"
#include "apps/verbs.h"
#include "services/settings/settings.h"

namespace runnel::apps {
namespace {

// A text in TOML.
std::string toml_text(const std::string& text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    out += letter;
  }
  return out + "\"";
}

Status show(const CommandLine& program, bool json) {
  const std::string path = settings::settings_path();
  std::error_code none;
  const bool there = !path.empty() && std::filesystem::exists(path, none);
  if (path.empty())
    say("no settings file: RUNNEL_CONFIG is empty, or HOME is not set");
  else
    say("settings file: " + path + (there ? "" : " (does not exist)"));
  int problems = 0;
  std::string section = "-";
  for (const CommandLine::Effective& setting : program.effective_settings()) {
    problems += setting.problem.empty() ? 0 : 1;
    if (json) {
      nlohmann::ordered_json line = {{"type", "setting"},
                                     {"verb", setting.section},
                                     {"option", setting.key},
                                     {"value", setting.value},
                                     {"from", setting.from}};
      if (!setting.problem.empty()) line["problem"] = setting.problem;
      std::printf("%s\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
      continue;
    }
    if (setting.section != section && !setting.section.empty())
      std::printf("[%s]\n", setting.section.c_str());
    section = setting.section;
    std::printf("%s = %s  # %s\n", setting.key.c_str(), toml_text(setting.value).c_str(),
                setting.from.c_str());
    if (!setting.problem.empty()) say(setting.from + ": " + setting.problem);
  }
  if (problems == 0) return {};
  return Status(Code::invalid_data) << problems << (problems == 1 ? " setting" : " settings")
                                    << " cannot be used";
}

}  // namespace

void add_config(Verb verb, const CommandLine& program, int& exit_code) {
  const auto json = std::make_shared<bool>(false);
  verb.flag("--json", *json, "One JSON object per line");
  verb.callback([json, &program, &exit_code] {
    if (const Status status = show(program, *json); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
