//! Every order of steps that the memory model allows, for two threads at a time, or nearly every one for three.
//!
//! Loom's cells report any access that is not ordered after the last exclusive one, so each model also proves
//! that no value is made, used or taken while another thread is at it. A value that is dropped counts.

use super::layout::Layout;
use super::{Refused, Table};
use crate::base::Kind;
use loom::model;
use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::thread::{JoinHandle, spawn};
use std::sync::atomic::Ordering::Relaxed;

/// Chunks of 1, 2 and 4 slots.
struct Tiny;

impl Layout for Tiny {
    const INDEX_BITS: u32 = 3;
    const GENERATION_BITS: u32 = 4;
    const FIRST_CHUNK_BITS: u32 = 0;
}

/// Not loom's: counting is no synchronization, and must not add any to a model.
#[derive(Clone, Default)]
struct Drops(std::sync::Arc<std::sync::atomic::AtomicUsize>);

impl Drops {
    fn count(&self) -> usize {
        self.0.load(Relaxed)
    }
}

struct Shared {
    id: u32,
    drops: Drops,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.drops.0.fetch_add(1, Relaxed);
    }
}

#[derive(Clone)]
struct World {
    table: Arc<Table<Shared, u32, Tiny>>,
    drops: Drops,
}

impl World {
    fn new() -> Self {
        Self { table: Arc::new(Table::new(Kind::Context)), drops: Drops::default() }
    }

    fn insert(&self, id: u32) -> usize {
        let drops = self.drops.clone();
        self.table.insert(Shared { id, drops }, 0).unwrap()
    }

    fn thread<R: 'static>(&self, body: impl FnOnce(&World) -> R + 'static) -> JoinHandle<R> {
        let world = self.clone();
        spawn(move || body(&world))
    }

    /// Adds one to the state.
    fn run(&self, handle: usize) -> Result<(), Refused> {
        self.table.run(handle, |state| *state += 1)
    }

    fn short(&self, handle: usize) -> Result<(), Refused> {
        self.table.enter_short(handle).map(|mut state| *state += 1)
    }

    /// The id of the value.
    fn pin(&self, handle: usize) -> Result<u32, Refused> {
        self.table.pin(handle).map(|shared| shared.id)
    }

    fn destroy(&self, handle: usize) -> Result<(), Refused> {
        self.table.destroy(handle)
    }

    fn state(&self, handle: usize) -> u32 {
        *self.table.enter_run(handle).unwrap()
    }

    fn assert_gone(&self, handle: usize) {
        assert_eq!(self.drops.count(), 1);
        assert_eq!(self.pin(handle), Err(Refused::Invalid));
        assert_eq!(self.run(handle), Err(Refused::Invalid));
        assert_eq!(self.destroy(handle), Err(Refused::Invalid));
    }
}

const GONE_OR_DONE: [Result<(), Refused>; 2] = [Ok(()), Err(Refused::Invalid)];

/// Few preemptions find what there is to find, and all of them take minutes with three threads.
fn three_threads(body: impl Fn() + Sync + Send + 'static) {
    let mut model = model::Builder::new();
    model.preemption_bound = Some(5);
    model.check(body);
}

#[test]
fn loom_run_and_run() {
    model(|| {
        let world = World::new();
        let handle = world.insert(7);
        let other = world.thread(move |world| world.run(handle));
        let results = [world.run(handle), other.join().unwrap()];
        let done = results.iter().filter(|result| result.is_ok()).count();
        assert!(done >= 1);
        assert!(results.contains(&Err(Refused::Busy)) || done == 2);
        assert_eq!(world.state(handle) as usize, done);
    });
}

#[test]
fn loom_short_and_short() {
    model(|| {
        let world = World::new();
        let handle = world.insert(7);
        let other = world.thread(move |world| world.short(handle));
        assert_eq!(world.short(handle), Ok(()));
        assert_eq!(other.join().unwrap(), Ok(()));
        assert_eq!(world.state(handle), 2);
    });
}

#[test]
fn loom_short_and_run() {
    model(|| {
        let world = World::new();
        let handle = world.insert(7);
        let short = world.thread(move |world| world.short(handle));
        assert_eq!(world.run(handle), Ok(()), "a run waits for short uses");
        let short = short.join().unwrap();
        assert_ne!(short, Err(Refused::Invalid));
        assert_eq!(world.state(handle), 1 + u32::from(short.is_ok()));
    });
}

#[test]
fn loom_run_and_destroy() {
    model(|| {
        let world = World::new();
        let handle = world.insert(7);
        let run = world.thread(move |world| world.run(handle));
        assert_eq!(world.destroy(handle), Ok(()));
        assert!(GONE_OR_DONE.contains(&run.join().unwrap()));
        world.assert_gone(handle);
    });
}

#[test]
fn loom_waiting_run_and_destroy() {
    three_threads(|| {
        let world = World::new();
        let handle = world.insert(7);
        let short = world.thread(move |world| world.short(handle));
        let run = world.thread(move |world| world.run(handle));
        assert_eq!(world.destroy(handle), Ok(()));
        let short = short.join().unwrap();
        assert!(short == Err(Refused::Busy) || GONE_OR_DONE.contains(&short));
        assert!(GONE_OR_DONE.contains(&run.join().unwrap()));
        world.assert_gone(handle);
    });
}

#[test]
fn loom_pin_and_destroy() {
    model(|| {
        let world = World::new();
        let handle = world.insert(7);
        let pin = world.thread(move |world| world.pin(handle));
        assert_eq!(world.destroy(handle), Ok(()));
        assert!([Ok(7), Err(Refused::Invalid)].contains(&pin.join().unwrap()));
        world.assert_gone(handle);
    });
}

