//! One thread, one step at a time.

use super::layout::{Layout, Narrow, Wide};
use super::{Refused, Table};
use crate::base::Kind;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Three chunks of 1, 2 and 4 slots, and generations that soon wrap.
struct Tiny;

impl Layout for Tiny {
    const INDEX_BITS: u32 = 3;
    const GENERATION_BITS: u32 = 4;
    const FIRST_CHUNK_BITS: u32 = 0;
}

const TINY_SLOTS: usize = 7;

type Counter = Arc<AtomicUsize>;

/// Counts how often it is dropped.
struct Dropped(Counter);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn counted<S>(table: &Table<S, Dropped>, shared: S) -> (usize, Counter) {
    let counter = Counter::default();
    let handle = table.insert(shared, Dropped(counter.clone())).unwrap();
    (handle, counter)
}

fn count(counter: &Counter) -> usize {
    counter.load(Ordering::Relaxed)
}

fn table<S, X>() -> Table<S, X> {
    Table::new(Kind::Context)
}

#[test]
fn works_in_a_static() {
    static TABLE: Table<Arc<String>> = Table::new(Kind::Tensor);
    let handle = TABLE.insert(Arc::new("hello".into()), ()).unwrap();
    assert_eq!(TABLE.pin(handle).unwrap().as_str(), "hello");
    assert_eq!(TABLE.destroy(handle), Ok(()));
}

#[test]
fn entered_state_is_kept() {
    let table = table();
    let handle = table.insert("shared", 1).unwrap();
    *table.enter_run(handle).unwrap() += 1;
    *table.enter_short(handle).unwrap() += 1;
    let entered = table.enter_run(handle).unwrap();
    assert_eq!((*entered, *entered.shared()), (3, "shared"));
}

#[test]
fn a_run_excludes_others_and_itself() {
    let table = table();
    let handle = table.insert((), ()).unwrap();
    let run = table.enter_run(handle).unwrap();
    assert_eq!(table.enter_run(handle).err(), Some(Refused::Busy));
    assert_eq!(table.enter_short(handle).err(), Some(Refused::Busy));
    drop(run);
    assert!(table.enter_short(handle).is_ok());
}

#[test]
fn pins_and_entries_do_not_exclude_each_other() {
    let table = table();
    let handle = table.insert((), ()).unwrap();
    let pins = (table.pin(handle).unwrap(), table.pin(handle).unwrap());
    let run = table.enter_run(handle).unwrap();
    let late = table.pin(handle).unwrap();
    drop((pins, run, late));
    assert!(table.enter_run(handle).is_ok());
}

#[test]
fn destroy_ends_the_handle_at_once() {
    let table = table();
    let (handle, drops) = counted(&table, ());
    assert_eq!(table.destroy(handle), Ok(()));
    assert_eq!(count(&drops), 1);
    assert_eq!(table.destroy(handle), Err(Refused::Invalid));
    assert_eq!(table.pin(handle).err(), Some(Refused::Invalid));
    assert_eq!(table.enter_run(handle).err(), Some(Refused::Invalid));
    assert_eq!(table.enter_short(handle).err(), Some(Refused::Invalid));
}

#[test]
fn the_last_one_inside_takes_the_value_along() {
    let table = table();
    let (handle, drops) = counted(&table, ());
    let pin = table.pin(handle).unwrap();
    let run = table.enter_run(handle).unwrap();
    assert_eq!(table.destroy(handle), Ok(()));
    assert_eq!(table.destroy(handle), Err(Refused::Invalid));
    assert_eq!(table.pin(handle).err(), Some(Refused::Invalid));
    drop(run);
    assert_eq!(count(&drops), 0);
    drop(pin);
    assert_eq!(count(&drops), 1);
}

