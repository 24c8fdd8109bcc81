#define _POSIX_C_SOURCE 200809L

#include "roll.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "basic_pitch.h"
#include "notes.h"

enum {
    MARGIN_LEFT = 8, /* for the names of the keys */
    COLUMNS = 70,
    WIDTH = 79, /* of everything here: one less than a terminal has, since some wrap a full line */
    COLUMN = 9, /* frames: 0.10 s */
    LINE = COLUMNS * COLUMN,
    MOST_LINES = 4,
    LISTED_NOTES = 36
};

enum cell { EMPTY, SECOND, START, BODY };

struct terminal terminal_detect(void)
{
    struct terminal terminal = {0, 0};
    if (setlocale(LC_CTYPE, "") != NULL) {
        terminal.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    }
    terminal.colour = isatty(STDOUT_FILENO);
    return terminal;
}

static void print_cell(enum cell cell, struct terminal terminal)
{
    static const char *const ASCII[] = {" ", ":", "#", "="};
    static const char *const UTF8[] = {" ", "┊", "█", "▒"};
    static const char *const COLOUR[] = {"", "\033[2m", "\033[1;36m", "\033[36m"};
    const char *text = terminal.utf8 ? UTF8[cell] : ASCII[cell];
    if (terminal.colour && cell != EMPTY) {
        printf("%s%s\033[0m", COLOUR[cell], text);
    } else {
        fputs(text, stdout);
    }
}

/* 1 if a whole second falls into the column; then it is put into `second`. */
static int second_in(size_t column, size_t *second)
{
    size_t from = column * COLUMN * FRAME;
    *second = (from + COLUMN * FRAME - 1) / SAMPLE_RATE;
    return *second * SAMPLE_RATE >= from;
}

static int is_second(size_t column)
{
    size_t second;
    return second_in(column, &second);
}

/* Marks what can be seen of a note in the line of the roll that begins at `first_column`. */
static void draw_note(const struct note *note, size_t first_column, enum cell cells[COLUMNS])
{
    size_t start = note->start / COLUMN;
    size_t last = (note->start + note->length - 1) / COLUMN;
    for (size_t column = start; column <= last; column++) {
        if (column >= first_column && column < first_column + COLUMNS) {
            cells[column - first_column] = column == start ? START : BODY;
        }
    }
}

static void print_key(const struct note_list *notes, int pitch, size_t first_column, size_t columns,
                      struct terminal terminal)
{
    enum cell cells[COLUMNS];
    for (size_t i = 0; i < columns; i++) {
        cells[i] = is_second(first_column + i) ? SECOND : EMPTY;
    }
    for (size_t i = 0; i < notes->count; i++) {
        if (notes->items[i].pitch == pitch) {
            draw_note(&notes->items[i], first_column, cells);
        }
    }
    char name[8];
    note_name(pitch, name, sizeof name);
    printf("%*s %s", MARGIN_LEFT - 2, name, terminal.utf8 ? "│" : "|");
    while (columns > 0 && cells[columns - 1] == EMPTY) {
        columns--; /* no blanks at the end of a line */
    }
    for (size_t i = 0; i < columns; i++) {
        print_cell(cells[i], terminal);
    }
    putchar('\n');
}

/* The seconds, each below its mark; one that would not fit into the width is left out. */
static void print_time_labels(size_t first_column, size_t columns)
{
    size_t at = 0; /* characters so far; a blank is written only before a label, so that no line ends with one */
    for (size_t i = 0; i < columns; i++) {
        char label[32];
        size_t second;
        if (!second_in(first_column + i, &second)) {
            continue;
        }
        snprintf(label, sizeof label, "%zu s", second);
        size_t place = MARGIN_LEFT + i;
        if (place + strlen(label) <= WIDTH) {
            printf("%*s%s", (int)(place - at), "", label);
            at = place + strlen(label); /* there are about ten columns to a second, so labels do not meet */
        }
    }
    putchar('\n');
}

static void print_time_axis(size_t first_column, size_t columns, struct terminal terminal)
{
    printf("%*s%s", MARGIN_LEFT - 1, "", terminal.utf8 ? "└" : "+");
    for (size_t i = 0; i < columns; i++) {
        int second = is_second(first_column + i);
        fputs(terminal.utf8 ? (second ? "┴" : "─") : (second ? "+" : "-"), stdout);
    }
    putchar('\n');
    print_time_labels(first_column, columns);
}

void roll_print(const struct note_list *notes, size_t frames, struct terminal terminal)
{
    if (notes->count == 0) {
        printf("  (no notes)\n");
        return;
    }
    int lowest = notes->items[0].pitch;
    int highest = lowest;
    for (size_t i = 1; i < notes->count; i++) {
        int pitch = notes->items[i].pitch;
        lowest = pitch < lowest ? pitch : lowest;
        highest = pitch > highest ? pitch : highest;
    }
    for (size_t first = 0, line = 0; first < frames; first += LINE, line++) {
        if (line == MOST_LINES) {
            printf("  ... and so on, to %.1f s\n", seconds(frames));
            break;
        }
        size_t left = (frames - first + COLUMN - 1) / COLUMN;
        size_t columns = left < COLUMNS ? left : COLUMNS;
        for (int pitch = highest; pitch >= lowest; pitch--) {
            print_key(notes, pitch, first / COLUMN, columns, terminal);
        }
        print_time_axis(first / COLUMN, columns, terminal);
        putchar('\n');
    }
}

static void print_note(const struct note *note)
{
    char name[8];
    note_name(note->pitch, name, sizeof name);
    /* a name has at most three characters, so the start has room up to 999.99 s */
    printf("%-4s%6.2f s %5.2f s %4.2f", name, seconds(note->start), seconds(note->length), note->strength);
}

/* Without the thresholds, averages of 0.3 to 0.6 look like failure; and dips can take one below its threshold. */
static void print_scale(void)
{
    printf("  A note begins where the onset output (0 to 1) reaches %.1f, and lasts while\n"
           "  the note output reaches %.1f, short dips aside. \"sure\" is the average of the\n"
           "  note output from start to end, dips included.\n\n",
           (double)ONSET_THRESHOLD, (double)SOUNDING_THRESHOLD);
}

/* In three columns, each read from top to bottom. */
void notes_print(const struct note_list *notes)
{
    size_t listed = notes->count < LISTED_NOTES ? notes->count : LISTED_NOTES;
    size_t rows = (listed + 2) / 3;
    if (listed == 0) {
        return;
    }
    print_scale();
    for (size_t i = 0; i < listed; i += rows) {
        printf(" %-4s %7s %7s %4s", "note", "start", "length", "sure");
    }
    putchar('\n');
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = row; i < listed; i += rows) {
            putchar(' ');
            print_note(&notes->items[i]);
        }
        putchar('\n');
    }
    if (listed < notes->count) {
        printf("  ... and %zu more\n", notes->count - listed);
    }
}