#[test]
fn loom_two_pins_and_destroy() {
    three_threads(|| {
        let world = World::new();
        let handle = world.insert(7);
        let pins = [(); 2].map(|()| world.thread(move |world| world.pin(handle)));
        assert_eq!(world.destroy(handle), Ok(()));
        for pin in pins {
            assert!([Ok(7), Err(Refused::Invalid)].contains(&pin.join().unwrap()));
        }
        world.assert_gone(handle);
    });
}

#[test]
fn loom_pin_and_run_and_destroy() {
    three_threads(|| {
        let world = World::new();
        let handle = world.insert(7);
        let run = world.thread(move |world| world.run(handle));
        let pin = world.thread(move |world| world.pin(handle));
        assert_eq!(world.destroy(handle), Ok(()));
        assert!(GONE_OR_DONE.contains(&run.join().unwrap()), "pins never refuse a run");
        assert!([Ok(7), Err(Refused::Invalid)].contains(&pin.join().unwrap()));
        world.assert_gone(handle);
    });
}

#[test]
fn loom_destroy_and_destroy() {
    three_threads(|| {
        let world = World::new();
        let handle = world.insert(7);
        let destroyers = [(); 2].map(|()| world.thread(move |world| world.destroy(handle)));
        let run = world.run(handle);
        assert!(GONE_OR_DONE.contains(&run));
        let results = destroyers.map(|thread| thread.join().unwrap());
        assert!(results.contains(&Ok(())) && results.contains(&Err(Refused::Invalid)));
        world.assert_gone(handle);
    });
}

/// What is inside when a handle dies can be told.
#[test]
fn loom_retire_reaches_those_inside() {
    model(|| {
        let world = World::new();
        let handle = world.insert(7);
        let run = world.thread(move |world| {
            let run = world.table.enter_run(handle)?;
            assert_eq!(world.drops.count(), 0);
            Ok::<_, Refused>(run.shared().id)
        });
        let retired = world.table.retire(handle).unwrap();
        assert_eq!((retired.id, world.drops.count()), (7, 0));
        drop(retired);
        assert!([Ok(7), Err(Refused::Invalid)].contains(&run.join().unwrap()));
        world.assert_gone(handle);
    });
}

/// A slot changes hands while someone with its old handle tries to get in.
#[test]
fn loom_reuse_and_stale_entries() {
    three_threads(|| {
        let world = World::new();
        let stale = world.insert(7);
        let pin = world.thread(move |world| world.pin(stale));
        let run = world.thread(move |world| world.run(stale));
        assert_eq!(world.destroy(stale), Ok(()));
        let fresh = world.insert(8);
        assert_ne!(stale, fresh);
        assert!([Ok(7), Err(Refused::Invalid)].contains(&pin.join().unwrap()));
        assert!(GONE_OR_DONE.contains(&run.join().unwrap()));
        assert_eq!((world.pin(fresh), world.state(fresh)), (Ok(8), 0));
        world.assert_gone(stale);
    });
}

/// A second destroy with the old handle never hits the slot's next value.
#[test]
fn loom_reuse_and_stale_destroy() {
    model(|| {
        let world = World::new();
        let stale = world.insert(7);
        let replace = move |world: &World| world.destroy(stale).map(|()| world.insert(8));
        let other = world.thread(replace);
        let results = [replace(&world), other.join().unwrap()];
        let fresh = results.into_iter().find_map(Result::ok).unwrap();
        assert!(results.contains(&Err(Refused::Invalid)));
        assert_eq!(world.pin(fresh), Ok(8));
        world.assert_gone(stale);
    });
}

/// Two threads make room and take slots at the same time.
#[test]
fn loom_insert_and_insert() {
    model(|| {
        let world = World::new();
        let other = world.thread(|world| world.insert(1));
        let handles = [world.insert(2), other.join().unwrap()];
        assert_ne!(handles[0], handles[1]);
        assert_eq!(handles.map(|handle| world.pin(handle)), [Ok(2), Ok(1)]);
    });
}

/// The free list survives a thread that frees beside one that takes.
#[test]
fn loom_insert_and_destroy() {
    model(|| {
        let world = World::new();
        let old = world.insert(1);
        let other = world.thread(move |world| world.destroy(old));
        let first = world.insert(2);
        assert_eq!(other.join().unwrap(), Ok(()));
        let second = world.insert(3);
        assert_ne!(first, second);
        let pins = [old, first, second].map(|handle| world.pin(handle));
        assert_eq!(pins, [Err(Refused::Invalid), Ok(2), Ok(3)]);
    });
}

/// A host that passes a new handle to another thread without any synchronization is still safe.
#[test]
fn loom_insert_publishes_the_value() {
    model(|| {
        let world = World::new();
        let mailbox = Arc::new(AtomicUsize::new(0));
        let letters = mailbox.clone();
        let reader = world.thread(move |world| {
            let handle = letters.load(Relaxed);
            (world.pin(handle), world.run(handle))
        });
        mailbox.store(world.insert(7), Relaxed);
        let (pin, run) = reader.join().unwrap();
        assert!([Ok(7), Err(Refused::Invalid)].contains(&pin));
        assert!(GONE_OR_DONE.contains(&run));
    });
}

/// A forger who guesses the next handle gets the whole value or nothing.
#[test]
fn loom_insert_and_a_lucky_guess() {
    model(|| {
        let guess = World::new().insert(7);
        let world = World::new();
        let forger = world.thread(move |world| (world.pin(guess), world.run(guess)));
        assert_eq!(world.insert(7), guess);
        let (pin, run) = forger.join().unwrap();
        assert!([Ok(7), Err(Refused::Invalid)].contains(&pin));
        assert!(GONE_OR_DONE.contains(&run));
        assert_eq!(world.state(guess), u32::from(run.is_ok()));
    });
}
