#include "arguments.h"

static const option *find_option(const char *name, const option *options, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(options[i].name, name) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

void parse_options(int argc, char **argv, int first, const option *options, size_t count)
{
    for (int i = first; i < argc; i++) {
        const option *found = find_option(argv[i], options, count);
        if (found == NULL || argc - i <= found->words) {
            fprintf(stderr, "%s is no option, or lacks its words\n", argv[i]);
            exit(2);
        }
        *found->value = &argv[i + 1];
        i += found->words;
    }
}

int parse_word(const char *word, const char *const *words, int count)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], word) == 0) {
            return i;
        }
    }
    fprintf(stderr, "%s is none of", word);
    for (int i = 0; i < count; i++) {
        fprintf(stderr, " %s", words[i]);
    }
    fprintf(stderr, "\n");
    exit(2);
}
