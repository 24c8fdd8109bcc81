use super::Access::{Read, Write};
use super::{Access, Token, Usage, end_all, hold, start_all};
use crate::core::stop::Stop;
use proptest::prelude::*;
use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn many_read_or_one_writes() {
    let usage = Usage::new();
    assert!(usage.try_read() && usage.try_read());
    assert!(!usage.try_write());
    usage.end_read();
    assert!(!usage.try_write());
    usage.end_read();
    assert!(usage.try_write());
    assert!(!usage.try_write() && !usage.try_read());
    usage.end_write();
    assert!(usage.try_read());
}

#[test]
fn one_refusal_gives_everything_back() {
    let [input, busy, output] = [(); 3].map(|()| Usage::new());
    assert!(busy.try_write());
    let slots = [(&input, Read), (&output, Write), (&busy, Read)];
    assert_eq!(start_all(&slots), Err(2));
    assert!(input.try_write() && output.try_write());
}

#[test]
fn one_tensor_may_be_read_twice() {
    let usage = Usage::new();
    let slots = [(&usage, Read), (&usage, Read)];
    let held = hold(&slots).unwrap();
    assert!(usage.try_read());
    usage.end_read();
    drop(held);
    assert!(usage.try_write());
}

#[test]
fn reading_and_writing_one_tensor_is_refused() {
    let usage = Usage::new();
    assert_eq!(start_all(&[(&usage, Read), (&usage, Write)]), Err(1));
    assert_eq!(start_all(&[(&usage, Write), (&usage, Read)]), Err(1));
    assert!(usage.try_write());
}

#[test]
fn empty_slots_are_skipped() {
    let usage = Usage::new();
    let slots = [None, Some((&usage, Write)), None];
    let held = hold(&slots).unwrap();
    assert!(!usage.try_read());
    drop(held);
    assert!(usage.try_read());
}

#[test]
fn a_panic_ends_what_is_held() {
    let usage = Usage::new();
    let result = catch_unwind(|| {
        let slots = [(&usage, Write)];
        let _held = hold(&slots).unwrap();
        panic!("on purpose");
    });
    assert!(result.is_err() && usage.try_write());
}

fn uses() -> impl Strategy<Value = Vec<(usize, Access)>> {
    let access = prop_oneof![3 => Just(Read), 1 => Just(Write)];
    prop::collection::vec((0..4_usize, access), 0..5)
}

/// The first use that conflicts with what is in use already, among `before` or earlier in `wanted`.
fn first_conflict(before: &[(usize, Access)], wanted: &[(usize, Access)]) -> Option<usize> {
    (0..wanted.len()).find(|&n| {
        let (tensor, access) = wanted[n];
        let mut earlier = before.iter().chain(&wanted[..n]);
        earlier.any(|&(other, how)| other == tensor && (how, access) != (Read, Read))
    })
}

proptest! {
    #[test]
    fn all_or_nothing(runs in prop::collection::vec(uses(), 0..6)) {
        let tensors = [(); 4].map(|()| Usage::new());
        let bind = |uses: &[(usize, Access)]| {
            let bound = uses.iter().map(|&(tensor, access)| (&tensors[tensor], access));
            bound.collect::<Vec<_>>()
        };
        let mut running = Vec::new();
        for run in runs {
            let conflict = first_conflict(&running, &run);
            prop_assert_eq!(start_all(&bind(&run)).err(), conflict);
            if conflict.is_none() {
                running.extend(run);
            }
        }
        end_all(&bind(&running));
        prop_assert!(tensors.iter().all(Usage::try_write));
    }
}

fn stop() -> Arc<Stop> {
    Arc::new(Stop::new(None))
}

#[test]
fn the_only_user_is_so_until_somebody_else_comes() {
    let (usage, mine, other) = (Usage::new(), stop(), stop());
    let token = usage.claim(&mine, Write);
    assert!(usage.is_sole(token) && usage.claim(&mine, Write) == token);
    assert_eq!(usage.claim(&other, Read), Token::NONE);
    assert!(!usage.is_sole(Token::NONE));
    // nobody runs, so it is free for whoever asks
    assert!(usage.try_start(Write));
    assert!(!usage.is_sole(token));
    assert!(!usage.try_start(Read));
    usage.end(Write);
    // and stays shared
    assert_eq!(usage.claim(&mine, Write), Token::NONE);
}

#[test]
fn a_run_in_progress_keeps_others_out_until_it_is_over() {
    for (used, wanted, is_admitted) in
        [(Read, Read, true), (Read, Write, false), (Write, Read, false), (Write, Write, false)]
    {
        let (usage, mine) = (Usage::new(), stop());
        let running = mine.begin();
        let token = usage.claim(&mine, used);
        assert!(usage.is_sole(token));
        assert_eq!(usage.try_start(wanted), is_admitted, "{used:?} {wanted:?}");
        if is_admitted {
            usage.end(wanted);
        }
        drop(running);
        // the next run of the same context says what it uses, as others do
        let next = mine.begin();
        assert!(!usage.is_sole(token));
        usage.give_up_sole(&mine);
        assert!(usage.try_start(wanted));
        usage.end(wanted);
        drop(next);
    }
}

