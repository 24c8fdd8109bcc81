/* What the header says to Swift alone, with the macro that Swift's importer defines. */
#include <zerobind.h>

_Static_assert(sizeof(enum zb_swift_status) == sizeof(zb_status), "a status");
_Static_assert((enum zb_swift_status)-1 < 0, "signed as a status");
_Static_assert(zb_swift_status_ok == ZB_OK, "ok");
_Static_assert(zb_swift_status_busy == ZB_ERROR_BUSY, "busy");
_Static_assert(zb_swift_status_queue_full == ZB_ERROR_QUEUE_FULL, "the last one");
_Static_assert(zb_swift_runtime_onnxruntime == ZB_RUNTIME_ONNXRUNTIME, "engines");
_Static_assert(zb_swift_dtype_c128 == ZB_DTYPE_C128, "element types");
_Static_assert(zb_swift_copy_policy_allow == ZB_COPY_ALLOW, "copy policies");
_Static_assert(zb_swift_quantization_per_axis == ZB_QUANTIZATION_PER_AXIS, "quantization");
_Static_assert(zb_swift_rebind_staged == ZB_REBIND_STAGED, "rebinding");
_Static_assert(zb_swift_path_staged == ZB_PATH_STAGED, "paths");
_Static_assert(zb_swift_log_level_debug == ZB_LOG_DEBUG, "log levels");
