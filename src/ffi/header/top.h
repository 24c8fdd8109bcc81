/*
 * zerobind: TFLite and ONNX models on memory that you already own, without copies.
 *
 * C99 or later, C++11 or later. A whole program (C11; error handling cut short; every call returns a zb_status):
 *
 *     #include <stdio.h>
 *     #include <zerobind.h>
 *
 *     int main(void)
 *     {
 *         static _Alignas(64) float x[16] = {1, 2, 3, 4}, y[16] = {10, 20, 30, 40}, z[16]; // 4 used, 64 bytes each
 *         char text[512];
 *         zb_model *model = NULL;
 *         zb_context *context = NULL;
 *         if (zb_model_open("add4.onnx", NULL, &model) != ZB_OK || zb_context_create(model, NULL, &context) != ZB_OK) {
 *             zb_last_error(text, sizeof text, NULL);
 *             fprintf(stderr, "%s\n", text);
 *             return 1;
 *         }
 *         zb_loan loans[3];
 *         loans[0] = zb_loan_input(ZB_INPUT(0), x, 16, sizeof x, NULL); // 16 bytes of tensor, 64 readable
 *         loans[1] = zb_loan_input(ZB_INPUT(1), y, 16, sizeof y, NULL);
 *         loans[2] = zb_loan_output(ZB_OUTPUT(0), z, 16, NULL);
 *         if (zb_infer_with(context, loans, 3, NULL) != ZB_OK) {
 *             zb_last_error(text, sizeof text, NULL);
 *             fprintf(stderr, "%s\n", text);
 *         } else {
 *             printf("%g %g %g %g\n", z[0], z[1], z[2], z[3]);
 *         }
 *         zb_context_destroy(context);
 *         zb_model_destroy(model);
 *         return 0;
 *     }
 *
 * Memory that stays at its place is bound once instead: zb_tensor_wrap, zb_tensor_bind, then zb_infer as often as you like.
 *
 * The rules
 *
 * - Handles are numbers in the form of pointers: never dereferenced. One that was destroyed, is of another kind or never
 *   existed gives ZB_ERROR_INVALID_HANDLE, also while another thread destroys it. A NULL where none may be gives
 *   ZB_ERROR_NULL_ARGUMENT. Each object that a call gives out is the caller's to destroy; destroying NULL is fine.
 * - Destroy never blocks, and any order is legal: a context keeps its model, a binding keeps its tensor, a run keeps what it
 *   uses until it ends.
 * - Memory given to a tensor or a model stays until its release callback is called (exactly once), or without a callback,
 *   until the handle is destroyed and no binding, operation of a queue, export or context uses it any more. Memory lent by
 *   zb_infer_with is borrowed for that call alone.
 * - Memory that is shared with other processes (zb_tensor_map_fd) or other libraries (DLPack) is the same bytes for all: who
 *   writes when is theirs to agree on, and during a run nobody else writes what it reads, or touches what it writes.
 * - Results are written through pointers only when the call succeeds (`needed` of text getters always).
 * - Memory for a slot: 64-byte aligned suits every engine. An input that ends within 16 bytes of the end of a page (a mapped
 *   file, a page-aligned frame) needs readable bytes behind it on TFLite; see zb_requirements.slack, or let
 *   zb_tensor_alloc_for allocate.
 * - The shape of an input with open dimensions (-1) is the last one asked for by zb_context_resize_input or by a loan, else
 *   that of the tensor bound to it, else the one that the model starts with: TFLite models have one, ONNX models have none,
 *   and then planning is ZB_ERROR_SHAPE_MISMATCH until a shape is given.
 * - A copy is never silent. Where one would be needed the call fails and says why, or, if the context allows copies, the
 *   binding report says what was copied.
 * - Any function may be called from any thread. A context runs on one thread at a time: during a zb_infer or zb_infer_with,
 *   every other call on it but cancel and destroy gives ZB_ERROR_BUSY. While a queue has work for it, running or not, those two
 *   and resize, prepare and reset are ZB_ERROR_BUSY; bind, unbind, swap and questions are not, and act on what comes later.
 *   Contexts of one model run side by side.
 * - Structs that begin with struct_size are set up by their ..._INIT macro. Unknown flags are refused. Be ready for enum
 *   values that you do not know in what you are given.
 * - A damaged model can crash an engine, and the process with it: try models from elsewhere by zb_model_preflight first, or
 *   give the SHA-256 that they must have.
 * - Unwinding (C++ exceptions, longjmp) must not leave a callback. The library is never unloaded.
 * - After fork, the child of a process that has used zerobind may not call it before exec: the call is ZB_ERROR_UNSUPPORTED.
 * - Where there is no memory for something that grows with a model, with shapes or with counts, any function may give
 *   ZB_ERROR_OUT_OF_MEMORY; what it was called on is as before, and the call may be made again.
 */
#ifndef ZEROBIND_H
#define ZEROBIND_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header; zb_version() tells that of the library. */
@VERSION@

/* DLPack's, for those who use it: zb_tensor_from_dlpack, zb_tensor_to_dlpack. dlpack.h defines it; it is not needed here. */
struct DLManagedTensorVersioned;

/* A result that must be looked at. */
#if defined(__GNUC__) || defined(__clang__)
#define ZB_MUST_USE __attribute__((warn_unused_result))
#else
#define ZB_MUST_USE
#endif

/* Pointers that may not be NULL (clang warns; at run time it is ZB_ERROR_NULL_ARGUMENT), and those that may. */
#if defined(__has_feature)
#if __has_feature(nullability)
#define ZB_NONNULL _Nonnull
#define ZB_NULLABLE _Nullable
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wnullability-extension"
#endif
#endif
#ifndef ZB_NONNULL
#define ZB_NONNULL
#define ZB_NULLABLE
#endif
