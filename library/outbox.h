// What waits for an application: decisions, texts, frames.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/state_archive.h"
#include "library/runnel_host.h"
#include "pipeline/block.h"
#include "pipeline/format.h"
#include "pipeline/nodes/host/act/event_record.h"
#include "pipeline/transcript.h"

namespace runnel::library {

// Not thread-safe.
class Outbox {
 public:
  // `labels`: zero-terminated, with the program's life. `room`: decisions and texts that may wait, of each.
  // `frames`: of each stage.
  Outbox(const std::vector<const char*>& labels, std::string_view source, std::int64_t room,
         std::int64_t frames);

  // The format of the decisions' input, for lines of JSON.
  void decisions_are(const pipeline::Format& format) { records_ = pipeline::EventRecords(source_, format); }
  // Calls this function with all frames from now on; null: none.
  void observe(runnel_frames_function function, void* user) noexcept {
    function_ = function;
    user_ = user;
  }

  void add(const pipeline::Event& event);
  void add(runnel_stage stage, const pipeline::Format& format, const pipeline::Block& frames);

  // False when none waits.
  bool fetch(runnel_event& event);
  bool fetch(runnel_text& text);
  bool fetch(runnel_stage stage, runnel_frames& frames);
  // Of the decision that was fetched last; empty before the first one.
  const char* line();

  void forget();
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

  // The decisions and texts that wait, and how many were dropped (base/state_archive.h); not the frames.
  // Restoring replaces everything, frames included.
  void state(StateArchive& archive);

 private:
  // A transcript with its texts.
  struct Heard {
    pipeline::Event event;
    std::string text;
    std::vector<std::string> strings;  // of words, then of tokens
    std::vector<runnel_heard> words, tokens;
    std::int64_t segment = 0;
    std::int32_t stable = 0;
    bool final = false;
    void state(StateArchive& archive);
  };
  struct Decision {
    runnel_event event{};
    std::string label;             // of those that are no labels of the program
    std::unique_ptr<Heard> heard;  // of decoders of speech
  };
  struct Frames {
    std::vector<std::byte> bytes;
    std::size_t taken = 0;           // bytes at the start that are gone
    std::deque<runnel_frames> runs;  // that follow each other, without data; the oldest first
    std::size_t count = 0;           // in all of them
    std::size_t frame_bytes = 0;
    std::vector<std::byte> given;
    void compact();
  };

  [[nodiscard]] static std::unique_ptr<Heard> heard(const pipeline::Event& event);
  void make_room();
  void state_of(StateArchive& archive, Decision& decision) const;

  const std::vector<const char*>& labels_;
  std::string source_;
  std::size_t room_, frames_room_;
  pipeline::EventRecords records_;
  std::deque<Decision> decisions_;  // at most `room_`, fetched ones included: their texts stay valid
  std::size_t next_ = 0;            // among them, to fetch
  std::deque<std::unique_ptr<Heard>> texts_;
  std::unique_ptr<Heard> text_;  // fetched last
  std::array<Frames, 2> frames_;
  std::string line_;
  std::uint64_t dropped_ = 0;
  runnel_frames_function function_ = nullptr;
  void* user_ = nullptr;
};

}  // namespace runnel::library
