#include "services/models/fetch/catalogue.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/host/json/nesting.h"
#include "base/host/small_file.h"
#include "base/limits.h"
#include "base/suggest.h"

namespace runnel::models {
namespace {

using Json = nlohmann::ordered_json;

// Names become files and folders.
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 100 && text.front() != '.' &&
         text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
             std::string_view::npos;
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Reads the members of one JSON object and refuses those that it does not know.
class Members {
 public:
  Members(const Json& object, std::string place) : object_(object), place_(std::move(place)) {
    if (!object.is_object()) fail("expected an object");
  }
  void text(const char* key, std::string& value) {
    if (const Json* found = find(key); found != nullptr) {
      if (found->is_string())
        value = found->get<std::string>();
      else
        fail(std::string(key) + ": expected a text");
    }
  }
  void texts(const char* key, std::vector<std::string>& values) {
    const Json* found = find(key);
    if (found == nullptr) return;
    if (!found->is_array()) return fail(std::string(key) + ": expected an array of texts");
    for (const Json& item : *found) {
      if (!item.is_string()) return fail(std::string(key) + ": expected an array of texts");
      values.push_back(item.get<std::string>());
    }
  }
  // A number from 0 to `most`.
  std::optional<std::int64_t> number(const char* key, std::int64_t most) {
    const Json* found = find(key);
    if (found == nullptr) return {};
    const auto value = found->is_number_integer() ? found->get<std::int64_t>() : -1;
    if (value < 0 || value > most) {
      fail(std::string(key) + ": expected an integer from 0 to " + std::to_string(most));
      return {};
    }
    return value;
  }
  const Json* find(const char* key) {
    known_.emplace_back(key);
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  void fail(const std::string& what) {
    if (status_.ok()) status_ = Status(Code::invalid_data) << place_ << ": " << what;
  }
  Status end() {
    if (object_.is_object()) {
      for (const auto& [key, value] : object_.items()) {
        if (std::ranges::find(known_, key) == known_.end()) fail("\"" + key + "\" is not known here");
      }
    }
    return status_;
  }

 private:
  const Json& object_;
  std::string place_;
  std::vector<std::string> known_;
  Status status_;
};

Status read_recipe(const Json& json, const std::string& place, ImportRecipe& recipe) {
  Members members(json, place);
  constexpr std::int64_t kMost = 1 << 24;
  const auto number = [&](const char* key, std::optional<int>& value) {
    if (const auto found = members.number(key, kMost)) value = static_cast<int>(*found);
  };
  members.text("usage", recipe.usage.usage);
  number("window", recipe.usage.window);
  number("hop", recipe.usage.hop);
  number("step", recipe.usage.step);
  number("context", recipe.usage.context);
  number("look_ahead", recipe.usage.look_ahead);
  if (const Json* states = members.find("states"); states != nullptr) {
    if (!states->is_object()) members.fail("states: expected an object of OUTPUT: INPUT");
    for (const auto& [output, input] : states->items()) {
      if (input.is_string())
        recipe.usage.states.emplace_back(output, input.get<std::string>());
      else
        members.fail("states: expected an object of OUTPUT: INPUT");
    }
  }
  members.text("front_end", recipe.front_end);
  members.text("decision", recipe.decision);
  if (const auto rate = members.number("sample_rate", 768000)) recipe.sample_rate = static_cast<int>(*rate);
  members.texts("labels", recipe.labels);
  return members.end();
}

Result<CatalogueFile> read_file(const Json& json, const std::string& place) {
  CatalogueFile file;
  Members members(json, place);
  members.text("address", file.address);
  members.text("sha256", file.sha256);
  if (const auto bytes = members.number("bytes", std::int64_t{1} << 40))
    file.bytes = static_cast<std::uint64_t>(*bytes);
  members.text("signature", file.signature);
  if (!file.signature.empty() && file_name_of(file.signature).empty())
    members.fail("signature: expected an address that ends in a file's name");
  if (file_name_of(file.address).empty()) members.fail("address: expected one that ends in a file's name");
  if (!is_sha256(file.sha256)) members.fail("sha256: expected 64 hexadecimal digits");
  RUNNEL_TRY(members.end());
  return file;
}

Result<CatalogueEntry> read_entry(const Json& json, const std::string& place) {
  CatalogueEntry entry;
  Members members(json, place);
  members.text("name", entry.name);
  members.text("about", entry.card.about);
  members.text("licence", entry.card.licence);
  members.text("key", entry.key);
  if (!entry.key.empty() && !is_sha256(entry.key)) members.fail("key: expected 64 hexadecimal digits");
  if (!is_name(entry.name)) members.fail("name: expected letters, digits, '-', '_' and '.'");
  if (const Json* files = members.find("files"); files != nullptr && files->is_array()) {
    for (std::size_t i = 0; i < files->size(); ++i) {
      RUNNEL_ASSIGN(auto file, read_file((*files)[i], place + ": file " + std::to_string(i)));
      entry.files.push_back(std::move(file));
    }
  }
  const bool all_signed =
      std::ranges::none_of(entry.files, [](const CatalogueFile& file) { return file.signature.empty(); });
  if (!entry.key.empty() && !all_signed)
    members.fail("files: expected the signature of each, because the model has a key");
  if (entry.files.empty()) members.fail("files: expected at least one");
  if (const Json* recipe = members.find("import"); recipe != nullptr)
    RUNNEL_TRY(read_recipe(*recipe, place + ": import", entry.recipe));
  RUNNEL_TRY(members.end());
  entry.card.source = entry.files.front().address;
  return entry;
}

}  // namespace

std::string file_name_of(std::string_view address) {
  address = address.substr(0, address.find_first_of("?#"));
  const std::size_t host = address.find("://");
  if (host == std::string_view::npos) return {};
  const std::size_t slash = address.rfind('/');
  if (slash < host + 3) return {};
  const std::string_view name = address.substr(slash + 1);
  return is_name(name) ? std::string(name) : std::string();
}

Result<std::vector<CatalogueEntry>> parse_catalogue(std::string_view text) {
  if (nests_deeper(text))
    return Status(Code::invalid_data) << "brackets more than " << limits::kJsonNesting << " deep";
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_array()) return Status(Code::invalid_data) << "expected a JSON array of models";
  std::vector<CatalogueEntry> catalogue;
  for (std::size_t i = 0; i < json.size(); ++i) {
    RUNNEL_ASSIGN(auto entry, read_entry(json[i], "model " + std::to_string(i)));
    if (std::ranges::find(catalogue, entry.name, &CatalogueEntry::name) != catalogue.end())
      return Status(Code::invalid_data) << "model " << i << ": the name " << entry.name << " is there twice";
    catalogue.push_back(std::move(entry));
  }
  return catalogue;
}

Result<std::vector<CatalogueEntry>> read_catalogue(std::span<const ModelFolder> folders) {
  for (const ModelFolder& folder : folders) {
    std::error_code none;
    const std::filesystem::path path = folder.folder / "catalogue.json";
    if (!std::filesystem::exists(path, none)) continue;
    RUNNEL_ASSIGN(const std::string text, read_small_file(path.string()));
    auto catalogue = parse_catalogue(text);
    if (!catalogue.ok()) return catalogue.status().at(path.string());
    return catalogue;
  }
  return Status(Code::not_found) << "no catalogue.json in the folders of models";
}

Result<CatalogueEntry> entry_named(const std::vector<CatalogueEntry>& catalogue, std::string_view name) {
  const auto found = std::ranges::find(catalogue, name, &CatalogueEntry::name);
  if (found != catalogue.end()) return *found;
  Suggestion nearest(name);
  for (const CatalogueEntry& entry : catalogue) nearest.consider(entry.name);
  Status status(Code::not_found);
  status << "the catalogue has no model '" << name << "'";
  if (!nearest.best().empty()) return status << ", did you mean '" << nearest.best() << "'?";
  status << "; it has ";
  for (const CatalogueEntry& entry : catalogue)
    status << (&entry == catalogue.data() ? "" : ", ") << entry.name;
  return status;
}

}  // namespace runnel::models
