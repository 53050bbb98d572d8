#include "decoding/host/grammar.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/limits.h"
#include "decoding/host/tokens_file.h"

namespace runnel::decoding {
namespace {

// Bounds of what a text can make of memory and time, far above what a grammar of commands needs.
constexpr std::size_t kMostPlaces = 20'000, kMostPairs = 4'000'000, kMostStates = limits::kGrammarStates,
                      kMostTransitions = 1'000'000;
constexpr int kDeepest = 100;

using Places = std::vector<std::int32_t>;

// A part of an expression after Glushkov (1961): a place is a word at its point of the expression.
struct Part {
  bool nullable = false;  // may be nothing
  Places first, last;
};

struct Rule {
  std::string_view text;
  std::size_t line = 0;
  bool open = false;  // being read
};

// Reads expressions and follows them at once: every use of a rule has places of its own.
class Reader {
 public:
  Reader(std::string_view name, Grammar& grammar) : name_(name), grammar_(grammar) {}

  Status read(std::string_view text) {
    std::vector<Rule> commands;
    const std::vector<std::string_view> lines = lines_of(text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string_view line = lines[i].substr(0, lines[i].find('#'));
      const std::size_t start = line.find_first_not_of(" \t");
      if (start == std::string_view::npos) continue;
      const std::size_t equals = line.find('=');
      if (equals == std::string_view::npos) {
        commands.push_back({line, i});
        continue;
      }
      const std::vector<std::string_view> left = words_of(line.substr(0, equals));
      if (left.size() != 1 || left[0].size() < 3 || left[0].front() != '<' ||
          left[0].find('>') != left[0].size() - 1)
        return bad(i) << "expected <name> before the =";
      if (!rules_.emplace(left[0], Rule{line.substr(equals + 1), i}).second)
        return bad(i) << "the rule " << left[0] << " is defined a second time";
    }
    if (commands.empty()) return Status(Code::invalid_data) << name_ << ": has no commands, only rules";
    for (const auto& [rule_name, rule] : rules_) {
      Part unused;
      const std::size_t words = word_.size();
      // Rules that no command uses are read too, for their mistakes.
      RUNNEL_TRY(use(rule_name, rule.line, 0, unused));
      drop_places(words);
    }
    for (const Rule& command : commands) {
      Part part;
      std::string_view rest = command.text;
      RUNNEL_TRY(alternatives(rest, command.line, 0, part));
      if (!rest.empty()) return bad(command.line) << "\"" << rest.substr(0, 1) << "\" without its beginning";
      RUNNEL_TRY(join(all_.first, part.first));
      RUNNEL_TRY(join(all_.last, part.last));
      all_.nullable = all_.nullable || part.nullable;
    }
    return {};
  }

  Status determine();

 private:
  Status bad(std::size_t line) const {
    return Status(Code::invalid_data) << name_ << ", line " << line + 1 << ": ";
  }

  void drop_places(std::size_t from) {
    word_.resize(from);
    follow_.resize(from);
  }

  Status join(Places& to, const Places& more) {
    pairs_ += more.size();
    if (pairs_ > kMostPairs) return too_large();
    to.insert(to.end(), more.begin(), more.end());
    return {};
  }
  Status connect(const Places& from, const Places& to) {
    for (const std::int32_t place : from) RUNNEL_TRY(join(follow_[static_cast<std::size_t>(place)], to));
    return {};
  }
  Status too_large() const {
    return Status(Code::invalid_data)
           << name_ << ": the grammar is too large: with all rules written out it has more than "
           << kMostPlaces << " words or " << kMostPairs << " pairs of words";
  }

  static void skip_spaces(std::string_view& rest) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  }

  Status alternatives(std::string_view& rest, std::size_t line, int depth, Part& part) {
    if (depth > kDeepest) return bad(line) << "brackets and rules within each other deeper than " << kDeepest;
    for (;;) {
      Part one;
      RUNNEL_TRY(sequence(rest, line, depth, one));
      part.nullable = part.nullable || one.nullable;
      RUNNEL_TRY(join(part.first, one.first));
      RUNNEL_TRY(join(part.last, one.last));
      if (rest.empty() || rest.front() != '|') return {};
      rest.remove_prefix(1);
    }
  }

  Status sequence(std::string_view& rest, std::size_t line, int depth, Part& part) {
    part.nullable = true;
    for (std::size_t count = 0;; ++count) {
      skip_spaces(rest);
      if (rest.empty() || rest.front() == '|' || rest.front() == ')' || rest.front() == ']') {
        if (count > 0) return {};
        return bad(line) << (rest.empty() ? "ends where a word is expected" : "expected a word before ")
                         << (rest.empty() ? std::string_view() : rest.substr(0, 1));
      }
      Part next;
      RUNNEL_TRY(item(rest, line, depth, next));
      RUNNEL_TRY(connect(part.last, next.first));
      if (part.nullable) RUNNEL_TRY(join(part.first, next.first));
      if (!next.nullable) part.last.clear();
      RUNNEL_TRY(join(part.last, next.last));
      part.nullable = part.nullable && next.nullable;
    }
  }

