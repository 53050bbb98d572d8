#include "pipeline/nodes/decode/transcript_writer.h"

#include <algorithm>

#include "base/checked.h"

namespace runnel::pipeline {

// One transcript while it is written.
struct TranscriptWriter::Writing {
  HeardText* words = nullptr;
  char* text = nullptr;
  std::size_t count = 0, length = 0;
  std::int32_t stable = 0;
  std::size_t word_at = 0;  // in the text: where the open word begins

  void open() noexcept {
    if (count > 0) text[length++] = ' ';
    word_at = length;
    words[count] = {.text = {}, .begin = 0, .end = 0, .confidence = 1};
  }
  void append(std::string_view piece) noexcept {
    std::copy(piece.begin(), piece.end(), text + length);
    length += piece.size();
  }
  // A word without text leaves nothing.
  void close() noexcept {
    if (length == word_at) {
      if (count > 0) --length;
      return;
    }
    words[count++].text = {text + word_at, length - word_at};
  }
};

Status TranscriptWriter::prepare(Memory& memory, const decoding::SearchTables& tables, const Clock& clock,
                                 std::int32_t max_tokens, std::int64_t events) noexcept {
  tables_ = &tables;
  clock_ = clock;
  max_tokens_ = static_cast<std::size_t>(max_tokens);
  std::size_t longest = 1;
  for (const std::string_view piece : tables.vocabulary.pieces) longest = std::max(longest, piece.size());
  for (const std::string_view word : tables.graph.words) longest = std::max(longest, word.size());
  const auto count = static_cast<std::size_t>(events);
  std::size_t values = 0, bytes = 0;
  if (checked_mul(max_tokens_, longest + 1, text_bytes_) && checked_mul(count, max_tokens_, values) &&
      checked_mul(count, text_bytes_, bytes)) {
    transcripts_ = memory.array<Transcript>(count);
    words_ = memory.array<HeardText>(values);
    tokens_ = memory.array<HeardText>(values);
    text_ = memory.array<char>(bytes);
  }
  if (transcripts_ == nullptr || words_ == nullptr || tokens_ == nullptr || text_ == nullptr)
    return Status(Code::out_of_memory, "no memory for the text of a block");
  return {};
}

std::int64_t TranscriptWriter::begin_of(const Utterance& utterance,
                                        const decoding::HeardToken& token) const noexcept {
  return std::max<std::int64_t>(clock_.first_sample(utterance.first + token.first), 0);
}
std::int64_t TranscriptWriter::end_of(const Utterance& utterance,
                                      const decoding::HeardToken& token) const noexcept {
  return clock_.end_sample(utterance.first + token.last);
}

void TranscriptWriter::add_words(std::span<const decoding::HeardToken> heard, const Utterance& utterance,
                                 Writing& to) const noexcept {
  const decoding::Vocabulary& vocabulary = tables_->vocabulary;
  bool open = false;
  for (std::size_t i = 0; i < heard.size(); ++i) {
    const decoding::HeardToken& token = heard[i];
    if (open && vocabulary.begins_word(token.token)) {
      to.close();
      open = false;
      // The next word has begun for good.
      if (i < utterance.settled) to.stable = static_cast<std::int32_t>(to.count);
    }
    const std::string_view text = vocabulary.text(token.token);
    if (text.empty()) continue;
    HeardText& word = to.words[to.count];
    if (!open) {
      to.open();
      open = true;
      word.begin = begin_of(utterance, token);
    }
    to.append(text);
    word.end = end_of(utterance, token);
    word.confidence = std::min(word.confidence, token.confidence);
  }
  if (open) to.close();
  if (vocabulary.units == decoding::Units::words && utterance.settled == heard.size())
    to.stable = static_cast<std::int32_t>(to.count);
}

// Tokens after the last complete word are not text yet.
void TranscriptWriter::add_graph_words(std::span<const decoding::HeardToken> heard,
                                       const Utterance& utterance, Writing& to) const noexcept {
  for (std::size_t i = 0, first = 0; i < heard.size(); ++i) {
    if (heard[i].word < 0) continue;
    // A separator belongs to no word.
    while (first < i && tables_->vocabulary.separates(heard[first].token)) ++first;
    to.open();
    HeardText& word = to.words[to.count];
    word.begin = begin_of(utterance, heard[first]);
    word.end = end_of(utterance, heard[i]);
    for (; first <= i; ++first) word.confidence = std::min(word.confidence, heard[first].confidence);
    to.append(tables_->graph.words[static_cast<std::size_t>(heard[i].word)]);
    to.close();
    // A longer word may have the same start, until the next one has begun.
    if (i + 1 < utterance.settled) to.stable = static_cast<std::int32_t>(to.count);
  }
}

Event TranscriptWriter::write(std::span<const decoding::HeardToken> heard,
                              const Utterance& utterance) noexcept {
  Transcript& transcript = transcripts_[used_];
  HeardText* const tokens = tokens_ + used_ * max_tokens_;
  Writing writing;
  writing.words = words_ + used_ * max_tokens_;
  writing.text = text_ + used_ * text_bytes_;
  ++used_;
  for (std::size_t i = 0; i < heard.size(); ++i)
    tokens[i] = {tables_->vocabulary.pieces[static_cast<std::size_t>(heard[i].token)],
                 begin_of(utterance, heard[i]), end_of(utterance, heard[i]), heard[i].confidence};
  if (tables_->graph.nodes.empty())
    add_words(heard, utterance, writing);
  else
    add_graph_words(heard, utterance, writing);
  transcript.final = utterance.final;
  transcript.segment = utterance.segment;
  transcript.text = {writing.text, writing.length};
  transcript.words = {writing.words, writing.count};
  transcript.tokens = {tokens, heard.size()};
  transcript.stable = utterance.final ? static_cast<std::int32_t>(writing.count) : writing.stable;
  Event event;
  event.label = transcript.text;
  event.score = writing.count > 0 ? 1.0f : 0.0f;
  for (const HeardText& word : transcript.words) event.score = std::min(event.score, word.confidence);
  event.frame = utterance.frame;
  event.begin =
      heard.empty() ? std::max<std::int64_t>(clock_.first_sample(utterance.first), 0) : tokens[0].begin;
  event.end = heard.empty() ? clock_.end_sample(utterance.frame) : tokens[heard.size() - 1].end;
  if (writing.count > 0) {
    event.begin = transcript.words.front().begin;
    event.end = transcript.words.back().end;
  }
  event.transcript = &transcript;
  return event;
}

}  // namespace runnel::pipeline
