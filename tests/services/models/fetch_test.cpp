// Fetching models from a server of the test's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <sstream>

#include "services/models/fetch/download.h"
#include "services/models/fetch/get.h"
#include "services/sandbox/sandbox.h"
#include "services/trust/signature_file.h"
#include "services/trust/trust.h"
#include "tests/services/models/file_server.h"
#include "tests/support/data.h"

namespace runnel::models {
namespace {

namespace fs = std::filesystem;
using test::FileServer;
using testing::HasSubstr;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class Fetch : public testing::Test {
 protected:
  void SetUp() override {
    if (const Status ready = can_download(); !ready.ok()) GTEST_SKIP() << "SKIPPED: " << ready.text();
    // The server is on this machine, whatever proxy the network has.
    setenv("no_proxy", "127.0.0.1", 1);
    fs::create_directories(folder_.path());
  }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  Download of(const FileServer& server, const std::string& name) const {
    Download what;
    what.address = server.address() + "/" + name;
    what.file = file(name);
    return what;
  }
  std::string sha256_of(const std::string& content) const {
    std::ofstream(file("content"), std::ios::binary) << content;
    const auto sum = sha256_of_file(file("content"));
    EXPECT_TRUE(sum.ok()) << sum.status().text();
    return sum.ok() ? *sum : "";
  }
  runnel::test::TemporaryFolder folder_;
};

// Bytes without a pattern that a wrong offset would hide.
std::string bytes(std::size_t count) {
  std::string out(count, '\0');
  std::uint32_t state = 1;
  for (char& value : out) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<char>(state >> 24U);
  }
  return out;
}

TEST_F(Fetch, AFileComesWholeWithProgress) {
  FileServer server;
  const std::string content = bytes(300000);
  server.give("/a.rnl", content);
  Download what = of(server, "a.rnl");
  what.sha256 = sha256_of(content);
  std::uint64_t last = 0, all = 0;
  what.progress = [&](std::uint64_t there, std::uint64_t expected) {
    EXPECT_GE(there, last);
    last = there;
    all = std::max(all, expected);
  };
  const Status status = download(what);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(text_of(what.file), content);
  EXPECT_EQ(last, content.size());
  EXPECT_EQ(all, content.size());
  EXPECT_FALSE(fs::exists(what.file + ".part"));
}

TEST_F(Fetch, ABrokenTransferIsContinuedWhereItEnded) {
  FileServer server;
  const std::string content = bytes(200000);
  server.give("/a.rnl", content);
  Download what = of(server, "a.rnl");
  what.sha256 = sha256_of(content);
  server.break_after(70000);
  const Status broken = download(what);
  ASSERT_FALSE(broken.ok());
  EXPECT_THAT(std::string(broken.text()), HasSubstr("the next call continues from there"));
  EXPECT_FALSE(fs::exists(what.file)) << "never half a file under its name";
  const auto kept = fs::file_size(what.file + ".part");
  EXPECT_GT(kept, 0U);
  server.break_after(-1);
  const Status status = download(what);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(text_of(what.file), content);
  EXPECT_EQ(server.last_range(), "bytes=" + std::to_string(kept) + "-");
}

TEST_F(Fetch, AServerThatCannotContinueGivesAllOfIt) {
  FileServer server;
  const std::string content = bytes(50000);
  server.give("/a.rnl", content);
  server.no_ranges();
  Download what = of(server, "a.rnl");
  what.sha256 = sha256_of(content);
  std::ofstream(what.file + ".part") << "something else";
  const Status status = download(what);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(text_of(what.file), content);
}

TEST_F(Fetch, APieceOfAnotherFileIsFoundOutAndReplaced) {
  FileServer server;
  const std::string content = bytes(50000);
  server.give("/a.rnl", content);
  Download what = of(server, "a.rnl");
  what.sha256 = sha256_of(content);
  std::ofstream(what.file + ".part") << "something else";
  const Status status = download(what);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(text_of(what.file), content);
}

TEST_F(Fetch, AnotherChecksumIsRefusedAndLeavesNothing) {
  FileServer server;
  server.give("/a.rnl", "one");
  Download what = of(server, "a.rnl");
  what.sha256 = sha256_of("two");
  const Status status = download(what);
  EXPECT_EQ(status.code(), Code::mismatch);
  EXPECT_THAT(std::string(status.text()), HasSubstr("expected " + what.sha256));
  EXPECT_FALSE(fs::exists(what.file));
  EXPECT_FALSE(fs::exists(what.file + ".part"));
}

TEST_F(Fetch, WhatTheServerSaysIsSaid) {
  FileServer server;
  const Download missing = of(server, "missing.rnl");
  const Status status = download(missing);
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_THAT(std::string(status.text()), HasSubstr("the server answers 404, expected the file"));
  server.give("/big.rnl", bytes(5000));
  Download big = of(server, "big.rnl");
  big.most_bytes = 1000;
  EXPECT_EQ(download(big).code(), Code::invalid_data);
  Download other = of(server, "x");
  other.address = "file:///etc/hostname";
  EXPECT_EQ(download(other).code(), Code::invalid_argument);
}

TEST_F(Fetch, WithoutANetworkThereIsASentence) {
  std::string address;
  {
    const FileServer server;  // its port is free again when it ends
    address = server.address();
  }
  Download what;
  what.address = address + "/a.rnl";
  what.file = file("a.rnl");
  const Status status = download(what);
  EXPECT_EQ(status.code(), Code::io_error);
  EXPECT_THAT(std::string(status.text()), HasSubstr("there is no way to the server"));
  EXPECT_THAT(std::string(status.text()), HasSubstr("copy the model file to this machine"));
}

TEST_F(Fetch, AModelIsFetchedImportedCheckedAndKept) {
  FileServer server;
  const std::string content = text_of(fs::path(RUNNEL_SOURCE_FOLDER) / "models/digits/digits_c_s8.espdl");
  ASSERT_FALSE(content.empty());
  server.give("/digits_c_s8.espdl", content);
  GetRequest request;
  request.sandbox = sandbox::can_lock().ok();
  request.folder = folder_.path() / "models";
  request.entry.name = "other";
  request.entry.card = {"digits again", "Apache-2.0", server.address()};
  request.entry.files.push_back(
      {server.address() + "/digits_c_s8.espdl", sha256_of(content), content.size()});
  request.entry.recipe.front_end = "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600";
  request.entry.recipe.labels = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "silence", "unknown"};
  const auto got = get_model(request);
  ASSERT_TRUE(got.ok()) << got.status().text();
  EXPECT_FALSE(got->was_there);
  EXPECT_EQ(got->path, request.folder / "other" / "other.rnl");
  EXPECT_THAT(got->notes, testing::Contains(HasSubstr("checked")));
  if (request.sandbox) {
    EXPECT_THAT(got->notes, testing::Contains(HasSubstr("other: in a sandbox, with ")));
  }

