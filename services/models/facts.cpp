#include "services/models/facts.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/host/json/nesting.h"
#include "base/host/output_file.h"
#include "base/host/small_file.h"
#include "base/limits.h"
#include "inference/host/engine.h"

namespace runnel::models {
namespace {

using Json = nlohmann::ordered_json;

constexpr struct {
  const char* key;
  std::string ModelCard::*text;
} kFields[] = {
    {"about", &ModelCard::about}, {"licence", &ModelCard::licence}, {"source", &ModelCard::source}};

}  // namespace

std::string card_of(const FoundModel& model) {
  const std::filesystem::path folder = std::filesystem::path(model.path).parent_path();
  return (folder / (folder.filename() == model.name ? "card.json" : model.name + ".card.json")).string();
}

Result<ModelCard> read_card(const std::string& path) {
  RUNNEL_ASSIGN(const std::string text, read_small_file(path));
  if (nests_deeper(text))
    return Status(Code::invalid_data) << path << ": brackets more than " << limits::kJsonNesting << " deep";
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Status(Code::invalid_data) << path << ": expected a JSON object";
  ModelCard card;
  for (const auto& [key, field] : kFields) {
    const auto found = json.find(key);
    if (found == json.end()) continue;
    if (!found->is_string()) return Status(Code::invalid_data) << path << ": " << key << ": expected a text";
    card.*field = found->get<std::string>();
  }
  return card;
}

Status write_card(const std::string& path, const ModelCard& card) {
  Json json;
  for (const auto& [key, field] : kFields) {
    if (!(card.*field).empty()) json[key] = card.*field;
  }
  const std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  return write_file(path, std::as_bytes(std::span(text)));
}

ModelFacts facts_of(
    const FoundModel& model,
    const std::function<Status(const std::filesystem::path&, std::span<const std::byte>)>& verify) {
  ModelFacts facts;
  if (auto card = read_card(card_of(model)); card.ok()) facts.card = std::move(card).value();
  const auto owned = [&]() -> Result<std::shared_ptr<const OwnedModel>> {
    RUNNEL_ASSIGN(const std::vector<std::byte> bytes, read_whole_file(model.path));
    if (verify) RUNNEL_TRY(verify(model.path, bytes));
    auto opened = OwnedModel::from_bytes(bytes);
    if (!opened.ok()) return opened.status().at(model.path);
    return opened;
  }();
  if (!owned.ok()) {
    facts.unreadable = owned.status().text();
    return facts;
  }
  if (const fb::Pipeline* pipeline = (*owned)->model().pipeline(); pipeline != nullptr) {
    if (pipeline->front_end() != nullptr) facts.front_end = pipeline->front_end()->str();
    if (pipeline->decision() != nullptr) facts.decision = pipeline->decision()->str();
    if (pipeline->labels() != nullptr) {
      for (const auto* label : *pipeline->labels()) facts.labels.push_back(label->str());
    }
  }
  return facts;
}

}  // namespace runnel::models
