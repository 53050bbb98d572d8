// A great many damaged model files and .espdl files (many_mutations.h).
#include "tests/robustness/many_mutations.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include "compiler/write/writer.h"
#include "tests/compiler/import/espdl/tiny_model.h"
#include "tests/compiler/import/pte/program_maker.h"
#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/feed.h"
#include "tests/robustness/originals.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes written(const Bytes& espdl) {
  const auto imported = compiler::import_espdl(espdl);
  const auto model = imported.ok() ? compiler::write_model(imported->graph)
                                   : Result<compiler::WrittenModel>(imported.status());
  EXPECT_TRUE(model.ok()) << model.status().text();
  return model.ok() ? model->bytes : Bytes{};
}

std::vector<Subject> subjects() {
  const auto espdl = [](const Bytes& bytes) { return feed_espdl(bytes, compiler::EspdlTarget::c); };
  const auto model = [](const Bytes& bytes) { return feed_model(bytes, false); };
  std::vector<Subject> all = {{"tiny.espdl", tiny_conv().file(), espdl, change_espdl},
                              {"tiny.rnl", written(tiny_conv().file()), model, change_rnl},
                              {"digits.espdl", digits_espdl(), espdl, change_espdl},
                              {"digits.rnl", digits_rnl(), model, change_rnl},
                              {"attention.rnl", attention_rnl(), model, change_rnl},
                              {"integer_attention.rnl", integer_attention_rnl(), model, change_rnl},
                              {"steps.rnl", steps_rnl(), model, change_rnl}};
  const auto pte = [](const Bytes& bytes) { return feed_foreign(bytes); };
  all.push_back({"tiny.pte", tiny_program().file(), pte, change_pte});
  // With recordings of other operators, and caches that stay operators, if the test data is present.
  if (!data_folder().empty()) {
    for (const std::string name :
         {"conformance/models/h1__c_s16__stream4.espdl", "conformance/models/m3__c_s8.espdl",
          "espdl/models/esp32p4/streaming/streaming_model.espdl"}) {
      const Bytes file = read_file(data_folder() / name);
      all.push_back({name, file, espdl, change_espdl});
      all.push_back({name.substr(0, name.rfind('.')) + ".rnl", written(file), model, change_rnl});
    }
  }
  if (!data_folder().empty()) {
    for (const char* name : {"mbedtfo_lstm.pte", "et_arduino_kws.pte", "armex_ethosu_minimal_0ff7865c.pte",
                             "et_bundled_program.bpte"}) {
      all.push_back({name, read_file(data_folder() / "executorch" / name), pte, change_pte});
    }
  }
  return all;
}

TEST(ManyMutations, EveryOneIsReadOrRefused) { mutate_many(subjects()); }

// Every truncation of every file, unchanged and with the length in its header adjusted.
TEST(ManyMutations, EveryTruncationIsReadOrRefused) {
  const std::int64_t seconds = mutation_setting("RUNNEL_MUTATION_SECONDS", 420);
  const auto start = std::chrono::steady_clock::now();
  for (const Subject& subject : subjects()) {
    for (std::size_t size = 0; size < subject.file.size(); ++size) {
      if (std::chrono::steady_clock::now() - start > std::chrono::seconds(seconds)) {
        std::printf("time is up at byte %zu of %s\n", size, subject.name.c_str());
        return;
      }
      // The files end with padding that nothing needs.
      const bool may_pass = size + 32 > subject.file.size();
      Bytes cut(subject.file.begin(), subject.file.begin() + static_cast<std::ptrdiff_t>(size));
      ASSERT_TRUE(failed_with_a_sentence(subject.feed(cut)) || may_pass)
          << subject.name << ", " << size << " bytes";
      if (size < 16 || std::memcmp(cut.data(), "EDL2", 4) != 0) continue;
      const auto length = static_cast<std::uint32_t>(size - 16);
      std::memcpy(cut.data() + 8, &length, 4);
      ASSERT_TRUE(failed_with_a_sentence(subject.feed(cut)) || may_pass)
          << subject.name << ", " << size << " bytes, admitted";
    }
  }
}

}  // namespace
}  // namespace runnel::test