  const std::vector<ModelFolder> folders = {{Place::user, request.folder}};
  const std::vector<FoundModel> found = list_models(folders);
  ASSERT_EQ(found.size(), 1U);
  const ModelFacts facts = facts_of(found[0]);
  EXPECT_EQ(facts.unreadable, "");
  EXPECT_EQ(facts.labels, request.entry.recipe.labels);
  EXPECT_EQ(facts.card.licence, "Apache-2.0");
  EXPECT_EQ(facts.card.source, server.address());
  EXPECT_FALSE(fs::exists(request.folder / ".fetched" / "other")) << "what was fetched is not kept twice";

  // It is there now: nothing is fetched again.
  const int requests = server.requests();
  const auto again = get_model(request);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->was_there);
  EXPECT_EQ(server.requests(), requests);
}

// Entries with a key, and callers with keys of their own.
TEST_F(Fetch, SignedFilesAreTakenOnlyFromTheirMaker) {
  if (!crypto::can_sign()) GTEST_SKIP() << "SKIPPED: this build has no libsodium";
  FileServer server;
  const std::string content = text_of(fs::path(RUNNEL_SOURCE_FOLDER) / "models/digits/digits_c_s8.espdl");
  const crypto::SigningKey maker = *crypto::SigningKey::make(), stranger = *crypto::SigningKey::make();
  const auto signature = [&](const crypto::SigningKey& key, const std::string& of) {
    const auto made = trust::sign_content(std::as_bytes(std::span(of)), "digits_c_s8", 1, key);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return std::string(reinterpret_cast<const char*>(made->data()), made->size());
  };
  server.give("/digits_c_s8.espdl", content);
  server.give("/by_maker", signature(maker, content));
  server.give("/by_stranger", signature(stranger, content));
  server.give("/of_another", signature(maker, content + "x"));
  GetRequest request;
  request.folder = folder_.path() / "models";
  request.entry.name = "other";
  request.entry.key = crypto::hex(*crypto::public_key(maker));
  const auto got = [&](const std::string& signed_by) {
    request.entry.files = {{server.address() + "/digits_c_s8.espdl", sha256_of(content), content.size(),
                            server.address() + signed_by}};
    const auto answer = get_model(request);
    EXPECT_EQ(answer.ok(), fs::exists(request.folder / "other" / "other.rnl"));
    return answer.ok() ? std::string() : std::string(answer.status().text());
  };
  EXPECT_THAT(got("/by_stranger"), HasSubstr("by another key, expected the key catalogue ("));
  EXPECT_THAT(got("/of_another"), HasSubstr("changed since it was signed"));
  EXPECT_THAT(got("/missing"), HasSubstr("unsigned, expected a signature of the key catalogue ("));
  EXPECT_EQ(got("/by_maker"), "");
  // Keys of the caller are asked as well, and for addresses outside of the catalogue.
  fs::remove_all(request.folder);
  auto keys =
      trust::parse_key_list("[key.mine]\npublic = \"" + crypto::hex(*crypto::public_key(stranger)) + "\"\n");
  ASSERT_TRUE(keys.ok()) << keys.status().text();
  request.verify = trust::verifier(std::make_shared<trust::Trust>(*std::move(keys)));
  EXPECT_THAT(got("/by_maker"), HasSubstr("expected the key mine ("));
  const auto entry = entry_for_address(server.address() + "/digits_c_s8.espdl", "other");
  ASSERT_TRUE(entry.ok()) << entry.status().text();
  request.entry = *entry;
  fs::remove_all(request.folder);
  EXPECT_THAT(std::string(get_model(request).status().text()), HasSubstr("unsigned"));
  server.give("/digits_c_s8.espdl.sig", signature(stranger, content));
  const auto taken = get_model(request);
  EXPECT_TRUE(taken.ok()) << taken.status().text();
}

