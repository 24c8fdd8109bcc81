/*
 * How much a queue holds: its capacity, the memory of what is in it and of what has been, many queues, and its options.
 */
#include "executor.h"

#include <sched.h>

static long resident_kib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    REQUIRE(file != NULL && fscanf(file, "%*d %ld", &pages) == 1);
    fclose(file);
    return pages * (long)(zt_page_size() / 1024);
}

/* --- capacity --- */

static void check_every_call_is_refused(zb_queue *queue, memory *bytes, zb_context *context)
{
    unsigned char read[BYTES];
    zb_slot_tensor none;
    zb_event *event = NULL;
    zb_queue *other = zt_queue();
    zb_event *settled = NULL;
    memset(&none, 0, sizeof none);
    REQUIRE_OK(zb_queue_fence(other, &settled));
    CHECK_STATUS(zb_queue_write(queue, bytes->tensor, 0, ones, BYTES, &event), ZB_ERROR_QUEUE_FULL);
    CHECK_ERROR_SAYS("room");
    CHECK_STATUS(zb_queue_write(queue, bytes->tensor, 0, NULL, 0, NULL), ZB_ERROR_QUEUE_FULL);
    CHECK_STATUS(zb_queue_read(queue, bytes->tensor, 0, read, BYTES, &event), ZB_ERROR_QUEUE_FULL);
    CHECK_STATUS(zb_queue_infer(queue, context, NULL, &event), ZB_ERROR_QUEUE_FULL);
    CHECK_STATUS(zb_queue_infer_with(queue, context, &none, 0, NULL, &event), ZB_ERROR_QUEUE_FULL);
    CHECK_STATUS(zb_queue_fence(queue, &event), ZB_ERROR_QUEUE_FULL);
    CHECK_STATUS(zb_queue_wait_event(queue, settled), ZB_ERROR_QUEUE_FULL);
    CHECK(event == NULL);
    /* takes no place */
    CHECK_STATUS(zb_queue_finish(queue, 0), ZB_ERROR_TIMEOUT);
    /* a run that found no room does not keep its context */
    CHECK_OK(zb_context_prepare(context));
    CHECK_OK(zt_end_of(settled));
    CHECK_OK(zb_queue_destroy(other));
}

static void fill(uint32_t capacity, int room)
{
    executor made;
    memory bytes;
    gated run;
    zb_event *events[64];
    make_executor(&made);
    make_memory(&bytes);
    gated_make(&run, "runs");
    zb_queue *queue = queue_on(&made, capacity);
    REQUIRE(room <= 64);
    for (int i = 0; i < room; i++) {
        events[i] = write_ones(queue, &bytes);
    }
    check_every_call_is_refused(queue, &bytes, run.context);
    /* room again for one that is done, and for one that is cancelled, wherever it is in the line */
    CHECK(step(&made));
    CHECK_OK(zt_end_of(events[0]));
    events[0] = write_ones(queue, &bytes);
    check_every_call_is_refused(queue, &bytes, run.context);
    CHECK_OK(zb_event_cancel(events[room - 1]));
    CHECK_EQ(zt_end_of(events[room - 1]), ZB_ERROR_CANCELLED);
    events[room - 1] = write_ones(queue, &bytes);
    check_every_call_is_refused(queue, &bytes, run.context);
    run_all(&made);
    for (int i = 0; i < room; i++) {
        CHECK_OK(zb_event_destroy(events[i]));
    }
    CHECK_OK(zb_queue_destroy(queue));
    gated_free(&run);
    free_memory(&bytes);
    free_executor(&made);
}

static void a_full_queue(void)
{
    zt_watchdog(20);
    fill(1, 1);
    fill(3, 3);
    fill(0, 64);
}

typedef struct refill {
    zb_queue *queue;
    memory *bytes;
    zb_event *event;
} refill;

