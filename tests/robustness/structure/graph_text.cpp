// Texts of graphs word by word, with the nodes and parameters that this program has.
#include <algorithm>
#include <string>

#include "pipeline/node.h"
#include "pipeline/nodes/nodes.h"
#include "tests/robustness/structure/structure.h"

namespace runnel::test {
namespace {

using Span = std::span<const std::byte>;
using Words = std::vector<std::string>;

// Quotes and comments stay one word each.
Words words_of(Span file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  Words words;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == ' ' || text[i] == '\n' || text[i] == '\t') {
      if (text[i] == '\n') words.emplace_back("\n");
      ++i;
      continue;
    }
    const std::size_t start = i;
    char quote = 0;
    const bool comment = text[i] == '#';
    for (; i < text.size(); ++i) {
      const char letter = text[i];
      if (comment ? letter == '\n' : quote == 0 && (letter == ' ' || letter == '\n' || letter == '\t')) break;
      if (comment) continue;
      if (quote != 0)
        quote = letter == quote ? 0 : quote;
      else if (letter == '"' || letter == '\'')
        quote = letter;
    }
    words.emplace_back(text.substr(start, i - start));
  }
  return words;
}

std::string number(Random& random, const pipeline::Parameter& parameter) {
  static constexpr std::string_view kEdges[] = {"0",
                                                "1",
                                                "-1",
                                                "2",
                                                "0.5",
                                                "1e9",
                                                "-1e300",
                                                "nan",
                                                "inf",
                                                "1e-320",
                                                "2147483647",
                                                "2147483648",
                                                "-9223372036854775808",
                                                "9223372036854775808",
                                                "007",
                                                "1.",
                                                ".5",
                                                ""};
  std::string text;
  switch (random.below(4)) {
    case 0:
      return std::string(random.pick(kEdges));
    case 1:
      text = std::to_string(random.one_in(2) ? parameter.low : parameter.high);
      break;
    case 2:
      text = std::to_string(parameter.low + static_cast<double>(random.below(1000)) / 1000 *
                                                std::min(parameter.high - parameter.low, 1e6));
      break;
    default:
      text = std::to_string(random.below(random.one_in(2) ? 8 : 5000));
  }
  const bool whole = parameter.type == pipeline::ParameterType::integer && !random.one_in(8);
  if (whole) text = text.substr(0, text.find('.'));
  static constexpr std::string_view kUnits[] = {"ms", "s", "Hz", "kHz", "samples", "frames", "dB"};
  if (random.one_in(6)) text += random.pick(kUnits);
  return text;
}

std::string value_of(Random& random, const pipeline::Parameter& parameter) {
  if (random.one_in(20)) return "'" + std::string(random.below(40), 'x') + "'";
  if (parameter.type == pipeline::ParameterType::boolean) {
    static constexpr std::string_view kBooleans[] = {"true", "false", "yes", "no", "on",
                                                     "off",  "1",     "0",   "2"};
    return std::string(random.pick(kBooleans));
  }
  if (parameter.type != pipeline::ParameterType::text) return number(random, parameter);
  if (parameter.choices.empty()) {
    static constexpr std::string_view kTexts[] = {"a",   "''",  "\"\\\"\"", "1,2,3", "-1,0,1",
                                                  "0:1", "a=b", "$x",       "{",     "}",
                                                  "a;b", "1",   "ch=0",     "hann",  "x y"};
    return std::string(random.pick(kTexts));
  }
  Words choices(1);
  for (const char letter : parameter.choices) {
    if (letter == '|')
      choices.emplace_back();
    else
      choices.back() += letter;
  }
  return random.pick(choices);
}

const pipeline::NodeType& any_node(Random& random) {
  const pipeline::NodeTable nodes = pipeline::device_nodes();
  return *nodes[random.below(nodes.size())];
}

std::string parameter_of(Random& random, const pipeline::NodeType& node) {
  if (node.parameters.empty() || random.one_in(24)) return "name=n" + std::to_string(random.below(3));
  const pipeline::Parameter& parameter = node.parameters[random.below(node.parameters.size())];
  return std::string(parameter.name) + "=" + value_of(random, parameter);
}

Words node_of(Random& random) {
  const pipeline::NodeType& node = any_node(random);
  Words words{"!", std::string(node.name)};
  for (const pipeline::Parameter& parameter : node.parameters) {
    if (parameter.required) words.push_back(std::string(parameter.name) + "=" + value_of(random, parameter));
  }
  for (std::size_t count = random.below(4); count > 0; --count) words.push_back(parameter_of(random, node));
  return words;
}

// The node that the word belongs to, as the program knows it; null: none.
const pipeline::NodeType* node_before(const Words& words, std::size_t at) {
  for (std::size_t i = std::min(at + 1, words.size()); i-- > 0;) {
    for (const pipeline::NodeType* node : pipeline::device_nodes()) {
      if (words[i] == node->name) return node;
    }
    if (words[i] == "!") break;
  }
  return nullptr;
}

void insert(Words& words, std::size_t at, const Words& more) {
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
}

void change(Words& words, const Words& other, Random& random) {
  if (words.empty()) return insert(words, 0, {"silence", "!", "null"});
  const std::size_t at = random.below(words.size());
  std::string& word = words[at];
  const std::size_t equals = word.find('=');
  const pipeline::NodeType* const node = node_before(words, at);
  switch (random.below(16)) {
    case 0:
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    case 1:
      return insert(words, at, {words[random.below(words.size())]});
    case 2:
      std::swap(word, random.pick(words));
      return;
    case 3:
      if (!other.empty()) {
        const std::size_t from = random.below(other.size()),
                          count = std::min(other.size() - from, random.below(12));
        insert(words, at,
               Words(other.begin() + static_cast<std::ptrdiff_t>(from),
                     other.begin() + static_cast<std::ptrdiff_t>(from + count)));
      }
      return;
    case 4:
    case 5:
    case 6: {  // a node before the end of a chain
      std::size_t link = at;
      while (link < words.size() && words[link] != "!") ++link;
      return insert(words, link, node_of(random));
    }
    case 7: {
      static constexpr std::string_view kSigns[] = {"!", "#",  "\n",  "{", "}",     "\"",
                                                    "'", "a.", "n0.", "=", "name=s"};
      return insert(words, at, {std::string(random.pick(kSigns))});
    }
    case 8:
      if (!word.empty()) word[random.below(word.size())] = static_cast<char>(random.next());
      return;
    case 9:
      if (node != nullptr && equals == std::string::npos) word = any_node(random).name;
      return;
    default:
      if (node == nullptr) return;
      if (equals == std::string::npos)
        return insert(words, at + (word == "!" ? 0 : 1), {parameter_of(random, *node)});
      for (const pipeline::Parameter& parameter : node->parameters) {
        if (parameter.name == word.substr(0, equals)) {
          word = std::string(parameter.name) + "=" + value_of(random, parameter);
          return;
        }
      }
      word = parameter_of(random, *node);
  }
}

}  // namespace

std::optional<Bytes> change_graph_text(Span file, Span other, Random& random) {
  if (file.size() > (std::size_t{1} << 16)) return std::nullopt;
  Words words = words_of(file);
  const Words second = words_of(other.first(std::min(other.size(), std::size_t{1} << 16)));
  for (std::size_t changes = 1 + random.below(4); changes > 0; --changes) change(words, second, random);
  std::string text;
  for (const std::string& word : words) text += word + (word == "\n" ? "" : " ");
  const auto bytes = std::as_bytes(std::span(text));
  return Bytes(bytes.begin(), bytes.end());
}

}  // namespace runnel::test
