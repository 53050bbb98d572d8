# runnel_wasm_package(NAME SOURCES ...): from the sources that `runnel embed` has written, the module NAME.wasm, the npm package around it
# (the folder package/ of the calling build folder) and NAME.html, a page that needs no server. For builds with
# cmake/wasm32-emscripten.cmake.
set(RUNNEL_WASM_DIR ${CMAKE_CURRENT_LIST_DIR})
find_package(Python3 REQUIRED COMPONENTS Interpreter)

function(runnel_wasm_package name)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  string(TOUPPER ${name} big)
  set(package ${CMAKE_CURRENT_BINARY_DIR}/package)
  add_executable(${name} ${ARG_SOURCES} ${RUNNEL_WASM_DIR}/module.cpp)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE RUNNEL_PROGRAM=runnel_${name} RUNNEL_PROGRAM_HEADER="${name}.h" RUNNEL_PROGRAM_SAMPLE_BYTES=RUNNEL_${big}_SAMPLE_BYTES)
  target_compile_options(${name} PRIVATE -Os)   # what is hot lies in runnel's kernels
  target_link_libraries(${name} PRIVATE runnel_flags runnel::embed)
  # A module alone, without the JavaScript of emscripten: it imports nothing. No malloc: its use would fail to link. The memory is as
  # large as what the linker places, and start() takes more.
  target_link_options(${name} PRIVATE -O2 --no-entry -sSTANDALONE_WASM -sMALLOC=none -sFILESYSTEM=0 -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=268435456
                      -sINITIAL_MEMORY=1048576 -sTOTAL_STACK=65536 -Wl,--gc-sections)
  set_target_properties(${name} PROPERTIES SUFFIX .wasm RUNTIME_OUTPUT_DIRECTORY ${package})
  set(files runnel.js runnel.d.ts worklet.js)
  list(TRANSFORM files PREPEND ${RUNNEL_WASM_DIR}/package/ OUTPUT_VARIABLE sources)
  set(own "")
  foreach(file package.json README.md)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
      list(APPEND own ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    endif()
  endforeach()
  set(page ${CMAKE_CURRENT_BINARY_DIR}/${name}.html)
  set(made ${RUNNEL_WASM_DIR}/make_page.py ${RUNNEL_WASM_DIR}/page.html ${RUNNEL_WASM_DIR}/page.js)
  add_custom_command(OUTPUT ${page}
                     COMMAND ${CMAKE_COMMAND} -E copy ${sources} ${own} ${RUNNEL_WASM_DIR}/../../LICENSE ${package}
                     COMMAND ${Python3_EXECUTABLE} ${RUNNEL_WASM_DIR}/make_page.py ${name} ${package} ${page}
                     DEPENDS ${name} ${sources} ${own} ${made} VERBATIM COMMENT "Making the package of ${name} and its page")
  add_custom_target(${name}_package ALL DEPENDS ${page})
endfunction()
