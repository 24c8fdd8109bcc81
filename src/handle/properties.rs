//! Any integer may be passed as a handle, in any order with any call.

use super::layout::{Label, Layout, Narrow, Place, Wide};
use super::{Refused, Table};
use crate::base::Kind;
use proptest::prelude::*;
use std::collections::HashMap;

const KINDS: [Kind; 5] = [Kind::Model, Kind::Context, Kind::Tensor, Kind::Queue, Kind::Event];

fn kind() -> impl Strategy<Value = Kind> {
    (0..KINDS.len()).prop_map(|n| KINDS[n])
}

fn place<L: Layout>() -> impl Strategy<Value = Place> {
    (0..=L::INDEX_MASK as u32, 0..=L::GENERATION_MASK).prop_map(|(index, generation)| Place { index, generation })
}

/// Every field comes back, nothing reaches beyond the layout's bits, and no other kind takes it for its own.
fn check_round_trip<L: Layout>(kind: Kind, place: Place) {
    let raw = L::pack(Label::new(kind), place);
    assert_eq!(raw & 1, 1);
    assert!(L::BITS == u64::BITS || raw >> L::BITS == 0);
    for other in KINDS {
        let seen = L::unpack(Label::new(other), raw);
        assert_eq!(seen, (other == kind).then_some(place));
    }
}

/// What is taken for a handle is exactly what would be made for it.
fn check_any_integer<L: Layout>(kind: Kind, raw: u64) {
    let label = Label::new(kind);
    if let Some(place) = L::unpack(label, raw) {
        assert_eq!(L::pack(label, place), raw);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert,
    Destroy(usize),
    Write(usize),
    Hold(usize),
    Release,
    Forge(usize, Forgery),
}

#[derive(Clone, Debug)]
enum Forgery {
    Any(usize),
    /// One wrong bit: a foreign kind, another slot, another generation, no tag.
    Flip(u32),
    NextGeneration,
    LastGeneration,
}

fn step() -> impl Strategy<Value = Step> {
    let n = any::<usize>;
    let forgery = prop_oneof![
        n().prop_map(Forgery::Any),
        (0..usize::BITS).prop_map(Forgery::Flip),
        Just(Forgery::NextGeneration),
        Just(Forgery::LastGeneration),
    ];
    prop_oneof![
        4 => Just(Step::Insert),
        3 => n().prop_map(Step::Destroy),
        3 => n().prop_map(Step::Write),
        1 => n().prop_map(Step::Hold),
        1 => Just(Step::Release),
        4 => (n(), forgery).prop_map(|(of, how)| Step::Forge(of, how)),
    ]
}

fn forge<L: Layout>(handle: usize, how: &Forgery) -> usize {
    let generation = 1_usize << (L::BITS - L::GENERATION_BITS);
    match *how {
        Forgery::Any(value) => value,
        Forgery::Flip(bit) => handle ^ 1 << bit,
        Forgery::NextGeneration => handle.wrapping_add(generation),
        Forgery::LastGeneration => handle.wrapping_sub(generation),
    }
}

/// One of the handles seen so far, living or dead; before there are any, the choice itself.
fn choose(seen: &[usize], choice: usize) -> usize {
    seen.get(choice % seen.len().max(1)).copied().unwrap_or(choice)
}

/// What the table must answer to any entry: the value of a living handle, else `Invalid`.
fn check_entry<L: Layout>(table: &Table<u32, u32, L>, known: &HashMap<usize, u32>, handle: usize, held: Option<usize>) {
    let wanted = known.get(&handle).copied().ok_or(Refused::Invalid);
    assert_eq!(table.pin(handle).map(|pin| *pin), wanted);
    let wanted = wanted.and_then(|value| if held == Some(handle) { Err(Refused::Busy) } else { Ok(value) });
    assert_eq!(table.enter_short(handle).map(|entered| *entered), wanted);
    assert_eq!(table.enter_run(handle).map(|entered| *entered), wanted);
}

/// Plays the steps on a table and on a map, which must agree.
fn check_against_map<L: Layout>(steps: Vec<Step>) {
    let table = Table::<u32, u32, L>::new(Kind::Tensor);
    let mut known = HashMap::new();
    let mut seen = Vec::new();
    let mut held = None;
    for (n, step) in (0..).zip(steps) {
        match step {
            Step::Insert => {
                let handle = table.insert(n, n).unwrap();
                assert_eq!(known.insert(handle, n), None);
                seen.push(handle);
            }
            Step::Destroy(choice) => {
                let handle = choose(&seen, choice);
                let wanted = known.remove(&handle).map(drop).ok_or(Refused::Invalid);
                assert_eq!(table.destroy(handle), wanted);
            }
            Step::Hold(choice) if held.is_none() => {
                let handle = choose(&seen, choice);
                held = table.enter_run(handle).ok().map(|run| (handle, run));
            }
            Step::Hold(_) | Step::Release => held = None,
            Step::Write(choice) => {
                let handle = choose(&seen, choice);
                let held = held.as_ref().map(|(handle, _)| *handle);
                check_entry(&table, &known, handle, held);
            }
            Step::Forge(choice, how) => {
                let handle = forge::<L>(choose(&seen, choice), &how);
                let held = held.as_ref().map(|(handle, _)| *handle);
                check_entry(&table, &known, handle, held);
                if !known.contains_key(&handle) {
                    assert_eq!(table.destroy(handle), Err(Refused::Invalid));
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn wide_round_trip(kind in kind(), place in place::<Wide>()) {
        check_round_trip::<Wide>(kind, place);
    }

    #[test]
    fn narrow_round_trip(kind in kind(), place in place::<Narrow>()) {
        check_round_trip::<Narrow>(kind, place);
    }

    #[test]
    fn only_packed_integers_unpack(kind in kind(), raw: u64) {
        check_any_integer::<Wide>(kind, raw);
        check_any_integer::<Narrow>(kind, raw);
        check_any_integer::<Narrow>(kind, u64::from(raw as u32));
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn a_wide_table_is_a_map(steps in prop::collection::vec(step(), 0..300)) {
        check_against_map::<Wide>(steps);
    }

    #[test]
    fn a_narrow_table_is_a_map(steps in prop::collection::vec(step(), 0..300)) {
        check_against_map::<Narrow>(steps);
    }
}