static void enqueue_in_callback(void *user_data, zb_event *event, zb_status result)
{
    refill *made = user_data;
    (void)event;
    CHECK_EQ(result, ZB_OK);
    made->event = write_ones(made->queue, made->bytes);
}

/* One that runs counts; one whose event is settled does not, which its own callback can rely on. */
static void what_counts(void)
{
    memory bytes;
    gated before;
    refill again;
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    zb_event *event = NULL, *full = NULL;
    zt_watchdog(20);
    make_memory(&bytes);
    gated_make(&before, "before");
    options.capacity = 2;
    REQUIRE_OK(zb_queue_create(&options, &again.queue));
    again.bytes = &bytes;
    again.event = NULL;
    gated_block(&before, again.queue);
    REQUIRE_OK(zb_event_on_complete(before.event, enqueue_in_callback, &again));
    event = write_ones(again.queue, &bytes);
    CHECK_STATUS(zb_queue_fence(again.queue, &full), ZB_ERROR_QUEUE_FULL);
    /* destroying an event makes no room: the operation is still to be done */
    CHECK_OK(zb_event_destroy(event));
    CHECK_STATUS(zb_queue_fence(again.queue, &full), ZB_ERROR_QUEUE_FULL);
    CHECK_OK(gated_let_go(&before));
    CHECK_OK(zb_queue_finish(again.queue, UINT64_MAX));
    CHECK_OK(zb_queue_destroy(again.queue));
    gated_free(&before);
    /* the callback has returned when its queue's thread has nothing left */
    REQUIRE(zt_live_soon(ZB_KIND_QUEUE, 0));
    REQUIRE(again.event != NULL);
    zb_status result = -1;
    CHECK_OK(zb_event_wait(again.event, UINT64_MAX, &result));
    CHECK(result == ZB_OK || result == ZB_ERROR_DESTROYED);
    CHECK_OK(zb_event_destroy(again.event));
    free_memory(&bytes);
}

enum { CROWD = 4 };

typedef struct crowd {
    zb_queue *queue;
    pthread_barrier_t *start;
    zb_event *event;
    zb_status status;
} crowd;

static void *push_in(void *argument)
{
    crowd *made = argument;
    pthread_barrier_wait(made->start);
    made->status = zb_queue_fence(made->queue, &made->event);
    return NULL;
}

/* Of four threads that want the last three places three get them. */
static void the_last_places(void)
{
    int rounds = zt_rounds(100, 10);
    zt_watchdog(20);
    for (int round = 0; round < rounds; round++) {
        executor made;
        crowd threads[CROWD];
        pthread_t ids[CROWD];
        pthread_barrier_t start;
        int accepted = 0;
        make_executor(&made);
        zb_queue *queue = queue_on(&made, CROWD - 1);
        REQUIRE(pthread_barrier_init(&start, NULL, CROWD) == 0);
        for (int i = 0; i < CROWD; i++) {
            threads[i].queue = queue;
            threads[i].start = &start;
            threads[i].event = NULL;
            REQUIRE(pthread_create(&ids[i], NULL, push_in, &threads[i]) == 0);
        }
        for (int i = 0; i < CROWD; i++) {
            pthread_join(ids[i], NULL);
        }
        run_all(&made);
        for (int i = 0; i < CROWD; i++) {
            accepted += threads[i].status == ZB_OK;
            CHECK(threads[i].status == ZB_OK || threads[i].status == ZB_ERROR_QUEUE_FULL);
            CHECK_EQ(threads[i].event != NULL, threads[i].status == ZB_OK);
            CHECK_OK(zb_event_destroy(threads[i].event));
        }
        CHECK_EQ(accepted, CROWD - 1);
        CHECK_OK(zb_queue_destroy(queue));
        pthread_barrier_destroy(&start);
        free_executor(&made);
    }
}

/* --- memory --- */

static int32_t run_inline(void *user_data, zb_task_fn run, void *task)
{
    (void)user_data;
    run(task);
    return 0;
}

