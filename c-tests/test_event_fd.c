/* Descriptors of events: in poll and epoll, closed at any time, none left over. */
#include "plug.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static int is_readable(int fd, int milliseconds)
{
    struct pollfd polled = {fd, POLLIN, 0};
    int count = poll(&polled, 1, milliseconds);
    CHECK(count >= 0);
    CHECK((polled.revents & (POLLERR | POLLNVAL)) == 0);
    return count == 1 && (polled.revents & POLLIN) != 0;
}

static int descriptor(zb_event *event)
{
    int fd = -1;
    REQUIRE_OK(zb_event_get_fd(event, &fd));
    REQUIRE(fd >= 0);
    return fd;
}

static void close_fd(int fd)
{
    CHECK_EQ(close(fd), 0);
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    REQUIRE(folder != NULL);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

/* A thread that settles lets its own descriptors go a moment after those who wait have heard. */
static int soon_has_descriptors(int expected)
{
    for (int i = 0; i < 2000 && open_descriptors() != expected; i++) {
        usleep(1000);
    }
    return open_descriptors() == expected;
}

static zb_event *fence(zb_queue *queue)
{
    zb_event *event = NULL;
    REQUIRE_OK(zb_queue_fence(queue, &event));
    return event;
}

static void readable_when_settled(void)
{
    plug stopper;
    zb_queue *queue = new_queue();
    int before = open_descriptors();
    plug_queue(&stopper, queue);
    zb_event *event = fence(queue);
    int first = descriptor(event), second = descriptor(event);
    CHECK(first != second);
    CHECK((fcntl(first, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK(!is_readable(first, 0) && !is_readable(second, 20));
    pull_plug(&stopper);
    CHECK(is_readable(first, 20000) && is_readable(second, 20000));
    /* and it stays so */
    CHECK(is_readable(first, 0) && is_readable(second, 0));
    CHECK_EQ(ending(event), ZB_OK);
    int late = descriptor(event);
    CHECK(late != first && late != second);
    CHECK(is_readable(late, 0));
    /* each for itself, and without the event */
    close_fd(first);
    CHECK(is_readable(second, 0));
    CHECK_OK(zb_event_destroy(event));
    CHECK(is_readable(second, 0) && is_readable(late, 0));
    close_fd(second);
    close_fd(late);
    CHECK_OK(zb_queue_destroy(queue));
    CHECK(soon_has_descriptors(before));
}

static void it_outlives_the_handle(void)
{
    plug stopper;
    zb_queue *queue = new_queue();
    plug_queue(&stopper, queue);
    zb_event *event = fence(queue);
    int fd = descriptor(event);
    CHECK_OK(zb_event_destroy(event));
    CHECK(!is_readable(fd, 0));
    pull_plug(&stopper);
    CHECK(is_readable(fd, 20000));
    close_fd(fd);
    CHECK_OK(zb_queue_destroy(queue));
}

/* However it ends, and before it has begun. */
static void readable_when_cancelled_or_destroyed(void)
{
    plug stopper;
    zb_queue *queue = new_queue();
    plug_queue(&stopper, queue);
    zb_event *cancelled = fence(queue), *destroyed = fence(queue);
    int first = descriptor(cancelled), second = descriptor(destroyed);
    CHECK_OK(zb_event_cancel(cancelled));
    CHECK(is_readable(first, 0) && !is_readable(second, 0));
    CHECK_OK(zb_queue_destroy(queue));
    CHECK(is_readable(second, 0));
    close_fd(first);
    close_fd(second);
    CHECK_EQ(last_ending(cancelled), ZB_ERROR_CANCELLED);
    CHECK_EQ(last_ending(destroyed), ZB_ERROR_DESTROYED);
    open_plug(&stopper);
    ending(stopper.event);
    free_plug(&stopper);
}

/* --- closed before the end --- */

static void closed_before_the_end(void)
{
    plug stopper;
    zb_queue *queue = new_queue();
    int before = open_descriptors(), sockets[2];
    /* what a write into nothing would do unless a program says otherwise */
    signal(SIGPIPE, SIG_DFL);
    plug_queue(&stopper, queue);
    zb_event *event = fence(queue);
    int closed = descriptor(event), kept = descriptor(event);
    close_fd(closed);
    /* the number is somebody else's now */
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    REQUIRE(sockets[0] == closed || sockets[1] == closed || dup2(sockets[1], closed) == closed);
    pull_plug(&stopper);
    CHECK(is_readable(kept, 20000));
    CHECK_EQ(ending(event), ZB_OK);
    /* all that was to be told has been when what comes later is over */
    CHECK_OK(zb_queue_finish(queue, FOREVER));
    CHECK(!is_readable(sockets[0], 20) && !is_readable(sockets[1], 0));
    close(closed);
    close(sockets[0]);
    close(sockets[1]);
    close_fd(kept);
    CHECK_OK(zb_event_destroy(event));
    CHECK_OK(zb_queue_destroy(queue));
    CHECK(soon_has_descriptors(before));
}

/* --- epoll --- */

static int epoll_with(int fd, uint32_t events)
{
    int poller = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.events = events;
    REQUIRE(poller >= 0);
    REQUIRE(epoll_ctl(poller, EPOLL_CTL_ADD, fd, &wanted) == 0);
    return poller;
}

static int wakes(int poller, int milliseconds)
{
    struct epoll_event happened;
    return epoll_wait(poller, &happened, 1, milliseconds);
}

/* By level it wakes as often as it is asked; by edge exactly once. */
static void in_epoll(void)
{
    plug stopper;
    zb_queue *queue = new_queue();
    plug_queue(&stopper, queue);
    zb_event *event = fence(queue);
    int level_fd = descriptor(event), edge_fd = descriptor(event);
    int level = epoll_with(level_fd, EPOLLIN), edge = epoll_with(edge_fd, EPOLLIN | EPOLLET);
    CHECK_EQ(wakes(level, 0), 0);
    CHECK_EQ(wakes(edge, 0), 0);
    pull_plug(&stopper);
    CHECK_EQ(wakes(level, 20000), 1);
    CHECK_EQ(wakes(edge, 20000), 1);
    CHECK_OK(zb_queue_finish(queue, FOREVER));
    CHECK_EQ(wakes(level, 0), 1);
    CHECK_EQ(wakes(edge, 20), 0);
    CHECK_OK(zb_event_destroy(event));
    CHECK_OK(zb_queue_destroy(queue));
    CHECK_EQ(wakes(level, 0), 1);
    CHECK_EQ(wakes(edge, 0), 0);
    close_fd(level);
    close_fd(edge);
    close_fd(level_fd);
    close_fd(edge_fd);
}

/* --- taken while the event is being settled --- */

static void spin(int turns)
{
    for (volatile int i = 0; i < turns; i++) {
    }
}

static void taken_at_the_moment_of_the_end(void)
{
    zb_queue *queue = new_queue();
    int early = 0, before = open_descriptors();
    for (int i = 0; i < zt_rounds(2000, 100); i++) {
        zb_event *event = fence(queue);
        spin(i % 60 * 20);
        int fd = descriptor(event);
        int poller = epoll_with(fd, EPOLLIN | EPOLLET);
        early += !is_readable(fd, 0);
        if (!CHECK_EQ(wakes(poller, 20000), 1)) {
            break;
        }
        /* of its own accord it does not come again, whatever is let go meanwhile */
        CHECK_EQ(last_ending(event), ZB_OK);
        CHECK_EQ(wakes(poller, i % 100 == 0 ? 5 : 0), 0);
        CHECK(is_readable(fd, 0));
        close_fd(poller);
        close_fd(fd);
    }
    CHECK_OK(zb_queue_destroy(queue));
    CHECK(soon_has_descriptors(before));
    if (early == 0) {
        printf("        no descriptor was taken before its event was settled\n");
    }
}

/* Closed while the event is being settled. */
static void closed_at_the_moment_of_the_end(void)
{
    zb_queue *queue = new_queue();
    int before = open_descriptors();
    signal(SIGPIPE, SIG_DFL);
    for (int i = 0; i < zt_rounds(2000, 100); i++) {
        zb_event *event = fence(queue);
        int fd = descriptor(event);
        spin(i % 60 * 20);
        close_fd(fd);
        CHECK_EQ(last_ending(event), ZB_OK);
    }
    CHECK_OK(zb_queue_destroy(queue));
    CHECK(soon_has_descriptors(before));
}

typedef struct taker {
    pthread_t thread;
    zb_event *event;
    int fd;
} taker;

static void *take_and_poll(void *argument)
{
    taker *own = argument;
    own->fd = descriptor(own->event);
    CHECK(is_readable(own->fd, 20000));
    return NULL;
}

static void many_threads_take_one_each(void)
{
    enum { TAKERS = 8 };
    zb_queue *queue = new_queue();
    int before = open_descriptors();
    for (int round = 0; round < zt_rounds(50, 3); round++) {
        taker takers[TAKERS];
        plug stopper;
        plug_queue(&stopper, queue);
        zb_event *event = fence(queue);
        for (int i = 0; i < TAKERS; i++) {
            takers[i].event = event;
            takers[i].fd = -1;
            REQUIRE(pthread_create(&takers[i].thread, NULL, take_and_poll, &takers[i]) == 0);
        }
        pull_plug(&stopper);
        for (int i = 0; i < TAKERS; i++) {
            REQUIRE(pthread_join(takers[i].thread, NULL) == 0);
            for (int k = 0; k < i; k++) {
                CHECK(takers[i].fd != takers[k].fd);
            }
        }
        for (int i = 0; i < TAKERS; i++) {
            close_fd(takers[i].fd);
        }
        CHECK_OK(zb_event_destroy(event));
    }
    CHECK_OK(zb_queue_destroy(queue));
    CHECK(soon_has_descriptors(before));
}

/* No descriptors left: IO, and nothing is lost or leaked by it. */
static void without_descriptors(void)
{
    struct rlimit limit, none;
    plug stopper;
    int fd = -77;
    zb_queue *queue = new_queue();
    int before = open_descriptors();
    plug_queue(&stopper, queue);
    zb_event *event = fence(queue);
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    none = limit;
    /* with room for none, and for one */
    for (rlim_t room = 0; room < 2; room++) {
        int lowest = dup(0);
        REQUIRE(lowest >= 0);
        close(lowest);
        none.rlim_cur = (rlim_t)lowest + room;
        REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
        zb_status status = zb_event_get_fd(event, &fd);
        REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        CHECK_EQ(status, ZB_ERROR_IO);
        CHECK_EQ(fd, -77);
    }
    pull_plug(&stopper);
    CHECK_EQ(last_ending(event), ZB_OK);
    CHECK_OK(zb_queue_destroy(queue));
    CHECK(soon_has_descriptors(before));
}

static const zt_test tests[] = {
    ON_BOTH(readable_when_settled),
    ON_BOTH(it_outlives_the_handle),
    ON_BOTH(readable_when_cancelled_or_destroyed),
    ON_BOTH(closed_before_the_end),
    ON_BOTH(in_epoll),
    ON_BOTH(taken_at_the_moment_of_the_end),
    ON_BOTH(closed_at_the_moment_of_the_end),
    ON_BOTH(many_threads_take_one_each),
    ON_BOTH(without_descriptors),
};

ZT_MAIN(tests)
