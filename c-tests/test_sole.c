/*
 * A tensor that only one context uses is not marked in each of its runs; whoever else wants it asks that context. What others
 * may do with a tensor is the same all the time: nothing with one that a run writes, read one that it reads, anything with
 * one that it does not use, whatever it used before.
 */
#include "gated.h"

#define CHAIN "input x f32 4\noutput y f32 4\n"

static zb_tensor *four(void)
{
    zb_tensor_desc desc = F32(4);
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_tensor_alloc(&desc, 0, &tensor));
    return tensor;
}

static void bind(zb_context *context, zb_tensor *from, zb_tensor *to)
{
    REQUIRE_OK(zb_tensor_bind(from, context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(to, context, ZB_OUTPUT(0)));
}

typedef struct pair {
    zb_model *model;
    zb_context *first, *second;
    zb_tensor *a, *b, *p, *q;
} pair;

/* Two contexts of y = x, with a line for each; NULL: none. */
static pair make_pair(const char *first, const char *second)
{
    pair made;
    zt_watchdog(20);
    made.model = mock_open(CHAIN);
    made.first = first != NULL ? mock_context(made.model, first) : zt_context(made.model);
    made.second = second != NULL ? mock_context(made.model, second) : zt_context(made.model);
    made.a = four(), made.b = four(), made.p = four(), made.q = four();
    return made;
}

static void free_pair(pair *made)
{
    zb_tensor *tensors[4] = {made->a, made->b, made->p, made->q};
    for (int i = 0; i < 4; i++) {
        CHECK_OK(zb_tensor_destroy(tensors[i]));
    }
    CHECK_OK(zb_context_destroy(made->first));
    CHECK_OK(zb_context_destroy(made->second));
    CHECK_OK(zb_model_destroy(made->model));
}

static void *run(void *context)
{
    return zb_infer(context, NULL) == ZB_OK ? context : NULL;
}

static pthread_t started(zb_context *context)
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, run, context) == 0);
    return thread;
}

static void check_ended_well(pthread_t thread)
{
    void *result = NULL;
    REQUIRE(pthread_join(thread, &result) == 0);
    CHECK(result != NULL);
}

/* One fills a tensor while the other reads the one from before. */
static void a_tensor_of_an_earlier_run(void)
{
    pair made = make_pair("run wait later @2+", NULL);
    bind(made.first, made.a, made.p);
    REQUIRE_OK(zb_infer(made.first, NULL));
    REQUIRE_OK(zb_tensor_bind(made.q, made.first, ZB_OUTPUT(0)));
    pthread_t thread = started(made.first);
    gate_await("later");
    bind(made.second, made.p, made.b);
    CHECK_OK(zb_infer(made.second, NULL));
    /* and the one that it does use */
    REQUIRE_OK(zb_tensor_bind(made.q, made.second, ZB_INPUT(0)));
    CHECK_STATUS(zb_infer(made.second, NULL), ZB_ERROR_BUSY);
    REQUIRE_OK(zb_tensor_bind(made.a, made.second, ZB_INPUT(0)));
    CHECK_OK(zb_infer(made.second, NULL));
    REQUIRE_OK(zb_tensor_bind(made.a, made.second, ZB_OUTPUT(0)));
    REQUIRE_OK(zb_tensor_bind(made.b, made.second, ZB_INPUT(0)));
    CHECK_STATUS(zb_infer(made.second, NULL), ZB_ERROR_BUSY);
    gate_open("later");
    check_ended_well(thread);
    CHECK_OK(zb_infer(made.second, NULL));
    free_pair(&made);
}

typedef struct lending {
    zb_context *context;
    float memory[4];
} lending;

static void *run_lent(void *argument)
{
    lending *lent = argument;
    zb_loan loan = zb_loan_output(ZB_OUTPUT(0), lent->memory, sizeof lent->memory, NULL);
    return zb_infer_with(lent->context, &loan, 1, NULL) == ZB_OK ? lent : NULL;
}

/* One that is bound, but that a loan stands in front of. */
static void a_tensor_behind_a_loan(void)
{
    float read[4];
    zb_event *event = NULL;
    pthread_t thread;
    pair made = make_pair("run wait loan @2+", NULL);
    zb_queue *queue = zt_queue();
    bind(made.first, made.a, made.p);
    REQUIRE_OK(zb_infer(made.first, NULL));
    lending lent = {made.first, {0, 0, 0, 0}};
    REQUIRE(pthread_create(&thread, NULL, run_lent, &lent) == 0);
    gate_await("loan");
    bind(made.second, made.p, made.b);
    CHECK_OK(zb_infer(made.second, NULL));
    REQUIRE_OK(zb_queue_read(queue, made.p, 0, read, sizeof read, &event));
    CHECK_OK(zt_end_of(event));
    gate_open("loan");
    check_ended_well(thread);
    CHECK_OK(zb_queue_destroy(queue));
    free_pair(&made);
}

