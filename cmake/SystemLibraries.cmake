# ZEROBIND_SYSTEM_LIBRARIES: what a program needs beside the static library. It is what `rustc --print native-static-libs`
# says (the test package.system_libraries compares), without the C library and the unwinder: C and C++ compilers link these
# by themselves, and naming them (-lgcc_s) would break `-static`.
if(WIN32)
  # not run on Windows
  set(ZEROBIND_SYSTEM_LIBRARIES kernel32 ntdll userenv ws2_32 dbghelp)
elseif(APPLE)
  # everything is in libSystem; not run there
  set(ZEROBIND_SYSTEM_LIBRARIES)
elseif(ANDROID)
  # not run there
  set(ZEROBIND_SYSTEM_LIBRARIES dl log m)
else()
  set(ZEROBIND_SYSTEM_LIBRARIES util rt pthread m dl)
endif()
# the same as flags
list(TRANSFORM ZEROBIND_SYSTEM_LIBRARIES PREPEND "-l" OUTPUT_VARIABLE ZEROBIND_PC_LIBRARIES)
list(JOIN ZEROBIND_PC_LIBRARIES " " ZEROBIND_PC_LIBRARIES)
