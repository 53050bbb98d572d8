#include "services/wyoming/catalogue.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/version.h"
#include "services/wyoming/message.h"

namespace runnel::wyoming {
namespace {

using Json = nlohmann::json;

// What the protocol wants to know of a program and of a model alike.
Json artifact(std::string_view name, std::string_view description) {
  return {{"name", name},
          {"attribution", {{"name", "runnel"}, {"url", ""}}},
          {"installed", true},
          {"description", description},
          {"version", kVersion}};
}

Json model(std::string_view name, std::string_view description, const std::string& language) {
  Json json = artifact(name, description);
  json["languages"] = {language};
  return json;
}

Json program(std::string_view description, const Json& models) {
  if (models.empty()) return Json::array();
  Json json = artifact("runnel", description);
  json["models"] = models;
  return Json::array({json});
}

}  // namespace

Result<Catalogue> Catalogue::make(const std::vector<OfferSettings>& settings,
                                  const pipeline::GraphOptions& graph, std::size_t streams,
                                  std::string language) {
  if (settings.empty()) return Status(Code::invalid_argument, "Wyoming: there is no model to offer");
  Catalogue catalogue;
  catalogue.language_ = std::move(language);
  for (const OfferSettings& one : settings) {
    for (const auto& other : catalogue.offers_) {
      if (other->name() == one.name)
        return Status(Code::invalid_argument)
               << "Wyoming: two models have the name " << one.name << ", expected different names of files";
    }
    RUNNEL_ASSIGN(std::unique_ptr<Offer> offer, Offer::make(one, graph, streams));
    catalogue.offers_.push_back(std::move(offer));
  }
  catalogue.look_again();
  return catalogue;
}

void Catalogue::look_again() {
  words_.clear();
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    if (offers_[i]->use() != Use::wake) continue;
    for (const std::string& label : offers_[i]->labels()) words_.push_back({label, i, label});
  }
  const std::vector<Word> all = words_;
  for (Word& word : words_) {
    const auto same = [&](const Word& other) { return other.label == word.label; };
    if (std::count_if(all.begin(), all.end(), same) > 1)
      word.name = offers_[word.offer]->name() + "/" + word.label;
  }
  Json wake = Json::array(), speech = Json::array();
  for (const Word& word : words_) {
    Json json =
        model(word.name, "\"" + word.label + "\" of the model " + offers_[word.offer]->name(), language_);
    json["phrase"] = word.label;
    wake.push_back(std::move(json));
  }
  for (const auto& offer : offers_) {
    if (offer->use() == Use::speech)
      speech.push_back(model(offer->name(), "text of the model " + offer->name(), language_));
  }
  Json info;
  for (const char* const domain : {"tts", "handle", "intent", "mic", "snd"}) info[domain] = Json::array();
  info["wake"] = program("words, found by runnel", wake);
  info["asr"] = program("speech as text, by runnel", speech);
  info_ = message_text("info", info);
}

std::vector<const Catalogue::Word*> Catalogue::words_named(std::string_view name) const {
  std::vector<const Word*> found;
  for (const Word& word : words_) {
    const std::string& model_name = offers_[word.offer]->name();
    if (name == word.name || name == word.label || name == model_name ||
        name == model_name + "/" + word.label)
      found.push_back(&word);
  }
  return found;
}

Offer* Catalogue::first(Use use, std::string_view name) const noexcept {
  for (const auto& offer : offers_) {
    if (offer->use() == use && (name.empty() || offer->name() == name)) return offer.get();
  }
  return nullptr;
}

bool Catalogue::speaks(std::string_view language) const noexcept {
  const auto base = [](std::string_view tag) { return tag.substr(0, tag.find_first_of("-_")); };
  return language.empty() || base(language) == base(language_);
}

}  // namespace runnel::wyoming
