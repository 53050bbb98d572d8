# Checks that an image of firmware/ has no heap, exceptions or double precision; for scripts that build images. `tools`: the prefix of
# the compiler's tools (boards.sh); those of Arm when it is not set.
# Functions of double-precision arithmetic: none may be called for a frame, or to prepare with tables in flash memory.
double_precision='__aeabi_(d[a-z]|[a-z]+2d|c?d)|^(sqrt|pow|exp|log|sin|cos)$|^__(add|sub|mul|div|extend[sd]f|trunc|float[a-z]*|fix[a-z]*)[a-z]*df[a-z]*[23]?$'

# No heap, no exceptions or their tables (the linker's entry of 8 bytes means none), no constructors.
check_image() {
  local image=$1 section size
  if "${tools:-arm-none-eabi-}nm" --demangle "$image" | grep -E ' (_?(malloc|calloc|realloc|free)(_r)?|operator (new|delete).*|__cxa_(throw|begin_catch)|_Unwind_RaiseException|__gxx_personality.*)$' >&2; then
    die "$image has a heap or exceptions"
  fi
  while read -r section size; do
    case $section in
      .ARM.extab* | .gcc_except_table* | .eh_frame* | .init_array*) ((16#$size == 0)) || die "$image has a section $section of 0x$size bytes" ;;
      .ARM.exidx*) ((16#$size <= 8)) || die "$image has tables for unwinding of 0x$size bytes" ;;
    esac
  done < <("${tools:-arm-none-eabi-}readelf" --section-headers --wide "$image" | sed -n 's/^ *\[ *[0-9]*\] \(\.[^ ]*\) *[A-Z_]* *[0-9a-f]* *[0-9a-f]* \([0-9a-f]*\) .*/\1 \2/p')
  local -A at=()
  local address symbol
  while read -r address _ symbol; do at[$symbol]=$address; done < <("${tools:-arm-none-eabi-}nm" "$image" | grep '__init_array_')
  [[ ${at[__init_array_start]} == "${at[__init_array_end]}" ]] || die "$image has static constructors"
}