static void write_and_read(zb_queue *queue, memory *bytes, int count)
{
    unsigned char read[BYTES];
    zb_event *event = NULL;
    for (int i = 0; i < count; i += 2) {
        REQUIRE_OK(zb_queue_write(queue, bytes->tensor, 0, ones, BYTES, i % 4 == 0 ? &event : NULL));
        if (i % 4 == 0) {
            CHECK_OK(zb_event_destroy(event));
        }
        REQUIRE_OK(zb_queue_read(queue, bytes->tensor, 0, read, BYTES, &event));
        CHECK_OK(zt_end_of(event));
    }
}

/* A million operations: were a single byte of each kept, it would be 900 KiB between the two looks; the smallest block of
   the allocator, 32 bytes with its header, would be 28 MiB. The bound is 1 MiB, for pages that the allocator takes late. */
static void a_million_operations(void)
{
    int first = zt_rounds(100000, 1000), all = zt_rounds(1000000, 4000);
    memory bytes;
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    zb_queue *queue = NULL;
    zt_watchdog(50);
    make_memory(&bytes);
    options.submit = run_inline;
    REQUIRE_OK(zb_queue_create(&options, &queue));
    write_and_read(queue, &bytes, first);
    long before = resident_kib();
    write_and_read(queue, &bytes, all - first);
    long grown = resident_kib() - before;
    if (!zt_under_memcheck() && !CHECK(grown <= 1024)) {
        fprintf(stderr, "    grown by %ld KiB\n", grown);
    }
    CHECK_OK(zb_queue_destroy(queue));
    free_memory(&bytes);
}

/* The same through a queue's own thread and a full line, fewer because each costs a change of threads. */
static void many_operations_on_a_thread(void)
{
    int first = zt_rounds(20000, 500), all = zt_rounds(100000, 1000);
    memory bytes;
    zb_queue *queue = zt_queue();
    long before = 0;
    zt_watchdog(50);
    make_memory(&bytes);
    for (int i = 0; i < all; i++) {
        if (i == first) {
            CHECK_OK(zb_queue_finish(queue, UINT64_MAX));
            before = resident_kib();
        }
        for (;;) {
            zb_status status = zb_queue_write(queue, bytes.tensor, 0, ones, BYTES, NULL);
            if (status == ZB_OK) {
                break;
            }
            REQUIRE_STATUS(status, ZB_ERROR_QUEUE_FULL);
            sched_yield();
        }
    }
    CHECK_OK(zb_queue_finish(queue, UINT64_MAX));
    CHECK(zt_under_memcheck() || resident_kib() - before <= 1024);
    CHECK_OK(zb_queue_destroy(queue));
    REQUIRE(zt_live_soon(ZB_KIND_QUEUE, 0));
    free_memory(&bytes);
}

/* What is written is copied when it is put into the queue, so a full queue holds that much and not more. The allocator keeps
   some of what it got back, and has settled after a few rounds; were copies kept, five more would be 80 MiB. */
