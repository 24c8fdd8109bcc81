//! The one thread that looks at the clock for runs with a deadline. Started by the first of them.
//!
//! It also repeats a request that was made from elsewhere: an engine may forget one that comes right before it starts.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::stop::{Asked, Cause, Stop};
use crate::base::{Result, fail};
use crate::sync::{self, Condvar, Mutex, MutexGuard};

/// How long an engine has to end a run before it is told again.
const PATIENCE: Duration = Duration::from_millis(1);

/// When, and a number that tells requests of the same moment apart.
type Key = (Instant, u64);

struct Request {
    stop: Arc<Stop>,
    run: u64,
    cause: Cause,
}

#[derive(Default)]
struct Requests {
    list: BTreeMap<Key, Request>,
    /// The one that is being made.
    in_hand: Option<Request>,
    next: u64,
    has_thread: bool,
}

struct Watchdog {
    requests: Mutex<Requests>,
    changed: Condvar,
}

/// A request that is taken back when this is dropped.
#[must_use]
pub struct Armed(Key);

impl Drop for Armed {
    fn drop(&mut self) {
        watchdog().lock().list.remove(&self.0);
    }
}

/// Has a run asked to stop at `at`, unless it ends before.
pub fn arm(stop: &Arc<Stop>, run: u64, at: Instant) -> Result<Armed> {
    add(Request { stop: stop.clone(), run, cause: Cause::Deadline }, at).map(Armed)
}

/// Asks the run in progress to stop, if there is one: now, and again until it ends.
pub fn cancel(stop: &Arc<Stop>) -> Result<()> {
    if !stop.can_stop() {
        return fail!(Unsupported, "the engine cannot stop a run of this model: it runs to its end");
    }
    match stop.current() {
        Some(run) if stop.ask(run, Cause::Cancel) != Asked::NoRun => {
            repeat(Request { stop: stop.clone(), run, cause: Cause::Cancel })
        }
        _ => Ok(()),
    }
}

fn watchdog() -> &'static Watchdog {
    static WATCHDOG: OnceLock<Watchdog> = OnceLock::new();
    let make = || Watchdog { requests: Mutex::new(Requests::default()), changed: Condvar::new() };
    WATCHDOG.get_or_init(make)
}

fn add(request: Request, at: Instant) -> Result<Key> {
    let mut requests = watchdog().lock();
    if !requests.has_thread {
        start()?;
        requests.has_thread = true;
    }
    Ok(requests.put(request, at))
}

/// Has a request repeated, unless it is already: who asks over and over again is not to fill the list.
fn repeat(request: Request) -> Result<()> {
    let at = Instant::now() + PATIENCE;
    if watchdog().lock().has(&request) {
        return Ok(());
    }
    add(request, at).map(drop)
}

impl Requests {
    fn has(&self, request: &Request) -> bool {
        let is_same = |other: &Request| {
            other.run == request.run && other.cause == request.cause && Arc::ptr_eq(&other.stop, &request.stop)
        };
        self.list.values().chain(&self.in_hand).any(is_same)
    }

    fn put(&mut self, request: Request, at: Instant) -> Key {
        let key = (at, self.next);
        self.next += 1;
        self.list.insert(key, request);
        // only an earlier end of its sleep is news to the thread
        if self.list.first_key_value().is_some_and(|(first, _)| *first == key) {
            watchdog().changed.notify_one();
        }
        key
    }
}

fn start() -> Result<()> {
    let thread = std::thread::Builder::new().name("zerobind watchdog".to_owned());
    match thread.spawn(|| watchdog().watch()) {
        Ok(_) => Ok(()),
        Err(error) => fail!(OutOfMemory, "the thread that watches deadlines cannot be started: {error}"),
    }
}

impl Watchdog {
    fn lock(&self) -> MutexGuard<'_, Requests> {
        sync::lock(&self.requests)
    }

    /// Makes the request that is due, and keeps it under the same number until its run has ended. Without the lock: a run
    /// that ends needs it, and would never end where there are always more requests for it.
    fn serve<'a>(&'a self, mut requests: MutexGuard<'a, Requests>, now: Instant) -> MutexGuard<'a, Requests> {
        let Some(((_, number), request)) = requests.list.pop_first() else { return requests };
        let (stop, run, cause) = (request.stop.clone(), request.run, request.cause);
        requests.in_hand = Some(request);
        drop(requests);
        let is_to_be_repeated = stop.ask(run, cause) != Asked::NoRun && stop.can_stop();
        let mut requests = self.lock();
        if let Some(request) = requests.in_hand.take()
            && is_to_be_repeated
        {
            requests.list.insert((now + PATIENCE, number), request);
        }
        requests
    }

    fn watch(&self) -> ! {
        let mut requests = self.lock();
        loop {
            let now = Instant::now();
            requests = match requests.list.first_key_value().map(|(key, _)| key.0) {
                None => sync::wait(&self.changed, requests),
                Some(at) if at > now => sync::wait_timeout(&self.changed, requests, at - now),
                Some(_) => self.serve(requests, now),
            };
        }
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::runtime::Canceller;

    /// How often an engine was told.
    #[derive(Default)]
    struct Told(AtomicU32);

    impl Canceller for Told {
        fn cancel(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }

        fn clear(&self) {}
    }

    #[test]
    fn one_run_is_in_the_list_once() {
        let stop = Arc::new(Stop::new(Some(Arc::new(Told::default()))));
        let running = stop.begin();
        let is_it = |request: &&Request| Arc::ptr_eq(&request.stop, &stop);
        for _ in 0..1000 {
            cancel(&stop).unwrap();
            let requests = watchdog().lock();
            assert_eq!(requests.list.values().chain(&requests.in_hand).filter(is_it).count(), 1);
        }
        drop(running);
    }

    #[test]
    fn an_engine_is_told_again_until_the_run_has_ended() {
        let engine = Arc::new(Told::default());
        let stop = Arc::new(Stop::new(Some(engine.clone())));
        let told = || engine.0.load(Ordering::SeqCst);
        let running = stop.begin();
        cancel(&stop).unwrap();
        let patience = Instant::now() + Duration::from_secs(60);
        while told() < 3 && Instant::now() < patience {
            std::thread::sleep(PATIENCE);
        }
        assert!(told() >= 3, "told {} times", told());
        drop(running);
        let last = told();
        std::thread::sleep(20 * PATIENCE);
        assert_eq!(told(), last);
    }
}
