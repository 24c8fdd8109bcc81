#include "load_child.h"

/* A number of kB out of /proc/self/status, in bytes. */
static double status_bytes(const char *name)
{
    char line[256];
    unsigned long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    REQUIRE(file != NULL, "no /proc/self/status");
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':') {
            kilobytes = strtoul(line + strlen(name) + 1, NULL, 10);
        }
    }
    fclose(file);
    return (double)kilobytes * 1024;
}

/* Lets the peak start from what is in use now. */
static void reset_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    REQUIRE(file != NULL && fputs("5", file) >= 0 && fclose(file) == 0, "cannot reset the peak of the memory in use");
}

static void read_all(load_job *job)
{
    FILE *file = fopen(job->path, "rb");
    REQUIRE(file != NULL && fseek(file, 0, SEEK_END) == 0, "cannot read %s", job->path);
    job->size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = bench_memory(job->size);
    REQUIRE(fread(bytes, 1, job->size, file) == job->size, "cannot read %s", job->path);
    fclose(file);
    job->bytes = bytes;
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 6, "usage: bench_load_... onnxruntime|tflite FILE NAME path|bytes|copy AGAIN");
    load_job job = {strcmp(argv[1], "tflite") == 0, argv[2], argv[4], NULL, 0, model_memory_new(model_named(argv[3]), 1)};
    long again = strtol(argv[5], NULL, 10);
    if (strcmp(job.how, "path") != 0) {
        read_all(&job);
    }
    double empty = status_bytes("VmRSS"), empty_anonymous = status_bytes("RssAnon");
    double start = bench_now_ns();
    load_engine(&job);
    double loaded = bench_now_ns();
    reset_peak();
    double before = status_bytes("VmRSS");
    double opening = bench_now_ns();
    void *opened = load_open_and_run(&job);
    double cold = bench_now_ns() - opening;
    double peak = status_bytes("VmHWM"), after = status_bytes("VmRSS"), anonymous = status_bytes("RssAnon");
    load_close(opened);

    opening = bench_now_ns();
    for (long i = 0; i < again; i++) {
        load_close(load_open_and_run(&job));
    }
    double warm = again > 0 ? (bench_now_ns() - opening) / (double)again : 0;
    /* engine, cold, warm: ns; resident and anonymous since the start, peak since the engine was loaded: bytes */
    printf("%.0f %.0f %.0f %.0f %.0f %.0f\n", loaded - start, cold, warm, after - empty, anonymous - empty_anonymous,
           peak - before);
}
