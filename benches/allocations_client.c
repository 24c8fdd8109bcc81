#include "common.h"

#include <dlfcn.h>

#include "allocations.h"

static void find(const char *name, void *function)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    REQUIRE(symbol != NULL, "libbench_allocations is not preloaded");
    memcpy(function, &symbol, sizeof symbol);
}

void allocations_start(void)
{
    void (*start)(void);
    find("allocation_counter_start", &start);
    start();
}

allocation_counts allocations_stop(void)
{
    allocation_counts (*stop)(void);
    find("allocation_counter_stop", &stop);
    allocation_counts counts = stop();
    REQUIRE(counts.zerobind != UINT64_MAX, "libzerobind is not loaded as a shared library");
    return counts;
}
