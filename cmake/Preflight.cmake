# zerobind_add_preflight(): the target zerobind_preflight builds the helper of zb_model_preflight by cargo, to be found as
# ZEROBIND_PREFLIGHT, and puts a link to it next to the shared library that cargo built, where that looks for it.
# Built beside the command (Tool.cmake), with which it shares everything but the last step.
include("${CMAKE_CURRENT_LIST_DIR}/Tool.cmake")
set(ZEROBIND_PREFLIGHT "${ZEROBIND_TOOL_TARGET_DIR}/release/zerobind-preflight${CMAKE_EXECUTABLE_SUFFIX}")

function(zerobind_add_preflight)
  if(TARGET zerobind_preflight)
    return()
  endif()
  cargo_path_free(path_free)
  # Always run, since only cargo knows whether there is anything to do.
  add_custom_target(zerobind_preflight ALL
    COMMAND "${CMAKE_COMMAND}" -E env "CARGO_TARGET_DIR=${ZEROBIND_TOOL_TARGET_DIR}"
            "${CARGO}" build --release --locked --package zerobind-preflight ${path_free}
    COMMAND "${CMAKE_COMMAND}" -E create_symlink "${ZEROBIND_PREFLIGHT}" "${ZEROBIND_TARGET_DIR}/release/zerobind-preflight"
    BYPRODUCTS "${ZEROBIND_PREFLIGHT}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    COMMENT "cargo build of the helper"
    USES_TERMINAL VERBATIM)
  # not at the same time as another build by cargo
  add_dependencies(zerobind_preflight zerobind_cargo)
endfunction()