#[test]
fn a_run_that_notices_is_not_in_its_own_way() {
    let (usage, mine) = (Usage::new(), stop());
    let first = mine.begin();
    let token = usage.claim(&mine, Write);
    drop(first);
    let running = mine.begin();
    // somebody wants it, and finds that it may be in use
    assert!(!usage.try_start(Write));
    assert!(!usage.is_sole(token));
    usage.give_up_sole(&mine);
    assert!(usage.try_start(Write));
    usage.end(Write);
    drop(running);
}

#[test]
fn a_context_that_is_gone_is_in_nobodys_way() {
    let usage = Usage::new();
    let mine = stop();
    let running = mine.begin();
    let token = usage.claim(&mine, Write);
    drop(running);
    drop(mine);
    assert!(usage.is_sole(token));
    assert!(usage.try_start(Write));
}

#[test]
fn what_is_given_back_is_anybodys() {
    let (usage, mine, other) = (Usage::new(), stop(), stop());
    let running = mine.begin();
    let token = usage.claim(&mine, Write);
    usage.give_back(&other);
    assert!(usage.is_sole(token), "only the user gives it back");
    usage.give_back(&mine);
    assert!(!usage.is_sole(token));
    // the run in progress has nothing to do with it any more
    assert!(usage.try_start(Write));
    usage.end(Write);
    drop(running);
}

#[test]
fn nobody_waits_for_a_run_that_gave_it_back_later() {
    for gives_back in [Usage::give_back, Usage::give_up_sole] {
        let (usage, mine) = (Usage::new(), stop());
        drop(mine.begin());
        usage.claim(&mine, Write);
        let running = mine.begin();
        assert!(!usage.try_start(Read));
        gives_back(&usage, &mine);
        assert!(usage.try_start(Read));
        drop(running);
    }
}

/// What two threads do at the same moment, round for round.
fn meet(mine: &AtomicU64, theirs: &AtomicU64, round: u64) {
    mine.store(round, Ordering::SeqCst);
    let mut turns = 0u32;
    while theirs.load(Ordering::SeqCst) < round {
        turns += 1;
        // on a machine with other work the other side may have no processor
        if turns < 1000 { std::hint::spin_loop() } else { std::thread::yield_now() }
    }
}

/// Says so for a moment, and whether somebody else does at the same time.
fn meets_another_user(users: &AtomicU64) -> bool {
    let before = users.fetch_add(1, Ordering::SeqCst);
    (0..50).for_each(|_| std::hint::spin_loop());
    before != 0 || users.fetch_sub(1, Ordering::SeqCst) != 1
}

/// The models show it for the usual barrier; this is about that of the machine, which no model has.
#[test]
fn one_that_becomes_shared_at_any_moment_has_one_user() {
    const ROUNDS: u64 = 50_000;
    let [owner_at, other_at] = std::array::from_fn(|_| AtomicU64::new(0));
    let rounds: Vec<(Usage, AtomicU64)> = (0..ROUNDS).map(|_| (Usage::new(), AtomicU64::new(0))).collect();
    let mine = stop();
    let clashes = |uses_it: bool, users: &AtomicU64| usize::from(uses_it && meets_another_user(users));
    let (by_owner, by_other) = std::thread::scope(|scope| {
        let owner = scope.spawn(|| {
            let run = |(round, (usage, users)): (usize, &(Usage, AtomicU64))| {
                drop(mine.begin());
                mine.calm();
                let token = usage.claim(&mine, Write);
                meet(&owner_at, &other_at, round as u64 + 1);
                // the other side has a longer way to go
                (0..round % 40).for_each(|turn| _ = std::hint::black_box(turn));
                let running = mine.begin();
                let is_alone = !mine.is_disturbed() || usage.is_sole(token);
                let found = clashes(is_alone, users);
                drop(running);
                found
            };
            rounds.iter().enumerate().map(run).sum::<usize>()
        });
        let take = |(round, (usage, users)): (usize, &(Usage, AtomicU64))| {
            meet(&other_at, &owner_at, round as u64 + 1);
            let is_admitted = usage.try_start(Write);
            let found = clashes(is_admitted, users);
            if is_admitted {
                usage.end(Write);
            }
            found
        };
        let by_other = rounds.iter().enumerate().map(take).sum::<usize>();
        (owner.join().unwrap(), by_other)
    });
    assert_eq!(by_owner + by_other, 0, "two used one tensor at once");
}
