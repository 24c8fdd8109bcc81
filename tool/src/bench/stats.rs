//! Order statistics.

use serde::Serialize;

/// Latencies in ns. A percentile is the smallest sample that is not exceeded by so many of a hundred.
#[derive(Serialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    pub min: u64,
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub max: u64,
}

impl Latency {
    /// Of at least one sample, in any order.
    pub fn of(mut samples: Vec<u64>) -> Latency {
        samples.sort_unstable();
        Latency {
            min: samples[0],
            p50: rank(&samples, 50),
            p90: rank(&samples, 90),
            p99: rank(&samples, 99),
            max: samples[samples.len() - 1],
        }
    }
}

/// The nearest rank in sorted samples.
fn rank(sorted: &[u64], percent: usize) -> u64 {
    sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1]
}

/// The middle sample, the lower of two; 0 of none.
pub fn median(samples: impl Iterator<Item = u64>) -> u64 {
    let mut samples: Vec<_> = samples.collect();
    samples.sort_unstable();
    if samples.is_empty() { 0 } else { rank(&samples, 50) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let hundred = Latency::of((1..=100).rev().collect());
        assert_eq!(hundred, Latency { min: 1, p50: 50, p90: 90, p99: 99, max: 100 });
        let one = Latency::of(vec![7]);
        assert_eq!(one, Latency { min: 7, p50: 7, p90: 7, p99: 7, max: 7 });
        assert_eq!(Latency::of(vec![1, 2, 3]).p99, 3);
    }

    #[test]
    fn medians() {
        assert_eq!(median([3, 1, 2].into_iter()), 2);
        assert_eq!(median(std::iter::empty()), 0);
    }
}
