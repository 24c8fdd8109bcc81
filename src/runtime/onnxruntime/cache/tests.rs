//! Rings and streams of addresses.

use super::lately::{RULE, SPAN};
use super::*;
use crate::base::{Dims, Dtype};

const KNOWN: Known = Known { dtype: EngineDtype::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, bytes: 16 };

fn floats(dims: &[i64]) -> Desc {
    Desc { dtype: Dtype::F32, dims: Dims::new(dims).unwrap() }
}

fn add<V>(cache: &mut Cache<V>, address: usize, desc: Desc, value: V, serial: u64) -> usize {
    match cache.known(&desc) {
        Some(_) => cache.put(address, value, serial),
        None => cache.put_other(address, value, serial, &desc, KNOWN).unwrap(),
    }
}

#[test]
fn a_ring_of_buffers_is_kept() {
    for (room, ring) in [(4, 4), (64, 3), (64, 12), (1, 1)] {
        for distance in [64, 192, 640, 4096, 65536, 640 * 480 * 3, 1920 * 1080 * 3, 16 << 20] {
            let mut cache = Cache::new(room);
            let made = (0..10 * ring).filter(|turn| {
                let address = 0x1234_5000 + turn % ring * distance;
                let is_new = cache.find(address).is_none();
                if is_new {
                    add(&mut cache, address, floats(&[4]), (), *turn as u64 + 1);
                }
                is_new
            });
            assert_eq!(made.count(), ring, "{ring} buffers {distance} bytes apart, room for {room}");
        }
    }
}

#[test]
fn the_last_one_is_always_kept_and_what_is_found_is_right() {
    let mut cache = Cache::new(8);
    for turn in 1..1000usize {
        let address = turn.wrapping_mul(0x5678_9abd) & !63;
        assert_eq!(cache.find(address), None);
        let place = add(&mut cache, address, floats(&[4]), address, turn as u64);
        assert_eq!(cache.find(address), Some(place));
        for earlier in 1..turn {
            let address = earlier.wrapping_mul(0x5678_9abd) & !63;
            if let Some(place) = cache.find(address) {
                assert_eq!(cache.value(place), Some(&address));
            }
        }
    }
    assert_eq!(cache.groups.len(), 8 / GROUP);
}

/// What a run does with an address, and whether it makes a value.
fn lend(cache: &mut Cache<usize>, address: usize, turn: u64) -> bool {
    cache.trust(&floats(&[4]));
    let (position, is_made) = match cache.look(address) {
        Found::Value(position) => (position, false),
        Found::Again => (cache.put(address, address, turn), true),
        Found::Nothing => (cache.pass_next(|_, _| Some(address)).unwrap().0, true),
    };
    assert_eq!(cache.value(position), Some(&address));
    is_made
}

#[test]
fn what_comes_again_is_kept_and_what_does_not_is_not() {
    for distance in [64, 192, 640, 4096, 65536, 640 * 480 * 3, 1920 * 1080 * 3, 16 << 20] {
        let ring = |length: usize| {
            let mut cache = Cache::new(64);
            add(&mut cache, 0, floats(&[4]), 0, 1);
            let at = |turn: usize| 0x1234_5000 + turn % length * distance;
            let mut lend = |turn: &usize| lend(&mut cache, at(*turn), *turn as u64 + 2);
            // once in passing, and then to keep
            let first = (0..2 * length).filter(&mut lend).count();
            let later = (2 * length..10 * length).filter(lend).count();
            let kept = cache.groups.iter().flat_map(|group| group.serials).filter(|serial| *serial != 0).count();
            (first, later, kept)
        };
        for length in [1, 3, 12] {
            assert_eq!(ring(length), (2 * length, 0, length + 1), "{length} buffers {distance} bytes apart");
        }
        if distance.checked_mul(20_000).is_none() {
            // no 32-bit address space has so many
            continue;
        }
        let (first, later, kept) = ring(10_000);
        assert_eq!((first, later), (20_000, 80_000), "{distance} bytes apart");
        assert!(kept < 8, "{kept} are kept of what comes again much later only");
    }
}

