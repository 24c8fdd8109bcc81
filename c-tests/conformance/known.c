#include "known.h"

static known_entry *append(known_list *list, size_t *capacity)
{
    if (list->count == *capacity) {
        *capacity = *capacity * 2 + 64;
        list->entries = realloc(list->entries, *capacity * sizeof *list->entries);
        REQUIRE(list->entries != NULL);
    }
    known_entry *entry = &list->entries[list->count++];
    memset(entry, 0, sizeof *entry);
    return entry;
}

known_list read_known(const char *path)
{
    known_list list = {NULL, 0, 0};
    size_t capacity = 0;
    char line[512];
    FILE *file = fopen(path, "r");
    REQUIRE(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "#\n")] = '\0';
        if (sscanf(line, "total %zu", &list.total) == 1 || line[strspn(line, " ")] == '\0') {
            continue;
        }
        known_entry *entry = append(&list, &capacity);
        REQUIRE(sscanf(line, "%31s %127s %47s", entry->class, entry->name, entry->how) == 3);
    }
    fclose(file);
    return list;
}

known_entry *known_find(known_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->entries[i].name, name) == 0) {
            list->entries[i].is_found = 1;
            return &list->entries[i];
        }
    }
    return NULL;
}
