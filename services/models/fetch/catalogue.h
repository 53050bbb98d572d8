// The catalogue of public models that runnel runs: catalogue.json in one of the folders of models.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/import/usage.h"
#include "services/models/facts.h"

namespace runnel::models {

struct CatalogueFile {
  std::string address;
  std::string sha256;       // 64 hexadecimal digits
  std::uint64_t bytes = 0;  // size
  std::string signature =
      {};  // address of its signature (services/trust/signature_file.h); empty: it has none
};

// How a model file becomes a .rnl file; what is not given is as the file says.
struct ImportRecipe {
  compiler::UsageOptions usage;
  std::string front_end, decision;  // graph text
  int sample_rate = 0;              // Hz; 0: as the front end says
  std::vector<std::string> labels;
};

struct CatalogueEntry {
  std::string name;
  ModelCard card;
  std::string key;                   // who has signed its files: 64 hexadecimal digits; empty: nobody
  std::vector<CatalogueFile> files;  // the first is imported, the others lie beside it
  ImportRecipe recipe;
};

// Reads a catalogue. Errors name the place in the text: invalid_data.
Result<std::vector<CatalogueEntry>> parse_catalogue(std::string_view text);

// The first catalogue.json in these folders. Errors: not_found when there is none; those of
// parse_catalogue, with the file.
Result<std::vector<CatalogueEntry>> read_catalogue(std::span<const ModelFolder> folders);

// The entry of this name. Error: not_found, with the nearest names.
Result<CatalogueEntry> entry_named(const std::vector<CatalogueEntry>& catalogue, std::string_view name);

// The last part of an address, without a query: the name of its file; empty when there is none that is safe.
std::string file_name_of(std::string_view address);

}  // namespace runnel::models
