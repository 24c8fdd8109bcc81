# The header alone must compile without a warning in every standard, and its annotations must bite.
# These are compiler runs as tests; the second compiler comes with the second build directory.

set(ZEROBIND_HEADER_WARNINGS ${ZEROBIND_WARNINGS} -Wundef -Wshadow)

# zerobind_add_header_tests(): header.c99 ... header.c++23
function(zerobind_add_header_tests)
  # the names that also the oldest supported compilers know
  foreach(standard IN ITEMS c99 c11 c17 c2x)
    zerobind_add_header_test(c ${standard} -Wstrict-prototypes)
  endforeach()
  foreach(standard IN ITEMS c++11 c++14 c++17 c++20 c++2b)
    zerobind_add_header_test(c++ ${standard} -Wold-style-cast)
  endforeach()
endfunction()

function(zerobind_add_header_test language standard)
  if(language STREQUAL c)
    set(compiler "${CMAKE_C_COMPILER}")
  else()
    set(compiler "${CMAKE_CXX_COMPILER}")
  endif()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/header_alone.c")
  # macros are seen where they are used
  set(uses "uint32_t header_version(void);\nuint32_t header_version(void) { return ZB_HEADER_VERSION; }\n")
  string(APPEND uses "zb_slot slots(uint32_t);\nzb_slot slots(uint32_t i) { return ZB_INPUT(3) + ZB_OUTPUT(i); }\n")
  foreach(struct IN ITEMS model_options context_options preflight_options infer_options queue_options runtime_info slot_info requirements
                          binding_report context_stats)
    string(TOUPPER ${struct} macro)
    string(APPEND uses "extern zb_${struct} one_${struct};\nzb_${struct} one_${struct} = ZB_${macro}_INIT;\n")
  endforeach()
  file(WRITE "${source}" "#include <zerobind.h>\nextern int not_empty;\n${uses}")
  add_test(NAME header.${standard}
    COMMAND "${compiler}" -x ${language} -std=${standard} ${ZEROBIND_HEADER_WARNINGS} ${ARGN}
            -I "${PROJECT_SOURCE_DIR}/include" -c "${source}" -o /dev/null)
endfunction()

# zerobind_add_misuse_test(NAME DIAGNOSTIC [OPTION...]): misuse/NAME.c must fail to compile, with DIAGNOSTIC in the text.
function(zerobind_add_misuse_test name diagnostic)
  add_test(NAME misuse.${name}
    COMMAND "${CMAKE_C_COMPILER}" -std=c99 ${ZEROBIND_HEADER_WARNINGS} ${ARGN} -I "${PROJECT_SOURCE_DIR}/include"
            -c "${CMAKE_CURRENT_SOURCE_DIR}/misuse/${name}.c" -o /dev/null)
  set_tests_properties(misuse.${name} PROPERTIES PASS_REGULAR_EXPRESSION "${diagnostic}")
endfunction()

# zerobind_add_proper_use_test(NAME): the counterpart, misuse/NAME.c must compile without a word.
function(zerobind_add_proper_use_test name)
  add_test(NAME misuse.${name}
    COMMAND "${CMAKE_C_COMPILER}" -std=c99 ${ZEROBIND_HEADER_WARNINGS} -I "${PROJECT_SOURCE_DIR}/include"
            -c "${CMAKE_CURRENT_SOURCE_DIR}/misuse/${name}.c" -o /dev/null)
endfunction()

# The header as a module of clang's, which is how Swift gets it. Only clang has modules of this kind.
function(zerobind_add_module_test)
  find_program(ZEROBIND_CLANG clang)
  if(NOT ZEROBIND_CLANG)
    if(DEFINED ENV{CI})
      message(FATAL_ERROR "clang is missing, which the set-up installs: header.modules cannot run")
    endif()
    message(WARNING "header.modules: skipped, clang is not installed")
    return()
  endif()
  add_test(NAME header.modules
    COMMAND sh "${CMAKE_CURRENT_SOURCE_DIR}/check_modules.sh" "${ZEROBIND_CLANG}" "${PROJECT_SOURCE_DIR}/include"
            "${CMAKE_CURRENT_SOURCE_DIR}/modules")
endfunction()

# The asserts and constants of test_abi.c, as C++11 reads the header.
function(zerobind_add_abi_test_in_cxx)
  add_executable(test_abi_cxx test_abi_cxx.cpp)
  set_target_properties(test_abi_cxx PROPERTIES CXX_STANDARD 11 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  target_compile_options(test_abi_cxx PRIVATE ${ZEROBIND_WARNINGS})
  target_link_libraries(test_abi_cxx PRIVATE harness zerobind::zerobind Threads::Threads)
  zerobind_register(abi.cxx test_abi_cxx FALSE FALSE)
endfunction()

# The shipped library from outside: symbols, SONAME, no test engine.
function(zerobind_add_library_test)
  cargo_library_names(file_name soname)
  add_test(NAME library.symbols
    COMMAND sh "${CMAKE_CURRENT_SOURCE_DIR}/check_library.sh" "${CMAKE_BINARY_DIR}/lib/zerobind/${soname}"
            "${CMAKE_CURRENT_SOURCE_DIR}/symbols.txt" "${PROJECT_SOURCE_DIR}/include/zerobind.h" "${soname}")
endfunction()

# The program at the top of the header is the first that anybody tries.
function(zerobind_add_header_example_test)
  cargo_library_names(file_name soname)
  add_test(NAME header.example
    COMMAND sh "${CMAKE_CURRENT_SOURCE_DIR}/check_header_example.sh" "${CMAKE_C_COMPILER}"
            "${PROJECT_SOURCE_DIR}/include/zerobind.h" "${CMAKE_BINARY_DIR}/lib/zerobind/${soname}"
            "${ZEROBIND_DEPS}/models" "${CMAKE_CURRENT_BINARY_DIR}/header_example")
  set_tests_properties(header.example PROPERTIES ENVIRONMENT "${ZEROBIND_TEST_ENVIRONMENT}")
endfunction()
