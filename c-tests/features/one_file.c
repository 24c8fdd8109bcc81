/* A program with everything linked into it, over the engines of stubs.c. */
#include <stdio.h>
#include <string.h>
#include <zerobind.h>

/* Whether the report on an engine is as expected; `reason` is part of it when it cannot be used. */
static int check(int32_t runtime, const char *version, const char *reason)
{
    zb_runtime_info info = ZB_RUNTIME_INFO_INIT;
    if (zb_runtime_get_info(runtime, &info) != ZB_OK) {
        return 0;
    }
    printf("available %d, version %s, from %s, reason: %s\n", (int)info.available, info.version ? info.version : "-",
           info.path ? info.path : "-", info.reason ? info.reason : "-");
    return version ? info.available == 1 && strcmp(info.version, version) == 0 && info.path != NULL
                   : info.available == 0 && strstr(info.reason, reason) != NULL;
}

int main(void)
{
    char text[1024];
    int good = check(ZB_RUNTIME_TFLITE, "2.17.0", NULL) & check(ZB_RUNTIME_ONNXRUNTIME, NULL, "1.2.0 is too old");
    /* TFLite needs no more than its required functions; the other engine says why not */
    good &= zb_runtime_load(ZB_RUNTIME_TFLITE, NULL) == ZB_OK;
    good &= zb_runtime_load(ZB_RUNTIME_ONNXRUNTIME, NULL) == ZB_ERROR_RUNTIME_UNAVAILABLE;
    zb_last_error(text, sizeof text, NULL);
    printf("%s\n", text);
    good &= zb_runtime_load(ZB_RUNTIME_TFLITE, "/no/such/engine.so") == ZB_ERROR_INVALID_ARGUMENT;
    zb_last_error(text, sizeof text, NULL);
    printf("%s\n", text);
    good &= check(ZB_RUNTIME_TFLITE, "2.17.0", NULL);
    puts(good ? "passed" : "failed");
    return good ? 0 : 1;
}
