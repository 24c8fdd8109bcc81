#include "after_run.h"

static void check_shape(zb_tensor_desc desc, size_t size, zb_tensor_desc expected, const char *file, int line)
{
    size_t expected_size = 0;
    REQUIRE_OK(zb_tensor_desc_size(&expected, &expected_size));
    if (!zt_check(zt_same_desc(&desc, &expected), file, line, "the shape that was computed")) {
        fprintf(stderr, "    %u dimensions, the first %lld; expected %u, the first %lld\n", desc.rank, (long long)desc.dims[0],
                expected.rank, (long long)expected.dims[0]);
    }
    zt_check_equal((long long)size, (long long)expected_size, file, line, "its size");
}

void zt_check_desc(zb_context *context, zb_slot slot, zb_tensor_desc expected, const char *file, int line)
{
    zb_tensor_desc desc;
    size_t size = 1;
    zt_require_status(zb_context_get_slot_desc(context, slot, &desc, &size), ZB_OK, file, line, "zb_context_get_slot_desc");
    check_shape(desc, size, expected, file, line);
}

const void *zt_view_of(zb_context *context, zb_slot slot, zb_tensor_desc expected, const char *file, int line)
{
    const void *data = NULL;
    zb_tensor_desc desc;
    size_t size = 1;
    zb_status status = zb_context_output_view(context, slot, &data, &size, &desc);
    zt_require_status(status, ZB_OK, file, line, "zb_context_output_view");
    check_shape(desc, size, expected, file, line);
    return data;
}

void zt_check_no_view(zb_context *context, zb_slot slot, const char *file, int line)
{
    static const char untouched;
    const void *data = &untouched;
    zb_status status = zb_context_output_view(context, slot, &data, NULL, NULL);
    zt_check_status(status, ZB_ERROR_UNBOUND, file, line, "zb_context_output_view");
    zt_check(data == &untouched, file, line, "the address was left alone");
}

zb_binding_report zt_report(zb_context *context, zb_slot slot)
{
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    REQUIRE_OK(zb_context_get_binding_report(context, slot, &report));
    return report;
}

zb_context_stats zt_stats(zb_context *context)
{
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    REQUIRE_OK(zb_context_get_stats(context, &stats));
    return stats;
}

static zb_binding_report check_report(zb_context *context, zb_slot slot, int32_t path, const void *address, size_t bytes,
                                      const char *file, int line)
{
    zb_binding_report report = zt_report(context, slot);
    zt_check_equal(report.path, path, file, line, "report.path");
    zt_check_equal((long long)report.bytes_copied, (long long)bytes, file, line, "report.bytes_copied");
    zt_check((report.reason != NULL) == (path == ZB_PATH_STAGED), file, line, "a reason where bytes were copied");
    zt_check_address(report.host_address, address, file, line, "report.host_address");
    return report;
}

void zt_check_direct(zb_context *context, zb_slot slot, const void *address, const char *file, int line)
{
    zb_binding_report report = check_report(context, slot, ZB_PATH_DIRECT, address, 0, file, line);
    zt_check_address(report.engine_address, address, file, line, "report.engine_address");
}

void zt_check_staged(zb_context *context, zb_slot slot, const void *address, size_t bytes, const char *file, int line)
{
    zb_binding_report report = check_report(context, slot, ZB_PATH_STAGED, address, bytes, file, line);
    /* without a byte there may be no address at all */
    zt_check(bytes == 0 || report.engine_address != address, file, line, "the engine has it elsewhere");
}

void zt_check_left_with_engine(zb_context *context, zb_slot slot, const char *file, int line)
{
    check_report(context, slot, ZB_PATH_UNBOUND, NULL, 0, file, line);
}
