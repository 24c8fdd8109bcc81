# cargo_version(VARIABLE MANIFEST): the package version, so that it is written in one place only.
function(cargo_version variable manifest)
  file(STRINGS "${manifest}" line REGEX "^version *= *\"" LIMIT_COUNT 1)
  if(NOT line MATCHES "\"([0-9]+\\.[0-9]+\\.[0-9]+)")
    message(FATAL_ERROR "no package version in ${manifest}")
  endif()
  set(${variable} "${CMAKE_MATCH_1}" PARENT_SCOPE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${manifest}")
endfunction()
