# cmake -P: installs BUILD into SCRATCH/prefix and lets PROJECT, which knows nothing but that prefix, use it.
cmake_minimum_required(VERSION 3.25)

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${what} failed (${code}):\n${out}\n${err}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run("installing" ${CMAKE_COMMAND} --install ${BUILD} --config ${CONFIG} --prefix ${SCRATCH}/prefix)

# The installed tree names no folder of the tree it came from.
file(GLOB_RECURSE package_files ${SCRATCH}/prefix/*.cmake)
foreach(file IN LISTS package_files)
  file(READ ${file} text)
  string(FIND "${text}" "${BUILD}" place)
  if(NOT place EQUAL -1)
    message(FATAL_ERROR "${file} names the build folder ${BUILD}, so it works on this machine only")
  endif()
endforeach()
foreach(name LICENSE NOTICE)
  file(GLOB found ${SCRATCH}/prefix/share/doc/*/${name})
  if(NOT found)
    message(FATAL_ERROR "${name} was not installed")
  endif()
endforeach()

# The installed program has its models, its catalogue, its man pages and completions.
set(installed ${CMAKE_COMMAND} -E env RUNNEL_CONFIG= XDG_DATA_HOME=${SCRATCH} ${SCRATCH}/prefix/bin/runnel)
run("listing the installed models" ${installed} models)
string(FIND "${output}" "${SCRATCH}/prefix/share/runnel/models/digits/digits.rnl (bundled)" place)
if(place EQUAL -1)
  message(FATAL_ERROR "the installed program does not find its own models by name, but\n${output}")
endif()
# A model by its name, with the files that its decision names. Without ONNX there is none.
if(EXISTS ${BUILD}/models/commands/commands.rnl)
  run("listening with an installed model" ${installed} listen commands --wav ${PROJECT}/../../models/commands.wav)
  string(FIND "${output}" "\"text\":\"turn on the light\"" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "the installed recogniser of commands does not hear \"turn on the light\", but\n${output}")
  endif()
endif()
run("listing the installed catalogue" ${installed} models available)
foreach(name share/man/man1/runnel.1 share/man/man1/runnel-listen.1 share/bash-completion/completions/runnel
             share/zsh/site-functions/_runnel share/fish/vendor_completions.d/runnel.fish)
  if(NOT EXISTS ${SCRATCH}/prefix/${name})
    message(FATAL_ERROR "${name} was not installed")
  endif()
endforeach()

set(flags "")
if(SANITIZE)
  set(flags "-fsanitize=${SANITIZE}")
endif()
run("configuring the stranger's project" ${CMAKE_COMMAND} -S ${PROJECT} -B ${SCRATCH}/build -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${SCRATCH}/prefix
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -D CMAKE_BUILD_TYPE=${CONFIG} -D CMAKE_CXX_FLAGS=${flags}
    -D CMAKE_FIND_USE_PACKAGE_REGISTRY=OFF -D FETCHCONTENT_FULLY_DISCONNECTED=ON -D EXPECTED_PREFIX=${SCRATCH}/prefix
    -D EXPECTED_VERSION=${VERSION} -D COMPONENTS=${COMPONENTS})
run("building the stranger's project" ${CMAKE_COMMAND} --build ${SCRATCH}/build --parallel 1)
run("running the stranger's program" ${SCRATCH}/build/stranger)

file(READ ${PROJECT}/expected.txt expected)
string(REPLACE "@VERSION@" "${VERSION}" expected "${expected}")
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "the stranger's program printed\n${output}\nbut expected was\n${expected}")
endif()
message(STATUS "the stranger's program printed what was expected:\n${output}")
