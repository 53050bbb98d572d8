#include "services/batch/pieces.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/host/joined_thread.h"
#include "features/samples/resampler.h"
#include "inference/host/receptive_field.h"
#include "pipeline/host/promise.h"
#include "pipeline/nodes/audio/downmix.h"
#include "pipeline/nodes/audio/resample.h"
#include "pipeline/nodes/host/file/wav_source.h"
#include "pipeline/nodes/model/infer.h"
#include "pipeline/nodes/spectrum/cmvn.h"
#include "pipeline/nodes/spectrum/fbank.h"
#include "services/batch/piece_sink.h"

namespace runnel::batch {
namespace {

using pipeline::Format;

template <class N>
N* find(const pipeline::Graph& graph) {
  for (int i = 0; i < graph.size(); ++i) {
    if (auto* const found = dynamic_cast<N*>(graph.stage(i).node); found != nullptr) return found;
  }
  return nullptr;
}

// Encodings with exact seeking: no state from block to block.
bool is_exact(const pipeline::WavSource& source) { return source.frames() > 0 && source.finds_samples(); }

std::string seconds_text(const char* key, std::int64_t samples, std::int64_t rate) {
  char text[64];
  std::snprintf(text, sizeof text, " %s=%.9f", key, static_cast<double>(samples) / static_cast<double>(rate));
  return text;
}

}  // namespace

std::optional<PieceContext> piece_context(const pipeline::Graph& graph) {
  double before = 0, after = 0;  // seconds
  int last = 0;
  std::int64_t up = 1;
  for (int i = 1; i < graph.size(); ++i) {
    const pipeline::Stage& stage = graph.stage(i);
    const Format& in = graph.format(stage.input);
    if (stage.input != i - 1) return {};
    if (stage.type->output.kinds == 0) continue;
    last = i;
    if (dynamic_cast<pipeline::Downmix*>(stage.node) != nullptr) continue;
    if (const auto* const cmvn = dynamic_cast<pipeline::Cmvn*>(stage.node);
        cmvn != nullptr && cmvn->mode == "fixed")
      continue;
    if (const auto* const resample = dynamic_cast<pipeline::Resample*>(stage.node); resample != nullptr) {
      features::ResamplerSpec spec{.in_rate = static_cast<std::int32_t>(in.clock.rate()),
                                   .out_rate = resample->rate};
      spec.pass_band = resample->pass_band;
      if (spec.in_rate < 1) return {};
      const double seconds = static_cast<double>(features::unchecked_shape_of(spec).half + 1) / spec.in_rate;
      before += seconds;
      after += seconds;
    } else if (const auto* const fbank = dynamic_cast<pipeline::Fbank*>(stage.node); fbank != nullptr) {
      const features::FbankOptions& options = fbank->options;
      if (options.dither > 0 ||
          (options.log_max != features::LogMax::none && options.log_max != features::LogMax::fixed))
        return {};
      // Padding reaches at most a window beyond the recording, and half an FFT with centred frames.
      const double window = std::max(static_cast<double>(options.frame_length) / 1000,
                                     static_cast<double>(options.win_length) / in.clock.hz()) +
                            static_cast<double>(options.n_fft) / in.clock.hz();
      before += 2 * window + 2 / graph.format(i).clock.hz();
      after += 2 * window + 2 / graph.format(i).clock.hz();
    } else if (const auto* const infer = dynamic_cast<pipeline::Infer*>(stage.node); infer != nullptr) {
      if (infer->streamed() == nullptr) return {};
      const ReceptiveField field =
          receptive_fields(*infer->streamed())[static_cast<std::size_t>(infer->output_tensor())];
      if (field.unbounded) return {};
      before += (std::max(0.0, -field.first) + 1) / in.clock.hz();
      after += (std::max(0.0, field.last) + 1) / in.clock.hz();
      up = std::lcm(up, std::max<std::int64_t>(
                            1, static_cast<std::int64_t>(std::ceil(1 / std::min(1.0, field.stride)))));
    } else {
      return {};
    }
  }
  const pipeline::Clock& clock = graph.format(last).clock;
  const pipeline::Clock& source = graph.format(0).clock;
  if (source.hop != 1 || source.denominator != 1 || clock.hz() <= 0) return {};
  PieceContext context;
  context.unit = std::lcm(clock.denominator / std::gcd(clock.hop, clock.denominator), up);
  context.samples = context.unit * clock.hop / clock.denominator;
  context.before = static_cast<std::int64_t>(std::ceil(before * clock.hz())) + 1;
  context.after = static_cast<std::int64_t>(std::ceil(after * clock.hz())) + 1;
  context.before = (context.before + context.unit - 1) / context.unit * context.unit;
  context.after = (context.after + context.unit - 1) / context.unit * context.unit;
  return context;
}

// One thread's graph, made once.
struct PieceRunner::Lane {
  std::unique_ptr<pipeline::Graph> graph;
  RecordingSource* source = nullptr;
  PieceSink* sink = nullptr;
  bool used = false;
  Status status;
};

PieceRunner::PieceRunner(std::string source, std::string front, double seconds,
                         const pipeline::GraphOptions& options)
    : source_(std::move(source)),
      front_(std::move(front)),
      piece_seconds_(seconds),
      options_(options),
      nodes_(pipeline::with_nodes(options.nodes, {&RecordingSource::type, &PieceSink::type})) {
  options_.nodes = nodes_;
}
PieceRunner::~PieceRunner() = default;

Status PieceRunner::prepare(double tail) {
  RUNNEL_ASSIGN(const auto opened, OpenRecording::open(source_, options_));
  const auto* const wav = dynamic_cast<pipeline::WavSource*>(&opened->node());
  if (wav == nullptr || !is_exact(*wav))
    return Status(Code::unsupported, "samples of this file are not found exactly");
  frames_ = wav->frames();
  rate_ = opened->format().clock.sample_rate;
  tail_ = tail;
  seconds_ =
      static_cast<double>(frames_) / static_cast<double>(rate_) +
      static_cast<double>(std::llround(tail * static_cast<double>(rate_))) / static_cast<double>(rate_);
  if (static_cast<double>(frames_) < 2 * piece_seconds_ * static_cast<double>(rate_))
    return Status(Code::unsupported, "a short recording");
  auto lane = std::make_unique<Lane>();
  RUNNEL_ASSIGN(lane->graph,
                pipeline::Graph::build(text_of_source(*opened) + " ! " + front_ + " ! piece_sink", options_));
  lane->source = find<RecordingSource>(*lane->graph);
  lane->sink = find<PieceSink>(*lane->graph);
  const std::optional<PieceContext> context = piece_context(*lane->graph);
  if (!context || context->samples < 1) return Status(Code::unsupported, "the graph remembers everything");
  context_ = *context;
  const std::int64_t units = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(piece_seconds_ * static_cast<double>(rate_)) / context_.samples);
  length_ = units * context_.unit;
  // Pieces that are mostly context save no time.
  if (context_.before + context_.after > length_)
    return Status(Code::unsupported, "the context is longer than a piece");
  lanes_.push_back(std::move(lane));
  return {};
}

