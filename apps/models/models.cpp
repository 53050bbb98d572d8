// runnel models: lists the models that have a name.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/support.h"
#include "apps/verbs.h"
#include "services/models/facts.h"

namespace runnel::apps {
namespace {

void print_json(const models::FoundModel& model, const models::ModelFacts& facts) {
  const auto text = [](const std::string& value) {
    return value.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
  };
  nlohmann::ordered_json line = {{"type", "model"},
                                 {"name", model.name},
                                 {"place", models::name_of(model.place)},
                                 {"path", model.path},
                                 {"bytes", model.bytes},
                                 {"about", text(facts.card.about)},
                                 {"licence", text(facts.card.licence)},
                                 {"source", text(facts.card.source)},
                                 {"labels", facts.labels},
                                 {"front_end", text(facts.front_end)},
                                 {"decision", text(facts.decision)}};
  if (!facts.unreadable.empty()) line["unreadable"] = facts.unreadable;
  std::printf("%s\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void print_text(const models::FoundModel& model, const models::ModelFacts& facts) {
  const auto row = [](const char* what, const std::string& value) {
    if (!value.empty()) std::printf("  %-8s %s\n", what, value.c_str());
  };
  std::printf("%s%s\n", model.name.c_str(),
              model.name == models::kDefaultModel ? " (taken by `runnel listen` when none is named)" : "");
  row("for", facts.card.about);
  std::string labels;
  for (const std::string& label : facts.labels) labels += (labels.empty() ? "" : " ") + label;
  row("labels", labels);
  row("licence", facts.card.licence.empty() ? "unknown" : facts.card.licence);
  row("size", fmt::format("{:.1f} KiB", static_cast<double>(model.bytes) / 1024));
  row("from", facts.card.source);
  row("file", fmt::format("{} ({})", model.path, models::name_of(model.place)));
  row("broken", facts.unreadable);
}

Status list_models(bool json) {
  const std::vector<models::FoundModel> list = models::list_models();
  for (const models::FoundModel& model : list)
    (json ? print_json : print_text)(model, models::facts_of(model));
  if (!list.empty()) return {};
  std::string folders;
  for (const models::ModelFolder& folder : models::model_folders())
    folders += (folders.empty() ? "" : ", ") + folder.folder.string();
  return Status(Code::not_found) << "no models are installed, looked in " << folders;
}

}  // namespace

void add_models(Verb verb, int& exit_code) {
  const auto json = std::make_shared<bool>(false);
  verb.flag("--json", *json, "One JSON object per line");
  verb.callback([json, &exit_code] {
    if (const Status status = list_models(*json); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
