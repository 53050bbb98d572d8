#include "decoding/host/lexicon.h"

#include <algorithm>

#include "decoding/host/tokens_file.h"

namespace runnel::decoding {

Result<Lexicon> parse_lexicon(std::string_view text, std::string_view name, const Speller& speller) {
  Lexicon lexicon;
  const std::vector<std::string_view> lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string_view> columns = words_of(lines[i].substr(0, lines[i].find('#')));
    if (columns.empty()) continue;
    const auto bad = [&] { return Status(Code::invalid_data) << name << ", line " << i + 1 << ": "; };
    std::vector<std::int32_t> spelling;
    if (columns.size() == 1) {
      auto spelled = speller.spell(columns[0]);
      if (!spelled.ok()) return bad() << spelled.status().text();
      spelling = std::move(spelled).value();
    }
    for (std::size_t k = 1; k < columns.size(); ++k) {
      const std::int32_t token = speller.token(columns[k]);
      if (token < 0)
        return bad() << '"' << columns[0] << "\" cannot be spelled: there is no token \"" << columns[k]
                     << '"';
      if (token == speller.blank())
        return bad() << '"' << columns[0] << "\" is spelled with the blank, \"" << columns[k] << '"';
      spelling.push_back(token);
    }
    auto& spellings = lexicon.spellings[std::string(columns[0])];
    if (spellings.empty()) lexicon.words.emplace_back(columns[0]);
    if (std::find(spellings.begin(), spellings.end(), spelling) == spellings.end())
      spellings.push_back(std::move(spelling));
  }
  if (lexicon.words.empty()) return Status(Code::invalid_data) << name << ": has no words";
  return lexicon;
}

}  // namespace runnel::decoding
