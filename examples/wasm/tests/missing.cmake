# Says why the tests of examples/wasm do not run; in CI that is a failure.
if(DEFINED ENV{CI} AND NOT "$ENV{CI}" STREQUAL "")
  message(FATAL_ERROR "the set-up brought no wasmtime, so examples/wasm was not tested")
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" -E echo "skipped: examples/wasm needs wasmtime, which the set-up did not bring")
