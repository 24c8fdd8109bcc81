//! How often each latency was, for both ways over the same scale.

use serde::Serialize;

use super::stats::Latency;

const BINS: usize = 60;

#[derive(Serialize)]
pub struct Histogram {
    pub from_ns: f64,
    pub bin_ns: f64,
    /// Runs in each bin; those above the last are in `above`.
    pub zero_copy: Vec<u64>,
    pub copying: Vec<u64>,
    pub zero_copy_above: u64,
    pub copying_above: u64,
}

impl Histogram {
    /// From the fastest run to as far above the 90th percentile as that is from the fastest, for the slower way: rare slow
    /// runs would leave no room for the rest.
    pub fn new(in_place: &[u64], copying: &[u64], latencies: [Latency; 2]) -> Histogram {
        let end = |latency: &Latency| latency.p99.min(2 * latency.p90 - latency.min);
        let from_ns = latencies.iter().map(|latency| latency.min).min().unwrap_or(0) as f64;
        let to_ns = latencies.iter().map(end).max().unwrap_or(0) as f64;
        // the clock counts in whole ns
        let bin_ns = ((to_ns + 1.0 - from_ns) / BINS as f64).max(1.0).ceil();
        let (zero_copy, zero_copy_above) = count(in_place, from_ns, bin_ns);
        let (copying, copying_above) = count(copying, from_ns, bin_ns);
        Histogram { from_ns, bin_ns, zero_copy, copying, zero_copy_above, copying_above }
    }
}

fn count(samples: &[u64], from_ns: f64, bin_ns: f64) -> (Vec<u64>, u64) {
    let (mut bins, mut above) = (vec![0; BINS], 0);
    for sample in samples {
        match bins.get_mut(((*sample as f64 - from_ns) / bin_ns) as usize) {
            Some(bin) => *bin += 1,
            None => above += 1,
        }
    }
    (bins, above)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_in_it() {
        let (a, b): (Vec<u64>, Vec<u64>) = ((100..400).collect(), (150..1000).collect());
        let histogram = Histogram::new(&a, &b, [Latency::of(a.clone()), Latency::of(b.clone())]);
        assert_eq!(histogram.zero_copy.iter().sum::<u64>() + histogram.zero_copy_above, 300);
        assert_eq!(histogram.copying.iter().sum::<u64>() + histogram.copying_above, 850);
        assert_eq!(histogram.zero_copy[0], histogram.bin_ns as u64);
        assert!(histogram.copying_above <= 9);
    }

    #[test]
    fn rare_slow_runs_take_no_room() {
        let fast: Vec<u64> = (100..200).collect();
        let slow: Vec<u64> = (0..95).map(|ns| 300 + ns).chain([1_000_000; 5]).collect();
        let histogram = Histogram::new(&fast, &slow, [Latency::of(fast.clone()), Latency::of(slow.clone())]);
        assert!(histogram.bin_ns < 10.0, "{}", histogram.bin_ns);
        assert_eq!(histogram.copying_above, 5);
    }

    #[test]
    fn equal_runs_are_in_one_bin() {
        let same = vec![5; 10];
        let histogram = Histogram::new(&same, &same, [Latency::of(same.clone()); 2]);
        assert_eq!((histogram.zero_copy[0], histogram.bin_ns), (10, 1.0));
    }
}
