#include "inference/host/check.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "inference/frames.h"
#include "inference/host/compare_tensors.h"
#include "inference/host/event_driven.h"
#include "inference/reblocker.h"

namespace runnel {
namespace {

// Collects a streamed output as it would be whole.
class Collector {
 public:
  Collector(const Prepared& prepared, std::int64_t frames) : prepared_(prepared) {
    lengths_.resize(static_cast<std::size_t>(prepared.model().tensor_count()));
    prepared.lengths(frames, lengths_);
    for (const std::int32_t tensor : prepared.model().outputs()) {
      const TensorView view = prepared.model().tensor(tensor);
      const FrameLayout layout =
          FrameLayout::of(view.shape, prepared.placement(tensor).time_axis, view.dtype);
      outputs_.emplace_back(layout.outer * layout.inner_bytes * static_cast<std::size_t>(length(tensor)),
                            std::byte{0xA5});
    }
  }
  void take(const Session& session) {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const std::int32_t tensor = prepared_.model().outputs()[i];
      const TensorView view = prepared_.model().tensor(tensor);
      const OutputFrames out = session.output(static_cast<int>(i));
      if (prepared_.placement(tensor).time_axis <
          0) {  // a value that follows the stream: the last one counts
        std::memcpy(outputs_[i].data(), out.block, outputs_[i].size());
        continue;
      }
      // One output may be complete, or not begun, while another one still gives frames.
      if (out.count == 0) continue;
      if (out.first < 0 || out.first + out.count > length(tensor)) {
        overrun_ = true;
        continue;
      }
      copy_frames(FrameLayout::of(view.shape, prepared_.placement(tensor).time_axis, view.dtype), out.block,
                  prepared_.placement(tensor).frames, out.offset, outputs_[i].data(), length(tensor),
                  out.first, out.count);
    }
  }
  [[nodiscard]] std::int64_t length(int tensor) const {
    return prepared_.placement(tensor).time_axis < 0 ? 1 : lengths_[static_cast<std::size_t>(tensor)];
  }
  [[nodiscard]] const std::vector<Bytes>& outputs() const { return outputs_; }
  [[nodiscard]] bool overrun() const { return overrun_; }

 private:
  const Prepared& prepared_;
  std::vector<std::int64_t> lengths_;
  std::vector<Bytes> outputs_;
  bool overrun_ = false;
};

class StreamCheck {
 public:
  StreamCheck(std::shared_ptr<const OwnedModel> owned, std::int64_t frames, std::span<const Bytes> inputs,
              std::uint32_t seed, Isa isa, OperatorTable table)
      : owned_(std::move(owned)), frames_(frames), random_(seed), isa_(isa), table_(table) {
    const Model& model = owned_->model();
    for (std::size_t i = 0; i < model.inputs().size(); ++i) {
      if (i < inputs.size()) {
        inputs_.push_back(inputs[i]);
        continue;
      }
      const std::int32_t tensor = model.inputs()[i];
      const TensorView view = model.tensor(tensor);
      const int axis = model.plan()->tensors()->Get(static_cast<std::uint32_t>(tensor))->time_axis();
      const FrameLayout layout = FrameLayout::of(view.shape, axis, view.dtype);
      Bytes bytes(layout.outer * layout.inner_bytes * static_cast<std::size_t>(axis < 0 ? 1 : frames));
      if (view.dtype == DType::float32) {
        std::uniform_real_distribution<float> values(-1, 1);
        for (std::size_t k = 0; k + 4 <= bytes.size(); k += 4) {
          const float value = values(random_);
          std::memcpy(bytes.data() + k, &value, 4);
        }
      } else {
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_());
      }
      inputs_.push_back(std::move(bytes));
    }
  }

  Result<StreamReport> run() {
    StreamReport report;
    report.frames = frames_;
    RUNNEL_TRY(run_whole());
    PrepareOptions smallest;
    smallest.isa = isa_;
    RUNNEL_ASSIGN(const auto first, Engine::make(owned_, smallest, table_));
    const std::int64_t multiple = first->prepared().block();
    report.output_frames = lengths_[static_cast<std::size_t>(owned_->model().outputs()[0])];
    for (const std::int64_t times : {1, 2, 3, 4, 8, 50, 1000}) {
      PrepareOptions options;
      options.frames = multiple * times;
      options.isa = isa_;
      options.slack = times != 3;
      RUNNEL_ASSIGN(const auto engine, Engine::make(owned_, options, table_));
      report.blocks.push_back(options.frames);
      RUNNEL_TRY(run_blocks(engine, report));
    }
    RUNNEL_TRY(run_event_driven(report));
    if (!report.differences.empty()) RUNNEL_TRY(locate(multiple, report));
    return report;
  }

