#include "adder.h"

void adder_open(adder *adder, wasm_engine_t *engine, const zbw_options *options)
{
    char *path = zt_model_path("add4");
    forward_open(&adder->guest, engine, options, MEMORY_32);
    adder->context = forward_context(&adder->guest, path);
    free(path);
}

const forward_loan adder_loans[3] = {
    {ZB_INPUT(0), 0, X, 16, 0}, {ZB_INPUT(1), 0, Y, 16, 0}, {ZB_OUTPUT(0), 0, Z, 16, 0}};

void adder_check(adder *adder)
{
    const float x[4] = {1, 2, 3, 4}, y[4] = {10, 10, 10, 10}, z[4] = {11, 12, 13, 14};
    memcpy(forward_at(&adder->guest, X), x, sizeof x);
    memcpy(forward_at(&adder->guest, Y), y, sizeof y);
    memset(forward_at(&adder->guest, Z), 0, sizeof z);
    CHECK_EQ(forward_infer(&adder->guest, adder->context, adder_loans, 3), ZB_OK);
    const float *result = forward_at(&adder->guest, Z);
    CHECK_FLOATS(result, z, 4, 0);
}

int32_t adder_infer(adder *adder, uint32_t place, uint32_t slot, uint64_t data, uint64_t size, uint64_t desc)
{
    forward_loan loans[3] = {adder_loans[0], adder_loans[1], adder_loans[2]};
    loans[place] = (forward_loan){slot, 0, data, size, desc};
    return forward_infer(&adder->guest, adder->context, loans, 3);
}
