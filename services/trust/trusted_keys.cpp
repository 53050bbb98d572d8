#include "services/trust/trusted_keys.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/host/small_file.h"
#include "services/settings/settings.h"

namespace runnel::trust {
namespace {

namespace fs = std::filesystem;
using settings::Setting;

constexpr std::string_view kKeySection = "key.", kModelSection = "model.";

std::optional<crypto::PublicKey> key_of_digits(std::string_view digits) {
  crypto::PublicKey out{};
  if (digits.size() != 2 * out.size()) return {};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const char* const at = digits.data() + 2 * i;
    const auto [stop, error] = std::from_chars(at, at + 2, out[i], 16);
    if (error != std::errc() || stop != at + 2) return {};
  }
  return out;
}

Status wrong(const Setting& setting, std::string_view expected) {
  return Status(Code::invalid_data) << "line " << setting.line << ": " << setting.key << ": expected "
                                    << expected << ", found \""
                                    << (setting.values.empty() ? std::string() : setting.values[0]) << "\"";
}

Status read_version(const Setting& setting, std::uint32_t& version) {
  const std::string text = setting.values.size() == 1 ? setting.values[0] : std::string();
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size())
    return wrong(setting, "a version from 0 to 4294967295");
  return {};
}

Status add_to_key(const Setting& setting, TrustedKey& key) {
  if (setting.key == "lowest_version") return read_version(setting, key.lowest_version);
  if (setting.key == "public") {
    const auto found = setting.values.size() == 1 ? key_of_digits(setting.values[0]) : std::nullopt;
    if (!found) return wrong(setting, "64 hexadecimal digits");
    key.key = *found;
    return {};
  }
  if (setting.key == "revoked") {
    // A text that says when and why, or true.
    if (setting.values.size() != 1 || setting.values[0].empty())
      return wrong(setting, "a text that says why, or true");
    if (setting.values[0] != "false") key.revoked = setting.values[0] == "true" ? "" : setting.values[0];
    if (setting.values[0] == "true") key.revoked = "no reason is given";
    return {};
  }
  return Status(Code::invalid_data) << "line " << setting.line << ": a key has public, lowest_version and "
                                    << "revoked, found \"" << setting.key << "\"";
}

// Revocation and the highest bound win, whatever comes first.
void add_key(TrustedKey key, TrustedKeys& all) {
  const auto same = std::ranges::find(all.keys, key.key, &TrustedKey::key);
  if (same == all.keys.end()) {
    all.keys.push_back(std::move(key));
    return;
  }
  same->lowest_version = std::max(same->lowest_version, key.lowest_version);
  if (same->revoked.empty()) same->revoked = key.revoked;
}

void merge(TrustedKeys more, TrustedKeys& all) {
  for (TrustedKey& key : more.keys) add_key(std::move(key), all);
  for (const auto& [model, version] : more.lowest_of_model) {
    std::uint32_t& lowest = all.lowest_of_model[model];
    lowest = std::max(lowest, version);
  }
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\r\n").find(text.back()) != std::string_view::npos)
    text.remove_suffix(1);
  return text;
}

Result<TrustedKeys> read_one(const fs::path& file) {
  if (file.extension() == ".key")
    return Status(Code::invalid_data)
           << file.string() << ": the file of a key that signs, expected a public key (.pub)";
  RUNNEL_ASSIGN(const std::string text, read_small_file(file.string()));
  if (const auto key = key_of_digits(without_blanks(text)); key) {
    TrustedKeys out;
    out.keys.push_back({file.stem().string(), *key, 0, {}, file.string()});
    return out;
  }
  if (text.find('[') == std::string::npos)
    return Status(Code::invalid_data)
           << file.string() << ": expected a public key of 64 hexadecimal digits, or a list with [key.NAME]";
  auto list = parse_key_list(text);
  if (!list.ok()) return list.status().at(file.string());
  for (TrustedKey& key : list->keys) key.place = file.string();
  return list;
}

}  // namespace

Result<TrustedKeys> parse_key_list(std::string_view text) {
  RUNNEL_ASSIGN(const std::vector<Setting> settings, settings::parse_settings(text));
  std::vector<std::pair<TrustedKey, int>> keys;  // with a line of it
  TrustedKeys out;
  for (const Setting& setting : settings) {
    const std::string_view section = setting.section;
    if (section.starts_with(kKeySection) && section.size() > kKeySection.size()) {
      const std::string name(section.substr(kKeySection.size()));
      auto at = std::ranges::find(keys, name, [](const auto& one) { return one.first.name; });
      if (at == keys.end()) at = keys.insert(at, {TrustedKey{name, {}, 0, {}, {}}, setting.line});
      RUNNEL_TRY(add_to_key(setting, at->first));
    } else if (section.starts_with(kModelSection) && section.size() > kModelSection.size()) {
      if (setting.key != "lowest_version")
        return Status(Code::invalid_data)
               << "line " << setting.line << ": a model has lowest_version, found \"" << setting.key << "\"";
      RUNNEL_TRY(
          read_version(setting, out.lowest_of_model[std::string(section.substr(kModelSection.size()))]));
    } else {
      return Status(Code::invalid_data)
             << "line " << setting.line << ": expected [key.NAME] or [model.NAME] above it, found ["
             << setting.section << "]";
    }
  }
  for (auto& [key, line] : keys) {
    if (key.key == crypto::PublicKey{})
      return Status(Code::invalid_data) << "line " << line << ": the key " << key.name << " has no public";
    add_key(std::move(key), out);
  }
  return out;
}

Result<TrustedKeys> read_trusted_keys(const std::string& place) {
  std::error_code error;
  TrustedKeys out;
  if (!fs::is_directory(place, error)) {
    RUNNEL_ASSIGN(out, read_one(place));
  } else {
    std::vector<fs::path> files;
    for (fs::directory_iterator at(place, error), end; !error && at != end; at.increment(error)) {
      if (at->path().extension() == ".pub" || at->path().extension() == ".toml") files.push_back(at->path());
    }
    if (error) return Status(Code::io_error) << place << ": " << error.message();
    std::ranges::sort(files);
    for (const fs::path& file : files) {
      RUNNEL_ASSIGN(TrustedKeys more, read_one(file));
      merge(std::move(more), out);
    }
  }
  if (out.keys.empty())
    return Status(Code::invalid_data) << place << ": no key, expected a public key, a list of keys or a "
                                      << "folder with *.pub and *.toml";
  out.place = place;
  return out;
}

}  // namespace runnel::trust
