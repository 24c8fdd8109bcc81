# What of the benchmark is a test: that all of it works, and how many instructions a run takes. Times are never tested.
set(ZEROBIND_PYTHON "${ZEROBIND_DEPS}/venv/bin/python")
set(ZEROBIND_BENCH_ENVIRONMENT "${ZEROBIND_TEST_ENVIRONMENT};PYTHONDONTWRITEBYTECODE=1")

# zerobind_add_bench_smoke_test(): every case, a few runs of each; models that only the benchmark has are made small.
function(zerobind_add_bench_smoke_test)
  set(extra "${CMAKE_CURRENT_BINARY_DIR}/models")
  set(scripts "${PROJECT_SOURCE_DIR}/scripts")
  add_test(NAME bench.models COMMAND "${ZEROBIND_PYTHON}" "${scripts}/bench/models.py" "${ZEROBIND_DEPS}" "${extra}" --small)
  set_tests_properties(bench.models PROPERTIES FIXTURES_SETUP bench_models
    ENVIRONMENT "${ZEROBIND_BENCH_ENVIRONMENT};PYTHONPATH=${scripts}:${scripts}/models")
  add_test(NAME bench.smoke COMMAND "${ZEROBIND_PYTHON}" "${CMAKE_CURRENT_SOURCE_DIR}/smoke.py"
    "${CMAKE_BINARY_DIR}" "${ZEROBIND_DEPS}/models" "${extra}" "${CMAKE_CURRENT_BINARY_DIR}/results")
  set_tests_properties(bench.smoke PROPERTIES FIXTURES_REQUIRED bench_models TIMEOUT 300
    ENVIRONMENT "${ZEROBIND_BENCH_ENVIRONMENT}")
endfunction()

# zerobind_add_instruction_test(ENGINE KIND): in the memcheck lane, which is skipped aloud without valgrind, and fails in CI.
function(zerobind_add_instruction_test engine kind)
  add_test(NAME instructions.${engine}.${kind} COMMAND "${ZEROBIND_PYTHON}" "${CMAKE_CURRENT_SOURCE_DIR}/guard.py"
    $<TARGET_FILE:bench_guard> "${ZEROBIND_DEPS}/models" ${engine} ${kind} "${CMAKE_CURRENT_SOURCE_DIR}/instructions.json")
  set_tests_properties(instructions.${engine}.${kind} PROPERTIES LABELS memcheck TIMEOUT 600
    ENVIRONMENT "${ZEROBIND_BENCH_ENVIRONMENT}")
endfunction()

if(NOT EXISTS "${ZEROBIND_PYTHON}")
  message(WARNING "the tests of the benchmark are left out: there is no ${ZEROBIND_PYTHON} (make setup)")
# the second compiler builds all of it too; what it would measure is the same library
elseif(NOT CMAKE_C_COMPILER_ID MATCHES "Clang" OR APPLE)
  zerobind_add_bench_smoke_test()
  if(VALGRIND)
    foreach(engine IN LISTS ZEROBIND_ENGINES)
      zerobind_add_instruction_test(${engine} bound)
      zerobind_add_instruction_test(${engine} lent)
    endforeach()
  endif()
endif()
