#include "decoding/host/search_tables_source.h"

#include <span>

namespace runnel::decoding {
namespace {

// A literal that any compiler reads as the same bytes.
std::string literal(std::string_view text) {
  std::string made = "\"";
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool plain = byte >= ' ' && byte < 0x7F && letter != '"' && letter != '\\' && letter != '?';
    if (plain) {
      made += letter;
      continue;
    }
    // Octal escapes end after three digits.
    made += '\\';
    for (const int shift : {6, 3, 0}) made += static_cast<char>('0' + ((byte >> shift) & 7));
  }
  return made + '"';
}

template <class T, class Write>
void add_array(std::string& to, const std::string& type, const std::string& name, std::span<const T> values,
               const Write& write) {
  if (values.empty()) return;
  to += "constexpr " + type + " " + name + "[] = {";
  std::size_t line = to.size();
  for (const T& value : values) {
    if (to.size() - line > 100) {
      to += "\n    ";
      line = to.size();
    }
    to += write(value) + ", ";
  }
  to.resize(to.size() - 2);
  to += "};\n";
}

std::string braced(std::initializer_list<std::int64_t> numbers) {
  std::string text = "{";
  for (const std::int64_t number : numbers) text += (text.size() > 1 ? "," : "") + std::to_string(number);
  return text + "}";
}

}  // namespace

std::string search_tables_source(const SearchTables& tables, const std::string& name) {
  const auto text = [](std::string_view one) { return literal(one); };
  std::string source;
  add_array(source, "std::string_view", name + "Pieces", tables.vocabulary.pieces, text);
  add_array(source, "std::string_view", name + "Words", tables.graph.words, text);
  add_array(source, "decoding::WordNode", name + "Nodes", tables.graph.nodes, [](const WordNode& one) {
    std::string node = braced({one.first_arc, one.arcs, one.word, one.after});
    node.pop_back();
    return node + (one.accepts ? ",true}" : ",false}");
  });
  add_array(source, "decoding::WordArc", name + "Arcs", tables.graph.arcs, [](const WordArc& one) {
    return braced({one.token, one.node});
  });
  add_array(source, "decoding::HotwordState", name + "Hot", tables.hotwords.states,
            [](const HotwordState& one) {
              return braced({one.first_arc, one.arcs, one.fail, one.credit, one.completed});
            });
  add_array(source, "decoding::HotwordArc", name + "HotArcs", tables.hotwords.arcs,
            [](const HotwordArc& one) {
              return braced({one.token, one.state});
            });
  const auto view = [&](bool empty, const std::string& array) {
    return empty ? std::string("{}") : name + array;
  };
  source += "constexpr decoding::SearchTables " + name + " = {\n    {" +
            view(tables.vocabulary.pieces.empty(), "Pieces") + ", " +
            std::to_string(tables.vocabulary.blank) +
            ", decoding::Units::" + std::string(name_of(tables.vocabulary.units)) + "},\n    {" +
            view(tables.graph.nodes.empty(), "Nodes") + ", " + view(tables.graph.arcs.empty(), "Arcs") +
            ", " + view(tables.graph.words.empty(), "Words") + ", " + std::to_string(tables.graph.start) +
            "},\n    {" + view(tables.hotwords.states.empty(), "Hot") + ", " +
            view(tables.hotwords.arcs.empty(), "HotArcs") + ", " + std::to_string(tables.hotwords.start) +
            ", " + (tables.hotwords.whole_words ? "true" : "false") + "}};\n";
  return source;
}

}  // namespace runnel::decoding
