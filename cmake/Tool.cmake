# zerobind_add_tool(): the target zerobind_tool builds the zerobind command by cargo, and its manual pages, which are to be
# found as ZEROBIND_TOOL and ZEROBIND_TOOL_PAGES. Not in the libraries' folder of cargo, which makes them anew for the tool.
if(PROJECT_IS_TOP_LEVEL)
  set(ZEROBIND_TOOL_TARGET_DIR "${PROJECT_SOURCE_DIR}/target")
else()
  set(ZEROBIND_TOOL_TARGET_DIR "${PROJECT_BINARY_DIR}/cargo-tool")
endif()
set(ZEROBIND_TOOL "${ZEROBIND_TOOL_TARGET_DIR}/release/zerobind${CMAKE_EXECUTABLE_SUFFIX}")
set(ZEROBIND_TOOL_PAGES "${ZEROBIND_TOOL_TARGET_DIR}/release/man")

function(zerobind_add_tool)
  if(TARGET zerobind_tool)
    return()
  endif()
  cargo_path_free(path_free)
  # Always run, since only cargo knows whether there is anything to do; not at the same time as the library's.
  add_custom_target(zerobind_tool ALL
    COMMAND "${CMAKE_COMMAND}" -E env "CARGO_TARGET_DIR=${ZEROBIND_TOOL_TARGET_DIR}"
            "${CARGO}" build --release --locked --package zerobind-tool ${path_free}
    COMMAND "${ZEROBIND_TOOL}" man "${ZEROBIND_TOOL_PAGES}"
    BYPRODUCTS "${ZEROBIND_TOOL}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    COMMENT "cargo build of the zerobind command"
    USES_TERMINAL VERBATIM)
  add_dependencies(zerobind_tool zerobind_cargo)
endfunction()
