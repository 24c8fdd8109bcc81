/* The ABI as C++11 sees it. */
#include "test_abi.c"