  // A word, a rule or brackets, with what repeats it.
  Status item(std::string_view& rest, std::size_t line, int depth, Part& part) {
    const char first = rest.front();
    if (first == '(' || first == '[') {
      rest.remove_prefix(1);
      RUNNEL_TRY(alternatives(rest, line, depth + 1, part));
      const char close = first == '(' ? ')' : ']';
      if (rest.empty() || rest.front() != close)
        return bad(line) << "expected " << close << " after " << first;
      rest.remove_prefix(1);
      part.nullable = part.nullable || first == '[';
    } else if (first == '<') {
      const std::size_t end = rest.find('>');
      if (end == std::string_view::npos) return bad(line) << "expected > after <";
      const std::string_view rule = rest.substr(0, end + 1);
      rest.remove_prefix(end + 1);
      RUNNEL_TRY(use(rule, line, depth, part));
    } else if (first == '*' || first == '+' || first == '>') {
      return bad(line) << "expected a word before " << rest.substr(0, 1);
    } else {
      const std::size_t end = std::min(rest.find_first_of(" \t()[]<>|*+="), rest.size());
      RUNNEL_TRY(add_word(rest.substr(0, end), part));
      rest.remove_prefix(end);
    }
    while (!rest.empty() && (rest.front() == '*' || rest.front() == '+')) {
      RUNNEL_TRY(connect(part.last, part.first));
      part.nullable = part.nullable || rest.front() == '*';
      rest.remove_prefix(1);
    }
    return {};
  }

  Status use(std::string_view name, std::size_t line, int depth, Part& part) {
    const auto found = rules_.find(name);
    if (found == rules_.end()) return bad(line) << "there is no rule " << name;
    Rule& rule = found->second;
    if (rule.open)
      return bad(line) << "the rule " << name
                       << " leads back to itself, which needs memory without bound; write loops with * or +";
    rule.open = true;
    std::string_view rest = rule.text;
    RUNNEL_TRY(alternatives(rest, rule.line, depth + 1, part));
    rule.open = false;
    return rest.empty() ? Status()
                        : bad(rule.line) << "\"" << rest.substr(0, 1) << "\" without its beginning";
  }

  Status add_word(std::string_view text, Part& part) {
    const auto [found, is_new] = words_.emplace(text, static_cast<std::int32_t>(grammar_.words.size()));
    if (is_new) grammar_.words.emplace_back(text);
    if (word_.size() >= kMostPlaces) return too_large();
    const auto place = static_cast<std::int32_t>(word_.size());
    word_.push_back(found->second);
    follow_.emplace_back();
    part = {false, {place}, {place}};
    return {};
  }

  std::string_view name_;
  Grammar& grammar_;
  std::map<std::string_view, Rule> rules_;
  std::map<std::string, std::int32_t, std::less<>> words_;
  std::vector<std::int32_t> word_;  // by place
  std::vector<Places> follow_;      // by place
  std::size_t pairs_ = 0;
  Part all_;
};

// Subsets of places. Two of them that allow the same words to follow are one state.
Status Reader::determine() {
  struct Key {
    Places next;
    bool accepts, start;
    // By hand: libc++ 16 compares no vectors three ways.
    bool operator<(const Key& other) const {
      return std::tie(next, accepts, start) < std::tie(other.next, other.accepts, other.start);
    }
  };
  const std::set<std::int32_t> ends(all_.last.begin(), all_.last.end());
  std::map<Key, std::int32_t> numbers;
  std::vector<Places> next_of;
  std::size_t transitions = 0;
  const auto state_of = [&](Places next, bool accepts, bool start) {
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    const auto [found, is_new] =
        numbers.emplace(Key{next, accepts, start}, static_cast<std::int32_t>(grammar_.states.size()));
    if (is_new) {
      grammar_.states.push_back({{}, accepts});
      next_of.push_back(std::move(next));
    }
    return found->second;
  };
  state_of(all_.first, all_.nullable, true);
  std::size_t work = 0;
  for (std::size_t at = 0; at < grammar_.states.size(); ++at) {
    std::map<std::int32_t, std::pair<Places, bool>> by_word;
    const Places next = next_of[at];
    for (const std::int32_t place : next) {
      auto& [follows, accepts] = by_word[word_[static_cast<std::size_t>(place)]];
      const Places& more = follow_[static_cast<std::size_t>(place)];
      follows.insert(follows.end(), more.begin(), more.end());
      accepts = accepts || ends.contains(place);
      work += more.size();
    }
    transitions += by_word.size();
    if (grammar_.states.size() > kMostStates || transitions > kMostTransitions || work > 10 * kMostPairs)
      return Status(Code::invalid_data) << name_ << ": the grammar is too large: it needs more than "
                                        << kMostStates << " states or " << kMostTransitions << " transitions";
    for (auto& [word, to] : by_word) {
      const std::int32_t state = state_of(std::move(to.first), to.second, false);
      grammar_.states[at].next[word] = state;
    }
  }
  return {};
}

}  // namespace

Result<Grammar> parse_grammar(std::string_view text, std::string_view name) {
  Grammar grammar;
  Reader reader(name, grammar);
  RUNNEL_TRY(reader.read(text));
  RUNNEL_TRY(reader.determine());
  return grammar;
}

Grammar any_of(const std::vector<std::string>& words) {
  Grammar grammar;
  grammar.words = words;
  grammar.states.resize(2);
  for (std::size_t state = 0; state < 2; ++state) {
    grammar.states[state].accepts = true;
    for (std::size_t word = 0; word < words.size(); ++word)
      grammar.states[state].next[static_cast<std::int32_t>(word)] = 1;
  }
  return grammar;
}

}  // namespace runnel::decoding
