// Updates that a board with signatures and encrypted models must refuse, and what it does then. Part of
// slots_image.cpp.
#pragma once

alignas(16) std::byte edited[kSlot];

// An image that can be changed, of `count` bytes.
std::byte* copy_of(const std::byte* from, std::size_t count) noexcept {
  if (count > sizeof edited) failed("an image that is larger than its slot");
  std::memcpy(edited, from, count);
  return edited;
}
// The checksum that the changed header needs.
void mend_header() noexcept {
  const std::uint32_t crc = crc32c({edited, 252});
  for (int i = 0; i < 4; ++i) edited[252 + i] = static_cast<std::byte>(crc >> 8 * i);
}
bool same_text(const char* text, const char* part) noexcept { return std::strstr(text, part) != nullptr; }

// The old model goes on, whatever came.
void still_old(const char* what) noexcept {
  if (version() != 1 || answer() != kept().of_old) failed(what);
}
// `count` bytes of an image end with a code and a sentence.
void refuse(const std::byte* image, std::size_t count, runnel_code code, const char* sentence) noexcept {
  const runnel_code found = receive(image, image + count);
  if (found != code || !same_text(runnel_last_failure(), sentence)) {
    print_line("code ", static_cast<std::uint32_t>(found), ", expected ", static_cast<std::uint32_t>(code),
               ": ", sentence);
    failed("another answer to a wrong update");
  }
  still_old("a wrong update changed the model");
}
// An update that arrives whole and does not prepare: it is taken back.
void take_back(const runnel_slots_settings& settings, const std::byte* image, std::size_t count) noexcept {
  if (runnel_slots_open(&slots, &settings, &runnel_apart) != RUNNEL_OK) failed("open");
  start();
  if (receive(image, image + count) != RUNNEL_OK) failed("receive");
  start();
  if (runnel_slots_state_of(&slots).trial != RUNNEL_TRIAL_FAILED)
    failed("a model that cannot be prepared is not taken back");
  still_old("not the old model after a trial that failed");
}

// With the old model running. Returns the number of cases.
std::uint32_t refuse_bad_updates() noexcept {
  std::uint32_t cases = 0;
  const auto bytes = [](const std::byte* begin, const std::byte* end) {
    return static_cast<std::size_t>(end - begin);
  };
  const std::size_t whole = bytes(image_of_new, end_of_new);
  const char* const wrong_key = "the signature of the image is not of the expected key";
  refuse(image_of_unsigned, bytes(image_of_unsigned, end_of_unsigned), RUNNEL_INVALID_DATA,
         "the image is not signed");
  refuse(image_of_foreign, bytes(image_of_foreign, end_of_foreign), RUNNEL_INVALID_DATA, wrong_key);
  refuse(image_of_ancient, bytes(image_of_ancient, end_of_ancient), RUNNEL_MISMATCH,
         "has version 0, expected at least 1");
  cases += 3;
  // One bit of what is signed (version, memory, name, digest), and of the signature, with the header's
  // checksum mended.
  for (const std::size_t at : {13U, 34U, 50U, 96U, 127U, 128U, 159U, 160U, 190U}) {
    copy_of(image_of_new, whole)[at] ^= std::byte{1};
    mend_header();
    // Memory is compared before the signature.
    if (at == 34)
      refuse(edited, whole, RUNNEL_OUT_OF_MEMORY, "memory, the profile has");
    else
      refuse(edited, whole, RUNNEL_INVALID_DATA, wrong_key);
    ++cases;
  }
  copy_of(image_of_new, whole)[17] ^= std::byte{1};
  mend_header();
  refuse(edited, whole, RUNNEL_MISMATCH, "is made for another profile");
  copy_of(image_of_new, whole)[130] ^= std::byte{1};
  refuse(edited, whole, RUNNEL_INVALID_DATA, "checksum");
  copy_of(image_of_new, whole)[whole - 5] ^= std::byte{1};
  refuse(edited, whole, RUNNEL_INVALID_DATA, "digest");
  refuse(image_of_new, whole - 1, RUNNEL_INVALID_DATA, "bytes, expected");
  refuse(image_of_new, 100, RUNNEL_INVALID_DATA, "bytes, expected");
  cases += 5;

  // Flash that fails, and flash that is busy for ever.
  flash.fails_from = flash.steps + 1;
  refuse(image_of_new, whole, RUNNEL_IO_ERROR, "failed with -5");
  flash.fails_from = 0;
  flash.busy = -1;
  if (receive(image_of_new, end_of_new) != RUNNEL_IO_ERROR ||
      !same_text(runnel_last_failure(), "is not done after"))
    failed("flash that is busy for ever");
  flash.busy = 0;
  flash.waited = 0;
  still_old("busy flash changed the model");
  cases += 2;

  // A board with another public key starts nothing.
  runnel_slots_settings settings = settings_of_board();
  settings.verify_user = const_cast<std::uint8_t*>(kOthersKey);
  if (runnel_slots_open(&slots, &settings, &runnel_apart) != RUNNEL_OK) failed("open with another key");
  const runnel_options options = {memory, sizeof memory, nullptr, 0, observe, nullptr};
  if (runnel_slots_start(&slots, &options, &node) != RUNNEL_INVALID_DATA ||
      !same_text(runnel_last_failure(), wrong_key))
    failed("a board with another key starts a model");
  ++cases;

  // The secret: without a cipher, with another key, and as it is to be.
  settings = settings_of_board();
  settings.decrypt = nullptr;
  take_back(settings, image_of_new, whole);
  settings.decrypt = [](void*, const std::uint8_t nonce[12], const std::uint8_t associated[32], void* data,
                        std::size_t count, const std::uint8_t tag[16]) {
    Cipher other = kSecret;
    other.key[15] ^= 1;
    return decrypt_gcm(other, nonce, associated, data, count, tag);
  };
  take_back(settings, image_of_new, whole);
  settings = settings_of_board();
  settings.copy_bytes = 1024;
  take_back(settings, image_of_new, whole);
  cases += 3;
  factory();
  power_on();
  open();
  if (receive(image_of_plain, end_of_plain) != RUNNEL_OK) failed("the second model, not encrypted");
  start();
  const std::uint32_t plain = answer();
  factory();
  power_on();
  open();
  update();
  if (answer() != plain || plain == kept().of_old)
    failed("the decrypted model is another than the plain one");
  return cases;
}
