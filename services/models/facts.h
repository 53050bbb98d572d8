// What is known of a model that has a name: labels from its file, the rest from the card beside it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "services/models/find.h"

namespace runnel::models {

// The card of a model, NAME/card.json beside NAME/NAME.rnl or NAME.card.json beside NAME.rnl: who may use it,
// and for what it is. Empty: unknown.
struct ModelCard {
  std::string about;    // one line
  std::string licence;  // SPDX expression
  std::string source;   // address it was fetched from
};

// Reads a card. Errors: not_found without one, invalid_data; they name the file.
Result<ModelCard> read_card(const std::string& path);
// Writes a card, whole or not at all. Errors: io_error.
Status write_card(const std::string& path, const ModelCard& card);
// The place of the card of this model.
std::string card_of(const FoundModel& model);

struct ModelFacts {
  ModelCard card;
  std::vector<std::string> labels;
  std::string front_end, decision;  // graph text; empty: the model has none
  std::string unreadable;           // why the model file cannot be read; empty: it can
};

// Reads the model file and its card. A card that is missing or broken counts as empty, because the model
// works without it. `verify` is asked about the file before it is read (compiler/import/load.h).
ModelFacts facts_of(
    const FoundModel& model,
    const std::function<Status(const std::filesystem::path&, std::span<const std::byte>)>& verify = {});

}  // namespace runnel::models
