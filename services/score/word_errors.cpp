#include "services/score/word_errors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "pipeline/host/json.h"
#include "services/score/recording_names.h"

namespace runnel::pipeline {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The next character of UTF-8, removed from `text`. Bytes that are none count as themselves.
std::string_view take_character(std::string_view& text, char32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t size = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : byte(0) >= 0xC0 ? 2 : 1;
  code = size == 1 ? byte(0) : byte(0) & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (i >= text.size() || (byte(i) & 0xC0u) != 0x80u) {
      size = 1;
      code = byte(0);
      break;
    }
    code = (code << 6) | (byte(i) & 0x3Fu);
  }
  const std::string_view character = text.substr(0, size);
  text.remove_prefix(size);
  return character;
}

std::string encoded(char32_t code) {
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
}

bool is_white(char32_t code) { return code <= ' ' || code == 0x7F || code == 0xA0 || code == 0x3000; }

bool is_punctuation(char32_t code) {
  const bool ascii = (code >= '!' && code <= '/') || (code >= ':' && code <= '@') ||
                     (code >= '[' && code <= '`') || (code >= '{' && code <= '~');
  return ascii || (code >= 0x2010 && code <= 0x2027);
}

// Of one character below U+0800.
char32_t small_letter(char32_t code) {
  if (code >= 'A' && code <= 'Z') return code + 32;
  if ((code >= 0xC0 && code <= 0xDE && code != 0xD7) || (code >= 0x391 && code <= 0x3A9) ||
      (code >= 0x410 && code <= 0x42F))
    return code + 32;
  if (code >= 0x400 && code <= 0x40F) return code + 80;
  return code;
}

// The errors of rows up to here, and the insertions among them.
struct Cell {
  std::int64_t errors = 0, insertions = 0;
  friend auto operator<=>(const Cell&, const Cell&) = default;
};

// [low, high] of the rates of sets of recordings.
void set_interval(WordErrors& errors) {
  errors.low = errors.high = kNone;
  const std::size_t files = errors.files.size();
  if (files < 2 || errors.options.samples < 1 || errors.total.units == 0) return;
  std::mt19937_64 random(errors.options.seed);
  std::vector<double> rates;
  for (std::int64_t i = 0; i < errors.options.samples; ++i) {
    ErrorCounts drawn;
    // Not uniform_int_distribution, which libraries implement differently.
    for (std::size_t k = 0; k < files; ++k) drawn += errors.files[random() % files].counts;
    if (drawn.units > 0)
      rates.push_back(static_cast<double>(drawn.errors()) / static_cast<double>(drawn.units));
  }
  std::sort(rates.begin(), rates.end());
  const auto at = [&](double share) {
    return rates[static_cast<std::size_t>(std::lround(share * static_cast<double>(rates.size() - 1)))];
  };
  if (rates.empty()) return;
  errors.low = at(0.025);
  errors.high = at(0.975);
}

std::string counts_json(const ErrorCounts& counts, std::string_view unit) {
  return "\"" + std::string(unit) + "\":" + std::to_string(counts.units) +
         ",\"errors\":" + std::to_string(counts.errors()) +
         ",\"substitutions\":" + std::to_string(counts.substitutions) +
         ",\"deletions\":" + std::to_string(counts.deletions) +
         ",\"insertions\":" + std::to_string(counts.insertions);
}

}  // namespace

ErrorCounts& ErrorCounts::operator+=(const ErrorCounts& more) noexcept {
  units += more.units;
  substitutions += more.substitutions;
  deletions += more.deletions;
  insertions += more.insertions;
  return *this;
}

ErrorCounts count_errors(const std::vector<std::string>& truth, const std::vector<std::string>& found) {
  std::vector<Cell> row(found.size() + 1);
  for (std::size_t j = 1; j < row.size(); ++j)
    row[j] = {static_cast<std::int64_t>(j), static_cast<std::int64_t>(j)};
  for (std::size_t i = 0; i < truth.size(); ++i) {
    Cell diagonal = row[0];
    ++row[0].errors;  // a deletion
    for (std::size_t j = 1; j < row.size(); ++j) {
      const Cell replaced{diagonal.errors + (truth[i] == found[j - 1] ? 0 : 1), diagonal.insertions},
          deleted{row[j].errors + 1, row[j].insertions},
          inserted{row[j - 1].errors + 1, row[j - 1].insertions + 1};
      diagonal = row[j];
      row[j] = std::min({replaced, deleted, inserted});
    }
  }
  ErrorCounts counts;
  counts.units = static_cast<std::int64_t>(truth.size());
  counts.insertions = row.back().insertions;
  // Every word of either side is a match, a substitution, a deletion or an insertion.
  counts.deletions = counts.insertions + counts.units - static_cast<std::int64_t>(found.size());
  counts.substitutions = row.back().errors - counts.insertions - counts.deletions;
  return counts;
}

bool parse_normalisation(std::string_view name, Normalisation& normalisation) {
  for (const Normalisation one : {Normalisation::none, Normalisation::basic}) {
    if (name_of(one) != name) continue;
    normalisation = one;
    return true;
  }
  return false;
}

std::string_view name_of(Normalisation normalisation) {
  return normalisation == Normalisation::none ? "none" : "basic";
}

