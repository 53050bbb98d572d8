// One format on desk and device: what `runnel sign` makes, a device takes, and both refuse the same.
#include <fstream>

#include "base/host/signature.h"
#include "services/trust/trust.h"
#include "tests/embed/partition/device.h"

namespace runnel::test {
namespace {

namespace fs = std::filesystem;

int verify_with(void* user, const std::uint8_t* message, std::size_t bytes, const std::uint8_t* signature) {
  crypto::Signature copy;
  std::memcpy(copy.data(), signature, copy.size());
  return crypto::verify(*static_cast<const crypto::PublicKey*>(user),
                        {reinterpret_cast<const std::byte*>(message), bytes}, copy)
                 .ok()
             ? 1
             : 0;
}

class SignedImages : public testing::Test {
 protected:
  void SetUp() override {
    if (!crypto::can_sign()) GTEST_SKIP() << "SKIPPED: this build has no libsodium";
    ::unsetenv("RUNNEL_TRUST");
    runnel({"sign", "--new-key", file("maker")});
    runnel({"sign", "--new-key", file("stranger")});
    const auto key = crypto::read_public_key(file("maker.pub"));
    ASSERT_TRUE(key.ok()) << key.status().text();
    maker_ = *key;
  }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  static Output runnel(std::vector<std::string> arguments, int exit_code = 0) {
    arguments.insert(arguments.begin(), program());
    const Output out = run_program(arguments);
    EXPECT_EQ(out.exit_code, exit_code) << arguments[1] << ": " << out.err;
    return out;
  }
  std::string write(const std::string& name, const Bytes& bytes) const {
    std::ofstream(file(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return file(name);
  }
  // An image as the program signs it.
  Bytes signed_with(const std::string& key, const Bytes& image) const {
    const std::string from = write("unsigned.rnli", image);
    runnel({"sign", from, "--key", file(key + ".key"), "-o", file("signed.rnli")});
    return read_file(file("signed.rnli"));
  }
  // A device that runs version 2, signed by the maker, and confirmed it.
  void start(Device& device) {
    device.change.verify = verify_with;
    device.change.verify_user = &maker_;
    device.factory(signed_with("maker", of_version("digits", 2)));
    ASSERT_EQ(device.open(), RUNNEL_OK) << runnel_last_failure();
    ASSERT_EQ(device.start(), RUNNEL_OK) << runnel_last_failure();
  }

  TemporaryFolder folder_;
  crypto::PublicKey maker_{};
};

TEST_F(SignedImages, DeskAndDeviceTakeTheSameAndRefuseTheSame) {
  auto keys = trust::parse_key_list("[key.maker]\npublic = \"" + crypto::hex(maker_) +
                                    "\"\n[model.other]\nlowest_version = 2\n");
  ASSERT_TRUE(keys.ok()) << keys.status().text();
  const trust::Trust trust(*std::move(keys));
  const Bytes next = of_version("other", 3), good = signed_with("maker", next);
  Bytes changed = good;
  changed[9000] ^= std::byte{1};
  const struct {
    const char* what;
    Bytes image;
    runnel_code code;
    const char* on_device;
    const char* on_desk;
  } cases[] = {
      {"unsigned", next, RUNNEL_INVALID_DATA, "not signed",
       "unsigned, expected a signature of the key maker"},
      {"wrongly signed", signed_with("stranger", next), RUNNEL_INVALID_DATA, "not of the expected key",
       "by another key, expected the key maker"},
      {"changed", changed, RUNNEL_INVALID_DATA, "digest", "changed since it was signed with the key maker"},
      {"old", signed_with("maker", of_version("other", 1)), RUNNEL_MISMATCH,
       "has version 1, expected at least 2", "too old: version 1 of other"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.what);
    Device device;
    start(device);
    EXPECT_EQ(device.update(one.image), one.code) << runnel_last_failure();
    EXPECT_NE(std::string(runnel_last_failure()).find(one.on_device), std::string::npos)
        << runnel_last_failure();
    ASSERT_EQ(device.start(), RUNNEL_OK);
    EXPECT_EQ(device.state().running_version, 2U);
    const auto found = trust.check_image(one.image, "other");
    ASSERT_FALSE(found.ok());
    EXPECT_NE(found.status().text().find(one.on_desk), std::string_view::npos) << found.status().text();
  }
  Device device;
  start(device);
  ASSERT_EQ(device.update(good), RUNNEL_OK) << runnel_last_failure();
  ASSERT_EQ(device.start(), RUNNEL_OK);
  EXPECT_EQ(device.state().running_version, 3U);
  EXPECT_TRUE(trust.check_image(good, "other").ok());
  // The program says the same of the file.
  runnel({"image", "verify", write("good.rnli", good), "--trust", file("maker.pub")});
  const Output said = runnel({"image", "verify", write("next.rnli", next), "--trust", file("maker.pub")}, 1);
  EXPECT_NE(said.err.find("unsigned, expected a signature of the key maker"), std::string::npos) << said.err;
}

TEST_F(SignedImages, AnImageIsASignatureFollowedByItsModel) {
  const Bytes image = signed_with("maker", of_version("digits", 5));
  const auto cut = image.begin() + embed::kImageHeaderBytes;
  write("digits.rnl", Bytes(cut, image.end()));
  const Output unsigned_model = runnel({"check", file("digits.rnl"), "--trust", file("maker.pub")}, 1);
  EXPECT_NE(unsigned_model.err.find("unsigned"), std::string::npos) << unsigned_model.err;
  write("digits.rnl.sig", Bytes(image.begin(), cut));
  runnel({"check", file("digits.rnl"), "--trust", file("maker.pub")});
}

}  // namespace
}  // namespace runnel::test