TEST_F(Fetch, WhatCannotBeImportedLeavesTheOldModel) {
  FileServer server;
  server.give("/bad.onnx", "no model at all");
  GetRequest request;
  request.sandbox = sandbox::can_lock().ok();
  request.folder = folder_.path() / "models";
  const auto entry = entry_for_address(server.address() + "/bad.onnx", "");
  ASSERT_TRUE(entry.ok()) << entry.status().text();
  request.entry = *entry;
  request.again = true;
  const fs::path old = request.folder / "bad" / "bad.rnl";
  fs::create_directories(old.parent_path());
  std::ofstream(old) << "old";
  EXPECT_FALSE(get_model(request).ok());
  EXPECT_EQ(text_of(old), "old");
}

TEST(Catalogue, TheOneOfRunnelIsGood) {
  const auto catalogue = parse_catalogue(text_of(fs::path(RUNNEL_SOURCE_FOLDER) / "models/catalogue.json"));
  ASSERT_TRUE(catalogue.ok()) << catalogue.status().text();
  EXPECT_GE(catalogue->size(), 10U);
  for (const CatalogueEntry& entry : *catalogue) {
    EXPECT_FALSE(entry.card.licence.empty()) << entry.name;
    EXPECT_FALSE(entry.card.about.empty()) << entry.name;
    for (const CatalogueFile& file : entry.files) {
      EXPECT_THAT(file.address, testing::StartsWith("https://")) << entry.name;
      EXPECT_GT(file.bytes, 0U) << entry.name;
    }
  }
}

// Each public file, given by a server of the test instead of its own: the whole road, recipes included.
TEST_F(Fetch, EveryModelOfTheCatalogueComesIn) {
  RUNNEL_NEEDS_DATA();
  std::map<std::string, fs::path> known;  // by checksum
  for (const auto& entry : fs::recursive_directory_iterator(runnel::test::data_folder() / "models")) {
    if (entry.is_regular_file() && entry.file_size() < 3000000)
      if (const auto sum = sha256_of_file(entry.path().string()); sum.ok()) known[*sum] = entry.path();
  }
  const auto catalogue = parse_catalogue(text_of(fs::path(RUNNEL_SOURCE_FOLDER) / "models/catalogue.json"));
  ASSERT_TRUE(catalogue.ok()) << catalogue.status().text();
  FileServer server;
  for (const CatalogueEntry& public_one : *catalogue) {
    SCOPED_TRACE(public_one.name);
    GetRequest request;
    request.sandbox = sandbox::can_lock().ok();
    request.folder = folder_.path() / "models";
    request.entry = public_one;
    for (CatalogueFile& file : request.entry.files) {
      ASSERT_EQ(known.count(file.sha256), 1U)
          << file.address << ": its checksum is not that of the public file";
      const std::string name = "/" + public_one.name + "/" + file_name_of(file.address);
      server.give(name, text_of(known[file.sha256]));
      file.address = server.address() + name;
    }
    const auto got = get_model(request);
    EXPECT_TRUE(got.ok()) << got.status().text();
  }
  EXPECT_EQ(list_models(std::vector<ModelFolder>{{Place::user, folder_.path() / "models"}}).size(),
            catalogue->size());
}

