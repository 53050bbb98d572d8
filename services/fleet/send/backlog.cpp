#include "services/fleet/send/backlog.h"

#include <algorithm>

namespace runnel::fleet {

void Backlog::note(const Mark& mark) {
  marks_.push_back(mark);
  bytes_ += mark.bytes;
  samples_ += mark.chunk.samples;
}

Result<std::optional<Piece>> Backlog::front(std::size_t most) {
  std::optional<Piece> out;
  for (const Mark& mark : marks_) {
    if (!out) {
      out.emplace();
      out->chunk = mark.chunk;
    } else {
      const bool follows = !out->chunk.end && mark.chunk.run == out->chunk.run &&
                           mark.chunk.first == out->next() && mark.chunk.format == out->chunk.format;
      if (!follows || out->data.size() + mark.bytes > most) break;
      out->chunk.samples += mark.chunk.samples;
      out->chunk.end = mark.chunk.end;
    }
    RUNNEL_TRY(read(mark, out->data));
  }
  return out;
}

Status Backlog::stored(std::uint64_t run, std::int64_t next, bool ended) {
  bool any = false;
  while (!marks_.empty()) {
    const Mark& mark = marks_.front();
    const bool whole = mark.chunk.first + mark.chunk.samples <= next && (!mark.chunk.end || ended);
    if (mark.chunk.run > run || (mark.chunk.run == run && !whole)) break;
    bytes_ -= mark.bytes;
    samples_ -= mark.chunk.samples;
    forgotten(mark);
    marks_.pop_front();
    any = true;
  }
  return any ? settled() : Status();
}

Result<bool> MemoryBacklog::put(const Piece& piece) {
  if (bytes() + piece.data.size() > most_ && !empty()) return false;
  note({piece.chunk, piece.data.size(), base_ + data_.size()});
  data_.push_back(piece.data);
  return true;
}

Status MemoryBacklog::read(const Mark& mark, std::vector<std::byte>& to) {
  const std::vector<std::byte>& data = data_[mark.position - base_];
  to.insert(to.end(), data.begin(), data.end());
  return {};
}

}  // namespace runnel::fleet