#[test]
fn retire_leaves_time_to_tell_those_inside() {
    let table = table();
    let (handle, drops) = counted(&table, Cell::new(false));
    let run = table.enter_run(handle).unwrap();
    table.retire(handle).unwrap().set(true);
    assert!(run.shared().get());
    assert_eq!(table.retire(handle).err(), Some(Refused::Invalid));
    drop(run);
    assert_eq!(count(&drops), 1);
}

/// Destroys and inserts in the table it is dropped from, as a host's release callback may.
struct Busybody(&'static Table<(), Busybody>, usize);

impl Drop for Busybody {
    fn drop(&mut self) {
        assert_eq!(self.0.destroy(self.1), Err(Refused::Invalid));
        let other = self.0.insert((), Busybody(self.0, 0)).unwrap();
        if self.1 != 0 {
            assert_eq!(self.0.destroy(other), Ok(()));
        }
    }
}

#[test]
fn a_value_may_use_its_table_while_it_is_dropped() {
    static TABLE: Table<(), Busybody> = Table::new(Kind::Queue);
    let handle = TABLE.insert((), Busybody(&TABLE, 0)).unwrap();
    TABLE.enter_run(handle).unwrap().1 = handle;
    let run = TABLE.enter_run(handle).unwrap();
    assert_eq!(TABLE.destroy(handle), Ok(()));
    drop(run);
}

fn panics(body: impl FnOnce()) {
    assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
}

#[test]
fn a_panic_inside_poisons() {
    let table = table();
    let (handle, drops) = counted(&table, ());
    panics(|| {
        let _run = table.enter_run(handle);
        panic!("on purpose");
    });
    assert_eq!(table.enter_run(handle).err(), Some(Refused::Poisoned));
    assert_eq!(table.enter_short(handle).err(), Some(Refused::Poisoned));
    assert_eq!(table.pin(handle).err(), Some(Refused::Poisoned));
    assert_eq!(table.destroy(handle), Ok(()));
    assert_eq!(table.pin(handle).err(), Some(Refused::Invalid));
    assert_eq!(count(&drops), 1);
}

#[test]
fn a_panic_in_a_run_poisons() {
    let table = table();
    let (handle, drops) = counted(&table, ());
    panics(|| table.run(handle, |_| panic!("on purpose")).unwrap());
    assert_eq!(table.run(handle, |_| ()), Err(Refused::Poisoned));
    assert_eq!(table.enter_short(handle).err(), Some(Refused::Poisoned));
    assert_eq!((table.destroy(handle), count(&drops)), (Ok(()), 1));
}

#[test]
fn a_run_has_the_state_and_keeps_the_value() {
    let table = table();
    let (handle, drops) = counted(&table, ());
    let inside = table.run(handle, |_| {
        assert_eq!(table.destroy(handle), Ok(()));
        assert_eq!(count(&drops), 0);
        table.run(handle, |_| ())
    });
    assert_eq!((inside, count(&drops)), (Ok(Err(Refused::Invalid)), 1));
    let table = Table::<(), i32>::new(Kind::Context);
    let handle = table.insert((), 1).unwrap();
    let state = table.run(handle, |state| {
        assert_eq!(table.run(handle, |_| ()), Err(Refused::Busy));
        *state += 1;
        *state
    });
    assert_eq!((state, *table.enter_run(handle).unwrap()), (Ok(2), 2));
}

#[test]
fn a_panic_while_pinned_poisons() {
    let table = table();
    let handle = table.insert((), ()).unwrap();
    panics(|| {
        let _pin = table.pin(handle);
        panic!("on purpose");
    });
    assert_eq!(table.pin(handle).err(), Some(Refused::Poisoned));
}

#[test]
fn a_panic_after_destroy_does_not_poison_the_next_value() {
    let table = table();
    let handle = table.insert((), ()).unwrap();
    panics(|| {
        let _run = table.enter_run(handle);
        table.destroy(handle).unwrap();
        panic!("on purpose");
    });
    let next = table.insert((), ()).unwrap();
    assert!(table.enter_run(next).is_ok());
}

/// Uses the table while its thread unwinds for a reason that has nothing to do with it.
struct OnTheWayDown<'a>(&'a Table<(), ()>, usize);