 private:
  // Looks at every tensor of a streamed run, each in memory of its own, for the first operator whose result
  // differs; its difference goes before those of the outputs. Nothing is found where only the sharing of
  // memory is at fault, or where the whole graph cannot be run.
  Status locate(std::int64_t block, StreamReport& report) {
    PrepareOptions options;
    options.isa = isa_;
    options.share = false;
    options.mode = RunMode::whole;
    options.frames = frames_;
    const auto offline = Engine::make(owned_, options, table_);
    if (!offline.ok()) return {};
    options.mode = RunMode::stream;
    options.frames = block;
    RUNNEL_ASSIGN(const auto streamed, Engine::make(owned_, options, table_));
    RUNNEL_ASSIGN(const auto whole, Runner::make(*offline));
    RUNNEL_ASSIGN(const auto stream, Runner::make(streamed));
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      std::memcpy(whole->session().input(static_cast<int>(i)).data(), inputs_[i].data(), inputs_[i].size());
    whole->session().run(frames_);
    const Model& model = owned_->model();
    Difference first;
    const auto compare_all = [&] {
      // Tensors are numbered in the order in which they are computed.
      for (int t = 0; t < (first.tensor < 0 ? model.tensor_count() : first.tensor); ++t) {
        const Placement& at = streamed->prepared().placement(t);
        const TensorView view = model.tensor(t);
        if (at.constant || at.time_axis < 0 || view.shape.product(0, at.time_axis) != 1) continue;
        const OutputFrames out = stream->session().frames(t);
        const std::span<const std::byte> all = whole->session().tensor(t);
        for (std::int64_t f = 0; f < out.count && out.first + f < (*offline)->prepared().placement(t).frames;
             ++f) {
          const std::byte* const found = out.data + static_cast<std::size_t>(f) * at.frame_bytes;
          const std::byte* const expected =
              all.data() + static_cast<std::size_t>(out.first + f) * at.frame_bytes;
          if (std::memcmp(found, expected, at.frame_bytes) == 0) continue;
          std::vector<Difference> one;
          same(view, t, at.time_axis, 1, Bytes(expected, expected + at.frame_bytes),
               Bytes(found, found + at.frame_bytes),
               "blocks of " + std::to_string(block) + ", the first of all tensors", one);
          one[0].frame = out.first + f;
          first = one[0];
          break;
        }
        if (first.tensor == t) break;
      }
    };
    Reblocker reblocker(stream->session());
    reblocker.push(pointers(0), frames_, compare_all);
    reblocker.finish(compare_all);
    if (first.tensor >= 0) report.differences.insert(report.differences.begin(), first);
    return {};
  }

  Status run_whole() {
    const Model& model = owned_->model();
    PrepareOptions options;
    options.mode = RunMode::whole;
    options.isa = isa_;
    options.frames = frames_;
    lengths_.resize(static_cast<std::size_t>(model.tensor_count()));
    auto engine = frames_ > 0 ? Engine::make(owned_, options, table_)
                              : Result<std::shared_ptr<const Engine>>(Status(Code::invalid_argument));
    if (!engine.ok()) {
      // Too short for the whole graph: some tensor would be empty. Then the outputs that exist are still
      // defined by the event-driven reference; take that as the whole run.
      PrepareOptions stream;
      stream.isa = isa_;
      RUNNEL_ASSIGN(const auto streamed, Engine::make(owned_, stream, table_));
      streamed->prepared().lengths(frames_, lengths_);
      return run_reference(whole_);
    }
    RUNNEL_ASSIGN(const auto runner, Runner::make(*engine));
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      std::memcpy(runner->session().input(static_cast<int>(i)).data(), inputs_[i].data(), inputs_[i].size());
    runner->session().run(frames_);
    (*engine)->prepared().lengths(frames_, lengths_);
    for (const std::int32_t tensor : model.outputs()) {
      const auto bytes = runner->session().tensor(tensor);
      whole_.emplace_back(bytes.begin(), bytes.end());
    }
    return {};
  }

