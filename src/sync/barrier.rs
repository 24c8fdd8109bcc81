//! A barrier with two unequal sides: the one of each run costs nothing, the other one, which is seldom, a system call.
//!
//! Two threads that each store and then look at what the other one stored need a full barrier on both sides, or both may
//! miss the other. On x86-64 that is the dearest part of a call over a model of a few numbers. Linux can have every thread of the
//! process pass a barrier at the request of one of them (`membarrier`, since 4.14); then the others only have to keep their
//! instructions in order.

use std::sync::atomic::{Ordering, compiler_fence};

use super::AtomicU64;

/// The side of runs, the same for all of a process.
#[derive(Clone, Copy, Debug)]
pub struct Barrier {
    is_light: bool,
}

impl Barrier {
    pub fn new() -> Barrier {
        Barrier { is_light: heavy::is_there() }
    }

    /// Stores a value. Of the SeqCst loads that come later in this thread none is done before, as seen by a thread that has
    /// passed `await_announced` since it stored what they load.
    #[inline]
    pub fn announce(self, place: &AtomicU64, value: u64) {
        if self.is_light {
            heavy::may_come_here();
            place.store(value, Ordering::Release);
            compiler_fence(Ordering::SeqCst);
            heavy::may_come_here();
        } else {
            std::hint::cold_path();
            super::announce(place, value);
        }
    }

    /// The other side, between a SeqCst store and the loads of what was announced.
    pub fn await_announced(self) {
        if self.is_light {
            heavy::pass();
        }
    }
}

#[cfg(all(test, feature = "loom"))]
pub use heavy::{is_there, may_come_to_who_waits, serve_until, use_it};

// The thread sanitizer knows of no such barrier, and other processors have cheaper ones of the usual kind.
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(zerobind_tsan), not(all(test, feature = "loom"))))]
mod heavy {
    use std::sync::OnceLock;
    use std::time::Duration;

    pub fn is_there() -> bool {
        static IS_THERE: OnceLock<bool> = OnceLock::new();
        *IS_THERE.get_or_init(register)
    }

    /// The system has a thread pass wherever it is.
    #[inline]
    pub fn may_come_here() {}

    /// Whether the system has it for this process.
    pub fn register() -> bool {
        call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
    }

    /// Every thread of the process has passed a barrier when this returns.
    pub fn pass() {
        if !call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED) {
            // A process may have given up the right to the call since. A store leaves its processor within microseconds.
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn call(command: libc::c_int) -> bool {
        // SAFETY: the call takes numbers and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }
}

#[cfg(not(any(all(target_os = "linux", target_arch = "x86_64", not(zerobind_tsan)), all(test, feature = "loom"))))]
mod heavy {
    pub fn is_there() -> bool {
        false
    }

    #[inline]
    pub fn may_come_here() {}

    pub fn pass() {}
}

/// For models with one thread that announces: it passes a barrier at one of the points where that makes a difference.
#[cfg(all(test, feature = "loom"))]
mod heavy {
    use std::cell::Cell;

    use loom::sync::atomic::{AtomicUsize, Ordering, fence};

    loom::lazy_static! {
        static ref WANTED: AtomicUsize = AtomicUsize::new(0);
        static ref PASSED: AtomicUsize = AtomicUsize::new(0);
    }
    loom::thread_local! {
        static ANNOUNCES: Cell<bool> = Cell::new(false);
    }
    // all threads of a model are on the thread of their test
    std::thread_local! {
        static IS_THERE: Cell<bool> = const { Cell::new(false) };
        static WORKS: Cell<bool> = const { Cell::new(false) };
    }

    /// For the rest of this test. One that does not work is a mistake on purpose.
    pub fn use_it(works: bool) {
        IS_THERE.set(true);
        WORKS.set(works);
    }

    pub fn is_there() -> bool {
        IS_THERE.get()
    }

    pub fn may_come_here() {
        ANNOUNCES.with(|announces| announces.set(true));
        let wanted = WANTED.load(Ordering::Relaxed);
        if wanted != PASSED.load(Ordering::Relaxed) {
            fence(Ordering::SeqCst);
            PASSED.store(wanted, Ordering::Release);
        }
    }

    /// Where a thread waits for another one.
    pub fn may_come_to_who_waits() {
        if ANNOUNCES.with(Cell::get) {
            may_come_here();
        }
    }

    /// What a thread that announces does after the last time.
    pub fn serve_until(is_over: impl Fn() -> bool) {
        while is_there() && !is_over() {
            may_come_here();
            loom::thread::yield_now();
        }
    }

    pub fn pass() {
        if !WORKS.get() {
            return;
        }
        let number = WANTED.fetch_add(1, Ordering::SeqCst) + 1;
        while PASSED.load(Ordering::Acquire) < number {
            loom::thread::yield_now();
        }
        fence(Ordering::SeqCst);
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;
    use std::hint::spin_loop;
    use std::thread;
    use std::time::{Duration, Instant};

    /// Two words far apart, and when each side may begin a round.
    #[repr(align(128))]
    #[derive(Default)]
    struct Line(AtomicU64);

    /// Both sides store, then look. How often both missed the other.
    fn missed_by_both(rounds: u64, announce: impl Fn(&AtomicU64, u64) + Sync, wait: impl Fn()) -> usize {
        let [run, other, run_at, other_at] = std::array::from_fn(|_| Line::default());
        let meet = |mine: &Line, theirs: &Line, round: u64| {
            mine.0.store(round, Ordering::SeqCst);
            let mut turns = 0u32;
            while theirs.0.load(Ordering::Relaxed) < round {
                turns += 1;
                // on a machine with other work the other side may have no processor
                if turns < 1000 { spin_loop() } else { thread::yield_now() }
            }
        };
        let (by_run, by_other) = thread::scope(|scope| {
            let runs = scope.spawn(|| {
                let begin = |round| {
                    meet(&run_at, &other_at, round);
                    announce(&run.0, round);
                    other.0.load(Ordering::SeqCst)
                };
                (1..=rounds).map(begin).collect::<Vec<_>>()
            });
            let look = |round| {
                meet(&other_at, &run_at, round);
                other.0.store(round, Ordering::SeqCst);
                wait();
                run.0.load(Ordering::SeqCst)
            };
            let by_other = (1..=rounds).map(look).collect::<Vec<_>>();
            (runs.join().unwrap(), by_other)
        });
        let pairs = by_run.iter().zip(&by_other);
        (1..=rounds).zip(pairs).filter(|(round, (a, b))| *a < round && *b < round).count()
    }

    #[test]
    fn one_side_always_sees_the_other() {
        for barrier in [Barrier { is_light: false }, Barrier::new()] {
            let missed =
                missed_by_both(10_000, |place, value| barrier.announce(place, value), || barrier.await_announced());
            assert_eq!(missed, 0, "{barrier:?}");
        }
    }

    /// Else the test above would prove nothing: without the system call both sides do miss each other.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn it_is_needed() {
        let light = Barrier { is_light: true };
        if thread::available_parallelism().is_ok_and(|cores| cores.get() == 1) {
            return;
        }
        let end = Instant::now() + Duration::from_secs(60);
        while missed_by_both(10_000, |place, value| light.announce(place, value), || ()) == 0 {
            assert!(Instant::now() < end, "neither ever missed the other: this test does not see what it is to see");
        }
    }

    /// As on a system that has the call; on one that has not, the usual barrier is taken.
    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn it_is_light_where_it_can_be() {
        assert_eq!(Barrier::new().is_light, heavy::register());
    }
}
