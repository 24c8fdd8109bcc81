/* Two outputs that only the run knows: what a detector found, in room, as promised, and in view. */
#include "harness.h"

#include "after_run.h"
#include "trap.h"

/* Nothing was written from byte `from` on. */
static void check_still_fresh(const zt_buffer *room, size_t from)
{
    for (size_t i = from; i < room->size; i++) {
        REQUIRE(room->data[i] == 0xCD);
    }
    CHECK_GUARDS(room);
}

/* --- what there is to be found --- */

enum { BOXES = 8 };

typedef struct scene {
    /* each y1 x1 y2 x2 */
    float boxes[BOXES][4];
    float scores[BOXES];
    /* what is left of them, best first */
    int count;
    float found_boxes[BOXES][4];
    float found_scores[BOXES];
} scene;

static float larger(float a, float b)
{
    return a > b ? a : b;
}

static float area(float height, float width)
{
    return larger(height, 0) * larger(width, 0);
}

static float overlap(const float *a, const float *b)
{
    float height = -larger(-a[2], -b[2]) - larger(a[0], b[0]);
    float width = -larger(-a[3], -b[3]) - larger(a[1], b[1]);
    float common = area(height, width);
    return common / (area(a[2] - a[0], a[3] - a[1]) + area(b[2] - b[0], b[3] - b[1]) - common);
}

/* Greedy suppression, with the limits that are in the model: a score above 0.25, no overlap above 0.5 with a better box. */
static void suppress(scene *seen)
{
    int is_left[BOXES];
    for (int i = 0; i < BOXES; i++) {
        is_left[i] = seen->scores[i] > 0.25f;
    }
    seen->count = 0;
    for (;;) {
        int best = -1;
        for (int i = 0; i < BOXES; i++) {
            if (is_left[i] && (best < 0 || seen->scores[i] > seen->scores[best])) {
                best = i;
            }
        }
        if (best < 0) {
            return;
        }
        memcpy(seen->found_boxes[seen->count], seen->boxes[best], sizeof seen->boxes[best]);
        seen->found_scores[seen->count++] = seen->scores[best];
        for (int i = 0; i < BOXES; i++) {
            is_left[i] = is_left[i] && i != best && overlap(seen->boxes[i], seen->boxes[best]) <= 0.5f;
        }
    }
}

/* Whole numbers, so that areas are exact, and scores that differ; the number that is left is as good as random. */
static scene make_scene(int number)
{
    scene made;
    unsigned random = 12345u + 7919u * (unsigned)number;
    memset(&made, 0, sizeof made);
    for (int i = 0; i < BOXES; i++) {
        for (int side = 0; side < 2; side++) {
            random = random * 1664525u + 1013904223u;
            made.boxes[i][side] = (float)(random >> 16 & 31);
            random = random * 1664525u + 1013904223u;
            made.boxes[i][side + 2] = made.boxes[i][side] + 1 + (float)(random >> 16 & 31);
        }
        random = random * 1664525u + 1013904223u;
        made.scores[i] = (float)(((random >> 12 & 63) + 1) * 8 + (unsigned)i) / 520 / (float)(1 + number % 5);
    }
    suppress(&made);
    return made;
}

/* A detector with its inputs bound, and what it must find in the scene. */
typedef struct detector {
    zb_model *model;
    zb_context *context;
    zt_buffer boxes, scores;
    scene seen;
} detector;

static detector make_detector(int copies)
{
    detector made;
    made.model = zt_open("detector");
    made.context = copies ? zt_copying_context(made.model) : zt_context(made.model);
    made.boxes = zt_buffer_new(sizeof made.seen.boxes);
    made.scores = zt_buffer_new(sizeof made.seen.scores);
    zt_bind(made.context, ZB_INPUT(0), F32(BOXES, 4), &made.boxes);
    zt_bind(made.context, ZB_INPUT(1), F32(BOXES), &made.scores);
    return made;
}

static void look_at(detector *made, int number)
{
    made->seen = make_scene(number);
    memcpy(made->boxes.data, made->seen.boxes, made->boxes.size);
    memcpy(made->scores.data, made->seen.scores, made->scores.size);
}

