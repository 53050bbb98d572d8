#include "pipeline/nodes/decode/transducer.h"

#include "pipeline/nodes/decode/decoder_parameters.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kFirst[] = {
    text_parameter<&Transducer::joiner>(
        "joiner", "", "model file: a frame of the encoder and the decoder's output, or tokens, to logits",
        true),
    text_parameter<&Transducer::decoder>(
        "decoder", "",
        "model file: the last tokens to what the joiner takes; empty: the joiner has it within"),
    text_parameter<&Transducer::mode>("mode", "greedy|beam",
                                      "greedy: the best token of every frame; beam: the most likely text"),
};
constexpr Parameter kLast[] = {
    parameter<&Transducer::beam>("beam", "", 1, 256, "hypotheses of mode=beam"),
    text_parameter<&Transducer::hotwords>(
        "hotwords", "", "mode=beam: file with likely phrases, one a line, each with :SCORE or not"),
    parameter<&Transducer::hotword_score>(
        "hotword_score", "", -100, 100,
        "what a phrase without a score adds to the natural logarithm of its text's probability"),
};
constexpr auto kParameters = with_decoder_parameters(kFirst, kLast);

}  // namespace

const NodeType Transducer::type = {
    .name = "transducer",
    .help = "Decodes the encoder of a transducer into words, with partial and final results.",
    .input = {static_cast<Kinds>(Kind::frames),
              "frames of the encoder, float32 or integers with an exponent"},
    .output = {static_cast<Kinds>(Kind::events), "text, words, confidences, times"},
    .parameters = kParameters,
    .make = make_node<Transducer>,
};

Status Transducer::read_tables(NodeContext& context, std::int32_t classes) noexcept {
  if (!hotwords.empty())
    return Status(Code::unsupported) << context.label << " cannot read " << hotwords << " in this program";
  return Decoder::read_tables(context, classes);
}

Status Transducer::prepare(NodeContext& context) noexcept {
  const bool greedy = mode != "beam";
  if (greedy && !hotwords.empty())
    return Status(Code::invalid_argument)
           << "mode=greedy takes the best token of every frame: expected mode=beam with hotwords";
  const std::int64_t values = context.input.channels - (endpoint == "voice" ? 1 : 0);
  RUNNEL_TRY(models_.prepare(context, decoder, joiner, values));
  const std::int32_t classes = models_.classes();
  RUNNEL_TRY(prepare_tables(context, classes));
  found_ = context.memory.array<decoding::HeardToken>(static_cast<std::size_t>(max_tokens));
  begins_word_ = context.memory.array<bool>(static_cast<std::size_t>(classes));
  if (found_ == nullptr || begins_word_ == nullptr) return out_of_memory("the tokens of an utterance");
  for (std::int32_t token = 0; token < classes; ++token)
    begins_word_[token] = tables->vocabulary.begins_word(token);
  decoding::TransducerSettings settings;
  settings.classes = classes;
  settings.blank = tables->vocabulary.blank;
  settings.beam = greedy ? 1 : static_cast<std::int32_t>(beam);
  settings.max_tokens = static_cast<std::int32_t>(max_tokens);
  settings.context = models_.context();
  settings.predicted = models_.predicted();
  settings.hotwords = tables->hotwords.empty() ? nullptr : &tables->hotwords;
  settings.begins_word = begins_word_;
  RUNNEL_TRY(beam_.prepare(context.memory, settings, models_));
  return make_ready(context);
}

bool Transducer::step(std::span<const float> values, std::int32_t frame, bool& silent) noexcept {
  if (!beam_.step(values, frame)) return false;
  silent = beam_.silent();
  return true;
}

Decoder::Found Transducer::found(bool final) noexcept {
  const std::span<decoding::HeardToken> all(found_, static_cast<std::size_t>(max_tokens));
  const std::span<const decoding::HeardToken> best = all.first(beam_.best(final, all));
  return {best, final ? best.size() : beam_.settled(best)};
}

}  // namespace runnel::pipeline
