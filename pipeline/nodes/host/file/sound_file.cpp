#include "pipeline/nodes/host/file/sound_file.h"

#include <utility>

namespace runnel::pipeline {

SoundFile::~SoundFile() {
  if (sound_ != nullptr) sf_close(sound_);
}

Status SoundFile::refused(const char* reason) const {
  return Status(Code::io_error) << path_.string() << ": cannot write: " << reason;
}

Status SoundFile::create(const std::filesystem::path& path, int rate, int channels,
                         std::string_view container, std::string_view encoding) {
  path_ = path;
  SF_INFO info{};
  info.channels = channels;
  info.samplerate = rate;
  info.format =
      (container == "flac" ? SF_FORMAT_FLAC : SF_FORMAT_WAV) | (encoding == "int16"   ? SF_FORMAT_PCM_16
                                                                : encoding == "int24" ? SF_FORMAT_PCM_24
                                                                                      : SF_FORMAT_FLOAT);
  if (sf_format_check(&info) == 0) {
    return Status(Code::unsupported) << path.string() << ": " << container << " files hold no " << encoding
                                     << " samples of " << channels << " channels at " << rate << " Hz";
  }
  RUNNEL_ASSIGN(file_, OutputFile::create(path));
  sound_ = sf_open(file_.place().c_str(), SFM_WRITE, &info);
  if (sound_ == nullptr) return refused(sf_strerror(nullptr));
  sf_command(sound_, SFC_SET_CLIPPING, nullptr, SF_TRUE);
  return {};
}

Status SoundFile::write(const float* samples, std::int64_t frames) {
  return sf_writef_float(sound_, samples, frames) == frames ? Status() : refused(sf_strerror(sound_));
}

Status SoundFile::complete() {
  if (const int error = sf_close(std::exchange(sound_, nullptr)); error != 0)
    return refused(sf_error_number(error));
  return file_.commit();
}

}  // namespace runnel::pipeline