/* A scene with exactly `count` boxes left. */
static void look_for(detector *made, int count)
{
    for (int number = 0; number < 1000; number++) {
        look_at(made, number);
        if (made->seen.count == count) {
            return;
        }
    }
    REQUIRE(made->seen.count == count);
}

static void free_detector(detector *made)
{
    zb_context_destroy(made->context);
    zb_model_destroy(made->model);
    FREE_BUFFER(&made->boxes);
    FREE_BUFFER(&made->scores);
}

static size_t box_bytes(const detector *made)
{
    return (size_t)made->seen.count * sizeof *made->seen.boxes;
}

static size_t score_bytes(const detector *made)
{
    return (size_t)made->seen.count * sizeof *made->seen.scores;
}

static void check_found(const detector *made, const void *boxes, const void *scores)
{
    CHECK_BYTES(boxes, made->seen.found_boxes, box_bytes(made));
    CHECK_BYTES(scores, made->seen.found_scores, score_bytes(made));
}

static const void *boxes_in_view(const detector *made)
{
    return VIEW_OF(made->context, ZB_OUTPUT(0), F32(made->seen.count, 4));
}

static const void *scores_in_view(const detector *made)
{
    return VIEW_OF(made->context, ZB_OUTPUT(1), F32(made->seen.count));
}

static void the_scenes_are_worth_looking_at(void)
{
    detector made = make_detector(0);
    /* scenes without a box, with all, and with every number between */
    for (int count = 0; count <= BOXES; count++) {
        look_for(&made, count);
        REQUIRE_OK(zb_infer(made.context, NULL));
        check_found(&made, boxes_in_view(&made), scores_in_view(&made));
        CHECK_LEFT_WITH_ENGINE(made.context, ZB_OUTPUT(0));
        CHECK_LEFT_WITH_ENGINE(made.context, ZB_OUTPUT(1));
    }
    free_detector(&made);
}

static void detections_into_room_that_stays(void)
{
    detector made = make_detector(1);
    zt_buffer boxes = zt_buffer_new(BOXES * 16 + 4), scores = zt_buffer_new(BOXES * 4 + 4);
    zt_bind(made.context, ZB_OUTPUT(0), F32(-1, 4), &boxes);
    zt_bind(made.context, ZB_OUTPUT(1), F32(-1), &scores);
    for (int frame = 0; frame < zt_rounds(60, 20); frame++) {
        uint64_t copied = zt_stats(made.context).bytes_copied;
        look_at(&made, frame);
        memset(boxes.data, 0xCD, boxes.size);
        memset(scores.data, 0xCD, scores.size);
        REQUIRE_OK(zb_infer(made.context, NULL));
        check_found(&made, boxes.data, scores.data);
        CHECK_STAGED(made.context, ZB_OUTPUT(0), boxes.data, box_bytes(&made));
        CHECK_STAGED(made.context, ZB_OUTPUT(1), scores.data, score_bytes(&made));
        check_still_fresh(&boxes, box_bytes(&made));
        check_still_fresh(&scores, score_bytes(&made));
        CHECK_ADDRESS(boxes_in_view(&made), boxes.data);
        CHECK_ADDRESS(scores_in_view(&made), scores.data);
        CHECK_EQ(zt_stats(made.context).bytes_copied - copied, box_bytes(&made) + score_bytes(&made));
    }
    free_detector(&made);
    FREE_BUFFER(&boxes);
    FREE_BUFFER(&scores);
}

