#include "models.h"

/* INPUT RANK DIM... */
static void parse_resize(model_resize *resize, const char *line)
{
    int used = 0;
    REQUIRE(sscanf(line, "%d %d %n", &resize->input, &resize->rank, &used) == 2);
    REQUIRE(resize->rank >= 0 && resize->rank <= ZB_MAX_RANK);
    for (int i = 0; i < resize->rank; i++) {
        int more = 0;
        REQUIRE(sscanf(line + used, "%d %n", &resize->dims[i], &more) == 1);
        used += more;
    }
}

/* NAME PATH */
static void parse_model(real_model *model, const char *line, int is_derived)
{
    int used = 0;
    memset(model, 0, sizeof *model);
    model->is_derived = is_derived;
    REQUIRE(sscanf(line, "%95s %n", model->name, &used) == 1);
    size_t size = strcspn(line + used, "\n");
    REQUIRE(size < sizeof model->path);
    memcpy(model->path, line + used, size);
}

real_model *read_models(const char *folder, size_t *count)
{
    char line[1280], path[1024];
    real_model *models = NULL;
    snprintf(path, sizeof path, "%s/tflite.txt", folder);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "%s is missing: `make setup` brings it\n", path);
        exit(2);
    }
    *count = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        int is_derived = strncmp(line, "derived ", 8) == 0;
        if (is_derived || strncmp(line, "model ", 6) == 0) {
            models = realloc(models, (*count + 1) * sizeof *models);
            REQUIRE(models != NULL);
            parse_model(&models[(*count)++], strchr(line, ' ') + 1, is_derived);
        } else {
            REQUIRE(strncmp(line, "resize ", 7) == 0 && *count > 0 && models[*count - 1].resize_count < MOST_RESIZES);
            real_model *last = &models[*count - 1];
            parse_resize(&last->resizes[last->resize_count++], line + 7);
        }
    }
    fclose(file);
    return models;
}
