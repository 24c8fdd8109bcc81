# The files that are installed, made of what cargo builds: the shared library stripped, the static library with nothing but
# its own functions visible (packaging/static_library.sh), and the debug information of both beside them.
# Also the target zerobind::zerobind_static.

include("${CMAKE_CURRENT_LIST_DIR}/SystemLibraries.cmake")

# Cross builds bring their own binutils; else GNU's, also where CMake prefers LLVM's because clang compiles.
if(CMAKE_CROSSCOMPILING)
  set(ZEROBIND_OBJCOPY "${CMAKE_OBJCOPY}")
  set(ZEROBIND_LD "${CMAKE_LINKER}")
  set(ZEROBIND_AR "${CMAKE_AR}")
  set(ZEROBIND_READELF "${CMAKE_READELF}")
else()
  find_program(ZEROBIND_OBJCOPY NAMES objcopy)
  find_program(ZEROBIND_LD NAMES ld.bfd ld)
  find_program(ZEROBIND_AR NAMES ar)
  find_program(ZEROBIND_READELF NAMES readelf)
endif()

# zerobind_localize(ARCHIVE OUTPUT CARGO_TARGET): OUTPUT, and debug/ beside it, from cargo's archive.
function(zerobind_localize archive output cargo_target)
  cmake_path(GET output PARENT_PATH directory)
  cmake_path(GET output FILENAME name)
  zerobind_ship(static_library.sh "${archive}" "${output}" "${directory}/debug/${name}" ${cargo_target}
    "${PROJECT_SOURCE_DIR}/c-tests/symbols.txt")
endfunction()

# zerobind_strip_shared(LIBRARY OUTPUT CARGO_TARGET): OUTPUT, and its debug information in .debug/ beside it.
function(zerobind_strip_shared library output cargo_target)
  cmake_path(GET output PARENT_PATH directory)
  cmake_path(GET output FILENAME name)
  zerobind_ship(shared_library.sh "${library}" "${output}" "${directory}/.debug/${name}.debug" ${cargo_target})
endfunction()

# zerobind_ship(SCRIPT INPUT OUTPUT DEBUG CARGO_TARGET [FILE...]): runs packaging/SCRIPT INPUT FILE... OUTPUT.
function(zerobind_ship script input output debug cargo_target)
  if(NOT UNIX OR APPLE)
    # not run on these systems: there cargo's files are shipped as they are
    add_custom_command(OUTPUT "${output}" COMMAND "${CMAKE_COMMAND}" -E copy "${input}" "${output}"
      DEPENDS "${input}" ${cargo_target} VERBATIM)
    return()
  endif()
  set(script "${PROJECT_SOURCE_DIR}/packaging/${script}")
  cmake_path(GET output FILENAME name)
  add_custom_command(OUTPUT "${output}" "${debug}"
    COMMAND "${CMAKE_COMMAND}" -E env "LD=${ZEROBIND_LD}" "OBJCOPY=${ZEROBIND_OBJCOPY}" "AR=${ZEROBIND_AR}"
            "READELF=${ZEROBIND_READELF}" sh "${script}" "${input}" ${ARGN} "${output}"
    DEPENDS "${input}" "${script}" ${ARGN} ${cargo_target}
    COMMENT "making ${name} for shipping" VERBATIM)
endfunction()

# zerobind_add_shipped(TARGET_DIRECTORY): ZEROBIND_SHIPPED_DIR and the names of what lies in it, in the caller's scope.
function(zerobind_add_shipped target_directory)
  cargo_library_names(file_name soname)
  set(archive "${CMAKE_STATIC_LIBRARY_PREFIX}zerobind${CMAKE_STATIC_LIBRARY_SUFFIX}")
  set(shared "${file_name}")
  if(UNIX AND NOT APPLE)
    set(shared "${file_name}.${PROJECT_VERSION}")
  endif()
  set(shipped "${CMAKE_CURRENT_BINARY_DIR}/shipped")
  zerobind_localize("${target_directory}/release/${archive}" "${shipped}/${archive}" zerobind_cargo)
  zerobind_strip_shared("${target_directory}/release/${file_name}" "${shipped}/${shared}" zerobind_cargo)
  add_custom_target(zerobind_static_library DEPENDS "${shipped}/${archive}")
  add_custom_target(zerobind_shipped DEPENDS "${shipped}/${shared}" "${shipped}/${archive}")
  # both would run the rule of the archive, and make would do so at the same time
  add_dependencies(zerobind_shipped zerobind_static_library)

  add_library(zerobind::zerobind_static STATIC IMPORTED GLOBAL)
  set_target_properties(zerobind::zerobind_static PROPERTIES
    IMPORTED_LOCATION "${shipped}/${archive}"
    SYSTEM OFF
    INTERFACE_INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}/include"
    INTERFACE_LINK_LIBRARIES "${ZEROBIND_SYSTEM_LIBRARIES}")
  add_dependencies(zerobind::zerobind_static zerobind_static_library)

  set(ZEROBIND_SHIPPED_DIR "${shipped}" PARENT_SCOPE)
  set(ZEROBIND_SHIPPED_SHARED "${shared}" PARENT_SCOPE)
  set(ZEROBIND_SHIPPED_STATIC "${archive}" PARENT_SCOPE)
endfunction()