static void detections_into_lent_room(void)
{
    detector made = make_detector(1);
    for (int frame = 0; frame < zt_rounds(40, 12); frame++) {
        look_at(&made, frame);
        zt_buffer boxes = zt_buffer_new(box_bytes(&made)), scores = zt_buffer_new(score_bytes(&made) + 1);
        zb_loan loans[2] = {zt_lend_output(0, &boxes), zt_lend_output(1, &scores)};
        REQUIRE_OK(zb_infer_with(made.context, loans, 2, NULL));
        check_found(&made, boxes.data, scores.data);
        check_still_fresh(&scores, score_bytes(&made));
        CHECK_GUARDS(&boxes);
        CHECK_DESC(made.context, ZB_OUTPUT(0), F32(made.seen.count, 4));
        CHECK_DESC(made.context, ZB_OUTPUT(1), F32(made.seen.count));
        CHECK_NO_VIEW(made.context, ZB_OUTPUT(0));
        CHECK_NO_VIEW(made.context, ZB_OUTPUT(1));
        FREE_BUFFER(&boxes);
        FREE_BUFFER(&scores);
    }
    free_detector(&made);
}

/* Every output that has a place gets there; the call fails for the first that has none, and that one is in view. */
static void one_of_two_rooms_is_too_small(void)
{
    detector made = make_detector(1);
    for (int n = 0; n < 8; n++) {
        int is_small[2] = {n & 1, n >> 1 & 1}, lent = n >> 2;
        look_for(&made, 4);
        zt_buffer boxes = zt_buffer_new(box_bytes(&made) - (size_t)is_small[0]);
        zt_buffer scores = zt_buffer_new(score_bytes(&made) - (size_t)is_small[1]);
        zb_loan loans[2] = {zt_lend_output(0, &boxes), zt_lend_output(1, &scores)};
        uint64_t copied = zt_stats(made.context).bytes_copied;
        size_t expected = (is_small[0] ? 0 : box_bytes(&made)) + (is_small[1] ? 0 : score_bytes(&made));
        zb_status status;
        if (lent) {
            status = zb_infer_with(made.context, loans, 2, NULL);
        } else {
            zt_bind(made.context, ZB_OUTPUT(0), F32(-1, 4), &boxes);
            zt_bind(made.context, ZB_OUTPUT(1), F32(-1), &scores);
            status = zb_infer(made.context, NULL);
        }
        CHECK_STATUS(status, is_small[0] || is_small[1] ? ZB_ERROR_BUFFER_TOO_SMALL : ZB_OK);
        CHECK_EQ(zt_stats(made.context).bytes_copied - copied, expected);
        if (is_small[0] || is_small[1]) {
            CHECK_ERROR_SAYS(is_small[0] ? "'found_boxes'" : "'found_scores'");
        }
        for (int output = 0; output < 2; output++) {
            const zt_buffer *room = output == 0 ? &boxes : &scores;
            const void *found = output == 0 ? (const void *)made.seen.found_boxes : made.seen.found_scores;
            zb_tensor_desc desc = output == 0 ? F32(4, 4) : F32(4);
            CHECK_DESC(made.context, ZB_OUTPUT(output), desc);
            if (is_small[output]) {
                size_t bytes = output == 0 ? box_bytes(&made) : score_bytes(&made);
                check_still_fresh(room, 0);
                CHECK_LEFT_WITH_ENGINE(made.context, ZB_OUTPUT(output));
                CHECK_BYTES(VIEW_OF(made.context, ZB_OUTPUT(output), desc), found, bytes);
                continue;
            }
            CHECK_BYTES(room->data, found, room->size);
            CHECK_STAGED(made.context, ZB_OUTPUT(output), room->data, room->size);
            if (lent) {
                CHECK_NO_VIEW(made.context, ZB_OUTPUT(output));
            } else {
                CHECK_ADDRESS(VIEW_OF(made.context, ZB_OUTPUT(output), desc), room->data);
            }
        }
        /* a scene with less in it goes well again, with the same rooms */
        if (!lent) {
            look_for(&made, 3);
            REQUIRE_OK(zb_infer(made.context, NULL));
            check_found(&made, boxes.data, scores.data);
            CHECK_STAGED(made.context, ZB_OUTPUT(0), boxes.data, 48);
            CHECK_STAGED(made.context, ZB_OUTPUT(1), scores.data, 12);
        }
        REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
        REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(1)));
        FREE_BUFFER(&boxes);
        FREE_BUFFER(&scores);
    }
    free_detector(&made);
}

