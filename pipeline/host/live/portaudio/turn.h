// PortAudio's functions for opening and listing must not run at the same time in two threads.
#pragma once

#include <mutex>

namespace runnel::pipeline {

std::mutex& portaudio_turn() noexcept;

}  // namespace runnel::pipeline
