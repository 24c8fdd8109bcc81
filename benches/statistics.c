#include "statistics.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { RESAMPLES = 400, MOST = 400 };

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double statistics_quantile(const double *sorted, size_t count, double part)
{
    double place = part * (double)(count - 1);
    size_t below = (size_t)place;
    double above = below + 1 < count ? sorted[below + 1] : sorted[below];
    return sorted[below] + (above - sorted[below]) * (place - (double)below);
}

double statistics_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return statistics_quantile(values, count, 0.5);
}

/* A number below `count`. */
static size_t draw(uint32_t *seed, size_t count)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (size_t)(((uint64_t)*seed * count) >> 32);
}

double statistics_noise(const double *ratios, size_t count, size_t parts)
{
    double distances[RESAMPLES], drawn[MOST];
    size_t length = count / parts;
    uint32_t seed = 1;
    for (size_t sample = 0; sample < RESAMPLES; sample++) {
        size_t have = 0;
        for (size_t part = 0; part < parts; part++) {
            const double *from = ratios + draw(&seed, parts) * length;
            for (size_t i = 0; i < length && have < MOST; i++) {
                drawn[have++] = from[draw(&seed, length)];
            }
        }
        distances[sample] = fabs(statistics_median(drawn, have) - 1);
    }
    qsort(distances, RESAMPLES, sizeof *distances, by_value);
    return statistics_quantile(distances, RESAMPLES, 0.95);
}
