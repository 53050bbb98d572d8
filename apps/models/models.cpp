// runnel models: lists the models that have a name, and fetches public ones.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/call/progress.h"
#include "apps/graphs.h"
#include "apps/support.h"
#include "apps/verbs.h"
#include "services/models/facts.h"
#include "services/models/fetch/get.h"

namespace runnel::apps {
namespace {

nlohmann::ordered_json or_null(const std::string& value) {
  return value.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
}

void print_line(const nlohmann::ordered_json& line) {
  std::printf("%s\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void print_row(const char* what, const std::string& value) {
  if (!value.empty()) std::printf("  %-8s %s\n", what, value.c_str());
}

std::string kibibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
}

void print_json(const models::FoundModel& model, const models::ModelFacts& facts) {
  nlohmann::ordered_json line = {{"type", "model"},
                                 {"name", model.name},
                                 {"place", models::name_of(model.place)},
                                 {"path", model.path},
                                 {"bytes", model.bytes},
                                 {"about", or_null(facts.card.about)},
                                 {"licence", or_null(facts.card.licence)},
                                 {"source", or_null(facts.card.source)},
                                 {"labels", facts.labels},
                                 {"front_end", or_null(facts.front_end)},
                                 {"decision", or_null(facts.decision)}};
  if (!facts.unreadable.empty()) line["unreadable"] = facts.unreadable;
  print_line(line);
}

void print_text(const models::FoundModel& model, const models::ModelFacts& facts) {
  std::printf("%s%s\n", model.name.c_str(),
              model.name == models::kDefaultModel ? " (taken by `runnel listen` when none is named)" : "");
  print_row("for", facts.card.about);
  std::string labels;
  for (const std::string& label : facts.labels) labels += (labels.empty() ? "" : " ") + label;
  print_row("labels", labels);
  print_row("licence", facts.card.licence.empty() ? "unknown" : facts.card.licence);
  print_row("size", kibibytes(model.bytes));
  print_row("from", facts.card.source);
  print_row("file", fmt::format("{} ({})", model.path, models::name_of(model.place)));
  print_row("broken", facts.unreadable);
}

Status list_models(bool json, const std::string& trust) {
  RUNNEL_ASSIGN(const compiler::LoadOptions options, named_models(trust));
  const std::vector<models::FoundModel> list = models::list_models();
  for (const models::FoundModel& model : list)
    (json ? print_json : print_text)(model, models::facts_of(model, options.verify));
  if (!list.empty()) return {};
  std::string folders;
  for (const models::ModelFolder& folder : models::model_folders())
    folders += (folders.empty() ? "" : ", ") + folder.folder.string();
  return Status(Code::not_found) << "no models are installed, looked in " << folders;
}

Status list_catalogue(bool json) {
  RUNNEL_ASSIGN(const auto catalogue, models::read_catalogue(models::model_folders()));
  const std::vector<models::FoundModel> here = models::list_models();
  for (const models::CatalogueEntry& entry : catalogue) {
    const bool is_here = std::ranges::find(here, entry.name, &models::FoundModel::name) != here.end();
    std::uint64_t bytes = 0;
    for (const models::CatalogueFile& file : entry.files) bytes += file.bytes;
    if (json) {
      nlohmann::ordered_json line = {{"type", "available"},           {"name", entry.name},
                                     {"about", entry.card.about},     {"bytes", bytes},
                                     {"licence", entry.card.licence}, {"here", is_here}};
      for (const models::CatalogueFile& file : entry.files)
        line["files"].push_back({{"address", file.address}, {"sha256", file.sha256}});
      print_line(line);
      continue;
    }
    std::printf("%s%s\n", entry.name.c_str(), is_here ? " (is here)" : "");
    print_row("for", entry.card.about);
    print_row("licence", entry.card.licence);
    print_row("size", kibibytes(bytes));
    print_row("from", entry.card.source);
  }
  return {};
}

struct GetCall {
  std::string what, name, trust;
  bool again = false, without_sandbox = false;
};

Status get_model(const GetCall& call) {
  models::GetRequest request;
  if (call.what.find("://") != std::string::npos) {
    RUNNEL_ASSIGN(request.entry, models::entry_for_address(call.what, call.name));
  } else {
    RUNNEL_ASSIGN(const auto catalogue, models::read_catalogue(models::model_folders()));
    RUNNEL_ASSIGN(request.entry, models::entry_named(catalogue, call.what));
  }
  RUNNEL_ASSIGN(const compiler::LoadOptions options, named_models(call.trust));
  request.verify = options.verify;
  request.folder = models::user_model_folder();
  request.again = call.again;
  request.sandbox = !call.without_sandbox;
  request.stop = &stop_requested;
  catch_signals();
  ProgressLine line;
  request.progress = [&](std::string_view stage, std::uint64_t there, std::uint64_t all) {
    line.show(stage, all > 0 ? static_cast<double>(there) / static_cast<double>(all) : 0);
  };
  const Result<models::GotModel> got = models::get_model(request);
  line.end();
  if (!got.ok()) return got.status();
  for (const std::string& note : got->notes) say(note);
  if (got->was_there) say(request.entry.name + " is here already (--again replaces it)");
  print_line({{"type", "model"},
              {"name", request.entry.name},
              {"path", got->path},
              {"licence", or_null(request.entry.card.licence)},
              {"fetched", !got->was_there}});
  return {};
}

}  // namespace

void add_models(Verb verb, int& exit_code) {
  const auto json = std::make_shared<bool>(false);
  // The parent's callback follows that of a subverb.
  const auto answered = std::make_shared<bool>(false);
  const Option lines = verb.flag("--json", *json, "One JSON object per line");
  const auto trust = std::make_shared<std::string>();
  add_trust_flag(verb, *trust);
  const auto names = std::make_shared<bool>(false);
  verb.flag("--names", *names, "The names alone, one per line").excludes(lines);
  const auto run = [&exit_code](const Status& status) {
    if (!status.ok()) exit_code = fail(status);
  };

  const Verb available = verb.verb("available", "List the public models that `models get` fetches");
  available.flag("--json", *json, "One JSON object per line");
  available.callback([json, answered, run] {
    *answered = true;
    run(list_catalogue(*json));
  });

  const auto call = std::make_shared<GetCall>();
  const Verb get =
      verb.verb("get", "Fetch a public model, verify, import and check it, and keep it under its name");
  get.positional("NAME", call->what,
                 "Name in the catalogue (see `runnel models available`), or the address of a model file")
      .required();
  get.option("--name", call->name, "Name for a model given by its address (default: that of the file)");
  get.flag(
      "--no-sandbox", call->without_sandbox,
      "Import and check it without the locks of the sandbox, where this machine has none of them; limits of "
      "memory and time stay");
  get.option(
      "--trust", call->trust,
      "Take the file only if this public key, or one of a list or folder of keys, has signed it (default: "
      "the variable RUNNEL_TRUST, or every file)");
  get.flag("--again", call->again, "Fetch it again if it is here already");
  get.callback([call, answered, run] {
    *answered = true;
    run(get_model(*call));
  });

  verb.callback([json, names, trust, answered, run] {
    if (*answered) return;
    if (*names) {
      for (const models::FoundModel& model : models::list_models()) std::printf("%s\n", model.name.c_str());
    } else {
      run(list_models(*json, *trust));
    }
  });
}

}  // namespace runnel::apps
