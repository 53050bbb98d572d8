// Profiles and images on the desk: who fits, who signs, and what is refused by name.
#include "services/embed/partition/image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "services/embed/embed_model.h"
#include "tests/support/data.h"

namespace runnel::embedding::test {
namespace {

namespace fs = std::filesystem;
using runnel::test::read_file;

class Images : public testing::Test {
 protected:
  void SetUp() override {
    EmbedRequest request;
    request.model = RUNNEL_DIGITS_MODEL;
    request.output = (folder_.path() / "digits").string();
    request.in_partition = true;
    const auto made = embed_model(request, {});
    ASSERT_TRUE(made.ok()) << made.status().text();
    EXPECT_EQ(std::count(made->files.begin(), made->files.end(), "digits.profile.json"), 1);
    EXPECT_EQ(std::count(made->files.begin(), made->files.end(), "digits.rnli"), 1);
    EXPECT_EQ(std::count(made->files.begin(), made->files.end(), "digits_model.cpp"), 0);
  }
  [[nodiscard]] std::string profile() const {
    return (folder_.path() / "digits/digits.profile.json").string();
  }
  // The profile with a change, as a file.
  template <class Change>
  std::string changed(Change change) {
    auto json = nlohmann::ordered_json::parse(std::ifstream(profile()));
    change(json);
    const std::string path = (folder_.path() / "changed.profile.json").string();
    std::ofstream(path) << json.dump();
    return path;
  }
  Status make(const std::string& with, const std::string& model = RUNNEL_DIGITS_MODEL) {
    ImageRequest request;
    request.model = model;
    request.profile = with;
    return make_image(request, {}).status();
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(Images, AnImageOfALaterDayIsThatOfTheFirst) {
  ImageRequest request;
  request.model = RUNNEL_DIGITS_MODEL;
  request.profile = profile();
  const auto image = make_image(request, {});
  ASSERT_TRUE(image.ok()) << image.status().text();
  EXPECT_EQ(*image, read_file(folder_.path() / "digits/digits.rnli"));
  const auto header = check_image(*image);
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->version, 1U);
  EXPECT_STREQ(header->name.data(), "digits");
  EXPECT_EQ(header->length, image->size() - 256);
}

TEST_F(Images, ProfilesWithCountersAndCoresHaveImagesOfTheirOwn) {
  EmbedRequest request;
  request.model = RUNNEL_DIGITS_MODEL;
  request.output = (folder_.path() / "told").string();
  request.in_partition = true;
  request.counters = true;
  request.cores = 2;
  const auto made = embed_model(request, {});
  ASSERT_TRUE(made.ok()) << made.status().text();
  ImageRequest image;
  image.model = RUNNEL_DIGITS_MODEL;
  image.profile = (folder_.path() / "told/digits.profile.json").string();
  const auto later = make_image(image, {});
  ASSERT_TRUE(later.ok()) << later.status().text();
  EXPECT_EQ(*later, read_file(folder_.path() / "told/digits.rnli"));
  // What the node of the inference is belongs to the profile.
  const auto plain = read_file(folder_.path() / "digits/digits.rnli");
  EXPECT_FALSE(std::equal(plain.begin() + 16, plain.begin() + 32, later->begin() + 16));
  auto json = nlohmann::ordered_json::parse(std::ifstream(image.profile));
  json["cores"] = 3;
  std::ofstream(image.profile) << json.dump();
  EXPECT_EQ(make_image(image, {}).status().code(), Code::mismatch);
}

TEST_F(Images, WhatTheProfileHasNotIsNamed) {
  const auto refused = [](const Status& status, Code code, const std::string& part) {
    EXPECT_EQ(status.code(), code) << status.text();
    EXPECT_NE(status.text().find(part), std::string_view::npos) << status.text();
  };
  refused(make(changed([](auto& json) { json["operators"] = {"kAdd"}; })), Code::unsupported,
          "operators that the profile digits has not: conv");
  refused(make(changed([](auto& json) { json["memory_bytes"] = 1000; })), Code::out_of_memory,
          "bytes of memory, the profile digits has 1000");
  refused(make(changed([](auto& json) { json["nodes"][2]["id"] = "00"; })), Code::mismatch,
          "node 2 (detect) has other settings");
  refused(make(changed([](auto& json) { json["nodes"].erase(2); })), Code::mismatch,
          "nodes: 3, the profile has 2");
  refused(make(changed([](auto& json) { json["decision"] = "detect threshold=0.9"; })), Code::mismatch,
          "node 2 (detect)");
  refused(make(changed([](auto& json) { json["program_version"] = 1; })), Code::unsupported,
          "profile for programs of version 1");
}

TEST_F(Images, DamagedProfilesAreRefused) {
  for (const char* text :
       {"", "{", "[]", "{}", "{\"type\":\"profile\"}", "{\"type\":\"profile\",\"id\":3}"}) {
    const std::string path = (folder_.path() / "damaged.json").string();
    std::ofstream(path) << text;
    const Status status = make(path);
    EXPECT_EQ(status.code(), Code::invalid_data) << text;
    EXPECT_NE(status.text().find(path), std::string_view::npos) << status.text();
  }
  EXPECT_EQ(make((folder_.path() / "none.json").string()).code(), Code::not_found);
  const std::string path = changed([](auto& json) { json["id"] = "xyz"; });
  EXPECT_EQ(make(path).code(), Code::invalid_data);
}

TEST_F(Images, SignedAndVerified) {
  if (!crypto::can_sign()) GTEST_SKIP() << "SKIPPED: this build has no libsodium";
  std::vector<std::byte> image = read_file(folder_.path() / "digits/digits.rnli");
  const auto key = *crypto::SigningKey::make(), other = *crypto::SigningKey::make();
  EXPECT_EQ(verify_image(image, *crypto::public_key(key)).code(), Code::invalid_data);
  ASSERT_TRUE(sign_image(image, key).ok());
  EXPECT_TRUE(verify_image(image, *crypto::public_key(key)).ok());
  EXPECT_EQ(verify_image(image, *crypto::public_key(other)).code(), Code::invalid_data);
  ASSERT_TRUE(sign_image(image, other).ok());
  EXPECT_TRUE(verify_image(image, *crypto::public_key(other)).ok());
  for (const std::size_t at : {0U, 9U, 100U, 130U, 255U, 3000U}) {
    std::vector<std::byte> changed = image;
    changed[at] ^= std::byte{1};
    EXPECT_FALSE(verify_image(changed, *crypto::public_key(other)).ok()) << at;
  }
  image.pop_back();
  EXPECT_NE(check_image(image).status().text().find("the header says"), std::string_view::npos);
}

// RFC 8032, 7.1, test 2.
TEST(Signatures, AreThoseOfTheStandard) {
  if (!crypto::can_sign()) GTEST_SKIP() << "SKIPPED: this build has no libsodium";
  const runnel::test::TemporaryFolder folder;
  const fs::path path = folder.path() / "seed";
  std::ofstream(path) << "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb\n";
  const auto key = crypto::SigningKey::from_file(path);
  ASSERT_TRUE(key.ok()) << key.status().text();
  EXPECT_EQ(crypto::hex(*crypto::public_key(*key)),
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  const std::byte message{0x72};
  EXPECT_EQ(crypto::hex(*crypto::sign(*key, {&message, 1})),
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  std::ofstream(path) << "4ccd";
  EXPECT_EQ(crypto::SigningKey::from_file(path).status().code(), Code::invalid_data);
  EXPECT_EQ(crypto::read_public_key(folder.path() / "none").status().code(), Code::not_found);
}

TEST_F(Images, WhatCannotBeInAPartitionIsRefused) {
  EmbedRequest request;
  request.model = RUNNEL_DIGITS_MODEL;
  request.output = (folder_.path() / "more").string();
  request.in_partition = true;
  const auto refused = [&](const auto& change) {
    EmbedRequest call = request;
    change(call);
    const auto made = embed_model(call, {});
    EXPECT_FALSE(made.ok());
    EXPECT_FALSE(fs::exists(request.output));
    return std::string(made.status().text());
  };
  EXPECT_NE(refused([](auto& call) { call.step = true; }).find("--step"), std::string::npos);
  EXPECT_NE(refused([](auto& call) { call.self_test = true; }).find("--self-test"), std::string::npos);
  EXPECT_NE(refused([](auto& call) { call.memory = 50000; }).find("--memory"), std::string::npos);
  EXPECT_NE(refused([](auto& call) { call.key = "nowhere.key"; }).find("nowhere.key"), std::string::npos);
  EXPECT_NE(refused([](auto& call) { call.profile = {RUNNEL_DIGITS_MODEL}; }).find("different names"),
            std::string::npos);
  EXPECT_NE(refused([](auto& call) {
              call.in_partition = false;
              call.profile = {RUNNEL_DIGITS_MODEL};
            }).find("--model-partition"),
            std::string::npos);
}

}  // namespace
}  // namespace runnel::embedding::test
