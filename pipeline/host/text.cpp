#include "pipeline/host/text.h"

#include <algorithm>

namespace runnel::pipeline {
namespace {

bool is_space(char letter) { return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r'; }
bool is_name_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
}
bool is_name(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), is_name_letter);
}

struct Word {
  std::string text;  // quotes removed
  std::size_t position = 0;
  std::size_t equals = std::string::npos;  // in `text`: of the first '=' outside of quotes
  bool quoted = false;

  [[nodiscard]] bool is_link() const { return text == "!" && !quoted; }
  [[nodiscard]] bool is_reference() const {
    return !quoted && text.size() > 1 && text.back() == '.' &&
           is_name(std::string_view(text).substr(0, text.size() - 1));
  }
  [[nodiscard]] bool is_parameter() const { return equals != std::string::npos; }
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<GraphText> parse() {
    RUNNEL_TRY(split());
    if (words_.empty())
      return Status(Code::invalid_argument, "the graph is empty: expected a node, such as `wav path=a.wav`");
    while (at_ < words_.size()) RUNNEL_TRY(chain());
    for (const Link& link : links_) RUNNEL_TRY(resolve(link));
    return std::move(graph_);
  }

 private:
  // One end may be a node defined later in the text.
  struct End {
    int node = -1;
    std::string name;
    std::size_t position = 0;
  };
  struct Link {
    End from, to;
  };

  Status error(std::size_t position, std::string_view what) const {
    return Status(Code::invalid_argument) << describe_position(text_, position) << ": " << what;
  }
  Status expected(std::string_view what) const {
    if (at_ >= words_.size())
      return error(text_.size(),
                   std::string("expected ") + std::string(what) + ", found the end of the graph");
    return error(words_[at_].position,
                 std::string("expected ") + std::string(what) + ", found '" + words_[at_].text + "'");
  }

  Status split() {
    std::size_t i = 0;
    while (i < text_.size()) {
      if (is_space(text_[i])) {
        ++i;
      } else if (text_[i] == '#') {
        while (i < text_.size() && text_[i] != '\n') ++i;
      } else {
        RUNNEL_TRY(word(i));
      }
    }
    return {};
  }

  Status word(std::size_t& i) {
    Word word;
    word.position = i;
    while (i < text_.size() && !is_space(text_[i])) {
      const char letter = text_[i];
      if (letter == '!' && word.position != i && !word.is_parameter()) break;  // "a!b"
      if (letter == '"' || letter == '\'') {
        const std::size_t opening = i++;
        word.quoted = true;
        while (i < text_.size() && text_[i] != letter) {
          if (letter == '"' && text_[i] == '\\' && i + 1 < text_.size()) ++i;
          word.text += text_[i++];
        }
        if (i >= text_.size())
          return error(opening, std::string("this quote is not closed: expected another ") + letter);
        ++i;
        continue;
      }
      if (letter == '=' && !word.is_parameter()) word.equals = word.text.size();
      word.text += letter;
      ++i;
      if (word.is_link()) break;  // "!b"
    }
    words_.push_back(std::move(word));
    return {};
  }

  Status chain() {
    End previous;
    RUNNEL_TRY(element(previous));
    while (at_ < words_.size() && words_[at_].is_link()) {
      ++at_;
      End next;
      RUNNEL_TRY(element(next));
      links_.push_back({previous, next});
      previous = next;
    }
    return {};
  }