std::vector<std::string> words_in(std::string_view text, Normalisation normalisation) {
  std::vector<std::string> words;
  std::string word;
  const auto close = [&] {
    // Apostrophes within a word are part of it, those around it are quotes.
    if (normalisation == Normalisation::basic) {
      while (word.ends_with('\'')) word.pop_back();
      word.erase(0, std::min(word.find_first_not_of('\''), word.size()));
    }
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  while (!text.empty()) {
    char32_t code = 0;
    const std::string_view character = take_character(text, code);
    if (is_white(code) && !(character.size() == 1 && code >= 0x80)) {
      close();
    } else if (normalisation == Normalisation::none) {
      word += character;
    } else if (code == '\'' || (code == 0x2019 && character.size() == 3)) {
      word += '\'';
    } else if (is_punctuation(code) && (code < 0x80 || character.size() > 1)) {
      close();
    } else if (character.size() <= 2 && (code < 0x80 || character.size() == 2)) {
      word += encoded(small_letter(code));
    } else {
      word += character;
    }
  }
  close();
  return words;
}

std::vector<std::string> characters_in(std::string_view text, Normalisation normalisation) {
  std::vector<std::string> characters;
  for (const std::string& word : words_in(text, normalisation)) {
    if (!characters.empty()) characters.emplace_back(" ");
    for (std::string_view rest = word; !rest.empty();) {
      char32_t code = 0;
      characters.emplace_back(take_character(rest, code));
    }
  }
  return characters;
}

double WordErrors::rate() const {
  return total.units > 0 ? static_cast<double>(total.errors()) / static_cast<double>(total.units) : kNone;
}

Result<WordErrors> count_word_errors(const RunRecords& run, const Truth& truth,
                                     const WordErrorOptions& options) {
  const RecordingNames names(truth);
  WordErrors errors;
  errors.options = options;
  errors.failures = run.failures;
  std::map<std::string, std::string> found;  // by name in the truth
  for (const Decision& result : run.events) {
    RUNNEL_ASSIGN(const std::string name, names.find(result.source));
    if (name.empty()) {
      ++errors.unlabelled;
      continue;
    }
    found[name] += ' ' + result.label;
  }
  if (found.empty() && !run.events.empty() && !truth.rows.empty())
    return Status(Code::mismatch) << "no recording of the results has a text: results are of "
                                  << run.events.front().source << ", texts of "
                                  << truth.rows.front().recording;
  const auto units = [&](const std::string& text) {
    return options.characters ? characters_in(text, options.normalisation)
                              : words_in(text, options.normalisation);
  };
  std::map<std::string, std::string> expected;
  std::vector<std::string> order;
  for (const TruthRow& row : truth.rows) {
    const auto [text, is_new] = expected.emplace(row.recording, row.label);
    if (is_new)
      order.push_back(row.recording);
    else if (truth.spans)
      text->second += ' ' + row.label;  // words of one recording, with their times
    else
      return Status(Code::invalid_data)
             << "the texts name " << row.recording << " twice, expected one text per recording";
  }
  for (const std::string& name : order) {
    errors.files.push_back({name, count_errors(units(expected[name]), units(found[name]))});
    errors.total += errors.files.back().counts;
  }
  set_interval(errors);
  return errors;
}

std::string to_json(const WordErrors& errors) {
  const std::string unit = errors.options.characters ? "characters" : "words";
  std::string text = std::string("{\"type\":\"") + (errors.options.characters ? "cer" : "wer") +
                     "\",\"recordings\":" + std::to_string(errors.files.size()) + "," +
                     counts_json(errors.total, unit) + ",\"rate\":" + json_number(errors.rate(), 6) +
                     ",\"low\":" + json_number(errors.low, 6) + ",\"high\":" + json_number(errors.high, 6) +
                     ",\"confidence\":0.95,\"samples\":" + std::to_string(errors.options.samples) +
                     ",\"seed\":" + std::to_string(errors.options.seed) +
                     ",\"normalisation\":" + json_string(name_of(errors.options.normalisation)) +
                     ",\"unlabelled\":" + std::to_string(errors.unlabelled) +
                     ",\"failures\":" + std::to_string(errors.failures) + ",\"files\":[";
  for (const WordErrors::File& file : errors.files)
    text += (text.back() == '[' ? "" : ",") + std::string("{\"source\":") + json_string(file.recording) +
            "," + counts_json(file.counts, unit) + "}";
  return text + "]}";
}

std::string word_error_table(const WordErrors& errors) {
  const auto percent = [](double share) {
    return std::isnan(share) ? std::string("-") : json_number(100 * share, 2) + " %";
  };
  const auto row = [&](const std::string& name, const ErrorCounts& counts) {
    std::string line;
    for (const std::int64_t number :
         {counts.units, counts.substitutions, counts.deletions, counts.insertions}) {
      const std::string digits = std::to_string(number);
      line += std::string(8 - std::min<std::size_t>(7, digits.size()), ' ') + digits;
    }
    const double share =
        counts.units > 0 ? static_cast<double>(counts.errors()) / static_cast<double>(counts.units) : kNone;
    const std::string rate = percent(share);
    return line + std::string(11 - std::min<std::size_t>(10, rate.size()), ' ') + rate + "  " + name + "\n";
  };
  std::string text = std::string(errors.options.characters ? "   chars" : "   words") +
                     "     sub     del     ins       rate  recording\n";
  for (const WordErrors::File& file : errors.files) text += row(file.recording, file.counts);
  text += row("all " + std::to_string(errors.files.size()), errors.total);
  return text + "95 % interval: " + percent(errors.low) + " to " + percent(errors.high) +
         " (bootstrap of recordings, " + std::to_string(errors.options.samples) + " samples, seed " +
         std::to_string(errors.options.seed) +
         "); normalisation: " + std::string(name_of(errors.options.normalisation));
}

}  // namespace runnel::pipeline