/// However long every address was new before.
#[test]
fn a_ring_after_a_stream_is_kept_again() {
    for stream in [0, 1, 127, 128, 129, 191, 192, 193, 1000, 1001] {
        for length in [1, 2, 3, 12] {
            let mut cache = Cache::new(64);
            add(&mut cache, 0, floats(&[4]), 0, 1);
            for turn in 0..stream {
                assert!(lend(&mut cache, 0x4000_0000 + turn * 640, turn as u64 + 2), "new, so it has no value");
            }
            let mut made = (0..20 * length)
                .filter(|turn| lend(&mut cache, 0x1234_5000 + turn % length * 640, (stream + turn) as u64 + 2));
            let last = made.next_back().unwrap();
            let most = RULE as usize + 2 * SPAN as usize + 4 * length;
            assert!(last < most, "the value of turn {last} is new still, after {stream} others, {length} in turn");
        }
    }
}

/// Also if every so many-th address is a new one still.
#[test]
fn a_ring_with_new_ones_between_is_kept_after_a_stream() {
    for every in [2, 3, 4, 7, 8, 16, 32, 64] {
        for (length, phase) in [(1, 0), (1, 1), (3, 0), (3, 1), (12, 0), (12, 1)] {
            let mut cache = Cache::new(64);
            add(&mut cache, 0, floats(&[4]), 0, 1);
            (0..1000 + phase).for_each(|turn| assert!(lend(&mut cache, 0x4000_0000 + turn * 640, turn as u64 + 2)));
            let made = |run: usize, cache: &mut Cache<usize>| {
                let is_new = run.is_multiple_of(every);
                let place = run - run.div_ceil(every);
                let address = if is_new { 0x7000_0000 + run * 640 } else { 0x1234_5000 + place % length * 640 };
                lend(cache, address, run as u64 + 2000) && !is_new
            };
            for run in 1..3000 {
                made(run, &mut cache);
            }
            let later = (3000..4000).filter(|run| made(*run, &mut cache)).count();
            // a new one may take the place of one of the ring
            assert!(later < 200, "{later} values of 1000 runs, each {every}th new, {length} in turn");
        }
    }
}

/// Which ones are new is not even asked, but the one that is waited for is recognised.
#[test]
fn no_address_of_a_stream_gets_the_value_of_another() {
    let mut cache = Cache::new(64);
    add(&mut cache, 0, floats(&[4]), 0, 1);
    let mut random = 7u64;
    for turn in 0..20_000u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // streams of new ones with some that came lately between them
        let known = turn.saturating_sub(random >> 33 & 127) as usize;
        let address = if random >> 40 & 63 == 0 { known * 64 } else { turn as usize * 64 };
        lend(&mut cache, address, turn + 2);
        assert!(cache.groups.len() == 64 / GROUP && cache.given().is_none());
    }
}

#[test]
fn any_address_can_be_used() {
    for address in [0, 1, usize::MAX - 1, usize::MAX] {
        let mut cache = Cache::new(4);
        add(&mut cache, address ^ 64, floats(&[0]), (), 1);
        assert_eq!(cache.find(address), None);
        let place = add(&mut cache, address, floats(&[0]), (), 2);
        assert_eq!(cache.find(address), Some(place));
    }
}

#[test]
fn values_are_only_for_what_they_describe() {
    let mut cache = Cache::new(4);
    assert!(cache.known(&floats(&[4, 4])).is_none() && cache.find(0).is_none());
    add(&mut cache, 64, floats(&[4, 4]), 1, 1);
    assert_eq!(cache.known(&floats(&[4, 4])).map(|known| known.bytes), Some(16));
    let other = Desc { dtype: Dtype::I32, ..floats(&[4, 4]) };
    for desc in [floats(&[4]), floats(&[2, 8]), floats(&[4, 4, 1]), other] {
        assert!(cache.known(&desc).is_none(), "{desc}");
    }
    add(&mut cache, 128, other, 2, 2);
    assert_eq!(cache.find(64), None, "it described something else");
    assert_eq!(cache.find(128).map(|place| cache.value(place)), Some(Some(&2)));
    assert_eq!(cache.desc(), Some(&other));
}
