#include <algorithm>
#include <map>

#include "base/from_chars.h"
#include "decoding/host/search_tables.h"
#include "decoding/host/tokens_file.h"

namespace runnel::decoding {
namespace {

constexpr double kMostScore = 100;

class Builder {
 public:
  Builder() : nodes_(1) {}

  // False if the phrase is there already.
  bool add(const std::vector<std::int32_t>& tokens, LogProbability score) {
    std::size_t at = 0;
    std::vector<std::size_t> path;
    for (const std::int32_t token : tokens) {
      const auto [child, is_new] = nodes_[at].children.emplace(token, nodes_.size());
      at = child->second;
      if (is_new) nodes_.emplace_back();
      path.push_back(at);
    }
    if (nodes_[at].ends) return false;
    nodes_[at].ends = true;
    nodes_[at].completed = score;
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      const auto part = static_cast<LogProbability>(std::int64_t{score} * static_cast<std::int64_t>(i + 1) /
                                                    static_cast<std::int64_t>(path.size()));
      nodes_[path[i]].credit = std::max(nodes_[path[i]].credit, part);
    }
    return true;
  }

  // Failure links, breadth first (Aho and Corasick).
  void finish(HotwordsText& text) {
    std::vector<std::size_t> order = {0};
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::size_t from = order[i];
      for (const auto& [token, to] : nodes_[from].children) {
        order.push_back(to);
        std::size_t fail = nodes_[from].fail;
        while (from != 0 && fail != 0 && !nodes_[fail].children.contains(token)) fail = nodes_[fail].fail;
        const auto found = nodes_[fail].children.find(token);
        nodes_[to].fail = from != 0 && found != nodes_[fail].children.end() ? found->second : 0;
        nodes_[to].completed = std::clamp(nodes_[to].completed + nodes_[nodes_[to].fail].completed,
                                          -kMostCompleted, kMostCompleted);
      }
    }
    for (const Node& node : nodes_) {
      text.states.push_back({.first_arc = static_cast<std::int32_t>(text.arcs.size()),
                             .arcs = static_cast<std::int32_t>(node.children.size()),
                             .fail = static_cast<std::int32_t>(node.fail),
                             .credit = node.credit,
                             .completed = node.completed});
      for (const auto& [token, to] : node.children)
        text.arcs.push_back({token, static_cast<std::int32_t>(to)});
    }
  }

 private:
  struct Node {
    std::map<std::int32_t, std::size_t> children;
    std::size_t fail = 0;
    LogProbability credit = 0, completed = 0;
    bool ends = false;
  };
  std::vector<Node> nodes_;
};

// Takes ":SCORE" from the end of a phrase. False if it is not a score.
bool take_score(std::vector<std::string_view>& words, double& score) {
  std::string_view& last = words.back();
  const std::size_t colon = last.rfind(':');
  if (colon == std::string_view::npos || (colon > 0 && colon + 1 == last.size())) return true;
  const std::string_view number = last.substr(colon + 1);
  const auto [end, error] = from_chars(number.data(), number.data() + number.size(), score);
  // A colon in a word is not the start of a score: "10:30am".
  if (error != std::errc() || end != number.data() + number.size()) return colon != 0;
  last = last.substr(0, colon);
  if (last.empty()) words.pop_back();
  return score >= -kMostScore && score <= kMostScore && !words.empty();
}

}  // namespace

Result<HotwordsText> parse_hotwords(std::string_view text, std::string_view name, double score,
                                    const Vocabulary& vocabulary, const Speller& speller) {
  HotwordsText hotwords;
  hotwords.whole_words = vocabulary.units == Units::pieces || vocabulary.units == Units::characters;
  Builder builder;
  bool any = false;
  const std::vector<std::string_view> lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string_view> words = words_of(lines[i].substr(0, lines[i].find('#')));
    if (words.empty()) continue;
    const auto bad = [&] { return Status(Code::invalid_data) << name << ", line " << i + 1 << ": "; };
    double own = score;
    if (!take_score(words, own))
      return bad() << "expected words and at most :SCORE from -" << static_cast<int>(kMostScore) << " to "
                   << static_cast<int>(kMostScore);
    std::vector<std::int32_t> tokens;
    for (const std::string_view word : words) {
      auto spelled = speller.spell(word);
      if (!spelled.ok()) return bad() << spelled.status().text();
      if (speller.separator() >= 0) tokens.push_back(speller.separator());
      tokens.insert(tokens.end(), spelled->begin(), spelled->end());
    }
    const double scaled = own * kLogOne;
    if (!builder.add(tokens, static_cast<LogProbability>(scaled + (scaled < 0 ? -0.5 : 0.5))))
      return bad() << "this phrase is listed a second time";
    any = true;
  }
  if (!any) return Status(Code::invalid_data) << name << ": has no phrases";
  builder.finish(hotwords);
  if (speller.separator() >= 0) {
    // An utterance begins as after a separator.
    const Hotwords view{hotwords.states, hotwords.arcs, 0, true};
    hotwords.start = view.next(0, speller.separator());
  }
  return hotwords;
}

}  // namespace runnel::decoding
