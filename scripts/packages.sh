# The Debian 12 packages runnel needs, by purpose: the only such list. Read by the other scripts (source it);
# docs/dependencies.md says what each one is for.

RUNNEL_PURPOSES="build test bench demo fuzz tidy firmware scale browser site"

# packages_for PURPOSE: the packages of one purpose, beyond those of `build`.
packages_for() {
  case $1 in
    build) echo "g++ cmake ninja-build ccache git pkg-config ca-certificates" \
                "libasound2-dev libsndfile1-dev libfftw3-dev libflatbuffers-dev flatbuffers-compiler" \
                "libfmt-dev nlohmann-json3-dev libcli11-dev libmbedtls-dev libmosquitto-dev libpng-dev libcpp-httplib-dev" \
                "libonnx-dev libprotobuf-dev protobuf-compiler" ;;
    test) echo "binutils clang-format-14 libgtest-dev libgmock-dev mosquitto openssl python3 codespell" ;;
    bench) echo "libbenchmark-dev libxnnpack-dev libpthreadpool-dev" ;;
    demo) echo "sox asterisk-core-sounds-en-wav" ;;
    fuzz) echo "clang-14 libclang-rt-14-dev" ;;
    firmware) echo "gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm" ;;
    scale) echo "parallel slurm-wlm munge openmpi-bin shellcheck python3-yaml" ;;
    browser) echo "chromium python3-websocket" ;;
    site) echo "mkdocs mkdocs-material codespell" ;;
    tidy) echo "clang-format-14 clang-tidy-14" ;;
    *) return 1 ;;
  esac
}