static void memory_of_what_waits(void)
{
    enum { ROOM = 16, MIB = 1 << 20 };
    const int rounds = zt_rounds(10, 2), warm = 5;
    executor made;
    zb_tensor *tensor = NULL;
    zb_tensor_desc desc = DESC(ZB_DTYPE_U8, MIB);
    long settled = 0;
    zt_watchdog(20);
    make_executor(&made);
    zb_queue *queue = queue_on(&made, ROOM);
    REQUIRE_OK(zb_tensor_alloc(&desc, 0, &tensor));
    unsigned char *source = malloc(MIB);
    REQUIRE(source != NULL);
    for (int round = 0; round < rounds; round++) {
        long before = resident_kib();
        for (int i = 0; i < ROOM; i++) {
            memset(source, round * ROOM + i, MIB);
            REQUIRE_OK(zb_queue_write(queue, tensor, 0, source, MIB, NULL));
        }
        CHECK_STATUS(zb_queue_write(queue, tensor, 0, source, MIB, NULL), ZB_ERROR_QUEUE_FULL);
        memset(source, 0xEE, MIB);
        if (!zt_under_memcheck()) {
            /* the copies, and a quarter of them for the allocator */
            CHECK(resident_kib() - before <= ROOM * 1024 * 5 / 4);
        }
        run_all(&made);
        void *data = NULL;
        size_t size = 0;
        REQUIRE_OK(zb_tensor_get_data(tensor, &data, &size));
        CHECK_EQ(((unsigned char *)data)[MIB - 1], (round * ROOM + ROOM - 1) % 256);
        if (round < warm) {
            settled = resident_kib();
        }
    }
    CHECK(zt_under_memcheck() || resident_kib() - settled <= ROOM * 1024);
    free(source);
    CHECK_OK(zb_tensor_destroy(tensor));
    CHECK_OK(zb_queue_destroy(queue));
    free_executor(&made);
}

/* --- many --- */

static void two_hundred_queues(void)
{
    enum { QUEUES = 200 };
    static zb_queue *queues[QUEUES];
    static memory bytes[QUEUES];
    int threads = zt_threads();
    zt_watchdog(30);
    for (int i = 0; i < QUEUES; i++) {
        queues[i] = zt_queue();
        make_memory(&bytes[i]);
    }
    CHECK_EQ(zb_live_objects(ZB_KIND_QUEUE), QUEUES);
    for (int i = 0; i < QUEUES; i++) {
        CHECK_OK(zb_event_destroy(write_ones(queues[i], &bytes[i])));
    }
    for (int i = 0; i < QUEUES; i++) {
        CHECK_OK(zb_queue_finish(queues[i], UINT64_MAX));
        CHECK_BYTES(bytes[i].buffer.data, ones, BYTES);
        CHECK_OK(zb_queue_destroy(queues[i]));
        free_memory(&bytes[i]);
    }
    REQUIRE(zt_live_soon(ZB_KIND_QUEUE, 0));
    CHECK(zt_threads_soon(threads));
}

static void made_and_destroyed_over_and_over(void)
{
    int rounds = zt_rounds(2000, 100);
    int threads = zt_threads();
    zt_watchdog(30);
    for (int i = 0; i < rounds; i++) {
        zb_queue *queue = zt_queue();
        if (i % 2 == 0) {
            zb_event *event = NULL;
            REQUIRE_OK(zb_queue_fence(queue, &event));
            CHECK_OK(zb_queue_destroy(queue));
            zb_status result = zt_end_of(event);
            CHECK(result == ZB_OK || result == ZB_ERROR_DESTROYED || result == ZB_ERROR_CANCELLED);
        } else {
            CHECK_OK(zb_queue_destroy(queue));
        }
    }
    REQUIRE(zt_live_soon(ZB_KIND_QUEUE, 0));
    CHECK(zt_threads_soon(threads));
}

/* --- options --- */

