// The settings file of a user.
#include "services/settings/settings.h"

#include "tests/fuzz/readers/reader.h"

namespace runnel::fuzz {
namespace {

Status feed_settings(std::span<const std::byte> bytes) {
  RUNNEL_ASSIGN(const std::vector<settings::Setting> all, settings::parse_settings(text_of(bytes)));
  int line = 0;
  for (const settings::Setting& one : all) {
    insist(!one.key.empty() && one.line > line, "a setting without a key or out of order");
    line = one.line;
    static_cast<void>(settings::variable_of(one.section, one.key));
  }
  return {};
}

}  // namespace

std::vector<Reader> settings_readers() {
  return {{"settings",
           feed_settings,
           {"# mine\nmodel = \"digits\"   # the default\r\n\n[listen]\ndevice = "
            "'plughw:1,0'\nthreads=2\ntail = 0.5\n"
            "rate = 48_000\nno-json = true\nsend = [\"tcp:a:1\", \"say \\\"x\\\"\", ]\n[npu.compile]\nblock "
            "= -1"}}};
}

}  // namespace runnel::fuzz
