# What `cmake --install` lays down. The tree is relocatable: everything in it finds the rest from where it lies itself.
#   component runtime      the shared library under its SONAME, the licences and notices, the tool, the helper of preflight
#   component development  headers, the static library, pkg-config and CMake files
#   component debug        debug information of both libraries
# The libraries are imported and not built by CMake, so the package's targets are written by hand (zerobindConfig.cmake.in).

if(PROJECT_IS_TOP_LEVEL)
  # also where the system's habit would be lib64 or lib/x86_64-linux-gnu; -DCMAKE_INSTALL_LIBDIR=... still decides
  set(CMAKE_INSTALL_LIBDIR lib CACHE STRING "where libraries are installed, relative to the prefix")
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

foreach(directory IN ITEMS BINDIR LIBDIR INCLUDEDIR DOCDIR MANDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${directory}}")
    message(FATAL_ERROR "CMAKE_INSTALL_${directory} is ${CMAKE_INSTALL_${directory}}; it has to be relative to the prefix, "
      "so that the installed tree can be moved")
  endif()
endforeach()

set(ZEROBIND_INSTALL_CMAKEDIR "${CMAKE_INSTALL_LIBDIR}/cmake/zerobind")
set(ZEROBIND_INSTALL_PCDIR "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
# known to the library (src/preflight/search.rs), so not CMAKE_INSTALL_LIBEXECDIR
set(ZEROBIND_INSTALL_LIBEXECDIR "libexec/zerobind")

function(zerobind_install_libraries)
  cargo_library_names(file_name soname)
  set(shared "${ZEROBIND_SHIPPED_DIR}/${ZEROBIND_SHIPPED_SHARED}")
  set(archive "${ZEROBIND_SHIPPED_DIR}/${ZEROBIND_SHIPPED_STATIC}")
  if(WIN32)
    # not run on Windows; cargo puts the import library beside the DLL
    install(PROGRAMS "${shared}" DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime)
    install(FILES "${ZEROBIND_TARGET_DIR}/release/zerobind.dll.lib" DESTINATION "${CMAKE_INSTALL_LIBDIR}"
      COMPONENT development)
  else()
    install(PROGRAMS "${shared}" DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime)
  endif()
  install(FILES "${archive}" DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
  if(UNIX AND NOT APPLE)
    zerobind_install_link("${ZEROBIND_SHIPPED_SHARED}" "${soname}" runtime)
    zerobind_install_link("${soname}" "${file_name}" development)
    install(FILES "${ZEROBIND_SHIPPED_DIR}/.debug/${ZEROBIND_SHIPPED_SHARED}.debug"
      DESTINATION "${CMAKE_INSTALL_LIBDIR}/.debug" COMPONENT debug)
    install(FILES "${ZEROBIND_SHIPPED_DIR}/debug/${ZEROBIND_SHIPPED_STATIC}"
      DESTINATION "${CMAKE_INSTALL_LIBDIR}/debug" COMPONENT debug)
  endif()
endfunction()

# The link NAME to its neighbour TARGET; installing over an older tree replaces it.
function(zerobind_install_link target name component)
  set(link "${ZEROBIND_SHIPPED_DIR}/links/${name}")
  file(MAKE_DIRECTORY "${ZEROBIND_SHIPPED_DIR}/links")
  file(CREATE_LINK "${target}" "${link}" SYMBOLIC)
  install(FILES "${link}" DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${component})
endfunction()

function(zerobind_install_headers)
  # the C++ header where the sources have it
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/zerobind.h" "${PROJECT_SOURCE_DIR}/include/zerobind.hpp")
  install(FILES ${headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)
  # what this build contains, written by build.rs beside the libraries
  install(FILES "${ZEROBIND_TARGET_DIR}/release/zerobind_config.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    COMPONENT development OPTIONAL)
endfunction()

# zerobind_install_program(BUILT CARGO_TARGET DIRECTORY): a program, stripped, for the component runtime.
function(zerobind_install_program built cargo_target directory)
  set(program "${built}")
  if(UNIX AND NOT APPLE)
    cmake_path(GET built FILENAME name)
    set(program "${ZEROBIND_SHIPPED_DIR}/${name}")
    add_custom_command(OUTPUT "${program}" COMMAND "${ZEROBIND_OBJCOPY}" --strip-all "${built}" "${program}"
      DEPENDS "${built}" ${cargo_target} VERBATIM)
    add_custom_target(${cargo_target}_stripped ALL DEPENDS "${program}")
  endif()
  install(PROGRAMS "${program}" DESTINATION "${directory}" COMPONENT runtime)
endfunction()

# The command line tool and its manual pages.
function(zerobind_install_tool)
  option(ZEROBIND_INSTALL_TOOL "build and install the command line tool along" ON)
  if(NOT ZEROBIND_INSTALL_TOOL)
    return()
  endif()
  include("${PROJECT_SOURCE_DIR}/cmake/Tool.cmake")
  zerobind_add_tool()
  zerobind_install_program("${ZEROBIND_TOOL}" zerobind_tool "${CMAKE_INSTALL_BINDIR}")
  install(DIRECTORY "${ZEROBIND_TOOL_PAGES}/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT runtime
    FILES_MATCHING PATTERN "*.1")
endfunction()

# The program in which zb_model_preflight tries models; the library looks for it just there.
function(zerobind_install_preflight)
  option(ZEROBIND_INSTALL_PREFLIGHT "build and install the helper of zb_model_preflight along" ON)
  if(NOT ZEROBIND_INSTALL_PREFLIGHT OR NOT UNIX)
    return()
  endif()
  include("${PROJECT_SOURCE_DIR}/cmake/Preflight.cmake")
  zerobind_add_preflight()
  zerobind_install_program("${ZEROBIND_PREFLIGHT}" zerobind_preflight "${ZEROBIND_INSTALL_LIBEXECDIR}")
endfunction()

function(zerobind_install_package_files)
  set(made "${ZEROBIND_SHIPPED_DIR}/package")
  set(templates "${PROJECT_SOURCE_DIR}/packaging")
  cargo_library_names(file_name soname)
  file(RELATIVE_PATH ZEROBIND_PREFIX_FROM_PC "/${ZEROBIND_INSTALL_PCDIR}" "/")
  string(REGEX REPLACE "/$" "" ZEROBIND_PREFIX_FROM_PC "${ZEROBIND_PREFIX_FROM_PC}")
  configure_file("${templates}/zerobind.pc.in" "${made}/zerobind.pc" @ONLY)
  configure_file("${templates}/zerobind-static.pc.in" "${made}/zerobind-static.pc" @ONLY)
  install(FILES "${made}/zerobind.pc" "${made}/zerobind-static.pc"
    DESTINATION "${ZEROBIND_INSTALL_PCDIR}" COMPONENT development)

  set(ZEROBIND_SHARED_PATH "${CMAKE_INSTALL_LIBDIR}/${file_name}")
  if(WIN32)
    set(ZEROBIND_SHARED_PATH "${CMAKE_INSTALL_BINDIR}/${file_name}")
    set(ZEROBIND_SHARED_PROPERTY "IMPORTED_IMPLIB \"\${PACKAGE_PREFIX_DIR}/${CMAKE_INSTALL_LIBDIR}/zerobind.dll.lib\"")
  elseif(NOT APPLE)
    set(ZEROBIND_SHARED_PATH "${CMAKE_INSTALL_LIBDIR}/${ZEROBIND_SHIPPED_SHARED}")
    set(ZEROBIND_SHARED_PROPERTY "IMPORTED_SONAME ${soname}")
  endif()
  set(ZEROBIND_STATIC_PATH "${CMAKE_INSTALL_LIBDIR}/${ZEROBIND_SHIPPED_STATIC}")
  set(ZEROBIND_PREFLIGHT_PATH "${ZEROBIND_INSTALL_LIBEXECDIR}/zerobind-preflight")
  configure_package_config_file("${templates}/zerobindConfig.cmake.in" "${made}/zerobindConfig.cmake"
    INSTALL_DESTINATION "${ZEROBIND_INSTALL_CMAKEDIR}"
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR ZEROBIND_SHARED_PATH ZEROBIND_STATIC_PATH ZEROBIND_PREFLIGHT_PATH
    NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  configure_file("${templates}/zerobindConfigVersion.cmake.in" "${made}/zerobindConfigVersion.cmake" @ONLY)
  install(FILES "${made}/zerobindConfig.cmake" "${made}/zerobindConfigVersion.cmake"
    DESTINATION "${ZEROBIND_INSTALL_CMAKEDIR}" COMPONENT development)
endfunction()

# Everybody who passes the library on needs these, so they are part of the smaller component.
function(zerobind_install_licences)
  install(FILES LICENSE LICENSE-APACHE LICENSE-MIT packaging/THIRD_PARTY_NOTICES.txt
    DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT runtime)
  # Rust's own library is in ours; what it is made of is told by the toolchain that builds it
  find_program(RUSTC rustc REQUIRED)
  execute_process(COMMAND "${RUSTC}" --print sysroot OUTPUT_VARIABLE sysroot OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  install(FILES "${sysroot}/share/doc/rust/COPYRIGHT-library.html" RENAME RUST_LIBRARY_NOTICES.html
    DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT runtime OPTIONAL)
endfunction()

function(zerobind_install_all)
  zerobind_install_libraries()
  zerobind_install_headers()
  zerobind_install_package_files()
  zerobind_install_licences()
  zerobind_install_tool()
  zerobind_install_preflight()
endfunction()
