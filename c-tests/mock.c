#include "mock.h"

zb_status mock_try_open(const char *lines, zb_model **model)
{
    static const char magic[] = "zerobind-mock 1\n";
    size_t size = strlen(magic) + strlen(lines);
    char *text = malloc(size + 1);
    REQUIRE(text != NULL);
    snprintf(text, size + 1, "%s%s", magic, lines);
    zb_status status = zb_model_open_bytes_copy(text, size, NULL, model);
    free(text);
    return status;
}

zb_model *mock_open(const char *lines)
{
    zb_model *model = NULL;
    REQUIRE_OK(mock_try_open(lines, &model));
    return model;
}

zb_status mock_try_context(zb_model *model, const char *line, zb_context **context)
{
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    zb_option option;
    option.key = "mock.line";
    option.value = line;
    options.options = &option;
    options.option_count = 1;
    return zb_context_create(model, &options, context);
}

zb_context *mock_context(zb_model *model, const char *line)
{
    zb_context *context = NULL;
    REQUIRE_OK(mock_try_context(model, line, &context));
    return context;
}