/* One that was unbound, while a run of the queue goes on. */
static void a_tensor_that_was_unbound(void)
{
    const float ones[4] = {1, 1, 1, 1};
    zb_event *ran = NULL, *wrote = NULL;
    pair made = make_pair("run wait unbound @2+", NULL);
    zb_queue *queue = zt_queue(), *other = zt_queue();
    bind(made.first, made.a, made.p);
    REQUIRE_OK(zb_infer(made.first, NULL));
    REQUIRE_OK(zb_tensor_bind(made.q, made.first, ZB_OUTPUT(0)));
    REQUIRE_OK(zb_queue_infer(queue, made.first, NULL, &ran));
    gate_await("unbound");
    REQUIRE_OK(zb_queue_write(other, made.p, 0, ones, sizeof ones, &wrote));
    CHECK_OK(zt_end_of(wrote));
    CHECK_PENDING(ran);
    gate_open("unbound");
    CHECK_OK(zt_end_of(ran));
    CHECK_OK(zb_queue_destroy(queue));
    CHECK_OK(zb_queue_destroy(other));
    free_pair(&made);
}

/* Two contexts exchange their outputs, and both are about to run. */
static void neither_waits_for_the_other(void)
{
    zb_event *events[2];
    pair made = make_pair("attach wait one @3", "attach wait two @3");
    zb_queue *queues[2] = {zt_queue(), zt_queue()};
    bind(made.first, made.a, made.p);
    bind(made.second, made.b, made.q);
    for (int round = 0; round < 2; round++) {
        REQUIRE_OK(zb_queue_infer(queues[0], made.first, NULL, &events[0]));
        REQUIRE_OK(zb_queue_infer(queues[1], made.second, NULL, &events[1]));
        if (round == 1) {
            gate_await("one");
            gate_await("two");
            gate_open("one");
            gate_open("two");
        }
        CHECK_OK(zt_end_of(events[0]));
        CHECK_OK(zt_end_of(events[1]));
        REQUIRE_OK(zb_tensor_bind(made.q, made.first, ZB_OUTPUT(0)));
        REQUIRE_OK(zb_tensor_bind(made.p, made.second, ZB_OUTPUT(0)));
    }
    CHECK_OK(zb_queue_destroy(queues[0]));
    CHECK_OK(zb_queue_destroy(queues[1]));
    free_pair(&made);
}

/* Somebody else wants a tensor of a run that has begun and not started the engine. */
static void a_run_does_not_wait_for_itself(void)
{
    for (int is_queued = 0; is_queued < 2; is_queued++) {
        zb_event *event = NULL;
        pthread_t thread = 0;
        pair made = make_pair("attach wait itself @3", NULL);
        zb_queue *queue = zt_queue();
        bind(made.first, made.a, made.p);
        REQUIRE_OK(zb_infer(made.first, NULL));
        REQUIRE_OK(zb_tensor_bind(made.q, made.first, ZB_INPUT(0)));
        if (is_queued) {
            REQUIRE_OK(zb_queue_infer(queue, made.first, NULL, &event));
        } else {
            thread = started(made.first);
        }
        gate_await("itself");
        bind(made.second, made.p, made.b);
        CHECK_STATUS(zb_infer(made.second, NULL), ZB_ERROR_BUSY);
        gate_open("itself");
        if (is_queued) {
            CHECK_OK(zt_end_of(event));
        } else {
            check_ended_well(thread);
        }
        CHECK_OK(zb_infer(made.second, NULL));
        CHECK_OK(zb_queue_destroy(queue));
        free_pair(&made);
    }
}

/* A run on a queue that waits for a direct run of another context ends when it is told to. */
static void one_that_waits_can_be_cancelled(void)
{
    for (int how = 0; how < 3; how++) {
        zb_event *event = NULL;
        pair made = make_pair(NULL, "run wait long");
        zb_queue *queue = zt_queue();
        bind(made.first, made.p, made.a);
        bind(made.second, made.b, made.p);
        pthread_t thread = started(made.second);
        gate_await("long");
        REQUIRE_OK(zb_queue_infer(queue, made.first, NULL, &event));
        zb_status result = ZB_ERROR_PANIC;
        CHECK_STATUS(zb_event_wait(event, 1000 * 1000, &result), ZB_ERROR_TIMEOUT);
        if (how == 0) {
            CHECK_OK(zb_event_cancel(event));
        } else if (how == 1) {
            CHECK_OK(zb_context_cancel(made.first));
        } else {
            CHECK_OK(zb_context_destroy(made.first));
            made.first = NULL;
        }
        /* it may not have begun when it was told: then it is as if nothing had been said, or it is gone */
        while (zb_event_wait(event, 1000 * 1000, &result) == ZB_ERROR_TIMEOUT && how == 1) {
            CHECK_OK(zb_context_cancel(made.first));
        }
        REQUIRE_OK(zb_event_wait(event, UINT64_MAX, &result));
        CHECK(result == ZB_ERROR_CANCELLED || (how == 2 && result == ZB_ERROR_DESTROYED));
        CHECK_OK(zb_event_destroy(event));
        gate_open("long");
        check_ended_well(thread);
        CHECK_OK(zb_queue_destroy(queue));
        free_pair(&made);
    }
}

static const zt_test tests[] = {
    ON_BOTH(a_tensor_of_an_earlier_run),
    ON_BOTH(a_tensor_behind_a_loan),
    ON_BOTH(a_tensor_that_was_unbound),
    ON_BOTH(neither_waits_for_the_other),
    ON_BOTH(a_run_does_not_wait_for_itself),
    ON_BOTH(one_that_waits_can_be_cancelled),
};

ZT_MAIN(tests)
