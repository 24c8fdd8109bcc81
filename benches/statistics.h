/* Medians, and what they may be off by. */
#ifndef ZEROBIND_BENCHES_STATISTICS_H
#define ZEROBIND_BENCHES_STATISTICS_H

#include <stddef.h>

/* Sorts. */
double statistics_median(double *values, size_t count);
/* Of sorted values; between two of them where `part` says so. */
double statistics_quantile(const double *sorted, size_t count, double part);
/*
 * How far from 1 the median of `count` ratios may be by chance: of medians of values drawn anew out of them, nineteen in
 * twenty are nearer. They come in `parts` runs of equal length, between which everything was opened anew; whole
 * parts are drawn first, and then values out of them. The draw is the same every time.
 */
double statistics_noise(const double *ratios, size_t count, size_t parts);

#endif