impl Drop for OnTheWayDown<'_> {
    fn drop(&mut self) {
        assert!(self.0.enter_run(self.1).is_ok());
        assert!(self.0.run(self.1, |()| ()).is_ok());
    }
}

#[test]
fn use_that_begins_during_a_panic_does_not_poison() {
    let table = table();
    let handle = table.insert((), ()).unwrap();
    panics(|| {
        let _later = OnTheWayDown(&table, handle);
        panic!("on purpose");
    });
    assert!(table.enter_run(handle).is_ok());
}

#[test]
fn a_full_table_refuses() {
    let table = Table::<_, _, Tiny>::new(Kind::Event);
    let handles: Vec<_> = (0..TINY_SLOTS).map(|n| table.insert(n, ()).unwrap()).collect();
    assert_eq!(table.insert(99, ()), Err(super::Full));
    assert_eq!(table.destroy(handles[3]), Ok(()));
    let again = table.insert(99, ()).unwrap();
    assert_eq!(*table.pin(again).unwrap(), 99);
    assert_eq!(table.pin(handles[3]).err(), Some(Refused::Invalid));
}

#[test]
fn slots_are_reused_oldest_first() {
    let table = Table::<(), (), Tiny>::new(Kind::Event);
    let slot = |handle: usize| handle >> 4 & 7;
    let handles: Vec<_> = (0..TINY_SLOTS).map(|_| table.insert((), ()).unwrap()).collect();
    let order = [4, 1, 6, 0, 2, 5, 3];
    for n in order {
        table.destroy(handles[n]).unwrap();
    }
    let reused = order.map(|_| slot(table.insert((), ()).unwrap()));
    assert_eq!(reused, order.map(|n| slot(handles[n])));
}

#[test]
fn generations_wrap() {
    let table = Table::<(), (), Tiny>::new(Kind::Event);
    let first = table.insert((), ()).unwrap();
    let mut handle = first;
    for _ in 0..15 {
        table.destroy(handle).unwrap();
        handle = table.insert((), ()).unwrap();
        assert_ne!(handle, first);
        assert_eq!(table.pin(first).err(), Some(Refused::Invalid));
    }
    table.destroy(handle).unwrap();
    assert_eq!(table.insert((), ()).unwrap(), first);
}

/// The promise for 32-bit machines, kept in the worst case: one slot is reused all the time.
#[test]
fn narrow_handles_stay_stale_for_a_thousand_reuses() {
    let table = Table::<(), (), Narrow>::new(Kind::Event);
    let stale = table.insert((), ()).unwrap();
    table.destroy(stale).unwrap();
    for _ in 0..16_000 {
        let handle = table.insert((), ()).unwrap();
        assert_eq!(table.pin(stale).err(), Some(Refused::Invalid));
        assert_eq!(table.destroy(stale), Err(Refused::Invalid));
        table.destroy(handle).unwrap();
    }
}

#[test]
fn a_narrow_table_can_be_filled() {
    let table = Table::<u32, (), Narrow>::new(Kind::Event);
    let handles: Vec<_> = (0..).map_while(|n| table.insert(n, ()).ok()).collect();
    assert_eq!(handles.len(), (1 << 14) - (1 << 6));
    assert!(handles.iter().all(|&handle| u32::try_from(handle).is_ok()));
    for (n, handle) in (0..).zip(handles) {
        assert_eq!(*table.pin(handle).unwrap(), n);
    }
}

#[test]
fn a_dropped_table_drops_its_values() {
    let table = table();
    let (_, kept) = counted(&table, ());
    let (handle, gone) = counted(&table, ());
    table.destroy(handle).unwrap();
    drop(table);
    assert_eq!((count(&kept), count(&gone)), (1, 1));
}

#[test]
fn layouts_fill_their_integers() {
    assert_eq!((Wide::BITS, Narrow::BITS), (64, 32));
}
