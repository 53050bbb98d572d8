# Bundled models: build/models/NAME/NAME.rnl, made by `runnel quantize` (or `runnel import`).

# runnel_split_graph(FILE FRONT_END DECISION): a text graph `... ! infer ... ! ...` from a file, cut at its infer node. Lines
# that start with # are comments.
function(runnel_split_graph file front_end decision)
  file(STRINGS ${file} lines)
  list(FILTER lines EXCLUDE REGEX "^[ \t]*#")
  list(JOIN lines " " graph)
  string(REGEX REPLACE "[ \t]+" " " graph "${graph}")
  string(STRIP "${graph}" graph)
  if(NOT graph MATCHES "^([^!].*[^ ]) ! infer( [^!]*)? ! (.+)$")
    message(FATAL_ERROR "${file}: expected a graph of the form \"FRONT END ! infer ... ! DECISION\", found \"${graph}\"")
  endif()
  set(${front_end} "${CMAKE_MATCH_1}" PARENT_SCOPE)
  set(${decision} "${CMAKE_MATCH_3}" PARENT_SCOPE)
endfunction()

# runnel_model(NAME SOURCE FILE GRAPH FILE [LABELS FILE] [TABLE FILE | RECORDINGS FOLDER] [FILES FILE...] [DEPENDS TARGET...]): makes NAME.rnl
# from SOURCE with the front end and decision of GRAPH and the labels of LABELS, one per line, if its outputs are classes: quantized with a calibration TABLE,
# quantized with RECORDINGS (which the targets of DEPENDS make), or imported unchanged; in quantized models the axis of frames
# comes before that of channels. FILES are those that the decision names; they are copied beside the model, as is the card.json beside SOURCE,
# if there is one. Part of the target runnel_models, which is built by default.
function(runnel_model name)
  cmake_parse_arguments(ARG "" "SOURCE;GRAPH;LABELS;TABLE;RECORDINGS" "FILES;DEPENDS" ${ARGN})
  foreach(file SOURCE GRAPH)
    cmake_path(ABSOLUTE_PATH ARG_${file} BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  endforeach()
  set(classes)
  if(ARG_LABELS)
    cmake_path(ABSOLUTE_PATH ARG_LABELS BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set(classes --classes ${ARG_LABELS})
  endif()
  runnel_split_graph(${ARG_GRAPH} front_end decision)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARG_GRAPH})
  set(model ${PROJECT_BINARY_DIR}/models/${name}/${name}.rnl)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/models/${name})
  # What `runnel models` says about it: a card beside its SOURCE.
  cmake_path(GET ARG_SOURCE PARENT_PATH folder)
  if(EXISTS ${folder}/card.json)
    configure_file(${folder}/card.json ${PROJECT_BINARY_DIR}/models/${name}/card.json COPYONLY)
  endif()
  foreach(file IN LISTS ARG_FILES)
    configure_file(${file} ${PROJECT_BINARY_DIR}/models/${name} COPYONLY)
  endforeach()
  if(ARG_TABLE)
    cmake_path(ABSOLUTE_PATH ARG_TABLE BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set(call quantize ${ARG_SOURCE} --table ${ARG_TABLE} --layout frames-first --front-end "${front_end}" ${classes} --name ${name} --quiet)
  elseif(ARG_RECORDINGS)
    set(call quantize ${ARG_SOURCE} --calib ${ARG_RECORDINGS} --layout frames-first --front-end "${front_end}" ${classes} --name ${name} --quiet)
  else()
    set(call import ${ARG_SOURCE} --front-end "${front_end}" --labels ${ARG_LABELS})
  endif()
  add_custom_command(OUTPUT ${model}
                     COMMAND ${CMAKE_COMMAND} -E env RUNNEL_CONFIG= $<TARGET_FILE:runnel_program> ${call} -o ${model} --decision "${decision}"
                     DEPENDS runnel_program ${ARG_SOURCE} ${ARG_LABELS} ${ARG_GRAPH} ${ARG_TABLE} ${ARG_DEPENDS}
                     COMMENT "Making ${name}.rnl" VERBATIM)
  add_custom_target(runnel_model_${name} ALL DEPENDS ${model})
  set_property(GLOBAL APPEND PROPERTY RUNNEL_MODEL_FILES ${model})   # for RunnelSbom
  if(NOT TARGET runnel_models)
    add_custom_target(runnel_models)
  endif()
  add_dependencies(runnel_models runnel_model_${name})
endfunction()
