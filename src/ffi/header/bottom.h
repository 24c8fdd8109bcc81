
/* Values for structs before their first use, in C99 and C++11: zb_slot_info info = ZB_SLOT_INFO_INIT; */
#define ZB_MODEL_OPTIONS_INIT {sizeof(zb_model_options), ZB_RUNTIME_AUTO, {0}, 0, NULL, 0}
#define ZB_CONTEXT_OPTIONS_INIT {sizeof(zb_context_options), 0, ZB_COPY_NEVER, 0, NULL, 0}
#define ZB_PREFLIGHT_OPTIONS_INIT {sizeof(zb_preflight_options), 0, 0, 0, NULL, NULL, NULL, 0}
#define ZB_INFER_OPTIONS_INIT {sizeof(zb_infer_options), 0, 0}
#define ZB_QUEUE_OPTIONS_INIT {sizeof(zb_queue_options), 0, NULL, NULL}
#define ZB_RUNTIME_INFO_INIT {sizeof(zb_runtime_info), 0, NULL, NULL, NULL}
#define ZB_SLOT_INFO_INIT {sizeof(zb_slot_info), 0, {0, 0, {0}}, 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0}
#define ZB_REQUIREMENTS_INIT {sizeof(zb_requirements), 0, 0, 0, 0, 0, 0}
#define ZB_BINDING_REPORT_INIT {sizeof(zb_binding_report), 0, 0, NULL, NULL, NULL, NULL}
#define ZB_CONTEXT_STATS_INIT {sizeof(zb_context_stats), 0, 0, 0, 0, 0, 0}

/* Slots: the number of an input or output, counted from 0. */
#define ZB_OUTPUT_BIT 0x80000000u
#ifdef __cplusplus
#define ZB_INPUT(index) static_cast<zb_slot>(index)
#define ZB_OUTPUT(index) (ZB_OUTPUT_BIT | static_cast<zb_slot>(index))
#else
#define ZB_INPUT(index) ((zb_slot)(index))
#define ZB_OUTPUT(index) (ZB_OUTPUT_BIT | (zb_slot)(index))
#endif

/* ZB_INPUT as a function, for languages that import no macros. */
static inline zb_slot zb_slot_input(uint32_t index)
{
    return index;
}

/* ZB_OUTPUT as a function, for languages that import no macros. */
static inline zb_slot zb_slot_output(uint32_t index)
{
    return ZB_OUTPUT_BIT | index;
}

/* A loan of memory that is only read. `capacity` 0 means `size`; `desc` NULL means as the slot is. */
static inline zb_loan zb_loan_input(zb_slot slot, const void *data, size_t size, size_t capacity, const zb_tensor_desc *desc)
{
    zb_loan loan;
    loan.slot = slot;
    loan.flags = ZB_LOAN_INPUT;
    /* an input is never written, so dropping const is right, and done where no compiler warns */
#ifdef __cplusplus
    loan.data = const_cast<void *>(data);
#else
    {
        union {
            const void *ZB_NULLABLE from;
            void *ZB_NULLABLE to;
        } pointer;
        pointer.from = data;
        loan.data = pointer.to;
    }
#endif
    loan.size = size;
    loan.capacity = capacity;
    loan.desc = desc;
    return loan;
}

/* A loan of memory that the run writes. `desc` NULL means as the slot is. */
static inline zb_loan zb_loan_output(zb_slot slot, void *data, size_t size, const zb_tensor_desc *desc)
{
    zb_loan loan;
    loan.slot = slot;
    loan.flags = ZB_LOAN_OUTPUT;
    loan.data = data;
    loan.size = size;
    loan.capacity = 0;
    loan.desc = desc;
    return loan;
}

/* Sizes and offsets are part of the ABI. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define ZB_STATIC_ASSERT(condition, text) static_assert(condition, text)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define ZB_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif
#ifdef ZB_STATIC_ASSERT
ZB_STATIC_ASSERT(sizeof(zb_tensor_desc) == 136, "zb_tensor_desc");
ZB_STATIC_ASSERT(offsetof(zb_tensor_desc, dims) == 8, "zb_tensor_desc.dims");
#if UINTPTR_MAX == UINT64_MAX
ZB_STATIC_ASSERT(sizeof(zb_loan) == 40, "zb_loan");
ZB_STATIC_ASSERT(sizeof(zb_option) == 16, "zb_option");
ZB_STATIC_ASSERT(sizeof(zb_model_options) == 64, "zb_model_options");
ZB_STATIC_ASSERT(sizeof(zb_context_options) == 32, "zb_context_options");
ZB_STATIC_ASSERT(sizeof(zb_slot_shape) == 16, "zb_slot_shape");
ZB_STATIC_ASSERT(sizeof(zb_preflight_options) == 56, "zb_preflight_options");
ZB_STATIC_ASSERT(sizeof(zb_infer_options) == 16, "zb_infer_options");
ZB_STATIC_ASSERT(sizeof(zb_slot_tensor) == 16, "zb_slot_tensor");
ZB_STATIC_ASSERT(sizeof(zb_queue_options) == 24, "zb_queue_options");
ZB_STATIC_ASSERT(sizeof(zb_runtime_info) == 32, "zb_runtime_info");
ZB_STATIC_ASSERT(sizeof(zb_slot_info) == 200, "zb_slot_info");
ZB_STATIC_ASSERT(sizeof(zb_requirements) == 40, "zb_requirements");
ZB_STATIC_ASSERT(sizeof(zb_binding_report) == 48, "zb_binding_report");
ZB_STATIC_ASSERT(sizeof(zb_context_stats) == 48, "zb_context_stats");
#endif
#undef ZB_STATIC_ASSERT
#endif

#if defined(__swift__)
/* For Swift alone: the sets of numbers as enums that take any number, ZBStatus(rawValue: status) == .busy. */
#pragma clang diagnostic ignored "-Wfixed-enum-extension"
#define ZB_SWIFT_NAME(name) __attribute__((swift_name(#name)))
#define ZB_SWIFT_OPEN_ENUM(name) __attribute__((enum_extensibility(open), swift_name(#name)))

@SWIFT_ENUMS@
#undef ZB_SWIFT_NAME
#undef ZB_SWIFT_OPEN_ENUM
#endif

#if defined(__has_feature)
#if __has_feature(nullability)
#pragma clang diagnostic pop
#endif
#endif

#endif /* ZEROBIND_H */
