# runnel_schema(NAME FILE [REFLECTION]): the reader of a FlatBuffers schema. FILE is relative to the calling folder; folder/name.fbs
# becomes the header "folder/name_generated.h", made by the target runnel_NAME_schema. REFLECTION: each table also lists its fields.
function(runnel_schema name file)
  cmake_parse_arguments(PARSE_ARGV 2 arg "REFLECTION" "" "")
  set(flags --cpp --scoped-enums)
  if(arg_REFLECTION)
    list(APPEND flags --cpp-std c++17 --cpp-static-reflection)
  endif()
  cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE relative)
  cmake_path(GET relative PARENT_PATH folder)
  cmake_path(GET relative STEM stem)
  set(header ${PROJECT_BINARY_DIR}/generated/${folder}/${stem}_generated.h)
  add_custom_command(OUTPUT ${header}
                     COMMAND flatbuffers::flatc ${flags} -o ${PROJECT_BINARY_DIR}/generated/${folder} ${file}
                     DEPENDS ${file} COMMENT "Generating the reader of ${relative}" VERBATIM)
  add_custom_target(runnel_${name}_schema DEPENDS ${header})
endfunction()
