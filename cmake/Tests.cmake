# zerobind_add_test(NAME [ENGINES] [MOCK] [SERIAL] [NO_MEMCHECK])
# Builds test_NAME.c with the harness and registers it with CTest:
#   ENGINES      one entry for each engine, NAME.tflite and NAME.onnxruntime, with that word as the argument;
#                else one entry NAME without arguments
#   MOCK         linked with the library that has the mock engine, and labelled `mock`
#   SERIAL       runs while no other test does: its threads need the cores for themselves
#   NO_MEMCHECK  not run again under valgrind: it makes signals or maps on purpose that valgrind cannot follow,
#                or only takes time there
# Every other entry has a twin memcheck.NAME... with the label `memcheck`, which sees ZB_TEST_MEMCHECK=1 and
# may do fewer rounds.

find_program(VALGRIND valgrind)

set(ZEROBIND_ENGINES tflite onnxruntime)
set(ZEROBIND_DEPS "${PROJECT_SOURCE_DIR}/.deps")
set(ZEROBIND_SHARED_SUFFIX "${CMAKE_SHARED_LIBRARY_SUFFIX}")
set(ZEROBIND_TEST_ENVIRONMENT
  "ORT_DISABLE_TELEMETRY=1"
  "ZEROBIND_TFLITE_LIB=${ZEROBIND_DEPS}/engines/libtensorflowlite_c${ZEROBIND_SHARED_SUFFIX}"
  "ZEROBIND_ONNXRUNTIME_LIB=${ZEROBIND_DEPS}/engines/libonnxruntime${ZEROBIND_SHARED_SUFFIX}"
  "ZB_TEST_MODELS=${ZEROBIND_DEPS}/models"
  "ZB_TEST_REFERENCE=${ZEROBIND_DEPS}/reference")
set(ZEROBIND_TEST_TIMEOUT 180)

# valgrind runs one thread at a time; without fair turns one of two can wait for a whole test
set(ZEROBIND_MEMCHECK "${VALGRIND}" --fair-sched=try --quiet --error-exitcode=99 --num-callers=30
  --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite
  "--suppressions=${PROJECT_SOURCE_DIR}/c-tests/valgrind.supp")
set(ZEROBIND_MEMCHECK_TIMEOUT 600)

# What all tests share, compiled once: it sees the header only, and each test brings the library.
function(zerobind_add_harness)
  add_library(harness STATIC ${ARGN})
  set_target_properties(harness PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
  target_compile_options(harness PRIVATE ${ZEROBIND_WARNINGS})
  target_include_directories(harness PUBLIC "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(harness PUBLIC ${CMAKE_DL_LIBS})
endfunction()

function(zerobind_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "ENGINES;MOCK;SERIAL;NO_MEMCHECK" "" "")
  if(ARG_MOCK)
    set(library zerobind_mock)
  else()
    set(library zerobind)
  endif()
  set(program test_${name})
  add_executable(${program} ${program}.c)
  set_target_properties(${program} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
  target_compile_options(${program} PRIVATE ${ZEROBIND_WARNINGS})
  target_link_libraries(${program} PRIVATE harness ${library}::${library} Threads::Threads)

  if(ARG_ENGINES)
    foreach(engine IN LISTS ZEROBIND_ENGINES)
      zerobind_register(${name}.${engine} ${program} "${ARG_SERIAL}" "${ARG_NO_MEMCHECK}" ${engine})
    endforeach()
  else()
    zerobind_register(${name} ${program} "${ARG_SERIAL}" "${ARG_NO_MEMCHECK}")
  endif()
  if(ARG_MOCK)
    zerobind_label_mock(${name} "${ARG_ENGINES}")
  endif()
endfunction()

# So that these can be told from the tests that say something about the library without the mock engine.
function(zerobind_label_mock name engines)
  set(entries ${name})
  if(engines)
    list(TRANSFORM ZEROBIND_ENGINES PREPEND "${name}." OUTPUT_VARIABLE entries)
  endif()
  set_tests_properties(${entries} PROPERTIES LABELS mock)
endfunction()

# The entry itself and its twin under valgrind; what follows `no_memcheck` are the program's arguments.
function(zerobind_register entry program serial no_memcheck)
  add_test(NAME ${entry} COMMAND ${program} ${ARGN})
  set_tests_properties(${entry} PROPERTIES RUN_SERIAL "${serial}"
    ENVIRONMENT "${ZEROBIND_TEST_ENVIRONMENT}" TIMEOUT ${ZEROBIND_TEST_TIMEOUT})
  if(VALGRIND AND NOT no_memcheck)
    add_test(NAME memcheck.${entry} COMMAND ${ZEROBIND_MEMCHECK} $<TARGET_FILE:${program}> ${ARGN})
    set_tests_properties(memcheck.${entry} PROPERTIES LABELS memcheck RUN_SERIAL "${serial}"
      ENVIRONMENT "${ZEROBIND_TEST_ENVIRONMENT};ZB_TEST_MEMCHECK=1" TIMEOUT ${ZEROBIND_MEMCHECK_TIMEOUT})
  endif()
endfunction()

# zerobind_add_numpy_test(NAME): NAME_numpy.py, with the library and each engine, by the set-up's python, which has numpy.
function(zerobind_add_numpy_test name)
  set(python "${ZEROBIND_DEPS}/venv/bin/python")
  if(NOT EXISTS "${python}")
    message(WARNING "${name}.numpy is left out: there is no ${python} (make setup)")
    return()
  endif()
  cargo_library_names(file_name soname)
  foreach(engine IN LISTS ZEROBIND_ENGINES)
    add_test(NAME ${name}.numpy.${engine}
      COMMAND "${python}" "${CMAKE_CURRENT_SOURCE_DIR}/${name}_numpy.py" "${CMAKE_BINARY_DIR}/lib/zerobind/${soname}" ${engine})
    set_tests_properties(${name}.numpy.${engine} PROPERTIES
      ENVIRONMENT "${ZEROBIND_TEST_ENVIRONMENT}" TIMEOUT ${ZEROBIND_TEST_TIMEOUT})
  endforeach()
endfunction()

# A test that is written and not registered would be silently left out.
function(zerobind_require_all_registered)
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" test_*.c)
  foreach(source IN LISTS sources)
    string(REGEX REPLACE "\\.c$" "" program "${source}")
    if(NOT TARGET ${program})
      message(FATAL_ERROR "c-tests/${source} is not registered in c-tests/CMakeLists.txt")
    endif()
  endforeach()
endfunction()