/* Who knows what will be found gives the shape itself, and one engine writes it right there. */
static void promised_detections_are_in_place(void)
{
    detector made = make_detector(0);
    for (int count = 0; count <= BOXES; count++) {
        look_for(&made, count);
        zt_buffer boxes = zt_buffer_new(box_bytes(&made)), scores = zt_buffer_new(score_bytes(&made));
        zb_tensor_desc boxes_desc = F32(count, 4), scores_desc = F32(count);
        zb_loan loans[2] = {zt_lend_output(0, &boxes), zt_lend_output(1, &scores)};
        loans[0].desc = &boxes_desc;
        loans[1].desc = &scores_desc;
        for (int lent = 0; lent < 2; lent++) {
            if (!lent) {
                zt_bind(made.context, ZB_OUTPUT(0), boxes_desc, &boxes);
                zt_bind(made.context, ZB_OUTPUT(1), scores_desc, &scores);
            }
            REQUIRE_OK(lent ? zb_infer_with(made.context, loans, 2, NULL) : zb_infer(made.context, NULL));
            check_found(&made, boxes.data, scores.data);
            CHECK_EQ(zt_report(made.context, ZB_OUTPUT(0)).path, ZB_PATH_DIRECT);
            if (count > 0) {
                CHECK_DIRECT(made.context, ZB_OUTPUT(0), boxes.data);
                CHECK_DIRECT(made.context, ZB_OUTPUT(1), scores.data);
            }
            CHECK_DESC(made.context, ZB_OUTPUT(0), boxes_desc);
            CHECK_DESC(made.context, ZB_OUTPUT(1), scores_desc);
            if (!lent) {
                CHECK_ADDRESS(boxes_in_view(&made), boxes.data);
                CHECK_ADDRESS(scores_in_view(&made), scores.data);
            }
            memset(boxes.data, 0xCD, boxes.size);
            memset(scores.data, 0xCD, scores.size);
        }
        CHECK_GUARDS(&boxes);
        CHECK_GUARDS(&scores);
        REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
        REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(1)));
        FREE_BUFFER(&boxes);
        FREE_BUFFER(&scores);
    }
    CHECK_EQ(zt_stats(made.context).bytes_copied, 0);
    free_detector(&made);
}

static void promised_detections_spring_no_trap(void)
{
    if (zt_under_memcheck()) {
        return;
    }
    detector made = make_detector(0);
    zt_buffer boxes = zt_buffer_of_pages(zt_page_size()), scores = zt_buffer_of_pages(zt_page_size());
    look_for(&made, 5);
    zb_tensor_desc descs[2] = {F32(5, 4), F32(5)};
    zb_loan loans[2] = {zt_lend_output(0, &boxes), zt_lend_output(1, &scores)};
    loans[0].desc = &descs[0];
    loans[1].desc = &descs[1];
    trap_install();
    size_t first = trap_arm(boxes.data, boxes.size), second = trap_arm(scores.data, scores.size);
    REQUIRE_OK(zb_infer_with(made.context, loans, 2, NULL));
    CHECK_EQ(trap_count(first, TRAP_ENGINE), 1);
    CHECK_EQ(trap_count_all(first), 1);
    CHECK_EQ(trap_count(second, TRAP_ENGINE), 1);
    CHECK_EQ(trap_count_all(second), 1);
    trap_remove();
    check_found(&made, boxes.data, scores.data);
    FREE_BUFFER(&boxes);
    FREE_BUFFER(&scores);
    free_detector(&made);
}

