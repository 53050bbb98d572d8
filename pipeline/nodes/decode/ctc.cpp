#include "pipeline/nodes/decode/ctc.h"

#include <limits>

#include "pipeline/nodes/decode/decoder_parameters.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kFirst[] = {
    text_parameter<&Ctc::mode>(
        "mode", "greedy|beam",
        "greedy: the best token of every frame; beam: the most likely text over all alignments"),
};
constexpr Parameter kLast[] = {
    text_parameter<&Ctc::activation>(
        "activation", "softmax|none",
        "softmax: the input is logits or log-probabilities; none: it is posteriors"),
    parameter<&Ctc::beam>("beam", "", 1, decoding::kMostBeam, "hypotheses of mode=beam"),
    parameter<&Ctc::candidates>(
        "candidates", "", 0, 1 << 20,
        "mode=beam without lexicon or grammar: the most likely tokens of a frame that are tried; 0: all"),
    text_parameter<&Ctc::lexicon>(
        "lexicon", "",
        "mode=beam: file with the words that may be said, one a line, alone or followed by its tokens"),
    text_parameter<&Ctc::grammar>("grammar", "", "mode=beam: file with the commands that may be said"),
    text_parameter<&Ctc::hotwords>(
        "hotwords", "", "mode=beam: file with likely phrases, one a line, each with :SCORE or not"),
    parameter<&Ctc::hotword_score>(
        "hotword_score", "", -100, 100,
        "what a phrase without a score adds to the natural logarithm of its text's probability"),
    parameter<&Ctc::min_confidence>("min_confidence", "", 0, 1,
                                    "final results with a token that is less sure are not given"),
};
constexpr auto kParameters = with_decoder_parameters(kFirst, kLast);

}  // namespace

const NodeType Ctc::type = {
    .name = "ctc",
    .help = "Decodes the output of a speech recogniser into words, with partial and final results.",
    .input = {static_cast<Kinds>(Kind::frames),
              "logits, log-probabilities or posteriors, float32 or integers with an exponent"},
    .output = {static_cast<Kinds>(Kind::events), "text, words, confidences, times"},
    .parameters = kParameters,
    .make = make_node<Ctc>,
};

Status Ctc::read_tables(NodeContext& context, std::int32_t classes) noexcept {
  for (const std::string_view path : {lexicon, grammar, hotwords})
    if (!path.empty())
      return Status(Code::unsupported) << context.label << " cannot read " << path << " in this program";
  return Decoder::read_tables(context, classes);
}

Status Ctc::prepare_beam(NodeContext& context, std::int32_t classes) noexcept {
  found_ = context.memory.array<decoding::HeardToken>(static_cast<std::size_t>(max_tokens));
  begins_word_ = context.memory.array<bool>(static_cast<std::size_t>(classes));
  if (found_ == nullptr || begins_word_ == nullptr) return out_of_memory("the tokens of an utterance");
  for (std::int32_t token = 0; token < classes; ++token)
    begins_word_[token] = tables->vocabulary.begins_word(token);
  decoding::BeamSettings settings;
  settings.classes = classes;
  settings.blank = tables->vocabulary.blank;
  settings.beam = static_cast<std::int32_t>(beam);
  settings.max_tokens = static_cast<std::int32_t>(max_tokens);
  settings.candidates = static_cast<std::int32_t>(candidates);
  settings.graph = tables->graph.nodes.empty() ? nullptr : &tables->graph;
  settings.hotwords = tables->hotwords.empty() ? nullptr : &tables->hotwords;
  settings.begins_word = begins_word_;
  return beam_.prepare(context.memory, settings);
}

Status Ctc::prepare(NodeContext& context) noexcept {
  beam_mode_ = mode == "beam";
  least_confidence_ = static_cast<float>(min_confidence);
  if (!beam_mode_ && !(lexicon.empty() && grammar.empty() && hotwords.empty()))
    return Status(Code::invalid_argument) << "mode=greedy takes the best token of every frame: expected "
                                             "mode=beam with lexicon, grammar or hotwords";
  kind_ =
      activation == "none" ? decoding::FrameScores::Kind::posteriors : decoding::FrameScores::Kind::logits;
  const std::int32_t classes = context.input.channels - (endpoint == "voice" ? 1 : 0);
  if (classes < 2)
    return Status(Code::mismatch) << context.input_label << " gives " << context.input.channels
                                  << " values per frame, " << context.label
                                  << " wants a blank and at least one token"
                                  << (endpoint == "voice" ? ", and the posterior of a voice detector" : "");
  RUNNEL_TRY(prepare_tables(context, classes));
  silent_ = context.memory.array<bool>(static_cast<std::size_t>(classes));
  blank_frame_ = context.memory.array<float>(static_cast<std::size_t>(classes));
  if (silent_ == nullptr || blank_frame_ == nullptr) return out_of_memory("the tokens");
  const decoding::Vocabulary& vocabulary = tables->vocabulary;
  for (std::int32_t token = 0; token < classes; ++token) {
    silent_[token] = token == vocabulary.blank || vocabulary.separates(token);
    blank_frame_[token] = token == vocabulary.blank ? 0 : -std::numeric_limits<float>::infinity();
  }
  if (beam_mode_)
    RUNNEL_TRY(prepare_beam(context, classes));
  else
    RUNNEL_TRY(greedy_.prepare(context.memory, vocabulary.blank, static_cast<std::int32_t>(max_tokens)));
  return make_ready(context);
}

void Ctc::restart_search() noexcept {
  if (beam_mode_)
    beam_.restart();
  else
    greedy_.restart();
}

void Ctc::next_utterance(bool keep) noexcept {
  if (beam_mode_)
    beam_.next_utterance(keep);
  else
    greedy_.next_utterance();
}

void Ctc::step_with(std::int32_t frame) noexcept {
  if (beam_mode_)
    beam_.step(scores_, frame);
  else
    greedy_.step(scores_, frame);
}

bool Ctc::step(std::span<const float> values, std::int32_t frame, bool& silent) noexcept {
  if (!scores_.read(values, kind_)) return false;
  silent = silent_[scores_.best()];
  step_with(frame);
  return true;
}

void Ctc::step_blank(std::int32_t frame) noexcept {
  static_cast<void>(scores_.read({blank_frame_, static_cast<std::size_t>(tables->vocabulary.size())},
                                 decoding::FrameScores::Kind::logits));
  step_with(frame);
}

bool Ctc::is_sure(std::span<const decoding::HeardToken> heard) const noexcept {
  for (const decoding::HeardToken& token : heard)
    if (token.confidence < least_confidence_) return false;
  return true;
}

Decoder::Found Ctc::found(bool final) noexcept {
  if (!beam_mode_) {
    if (final && !is_sure(greedy_.tokens())) return {};
    return {greedy_.tokens(), greedy_.settled()};
  }
  const std::span<decoding::HeardToken> all(found_, static_cast<std::size_t>(max_tokens));
  const std::span<const decoding::HeardToken> best = all.first(beam_.best(final, all));
  if (final && (!beam_.heard() || !is_sure(best))) return {};
  return {best, final ? best.size() : beam_.settled(best)};
}

bool Ctc::heard_any() const noexcept { return beam_mode_ ? beam_.heard() : !greedy_.tokens().empty(); }
bool Ctc::full() const noexcept { return beam_mode_ ? beam_.full() : greedy_.full(); }

}  // namespace runnel::pipeline