const Format& PieceRunner::format() const { return lanes_[0]->sink->format; }

PieceRunner::Piece PieceRunner::piece(std::int64_t index) const {
  const auto samples_of = [&](std::int64_t frames) { return frames / context_.unit * context_.samples; };
  Piece piece;
  const std::int64_t first = index * length_, begin = std::max<std::int64_t>(0, first - context_.before);
  piece.from = samples_of(begin);
  piece.drop = first - begin;
  const std::int64_t end = samples_of(first + length_ + context_.after);
  if (end >= frames_) return piece;
  piece.samples = end - piece.from;
  piece.keep = length_;
  return piece;
}

Status PieceRunner::work(Lane& lane, const Piece& piece) {
  std::string text = source_;
  if (piece.from > 0) text += seconds_text("offset", piece.from, rate_);
  if (piece.samples > 0) text += seconds_text("duration", piece.samples, rate_);
  if (piece.samples == 0 && tail_ > 0) {
    char tail[64];
    std::snprintf(tail, sizeof tail, " tail=%.9f", tail_);
    text += tail;
  }
  RUNNEL_ASSIGN(const auto opened, OpenRecording::open(text, options_));
  if (lane.graph == nullptr) {
    RUNNEL_ASSIGN(lane.graph, pipeline::Graph::build(
                                  text_of_source(*opened) + " ! " + front_ + " ! piece_sink", options_));
    lane.source = find<RecordingSource>(*lane.graph);
    lane.sink = find<PieceSink>(*lane.graph);
  }
  if (lane.used) lane.graph->restart();
  lane.used = true;
  lane.sink->bytes.clear();
  lane.sink->drop = piece.drop;
  lane.source->play(&opened->node());
  const Status status = lane.graph->run();
  lane.source->play(nullptr);
  RUNNEL_TRY(status);
  if (piece.keep < 0) return {};
  const std::size_t wanted = static_cast<std::size_t>(piece.keep) * lane.sink->format.frame_bytes();
  if (lane.sink->bytes.size() < wanted)
    return Status(Code::mismatch, "a piece gave fewer frames than it should");
  lane.sink->bytes.resize(wanted);
  return {};
}

