#include "pipeline/host/threads/sender.h"

#include <cstring>

namespace runnel::pipeline {

void Sender::send_at(const Moment& moment, const LiveSource* live) noexcept {
  moment_ = &moment;
  live_ = live;
}

Message& Sender::begin(Message::Kind kind) noexcept {
  Message& message = queue_.free();
  message.kind = kind;
  message.moment = *moment_;
  if (live_ != nullptr) message.moment.since += live_->waited_nanoseconds();
  return message;
}

Status Sender::process(const Block& in, Output&) noexcept {
  Message& message = begin(Message::Kind::block);
  message.count = in.count;
  message.first = in.first;
  std::memcpy(message.data, in.data, static_cast<std::size_t>(in.count) * frame_bytes_);
  queue_.send();
  return {};
}

Status Sender::flush(Output& out) noexcept {
  begin(Message::Kind::flush);
  queue_.send();
  queue_.announce();
  out.end = true;
  return {};
}

Status Sender::gap(const Gap& gap) noexcept {
  begin(Message::Kind::gap).lost = gap;
  queue_.send();
  queue_.announce();
  return {};
}

std::int64_t Sender::reset(std::int64_t first) noexcept {
  begin(Message::Kind::reset).first = first;
  queue_.send();
  queue_.announce();
  return first;
}

}  // namespace runnel::pipeline
