# ONNX's protobuf classes: sets OnnxProto_FOUND and the target OnnxProto::onnx_proto. Debian's package file names targets without
# a namespace and needs protobuf's. Installed next to runnel's package file, which needs it too.
find_package(Protobuf MODULE QUIET)
find_path(OnnxProto_INCLUDE_DIR onnx/onnx_pb.h)
find_library(OnnxProto_LIBRARY onnx_proto)
mark_as_advanced(OnnxProto_INCLUDE_DIR OnnxProto_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OnnxProto REQUIRED_VARS OnnxProto_LIBRARY OnnxProto_INCLUDE_DIR Protobuf_FOUND)

if(OnnxProto_FOUND AND NOT TARGET OnnxProto::onnx_proto)
  add_library(OnnxProto::onnx_proto UNKNOWN IMPORTED)
  set_target_properties(OnnxProto::onnx_proto PROPERTIES IMPORTED_LOCATION ${OnnxProto_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${OnnxProto_INCLUDE_DIR}
                        INTERFACE_LINK_LIBRARIES protobuf::libprotobuf)
endif()
