// PortAudio, opened when a device is first asked for.
#pragma once

#include <portaudio.h>

#include "base/host/late_library.h"

namespace runnel::pipeline {

// clang-format off
#define RUNNEL_PORTAUDIO(F) \
  F(Pa_CloseStream) F(Pa_GetDefaultInputDevice) F(Pa_GetDefaultOutputDevice) \
  F(Pa_GetDeviceCount) F(Pa_GetDeviceInfo) F(Pa_GetErrorText) F(Pa_GetHostApiInfo) F(Pa_GetStreamInfo) \
  F(Pa_Initialize) F(Pa_IsFormatSupported) F(Pa_IsStreamActive) F(Pa_OpenStream) F(Pa_StartStream) \
  F(Pa_StopStream) F(Pa_Terminate) F(Pa_WriteStream)
// clang-format on
struct PortAudioLibrary {
  static const char* const kFile;
  static constexpr const char* kPurpose = "sound devices through PortAudio";
  RUNNEL_LATE_FUNCTIONS(RUNNEL_PORTAUDIO)
};

// Call once late<PortAudioLibrary>() has succeeded: whoever opens a device has asked.
inline const PortAudioLibrary& portaudio() noexcept { return *late<PortAudioLibrary>(); }

}  // namespace runnel::pipeline