Status PieceRunner::next_wave(SpareThreads& spare) {
  constexpr int kMaxHelpers = 256;
  std::vector<Piece> pieces = {piece(next_)};
  const int taken = spare.take(kMaxHelpers);
  while (pieces.back().keep >= 0 && static_cast<int>(pieces.size()) <= taken)
    pieces.push_back(piece(next_ + static_cast<std::int64_t>(pieces.size())));
  while (lanes_.size() < pieces.size()) lanes_.push_back(std::make_unique<Lane>());
  {
    std::vector<JoinedThread> helpers;
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      helpers.emplace_back([&, i] { lanes_[i]->status = work(*lanes_[i], pieces[i]); });
    }
    lanes_[0]->status = work(*lanes_[0], pieces[0]);
  }
  spare.give(taken);
  for (std::size_t i = 0; i < pieces.size(); ++i) RUNNEL_TRY(lanes_[i]->status);
  next_ += static_cast<std::int64_t>(pieces.size());
  active_ = pieces.size();
  lane_ = position_ = 0;
  last_ = pieces.back().keep < 0;
  return {};
}

Result<std::int64_t> PieceRunner::read(std::byte* to, std::int64_t capacity, SpareThreads& spare) {
  for (;;) {
    while (lane_ < active_ && position_ == lanes_[lane_]->sink->bytes.size()) {
      ++lane_;
      position_ = 0;
    }
    if (lane_ < active_) break;
    if (last_) return std::int64_t{0};
    RUNNEL_TRY(next_wave(spare));
  }
  const std::vector<std::byte>& bytes = lanes_[lane_]->sink->bytes;
  const std::size_t frame = format().frame_bytes(),
                    most = std::min(bytes.size() - position_, static_cast<std::size_t>(capacity) * frame);
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(position_), most, to);
  position_ += most;
  return static_cast<std::int64_t>(most / frame);
}

namespace {
// Nodes have no constructor arguments, so the runner is passed in thread-local variables.
thread_local PieceRunner* next_runner = nullptr;
thread_local SpareThreads* next_spare = nullptr;
}  // namespace

const pipeline::NodeType PieceSource::type = {
    .name = "pieces",
    .help = "Gives the frames of pieces in order.",
    .input = {},
    .output = {static_cast<pipeline::Kinds>(pipeline::Kind::frames), "as they come"},
    .parameters = {},
    .make = pipeline::make_node<PieceSource>,
};

void PieceSource::use(PieceRunner* runner, SpareThreads* spare) noexcept {
  next_runner = runner;
  next_spare = spare;
}

Status PieceSource::prepare(pipeline::NodeContext& context) noexcept {
  runner_ = next_runner;
  spare_ = next_spare;
  if (runner_ == nullptr || spare_ == nullptr) return Status(Code::invalid_argument, "no pieces were given");
  context.output = runner_->format();
  context.max_output = context.max_input;
  return {};
}

Status PieceSource::process(const pipeline::Block&, pipeline::Output& out) noexcept {
  RUNNEL_ASSIGN(out.count, runner_->read(out.data, out.capacity, *spare_));
  out.end = out.count == 0;
  return {};
}

}  // namespace runnel::batch