  Status element(End& end) {
    if (at_ >= words_.size() || words_[at_].is_link()) return expected("a node");
    const Word& word = words_[at_];
    end.position = word.position;
    if (word.is_reference()) {
      end.name = word.text.substr(0, word.text.size() - 1);
      ++at_;
      return {};
    }
    if (word.is_parameter()) return expected("a node before its parameters");
    if (!is_name(word.text) || word.quoted) return expected("the name of a node");
    NodeText node;
    node.type = word.text;
    node.position = word.position;
    end.node = static_cast<int>(graph_.nodes.size());
    for (++at_; at_ < words_.size() && words_[at_].is_parameter(); ++at_) RUNNEL_TRY(parameter(node));
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  Status parameter(NodeText& node) {
    const Word& word = words_[at_];
    ParameterText parameter{word.text.substr(0, word.equals), word.text.substr(word.equals + 1),
                            word.position};
    if (!is_name(parameter.key)) return error(word.position, "expected KEY=VALUE, found '" + word.text + "'");
    if (parameter.key == "name") {
      if (!is_name(parameter.value))
        return error(word.position, "name=" + parameter.value + ": expected letters, digits, '_' and '-'");
      for (const NodeText& other : graph_.nodes) {
        if (other.name == parameter.value)
          return error(word.position, "the name '" + parameter.value + "' is taken by " + other.type);
      }
      if (!node.name.empty()) return error(word.position, node.type + " has two names");
      node.name = parameter.value;
      return {};
    }
    for (const ParameterText& other : node.parameters) {
      if (other.key == parameter.key)
        return error(word.position, node.type + " has the parameter '" + parameter.key + "' twice");
    }
    node.parameters.push_back(std::move(parameter));
    return {};
  }

  Status find(End& end) const {
    if (end.node >= 0) return {};
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].name == end.name) end.node = static_cast<int>(i);
    }
    if (end.node >= 0) return {};
    return error(end.position, "there is no node with name=" + end.name);
  }

  Status resolve(Link link) {
    RUNNEL_TRY(find(link.from));
    RUNNEL_TRY(find(link.to));
    NodeText& to = graph_.nodes[static_cast<std::size_t>(link.to.node)];
    if (to.input >= 0)
      to.more_inputs.push_back({link.from.node, link.to.position});
    else
      to.input = link.from.node;
    return {};
  }

  std::string_view text_;
  std::vector<Word> words_;
  std::size_t at_ = 0;
  GraphText graph_;
  std::vector<Link> links_;
};

std::string quoted(const std::string& value) {
  const bool plain = !value.empty() && std::none_of(value.begin(), value.end(), [](char letter) {
    return is_space(letter) || letter == '"' || letter == '\'' || letter == '\\';
  });
  if (plain) return value;
  std::string text = "\"";
  for (const char letter : value) {
    if (letter == '"' || letter == '\\') text += '\\';
    text += letter;
  }
  return text + '"';
}

}  // namespace

std::string describe_position(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, position);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? position + 1 : position - newline;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

Result<GraphText> parse_graph(std::string_view text) { return Parser(text).parse(); }

std::string to_text(const GraphText& graph) {
  // Chains follow first readers; every further reader of an output starts a chain with a reference.
  const std::size_t count = graph.nodes.size();
  std::vector<std::string> names(count);
  std::vector<std::vector<int>> readers(count);
  std::vector<int> starts;
  for (std::size_t i = 0; i < count; ++i) {
    names[i] = graph.nodes[i].name;
    if (graph.nodes[i].input < 0)
      starts.push_back(static_cast<int>(i));
    else
      readers[static_cast<std::size_t>(graph.nodes[i].input)].push_back(static_cast<int>(i));
  }
  const auto taken = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  // Further inputs of a node are chains of two names.
  std::vector<bool> referred(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    for (const InputText& more : graph.nodes[i].more_inputs)
      referred[i] = referred[static_cast<std::size_t>(more.node)] = true;
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (int number = 1; (readers[i].size() > 1 || referred[i]) && names[i].empty(); ++number) {
      const std::string name = graph.nodes[i].type + std::to_string(number);
      if (!taken(name)) names[i] = name;
    }
  }
  std::string text;
  const auto write = [&](int index) {
    const NodeText& node = graph.nodes[static_cast<std::size_t>(index)];
    text += node.type;
    for (const ParameterText& parameter : node.parameters)
      text += ' ' + parameter.key + '=' + quoted(parameter.value);
    if (const std::string& name = names[static_cast<std::size_t>(index)]; !name.empty())
      text += " name=" + name;
  };
  struct Start {
    int from, node;
  };
  std::vector<Start> open;
  for (const int start : starts) open.push_back({-1, start});
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (!text.empty()) text += ' ';
    if (open[i].from >= 0) text += names[static_cast<std::size_t>(open[i].from)] + ". ! ";
    int node = open[i].node;
    for (;;) {
      write(node);
      const std::vector<int>& next = readers[static_cast<std::size_t>(node)];
      for (std::size_t k = 1; k < next.size(); ++k) open.push_back({node, next[k]});
      if (next.empty()) break;
      text += " ! ";
      node = next[0];
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (const InputText& more : graph.nodes[i].more_inputs)
      text += ' ' + names[static_cast<std::size_t>(more.node)] + ". ! " + names[i] + '.';
  }
  return text;
}

std::string quote_value(std::string_view value) {
  std::string text = "\"";
  for (const char letter : value) {
    if (letter == '"' || letter == '\\') text += '\\';
    text += letter;
  }
  return text + '"';
}

}  // namespace runnel::pipeline