static void options_of_every_size(void)
{
    struct {
        zb_queue_options known;
        unsigned char later[64];
    } longer;
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    zb_queue_options initial;
    zb_queue *queue = NULL;
    const uint32_t wrong[] = {0, 1, 4, (uint32_t)offsetof(zb_queue_options, user_data), (uint32_t)sizeof options - 1, 5000,
                              UINT32_MAX};
    zt_watchdog(20);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        options.struct_size = wrong[i];
        CHECK_STATUS(zb_queue_create(&options, &queue), ZB_ERROR_INVALID_ARGUMENT);
        CHECK_ERROR_SAYS("zb_queue_options");
    }
    memset(&longer, 0, sizeof longer);
    longer.known.struct_size = (uint32_t)sizeof longer;
    longer.later[63] = 1;
    CHECK_STATUS(zb_queue_create(&longer.known, &queue), ZB_ERROR_UNSUPPORTED);
    CHECK(queue == NULL);
    CHECK_EQ(zb_live_objects(ZB_KIND_QUEUE), 0);
    longer.later[63] = 0;
    CHECK_OK(zb_queue_create(&longer.known, &queue));
    CHECK_OK(zb_queue_destroy(queue));
    memset(&initial, 0xFF, sizeof initial);
    options.struct_size = (uint32_t)sizeof options;
    CHECK_OK(zb_queue_options_init(&initial, sizeof initial));
    CHECK_BYTES(&initial, &options, sizeof options);
    CHECK_STATUS(zb_queue_options_init(&initial, 3), ZB_ERROR_INVALID_ARGUMENT);
    /* user data without a function means nothing; the largest capacity allocates nothing */
    options.user_data = &options;
    options.capacity = UINT32_MAX;
    queue = NULL;
    CHECK_OK(zb_queue_create(&options, &queue));
    CHECK_OK(zb_queue_finish(queue, 0));
    CHECK_OK(zb_queue_destroy(queue));
}

/* NULL where none may be. Called through pointers, since clang knows and warns. */
static void nothing_given(void)
{
    zb_status (*create)(const zb_queue_options *, zb_queue **) = zb_queue_create;
    zb_status (*init)(zb_queue_options *, size_t) = zb_queue_options_init;
    zb_status (*infer)(zb_queue *, zb_context *, const zb_infer_options *, zb_event **) = zb_queue_infer;
    zb_status (*write)(zb_queue *, zb_tensor *, size_t, const void *, size_t, zb_event **) = zb_queue_write;
    zb_status (*read)(zb_queue *, zb_tensor *, size_t, void *, size_t, zb_event **) = zb_queue_read;
    zb_status (*fence)(zb_queue *, zb_event **) = zb_queue_fence;
    zb_status (*wait)(zb_queue *, zb_event *) = zb_queue_wait_event;
    zb_status (*finish)(zb_queue *, uint64_t) = zb_queue_finish;
    unsigned char read_bytes[BYTES];
    memory bytes;
    zb_event *event = NULL;
    zt_watchdog(20);
    make_memory(&bytes);
    zb_queue *queue = zt_queue();
    CHECK_STATUS(create(NULL, NULL), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(init(NULL, sizeof(zb_queue_options)), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(infer(NULL, NULL, NULL, &event), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(infer(queue, NULL, NULL, &event), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(write(NULL, bytes.tensor, 0, ones, BYTES, &event), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(write(queue, NULL, 0, ones, BYTES, &event), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(write(queue, bytes.tensor, 0, NULL, BYTES, &event), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(read(NULL, bytes.tensor, 0, read_bytes, BYTES, &event), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(read(queue, NULL, 0, read_bytes, BYTES, &event), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(read(queue, bytes.tensor, 0, NULL, BYTES, &event), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(read(queue, bytes.tensor, 0, read_bytes, BYTES, NULL), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(fence(NULL, &event), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(fence(queue, NULL), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(wait(NULL, NULL), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(wait(queue, NULL), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(finish(NULL, 0), ZB_ERROR_NULL_ARGUMENT);
    CHECK(event == NULL);
    /* none of it is in the queue */
    CHECK_OK(zb_queue_finish(queue, 0));
    CHECK(zt_is_untouched(&bytes.buffer));
    CHECK_OK(zb_queue_destroy(queue));
    free_memory(&bytes);
}

static const zt_test tests[] = {
    ON_BOTH(a_full_queue),
    ON_BOTH(what_counts),
    ON_BOTH(the_last_places),
    ON_BOTH(a_million_operations),
    ON_BOTH(many_operations_on_a_thread),
    ON_BOTH(memory_of_what_waits),
    ON_BOTH(two_hundred_queues),
    ON_BOTH(made_and_destroyed_over_and_over),
    ON_BOTH(options_of_every_size),
    ON_BOTH(nothing_given),
};

ZT_MAIN(tests)
