#include "services/settings/settings.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/from_chars.h"
#include "base/host/small_file.h"

namespace runnel::settings {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKeyLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

// Reads the text line by line; the first thing that is wrong ends it.
class Reader {
 public:
  Status read(std::string_view text, std::vector<Setting>& settings) {
    std::string section;
    while (!text.empty() && status_.ok()) {
      ++line_;
      const std::size_t end = std::min(text.find('\n'), text.size());
      rest_ = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (rest_.ends_with('\r')) rest_.remove_suffix(1);
      blanks();
      if (at_end()) continue;
      if (rest_.front() == '[')
        section = section_name();
      else
        settings.push_back(setting(section, settings));
      blanks();
      if (status_.ok() && !at_end()) expected("the end of the line");
    }
    return status_;
  }

 private:
  void blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }
  [[nodiscard]] bool at_end() const { return rest_.empty() || rest_.front() == '#'; }
  void expected(std::string_view what) {
    if (!status_.ok()) return;
    status_ = Status(Code::invalid_data) << "line " << line_ << ": expected " << what << ", found ";
    if (rest_.empty())
      status_ << "the end of the line";
    else
      status_ << '"' << rest_.substr(0, 40) << '"';
  }
  std::string_view take(std::string_view letters) {
    const std::size_t count = std::min(rest_.find_first_not_of(letters), rest_.size());
    const std::string_view word = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return word;
  }
  bool take_one(char letter) {
    if (rest_.empty() || rest_.front() != letter) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string section_name() {
    rest_.remove_prefix(1);
    const std::string name(take(std::string(kKeyLetters) + "."));
    if (name.empty() || !take_one(']')) expected("[VERB]");
    return name;
  }

  Setting setting(const std::string& section, const std::vector<Setting>& before) {
    Setting setting{section, std::string(take(kKeyLetters)), {}, line_};
    blanks();
    if (setting.key.empty() || !take_one('=')) expected("OPTION = VALUE");
    const auto same = std::ranges::find_if(before, [&](const Setting& other) {
      return other.section == setting.section && other.key == setting.key;
    });
    if (status_.ok() && same != before.end())
      status_ = Status(Code::invalid_data)
                << "line " << line_ << ": " << setting.key << " is there already in line " << same->line;
    blanks();
    if (!take_one('[')) {
      setting.values.push_back(value());
      return setting;
    }
    for (blanks(); status_.ok() && !take_one(']'); blanks()) {
      setting.values.push_back(value());
      blanks();
      if (!take_one(',') && (rest_.empty() || rest_.front() != ']')) expected("',' or ']'");
    }
    return setting;
  }

  std::string value() {
    if (take_one('"')) return basic_text();
    if (take_one('\'')) {
      const std::size_t end = rest_.find('\'');
      if (end == std::string_view::npos) return expected("a closing '"), std::string();
      const std::string text(rest_.substr(0, end));
      rest_.remove_prefix(end + 1);
      return text;
    }
    const std::string_view all = rest_;
    const std::string word(take("+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"));
    if (word == "true" || word == "false") return word;
    // TOML allows 48_000.
    std::string digits = word;
    std::erase(digits, '_');
    double number = 0;
    const char* const begin = digits.c_str() + (digits.starts_with('+') ? 1 : 0);
    const char* const end = digits.c_str() + digits.size();
    const auto [stop, error] = from_chars(begin, end, number);
    if (digits.empty() || error != std::errc() || stop != end) {
      rest_ = all;
      expected("a text in quotes, a number, true, false or an array of these");
    }
    return digits;
  }

  std::string basic_text() {
    std::string text;
    while (!rest_.empty() && rest_.front() != '"') {
      char letter = rest_.front();
      rest_.remove_prefix(1);
      if (letter == '\\') {
        constexpr std::string_view kFrom = "\\\"nt", kTo = "\\\"\n\t";
        const std::size_t which = rest_.empty() ? std::string_view::npos : kFrom.find(rest_.front());
        if (which == std::string_view::npos) return expected("\\\\, \\\", \\n or \\t"), text;
        letter = kTo[which];
        rest_.remove_prefix(1);
      }
      text += letter;
    }
    if (!take_one('"')) expected("a closing \"");
    return text;
  }

  std::string_view rest_;
  Status status_;
  int line_ = 0;
};

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

Result<std::vector<Setting>> parse_settings(std::string_view text) {
  std::vector<Setting> settings;
  RUNNEL_TRY(Reader().read(text, settings));
  return settings;
}

std::string settings_path() {
  if (std::getenv("RUNNEL_CONFIG") != nullptr) return std::string(environment("RUNNEL_CONFIG"));
  if (const fs::path folder = environment("XDG_CONFIG_HOME"); folder.is_absolute())
    return (folder / "runnel" / "config.toml").string();
  if (const fs::path home = environment("HOME"); home.is_absolute())
    return (home / ".config" / "runnel" / "config.toml").string();
  return {};
}

Result<std::vector<Setting>> read_settings() {
  const std::string path = settings_path();
  std::error_code none;
  if (path.empty() || (std::getenv("RUNNEL_CONFIG") == nullptr && !fs::exists(path, none)))
    return std::vector<Setting>();
  RUNNEL_ASSIGN(const std::string text, read_small_file(path));
  auto settings = parse_settings(text);
  if (!settings.ok()) return settings.status().at(path);
  return settings;
}

std::string variable_of(std::string_view section, std::string_view key) {
  std::string name = "RUNNEL_";
  for (const char letter : section.empty() ? std::string(key) : std::string(section) + "_" + std::string(key))
    name += letter == '-' || letter == '.'   ? '_'
            : letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A')
                                             : letter;
  return name;
}

}  // namespace runnel::settings
