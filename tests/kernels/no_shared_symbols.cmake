# Fails when an object of an instruction level (its name contains "avx" or "_rvv") defines a weak function: the linker keeps one copy of
# those for the whole program, possibly one that older machines cannot run.
string(REPLACE "|" ";" objects "${OBJECTS}")
list(FILTER objects INCLUDE REGEX "avx|_rvv")
foreach(object IN LISTS objects)
  execute_process(COMMAND ${NM} --defined-only ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]* [Ww] [^\n]*" weak "${symbols}")
  if(weak)
    list(APPEND found "${object}:${weak}")
  endif()
endforeach()
if(found)
  message(FATAL_ERROR "weak functions in files of newer instructions: ${found}")
endif()
