# Tests of what is installed, by scripts that do what other people's builds do (c-tests/consumers/). They come once for each
# compiler, with its build folder. package.install lays the tree down and moves it; all others use it from there.

set(ZEROBIND_PACKAGE_TESTS "${CMAKE_BINARY_DIR}/package tests")

# zerobind_add_package_test(NAME SCRIPT [VARIABLE=value...])
function(zerobind_add_package_test name script)
  set(shell sh)
  if(name STREQUAL "beside")
    # for `exec -a`
    set(shell bash)
  endif()
  add_test(NAME package.${name} COMMAND ${shell} "${PROJECT_SOURCE_DIR}/c-tests/consumers/${script}")
  set_tests_properties(package.${name} PROPERTIES
    FIXTURES_REQUIRED installed_tree SKIP_RETURN_CODE 77 TIMEOUT 900
    ENVIRONMENT "${ZEROBIND_TEST_ENVIRONMENT};CMAKE=${CMAKE_COMMAND};NINJA=${CMAKE_MAKE_PROGRAM};CC=${CMAKE_C_COMPILER};\
CXX=${CMAKE_CXX_COMPILER};SOURCE=${PROJECT_SOURCE_DIR};TREE=${ZEROBIND_PACKAGE_TESTS}/moved tree;\
SCRATCH=${ZEROBIND_PACKAGE_TESTS}/${name};VERSION=${PROJECT_VERSION};${ARGN}")
endfunction()

function(zerobind_add_package_tests)
  zerobind_add_package_test(install install.sh "BUILD=${CMAKE_BINARY_DIR}" "TARGET_DIR=${ZEROBIND_TARGET_DIR}")
  set_tests_properties(package.install PROPERTIES FIXTURES_REQUIRED "" FIXTURES_SETUP installed_tree)
  zerobind_add_package_test(find_package find_package.sh)
  zerobind_add_package_test(pkg_config pkg_config.sh)
  zerobind_add_package_test(refused refused.sh)
  zerobind_add_package_test(beside beside.sh)
  zerobind_add_package_test(preflight preflight.sh)
  foreach(way IN ITEMS add_subdirectory FetchContent)
    zerobind_add_package_test(${way} subproject.sh "BY=${way}" "TARGET_DIR=${ZEROBIND_TARGET_DIR}")
  endforeach()
  zerobind_add_package_test(static_library static_library.sh)
  set(mock "${CMAKE_BINARY_DIR}/lib/zerobind_mock/libzerobind.a")
  zerobind_localize("${PROJECT_SOURCE_DIR}/target/mock/release/libzerobind.a" "${mock}" zerobind_mock_cargo)
  add_custom_target(zerobind_mock_static_library ALL DEPENDS "${mock}")
  zerobind_add_package_test(two_rust two_rust.sh "MOCK=${mock}" "CARGO_ARCHIVE=${ZEROBIND_TARGET_DIR}/release/libzerobind.a")
  zerobind_add_package_test(system_libraries system_libraries.sh "SYSTEM_LIBRARIES=${ZEROBIND_PC_LIBRARIES}")
  zerobind_add_package_test(notices notices.sh)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    # by whatever compiler README's commands find; once is enough
    zerobind_add_package_test(readme readme.sh "TARGET_DIR=${ZEROBIND_TARGET_DIR}")
  endif()
endfunction()

# The ABI against the committed snapshot; the second only shows that the first would see a change. One compiler is enough.
function(zerobind_add_abi_snapshot_tests)
  if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    return()
  endif()
  find_program(ZEROBIND_PYTHON python3 REQUIRED)
  foreach(command IN ITEMS check self-test)
    add_test(NAME abi.snapshot.${command}
      COMMAND "${ZEROBIND_PYTHON}" "${PROJECT_SOURCE_DIR}/c-tests/abi/abi.py" ${command})
    set_tests_properties(abi.snapshot.${command} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 180)
  endforeach()
endfunction()
