# add_cargo_library(NAME TARGET_DIRECTORY directory [SHIPPED] [PREFLIGHT] [FEATURES feature...])
# Builds the crate's shared and static library by cargo and imports the shared one as NAME::NAME, with the header's directory.
#   PREFLIGHT  with the helper of zb_model_preflight next to it, of the same features
#   SHIPPED  nothing but these two: cargo optimises across crates (`lto`) only where no Rust library is made beside them

find_program(CARGO cargo REQUIRED)

# Functions begin at multiples of 64 bytes, as lines of most processors' caches do. After a run of an engine little of our code is
# in the cache, and what brings it back should not depend on where other functions end (docs/performance.md). For the last
# compiler of the build only, which makes all of the code (`lto`).
set(LINE_ALIGNED -- -Cllvm-args=-align-all-functions=6)

function(add_cargo_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "SHIPPED;PREFLIGHT" "TARGET_DIRECTORY" "FEATURES")
  cargo_library_names(file_name soname)
  set(built "${ARG_TARGET_DIRECTORY}/release/${file_name}")
  # The SONAME names a file that cargo does not make. Each library gets a folder of its own with a link of
  # that name, which is also what programs find it by at run time.
  set(link "${CMAKE_BINARY_DIR}/lib/${name}/${soname}")
  set(features)
  if(ARG_FEATURES)
    list(JOIN ARG_FEATURES "," features)
    set(features --features "${features}")
  endif()

  set(build build)
  set(for_rustc)
  if(ARG_PREFLIGHT)
    set(build build --package zerobind --package zerobind-preflight)
    if(features)
      list(TRANSFORM ARG_FEATURES PREPEND "zerobind/" OUTPUT_VARIABLE features)
      list(JOIN features "," features)
      set(features --features "${features}")
    endif()
  endif()
  if(ARG_SHIPPED)
    cargo_path_free(path_free)
    set(build rustc --lib --crate-type cdylib,staticlib ${path_free})
    set(for_rustc ${LINE_ALIGNED})
  endif()

  # Always run, since only cargo knows whether there is anything to do.
  add_custom_target(${name}_cargo
    COMMAND "${CMAKE_COMMAND}" -E env "CARGO_TARGET_DIR=${ARG_TARGET_DIRECTORY}"
            "${CARGO}" ${build} --release --locked ${features} ${for_rustc}
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${CMAKE_BINARY_DIR}/lib/${name}"
    COMMAND "${CMAKE_COMMAND}" -E create_symlink "${built}" "${link}"
    BYPRODUCTS "${built}" "${link}" "${ARG_TARGET_DIRECTORY}/release/${CMAKE_STATIC_LIBRARY_PREFIX}zerobind${CMAKE_STATIC_LIBRARY_SUFFIX}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    COMMENT "cargo build of ${name}"
    USES_TERMINAL VERBATIM)

  add_library(${name}::${name} SHARED IMPORTED GLOBAL)
  set_target_properties(${name}::${name} PROPERTIES
    IMPORTED_LOCATION "${link}"
    # not as a system header, or warnings in it would be hidden
    SYSTEM OFF
    INTERFACE_INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}/include")
  add_dependencies(${name}::${name} ${name}_cargo)
endfunction()

# Arguments of cargo for what is shipped: where the crates and the sources lie on the builder's machine is nobody's business,
# and would make every build another. (Of two prefixes that fit, the last counts.)
function(cargo_path_free arguments)
  if(DEFINED ENV{RUSTFLAGS} OR DEFINED ENV{CARGO_ENCODED_RUSTFLAGS})
    message(WARNING "RUSTFLAGS take the place of the flags that keep paths of this machine out of the libraries")
  endif()
  set(crates "$ENV{CARGO_HOME}/registry/src")
  if(NOT DEFINED ENV{CARGO_HOME})
    set(crates "$ENV{HOME}/.cargo/registry/src")
  endif()
  set(flags "'--remap-path-prefix=${crates}=crates'")
  foreach(folder IN ITEMS "${PROJECT_BINARY_DIR}=build" "${PROJECT_SOURCE_DIR}=zerobind")
    string(APPEND flags ", '--remap-path-prefix=${folder}'")
  endforeach()
  set(${arguments} --config "build.rustflags=[${flags}]" PARENT_SCOPE)
endfunction()

function(cargo_library_names file_name soname)
  if(APPLE)
    set(${file_name} libzerobind.dylib PARENT_SCOPE)
    set(${soname} libzerobind.dylib PARENT_SCOPE)
  else()
    set(${file_name} libzerobind.so PARENT_SCOPE)
    set(${soname} libzerobind.so.${PROJECT_VERSION_MAJOR} PARENT_SCOPE)
  endif()
endfunction()
