# The boards in QEMU, for scripts that build images for them and run them.
RUNNEL_ARM_BOARDS="mps2-an386 mps2-an500 mps3-an547"
RUNNEL_RISCV_BOARDS="virt-rv32imafc virt-rv32imac virt-rv64gc"

# prefix_of BOARD: of the compiler's tools.
prefix_of() { case $1 in virt-*) echo riscv64-unknown-elf- ;; *) echo arm-none-eabi- ;; esac; }
toolchain_of() { case $1 in virt-*) echo "$root/cmake/riscv-none-elf.cmake" ;; *) echo "$root/cmake/arm-none-eabi.cmake" ;; esac; }
emulator_of() { case $1 in virt-rv64*) echo qemu-system-riscv64 ;; virt-*) echo qemu-system-riscv32 ;; *) echo qemu-system-arm ;; esac; }
# needed_by BOARD: the programs that are missing for it.
missing_for() {
  local program
  for program in "$(prefix_of "$1")g++" "$(emulator_of "$1")" cc; do command -v "$program" >/dev/null || echo "$program"; done
}
# emulate BOARD IMAGE SEMIHOSTING [ARGUMENT of QEMU]...: an instruction takes the same time in every run.
emulate() {
  local board=$1 image=$2 semihosting=$3 machine=()
  shift 3
  case $board in
    virt-rv32imac) machine=(-M virt -cpu rv32,f=false,d=false -bios none -icount shift=0,align=off,sleep=off) ;;
    virt-*) machine=(-M virt -bios none -icount shift=0,align=off,sleep=off) ;;
    *) machine=(-M "$board" -icount shift=6,align=off,sleep=off) ;;
  esac
  timeout "${RUNNEL_TIMEOUT:-300}" "$(emulator_of "$board")" "${machine[@]}" -nographic -monitor none -serial none "$@" \
    -semihosting-config "enable=on,target=native,$semihosting" -kernel "$image" </dev/null
}