  std::vector<const std::byte*> pointers(std::int64_t from) const {
    // Only frame-major inputs can be cut by moving a pointer; others are pushed at once.
    std::vector<const std::byte*> list;
    const Model& model = owned_->model();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const TensorView view = model.tensor(model.inputs()[i]);
      const int axis =
          model.plan()->tensors()->Get(static_cast<std::uint32_t>(model.inputs()[i]))->time_axis();
      list.push_back(inputs_[i].data() + static_cast<std::size_t>(from) *
                                             FrameLayout::of(view.shape, axis, view.dtype).inner_bytes);
    }
    return list;
  }
  bool frame_major() const {
    const Model& model = owned_->model();
    for (const std::int32_t tensor : model.inputs()) {
      const int axis = model.plan()->tensors()->Get(static_cast<std::uint32_t>(tensor))->time_axis();
      if (axis < 0 || model.tensor(tensor).shape.product(0, axis) != 1) return false;
    }
    return true;
  }

  void compare(const Collector& collector, const std::string& run, StreamReport& report) {
    const Model& model = owned_->model();
    for (std::size_t i = 0; i < whole_.size(); ++i) {
      const std::int32_t tensor = model.outputs()[i];
      const int axis = model.plan()->tensors()->Get(static_cast<std::uint32_t>(tensor))->time_axis();
      if (axis < 0 && frames_ == 0) continue;  // no frame, no last state
      same(model.tensor(tensor), tensor, axis, collector.length(tensor), whole_[i], collector.outputs()[i],
           run, report.differences);
    }
    if (collector.overrun())
      report.differences.push_back({run, -1, -1, -1, "frames of the recording", "frames beyond its end"});
  }

  Status run_blocks(const std::shared_ptr<const Engine>& engine, StreamReport& report) {
    const Prepared& prepared = engine->prepared();
    const std::string name = "blocks of " + std::to_string(prepared.block());
    HeapMemory memory;
    RUNNEL_ASSIGN(Workspace* const workspace, Workspace::make(prepared, memory));
    const auto state = [&](std::byte poison) {
      auto* bytes = static_cast<std::byte*>(memory.allocate(prepared.state_bytes(), 64));
      std::memset(bytes, static_cast<int>(poison), prepared.state_bytes());
      return std::span(bytes, prepared.state_bytes());
    };
    RUNNEL_ASSIGN(Session session, Session::make(prepared, *workspace, state(std::byte{0x55})));
    {
      Collector collector(prepared, frames_);
      Reblocker reblocker(session);
      reblocker.push(pointers(0), frames_, [&] { collector.take(session); });
      reblocker.finish([&] { collector.take(session); });
      compare(collector, name, report);
    }
    if (!frame_major()) return {};
    {
      // Again after a reset in the middle of other data, interleaved with a second session that is half a
      // recording after, and carried over to a third by save and restore.
      // Blocks that are not full yet wait in the workspace: sessions that both have one need two.
      RUNNEL_ASSIGN(Workspace* const other_workspace, Workspace::make(prepared, memory));
      RUNNEL_ASSIGN(Session other, Session::make(prepared, *other_workspace, state(std::byte{0xAA})));
      RUNNEL_ASSIGN(Session third, Session::make(prepared, *workspace, state(std::byte{0x33})));
      Reblocker second(other);
      second.push(pointers(0), frames_ / 2, [] {});
      session.reset();
      Collector collector(prepared, frames_), other_collector(prepared, frames_);
      second.reset();
      Reblocker reblocker(session);
      std::int64_t at = 0;
      bool moved = false;
      while (at < frames_) {
        const std::int64_t count =
            std::min<std::int64_t>(frames_ - at, 1 + static_cast<std::int64_t>(random_() % 7));
        const auto from = pointers(at);
        if (!moved) reblocker.push(from, count, [&] { collector.take(session); });
        second.push(from, count, [&] { other_collector.take(other); });
        at += count;
        if (!moved && at > frames_ / 2 && reblocker.waiting() == 0) {
          Bytes saved(session.saved_bytes());
          RUNNEL_TRY(session.save(saved));
          RUNNEL_TRY(third.restore(saved));
          moved = true;
          Reblocker rest(third);
          rest.push(pointers(at), frames_ - at, [&] { collector.take(third); });
          rest.finish([&] { collector.take(third); });
        }
      }
      if (!moved) reblocker.finish([&] { collector.take(session); });
      second.finish([&] { other_collector.take(other); });
      compare(collector, name + ", reset, saved and restored", report);
      compare(other_collector, name + ", interleaved", report);
    }
    return {};
  }

  Status run_reference(std::vector<Bytes>& outputs) {
    const Model& model = owned_->model();
    outputs.clear();
    for (const std::int32_t tensor : model.outputs()) {
      const TensorView view = model.tensor(tensor);
      const int axis = model.plan()->tensors()->Get(static_cast<std::uint32_t>(tensor))->time_axis();
      const FrameLayout layout = FrameLayout::of(view.shape, axis, view.dtype);
      outputs.emplace_back(
          layout.outer * layout.inner_bytes *
          (axis < 0 ? 1 : static_cast<std::size_t>(lengths_[static_cast<std::size_t>(tensor)])));
    }
    std::vector<std::int64_t> next(outputs.size());
    RUNNEL_ASSIGN(
        const auto executor,
        EventDriven::make(
            owned_, Isa::reference,
            [&](int position, std::span<const std::byte> frame) {
              const std::int32_t tensor = model.outputs()[static_cast<std::size_t>(position)];
              const TensorView view = model.tensor(tensor);
              const int axis = model.plan()->tensors()->Get(static_cast<std::uint32_t>(tensor))->time_axis();
              const std::int64_t length = lengths_[static_cast<std::size_t>(tensor)];
              if (axis < 0) {
                std::memcpy(outputs[static_cast<std::size_t>(position)].data(), frame.data(), frame.size());
                return;
              }
              std::int64_t& at = next[static_cast<std::size_t>(position)];
              if (at < length)
                copy_frames(FrameLayout::of(view.shape, axis, view.dtype), frame.data(), 1, 0,
                            outputs[static_cast<std::size_t>(position)].data(), length, at, 1);
              ++at;
            },
            table_));
    if (frame_major()) {
      for (std::int64_t at = 0; at < frames_;) {
        const std::int64_t count =
            std::min<std::int64_t>(frames_ - at, static_cast<std::int64_t>(random_() % 10));
        executor->push(pointers(at), count);
        at += count;
      }
    } else {
      return Status(Code::unsupported)
             << "the event-driven reference needs inputs whose frames are contiguous";
    }
    executor->finish();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::int64_t length = lengths_[static_cast<std::size_t>(model.outputs()[i])];
      if (model.plan()->tensors()->Get(static_cast<std::uint32_t>(model.outputs()[i]))->time_axis() < 0)
        continue;
      if (next[i] != length) {
        return Status(Code::mismatch) << "the event-driven reference gave " << next[i] << " frames of output "
                                      << i << ", expected " << length;
      }
    }
    return {};
  }

  Status run_event_driven(StreamReport& report) {
    if (!frame_major()) return {};
    std::vector<Bytes> outputs;
    RUNNEL_TRY(run_reference(outputs));
    const Model& model = owned_->model();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::int32_t tensor = model.outputs()[i];
      const int axis = model.plan()->tensors()->Get(static_cast<std::uint32_t>(tensor))->time_axis();
      same(model.tensor(tensor), tensor, axis, lengths_[static_cast<std::size_t>(tensor)], whole_[i],
           outputs[i], "event-driven", report.differences);
    }
    return {};
  }

  std::shared_ptr<const OwnedModel> owned_;
  std::int64_t frames_;
  std::mt19937 random_;
  Isa isa_;
  OperatorTable table_;
  std::vector<Bytes> inputs_, whole_;
  std::vector<std::int64_t> lengths_;
};

}  // namespace

Result<StreamReport> check_streaming(std::shared_ptr<const OwnedModel> model, std::int64_t frames,
                                     std::span<const std::vector<std::byte>> inputs, std::uint32_t seed,
                                     Isa isa, OperatorTable table) {
  if (model->model().plan() == nullptr) return Status(Code::unsupported) << "the model has no streaming plan";
  return StreamCheck(std::move(model), frames, inputs, seed, isa, table).run();
}

}  // namespace runnel
