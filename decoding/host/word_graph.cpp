#include <map>

#include "base/limits.h"
#include "decoding/host/search_tables.h"

namespace runnel::decoding {
namespace {

constexpr std::size_t kMostNodes = limits::kWordGraphNodes;

class Builder {
 public:
  Builder(const Grammar& grammar, const Lexicon* lexicon, const Speller& speller)
      : grammar_(grammar), lexicon_(lexicon), speller_(speller) {}

  Result<WordGraphText> build() {
    RUNNEL_TRY(spell_all());
    graph_.words = grammar_.words;
    // The roots of the tries come first, in the order of the states.
    for (std::size_t state = 0; state < grammar_.states.size(); ++state) add_node();
    graph_.nodes[0].accepts = grammar_.states[0].accepts;
    for (std::size_t state = 0; state < grammar_.states.size(); ++state)
      for (const auto& [word, next] : grammar_.states[state].next)
        for (const std::vector<std::int32_t>& spelling : *spellings_[static_cast<std::size_t>(word)])
          RUNNEL_TRY(add(static_cast<std::int32_t>(state), spelling, word, next));
    for (std::size_t node = 0; node < graph_.nodes.size(); ++node) {
      WordNode& at = graph_.nodes[node];
      at.first_arc = static_cast<std::int32_t>(graph_.arcs.size());
      for (const auto& [token, to] : children_[node]) graph_.arcs.push_back({token, to});
      at.arcs = static_cast<std::int32_t>(graph_.arcs.size()) - at.first_arc;
    }
    return std::move(graph_);
  }

 private:
  WordNode& add_node() {
    children_.emplace_back();
    return graph_.nodes.emplace_back();
  }

  Status spell_all() {
    own_.reserve(grammar_.words.size());
    for (const std::string& word : grammar_.words) {
      if (lexicon_ != nullptr) {
        const auto found = lexicon_->spellings.find(word);
        if (found != lexicon_->spellings.end()) {
          spellings_.push_back(&found->second);
          continue;
        }
      }
      RUNNEL_ASSIGN(std::vector<std::int32_t> spelling, speller_.spell(word));
      own_.push_back({std::move(spelling)});
      spellings_.push_back(&own_.back());
    }
    return {};
  }

  std::int32_t child(std::int32_t node, std::int32_t token) {
    auto& children = children_[static_cast<std::size_t>(node)];
    if (const auto found = children.find(token); found != children.end()) return found->second;
    const auto added = static_cast<std::int32_t>(graph_.nodes.size());
    children.emplace(token, added);
    add_node();
    return added;
  }

  Status add(std::int32_t root, const std::vector<std::int32_t>& spelling, std::int32_t word,
             std::int32_t next) {
    if (graph_.nodes.size() + spelling.size() + 1 > kMostNodes)
      return Status(Code::invalid_data) << "needs a graph of more than " << kMostNodes << " nodes";
    std::int32_t before = root, at = root;
    std::vector<std::int32_t> tokens;
    if (root != 0 && speller_.separator() >= 0) tokens.push_back(speller_.separator());
    tokens.insert(tokens.end(), spelling.begin(), spelling.end());
    for (const std::int32_t token : tokens) {
      before = at;
      at = child(at, token);
    }
    const Grammar::State& after = grammar_.states[static_cast<std::size_t>(next)];
    if (graph_.nodes[static_cast<std::size_t>(at)].word >= 0) {
      // Another word that is spelled the same: a node of its own, which only ends it.
      children_[static_cast<std::size_t>(before)].emplace(tokens.back(),
                                                          static_cast<std::int32_t>(graph_.nodes.size()));
      at = static_cast<std::int32_t>(graph_.nodes.size());
      add_node();
    }
    WordNode& end = graph_.nodes[static_cast<std::size_t>(at)];
    end.word = word;
    end.after = after.next.empty() ? -1 : next;
    end.accepts = after.accepts;
    return {};
  }

  const Grammar& grammar_;
  const Lexicon* lexicon_;
  const Speller& speller_;
  std::vector<std::vector<std::vector<std::int32_t>>> own_;
  std::vector<const std::vector<std::vector<std::int32_t>>*> spellings_;  // by word
  WordGraphText graph_;
  // By node and token. The first child of a token is the one of the trie.
  std::vector<std::multimap<std::int32_t, std::int32_t>> children_;
};

}  // namespace

Result<WordGraphText> make_word_graph(const Grammar& grammar, const Lexicon* lexicon,
                                      const Speller& speller) {
  return Builder(grammar, lexicon, speller).build();
}

}  // namespace runnel::decoding
