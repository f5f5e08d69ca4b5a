# tandem_add_aoti_library(<target> NAME <name> SOURCE <file> [LINK_OPTIONS ...]): a library made with aoti_model.h that
# the AOTInductor backends load, as aoti_libraries/<name>.so in the current build folder. It is not instrumented, as
# those of exporters are not. Its imports of shims stay open; the backend supplies them.
function(tandem_add_aoti_library target)
  cmake_parse_arguments(ARG "" "NAME;SOURCE" "LINK_OPTIONS" ${ARGN})
  add_library(${target} MODULE ${ARG_SOURCE})
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${ARG_NAME}
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/aoti_libraries)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE tandem_warnings)
  target_link_options(${target} PRIVATE ${ARG_LINK_OPTIONS})
endfunction()