TEST(Catalogue, WhatIsWrongIsNamedWithItsPlace) {
  const auto refusal = [](const std::string& text) {
    const auto catalogue = parse_catalogue(text);
    EXPECT_FALSE(catalogue.ok());
    return std::string(catalogue.status().text());
  };
  const std::string sum(64, 'a');
  const std::string files = R"("files":[{"address":"https://a/b.onnx","sha256":")" + sum + "\"}]";
  EXPECT_TRUE(parse_catalogue("[{\"name\":\"a\"," + files + "}]").ok());
  EXPECT_EQ(refusal("{}"), "expected a JSON array of models");
  EXPECT_EQ(refusal("[{" + files + "}]"), "model 0: name: expected letters, digits, '-', '_' and '.'");
  EXPECT_EQ(refusal("[{\"name\":\"../a\"," + files + "}]"),
            "model 0: name: expected letters, digits, '-', '_' and '.'");
  EXPECT_EQ(refusal(R"([{"name":"a"}])"), "model 0: files: expected at least one");
  EXPECT_EQ(refusal(R"([{"name":"a","files":[{"address":"https://a/b"}]}])"),
            "model 0: file 0: sha256: expected 64 hexadecimal digits");
  EXPECT_EQ(refusal(R"([{"name":"a","files":[{"address":"https://a/..","sha256":")" + sum + "\"}]}]"),
            "model 0: file 0: address: expected one that ends in a file's name");
  EXPECT_EQ(refusal("[{\"name\":\"a\",\"nane\":1," + files + "}]"), "model 0: \"nane\" is not known here");
  EXPECT_EQ(refusal("[{\"name\":\"a\",\"import\":{\"step\":-1}," + files + "}]"),
            "model 0: import: step: expected an integer from 0 to 16777216");
  EXPECT_EQ(refusal("[{\"name\":\"a\"," + files + "},{\"name\":\"a\"," + files + "}]"),
            "model 1: the name a is there twice");
  EXPECT_EQ(refusal("[{\"name\":\"a\",\"key\":\"00\"," + files + "}]"),
            "model 0: key: expected 64 hexadecimal digits");
  EXPECT_EQ(refusal("[{\"name\":\"a\",\"key\":\"" + sum + "\"," + files + "}]"),
            "model 0: files: expected the signature of each, because the model has a key");
}

TEST(Catalogue, AWrongNameIsAnsweredWithTheNearest) {
  std::vector<CatalogueEntry> catalogue(2);
  catalogue[0].name = "silero-vad";
  catalogue[1].name = "gtcrn";
  EXPECT_EQ(entry_named(catalogue, "gtcrn")->name, "gtcrn");
  EXPECT_EQ(entry_named(catalogue, "silero").status().text(),
            "the catalogue has no model 'silero', did you mean 'silero-vad'?");
  EXPECT_EQ(entry_named(catalogue, "x").status().text(),
            "the catalogue has no model 'x'; it has silero-vad, gtcrn");
}

TEST(Catalogue, NamesOfFilesInAddressesAreSafe) {
  EXPECT_EQ(file_name_of("https://a/b/c.onnx?x=/y"), "c.onnx");
  EXPECT_EQ(file_name_of("https://a"), "");
  EXPECT_EQ(file_name_of("https://a/b/"), "");
  EXPECT_EQ(file_name_of("https://a/.."), "");
  EXPECT_EQ(file_name_of("https://a/a%2Fb"), "");
  EXPECT_FALSE(entry_for_address("https://a/b.onnx", "../x").ok());
  EXPECT_EQ(entry_for_address("https://a/b.onnx", "")->name, "b");
}

}  // namespace
}  // namespace runnel::models
