#!/usr/bin/env bash
# riscv64_sysroot.sh [FOLDER]: unpacks what a build for 64-bit RISC-V with Linux links into a folder of its own (default:
# build-riscv64-sysroot beside the sources). Debian 12 has no packages for riscv64, so they are those of Debian 13, for which
# programs of Debian 12's compiler run as they are. Nothing of this machine changes.
#
# Left out is what other versions have other interfaces for, or what this version's own tools make code for: ONNX and protobuf,
# mbedTLS, cpp-httplib. FlatBuffers, whose compiler runs on this machine, are this machine's headers, and so are JSON and CLI11.
# GoogleTest is compiled here from its sources: Debian 12's linker breaks down on static libraries of Debian 13.
# Needs g++-riscv64-linux-gnu and, to run what was built, qemu-user (scripts/install.sh riscv). Does nothing when the folder is complete.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
source "$root/scripts/sysroot.sh"

folder=${1:-$root/build-riscv64-sysroot}
wanted=(libc6-dev libstdc++6 libsndfile1-dev libasound2-dev libfftw3-dev libfmt-dev libsodium-dev libpng-dev libbenchmark-dev)
mark=$folder/.complete
[[ -f $mark && $(cat "$mark") == "${wanted[*]}" ]] && exit 0

private_apt riscv64 "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(mirror) trixie main"
say "reading the lists of riscv64"
apt update || die "the lists of packages for riscv64 cannot be read"
say "fetching the libraries for riscv64"
apt install -y --download-only "${wanted[@]}" || die "the packages for riscv64 cannot be fetched"
rm -rf "$folder.part"
unpack "$folder.part"
# Folders outside of usr are links in a whole system.
for one in bin lib sbin; do
  if [[ ! -e $folder.part/$one ]]; then ln -s "usr/$one" "$folder.part/$one"; fi
done
# The libraries were made by a later compiler than this machine's: programs link its libstdc++, too.
ln -sfn libstdc++.so.6 "$folder.part/usr/lib/riscv64-linux-gnu/libstdc++.so"
for one in flatbuffers nlohmann CLI; do
  [[ -d /usr/include/$one ]] || die "/usr/include/$one is missing: scripts/install.sh build"
  cp -r "/usr/include/$one" "$folder.part/usr/include/"
done
# package NAME TARGET: headers as a package of CMake.
package() {
  mkdir -p "$folder.part/usr/share/cmake/$1"
  printf 'if(NOT TARGET %s)\n  add_library(%s INTERFACE IMPORTED)\n  set_target_properties(%s PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}/../../../include")\nendif()\n' \
    "$2" "$2" "$2" >"$folder.part/usr/share/cmake/$1/$1Config.cmake"
}
package FlatBuffers flatbuffers::flatbuffers
package nlohmann_json nlohmann_json::nlohmann_json
package CLI11 CLI11::CLI11
say "compiling GoogleTest for riscv64"
lib=$folder.part/usr/lib/riscv64-linux-gnu
for one in gtest gmock; do
  sources=/usr/src/googletest/google${one/g/}
  [[ -d $sources ]] || die "$sources is missing: scripts/install.sh test"
  cp -r "$sources/include/$one" "$folder.part/usr/include/"
  for part in "$one-all" "${one}_main"; do
    riscv64-linux-gnu-g++ --sysroot="$folder.part" -std=c++17 -O1 -I "$folder.part/usr/include" -I "$sources" -c "$sources/src/$part.cc" -o "$state/$part.o" ||
      die "$sources/src/$part.cc does not compile"
  done
  riscv64-linux-gnu-ar rcs "$lib/lib$one.a" "$state/$one-all.o"
  riscv64-linux-gnu-ar rcs "$lib/lib${one}_main.a" "$state/${one}_main.o"
done
mkdir -p "$folder.part/usr/share/cmake/GTest"
cat >"$folder.part/usr/share/cmake/GTest/GTestConfig.cmake" <<'CONFIG'
find_package(Threads REQUIRED)
# Each with what it needs.
foreach(part "gtest Threads::Threads" "gtest_main GTest::gtest" "gmock GTest::gtest" "gmock_main GTest::gmock")
  string(REPLACE " " ";" part "${part}")
  list(POP_FRONT part name)
  if(NOT TARGET GTest::${name})
    add_library(GTest::${name} STATIC IMPORTED)
    set_target_properties(GTest::${name} PROPERTIES IMPORTED_LOCATION "${CMAKE_CURRENT_LIST_DIR}/../../../lib/riscv64-linux-gnu/lib${name}.a"
                          INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}/../../../include" INTERFACE_LINK_LIBRARIES "${part}")
  endif()
endforeach()
CONFIG
rm -rf "$folder"
mv "$folder.part" "$folder"
echo "${wanted[*]}" >"$mark"
say "$(du -sh "$folder" | cut -f1) in $folder"