/* A promise beside room, in one run. */
static void one_output_promised_and_one_open(void)
{
    detector made = make_detector(1);
    zt_buffer boxes = zt_buffer_new(5 * 16), scores = zt_buffer_new(BOXES * 4);
    look_for(&made, 5);
    zt_bind(made.context, ZB_OUTPUT(0), F32(5, 4), &boxes);
    zt_bind(made.context, ZB_OUTPUT(1), F32(-1), &scores);
    for (int run = 0; run < 3; run++) {
        REQUIRE_OK(zb_infer(made.context, NULL));
        check_found(&made, boxes.data, scores.data);
        if (zt_is_tflite()) {
            CHECK_STAGED(made.context, ZB_OUTPUT(0), boxes.data, 80);
        } else {
            CHECK_DIRECT(made.context, ZB_OUTPUT(0), boxes.data);
        }
        CHECK_STAGED(made.context, ZB_OUTPUT(1), scores.data, 20);
        check_still_fresh(&scores, 20);
    }
    free_detector(&made);
    FREE_BUFFER(&boxes);
    FREE_BUFFER(&scores);
}

static void a_promise_of_other_detections_is_broken(void)
{
    static const int counts[] = {4, 6, 0, 8};
    detector made = make_detector(1);
    zt_buffer boxes = zt_buffer_new(5 * 16);
    zb_tensor_desc promised = F32(5, 4);
    zt_bind(made.context, ZB_OUTPUT(0), promised, &boxes);
    for (int n = 0; n < 8; n++) {
        int count = counts[n / 2];
        zb_loan loan = zt_lend_output(0, &boxes);
        loan.desc = &promised;
        look_for(&made, count);
        CHECK_STATUS(n % 2 ? zb_infer_with(made.context, &loan, 1, NULL) : zb_infer(made.context, NULL),
                     count > 5 ? ZB_ERROR_BUFFER_TOO_SMALL : ZB_ERROR_SHAPE_MISMATCH);
        CHECK_ERROR_SAYS("found_boxes");
        CHECK_GUARDS(&boxes);
        look_for(&made, 5);
        memset(boxes.data, 0xCD, boxes.size);
        REQUIRE_OK(zb_infer(made.context, NULL));
        check_found(&made, boxes.data, scores_in_view(&made));
        if (zt_is_tflite()) {
            CHECK_STAGED(made.context, ZB_OUTPUT(0), boxes.data, 80);
        } else {
            CHECK_DIRECT(made.context, ZB_OUTPUT(0), boxes.data);
        }
        CHECK_ADDRESS(boxes_in_view(&made), boxes.data);
    }
    free_detector(&made);
    FREE_BUFFER(&boxes);
}

/* What was promised is wrong: while the buffer would do, it is the shape that is at fault, and beyond that the buffer too.
   What may be read behind it is not part of it. */
static void a_broken_promise_in_a_larger_buffer(void)
{
    detector made = make_detector(1);
    zt_buffer boxes = zt_buffer_new(6 * 16);
    zb_tensor_desc promised = F32(5, 4);
    for (int n = 0; n < 2 * (BOXES + 1); n++) {
        int count = n / 2;
        zb_loan loan = zt_lend_output(0, &boxes);
        loan.desc = &promised;
        loan.capacity = n % 2 ? boxes.capacity : 0;
        look_for(&made, count);
        CHECK_STATUS(zb_infer_with(made.context, &loan, 1, NULL),
                     count == 5 ? ZB_OK : count > 6 ? ZB_ERROR_BUFFER_TOO_SMALL : ZB_ERROR_SHAPE_MISMATCH);
        if (count != 5) {
            CHECK_ERROR_SAYS("found_boxes");
        }
        if (count > 6) {
            CHECK_ERROR_SAYS("96");
        }
        CHECK_GUARDS(&boxes);
    }
    free_detector(&made);
    FREE_BUFFER(&boxes);
}

static const zt_test tests[] = {
    ON_BOTH(the_scenes_are_worth_looking_at),
    ON_BOTH(detections_into_room_that_stays),
    ON_BOTH(detections_into_lent_room),
    ON_BOTH(one_of_two_rooms_is_too_small),
    ON_ONNXRUNTIME(promised_detections_are_in_place),
    ON_ONNXRUNTIME(promised_detections_spring_no_trap),
    ON_BOTH(one_output_promised_and_one_open),
    ON_BOTH(a_promise_of_other_detections_is_broken),
    ON_BOTH(a_broken_promise_in_a_larger_buffer),
};

ZT_MAIN(tests)
