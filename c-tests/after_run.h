/* What a host sees of a slot after a run: shape, view, report, counters. Include it after harness.h. */
#ifndef ZEROBIND_TESTS_AFTER_RUN_H
#define ZEROBIND_TESTS_AFTER_RUN_H

#include "harness.h"

/* zb_context_get_slot_desc gives this shape and its size. */
#define CHECK_DESC(context, slot, expected) zt_check_desc((context), (slot), (expected), __FILE__, __LINE__)
void zt_check_desc(zb_context *context, zb_slot slot, zb_tensor_desc expected, const char *file, int line);

/* The address of the view of an output, which must exist and have this shape. */
#define VIEW_OF(context, slot, expected) zt_view_of((context), (slot), (expected), __FILE__, __LINE__)
const void *zt_view_of(zb_context *context, zb_slot slot, zb_tensor_desc expected, const char *file, int line);
/* There is none. */
#define CHECK_NO_VIEW(context, slot) zt_check_no_view((context), (slot), __FILE__, __LINE__)
void zt_check_no_view(zb_context *context, zb_slot slot, const char *file, int line);

zb_binding_report zt_report(zb_context *context, zb_slot slot);
zb_context_stats zt_stats(zb_context *context);

/* The report says: in place there; or so many bytes were copied to or from there, while the engine had them elsewhere; or
   the value is the engine's own. */
#define CHECK_DIRECT(context, slot, address) zt_check_direct((context), (slot), (address), __FILE__, __LINE__)
#define CHECK_STAGED(context, slot, address, bytes) \
    zt_check_staged((context), (slot), (address), (bytes), __FILE__, __LINE__)
#define CHECK_LEFT_WITH_ENGINE(context, slot) zt_check_left_with_engine((context), (slot), __FILE__, __LINE__)
void zt_check_direct(zb_context *context, zb_slot slot, const void *address, const char *file, int line);
void zt_check_staged(zb_context *context, zb_slot slot, const void *address, size_t bytes, const char *file, int line);
void zt_check_left_with_engine(zb_context *context, zb_slot slot, const char *file, int line);

#endif
