# The Debian 12 packages runnel needs, by purpose: the only such list. Read by the other scripts (source it);
# docs/dependencies.md says what each one is for.

RUNNEL_PURPOSES="build python torch test bench demo fuzz tidy firmware arm riscv libcxx scale browser site package root training gstreamer pipewire nats wasm pictures"

# packages_for PURPOSE: the packages of one purpose, beyond those of `build`.
packages_for() {
  case $1 in
    build) echo "g++ cmake ninja-build ccache git pkg-config ca-certificates" \
                "libasound2-dev portaudio19-dev libsndfile1-dev libfftw3-dev libflatbuffers-dev flatbuffers-compiler" \
                "libfmt-dev nlohmann-json3-dev libcli11-dev libmbedtls-dev libsodium-dev libseccomp-dev libmosquitto-dev libpng-dev libcpp-httplib-dev libssl-dev libcurl4-openssl-dev" \
                "libonnx-dev libprotobuf-dev protobuf-compiler" ;;
    python) echo "python3-dev pybind11-dev python3-numpy python3-pytest python3-setuptools python3-wheel python3-pip python3-venv" ;;
    torch) echo "python3-torch" ;;
    test) echo "binutils clang-format-14 libgtest-dev libgmock-dev mosquitto openssl python3 codespell abigail-tools valgrind" \
                "mandoc bash zsh fish" ;;
    bench) echo "libbenchmark-dev libxnnpack-dev libpthreadpool-dev" ;;
    demo) echo "sox asterisk-core-sounds-en-wav" ;;
    fuzz) echo "clang-14 llvm-14 libclang-rt-14-dev" ;;
    firmware) echo "gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm" \
                   "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-system-misc" ;;
    arm) echo "g++-aarch64-linux-gnu qemu-user" ;;
    riscv) echo "g++-riscv64-linux-gnu clang-16 qemu-user" ;;
    libcxx) echo "clang-16" ;;  # the library itself: scripts/libcxx_sysroot.sh
    scale) echo "parallel slurm-wlm munge openmpi-bin shellcheck python3-yaml" ;;
    browser) echo "chromium python3-websocket" ;;
    gstreamer) echo "libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good" ;;
    pipewire) echo "libpipewire-0.3-dev pipewire pipewire-bin pipewire-jack" ;;
    nats) echo "libnats-dev nats-server" ;;
    wasm) echo "emscripten googletest nodejs python3" ;;
    pictures) echo "graphviz mosquitto-clients" ;;
    package) echo "dpkg-dev fakeroot gzip" ;;
    root) echo "mmdebstrap lintian systemd" ;;
    site) echo "mkdocs mkdocs-material codespell" ;;
    tidy) echo "clang-format-14 clang-tidy-14" ;;
    training) echo "python3-numpy python3-scipy python3-torch python3-onnx libopenblas0" \
                   "espeak-ng flite festival festvox-kdlpc16k festvox-kallpc16k festvox-us-slt-hts asterisk-core-sounds-en-wav pocketsphinx pocketsphinx-en-us" ;;
    *) return 1 ;;
  esac
}
