//! Every order of steps that the memory model allows. The cell stands for the tensor's bytes: loom reports any
//! access that is not ordered after the last write, and any write that is not ordered after the last access.

use super::Access::{Read, Write};
use super::{Token, Usage, hold};
use crate::core::stop::Stop;
use crate::sync::weakened::weaken;
use crate::sync::{AtomicU32, Ordering, UnsafeCell, serve_until, use_asymmetric_barrier};
use loom::sync::Arc;
use loom::thread::spawn;

struct Tensor {
    usage: Usage,
    bytes: UnsafeCell<u32>,
}

// SAFETY: the bytes are used only while the usage says so, which is what the models are about.
unsafe impl Sync for Tensor {}

fn tensor() -> Arc<Tensor> {
    Arc::new(Tensor { usage: Usage::new(), bytes: UnsafeCell::new(0) })
}

/// One that is shared already: what it takes to become that has models of its own.
fn shared_tensor() -> Arc<Tensor> {
    let tensor = tensor();
    assert!(read(&tensor).is_some());
    tensor
}

fn read(tensor: &Tensor) -> Option<u32> {
    let slots = [(&tensor.usage, Read)];
    let _held = hold(&slots).ok()?;
    // SAFETY: held for reading.
    Some(unsafe { *tensor.bytes.get().deref() })
}

fn add_one(tensor: &Tensor) -> Option<()> {
    let slots = [(&tensor.usage, Write)];
    let _held = hold(&slots).ok()?;
    // SAFETY: held for writing.
    unsafe { *tensor.bytes.get_mut().deref() += 1 };
    Some(())
}

/// Reads one tensor and adds what it read, and one, to another.
fn run(input: &Tensor, output: &Tensor) -> Result<(), usize> {
    let slots = [(&input.usage, Read), (&output.usage, Write)];
    let _held = hold(&slots)?;
    // SAFETY: one is held for reading, the other for writing.
    unsafe { *output.bytes.get_mut().deref() += 1 + *input.bytes.get().deref() };
    Ok(())
}

fn readers_and_a_writer() {
    let tensor = shared_tensor();
    let readers = [(); 2].map(|()| {
        let tensor = tensor.clone();
        spawn(move || read(&tensor))
    });
    let wrote = add_one(&tensor).is_some();
    for reader in readers {
        let seen = reader.join().unwrap();
        assert!(seen != Some(1) || wrote);
    }
    assert_eq!(read(&tensor), Some(u32::from(wrote)));
    assert!(tensor.usage.try_write(), "someone did not give back");
}

#[test]
fn loom_readers_and_a_writer() {
    loom::model(readers_and_a_writer);
}

/// The control of all models: were the end of a write not told to those who come later, they would find that.
#[test]
#[should_panic(expected = "Causality violation")]
fn loom_finds_a_release_that_is_missing() {
    weaken();
    loom::model(readers_and_a_writer);
}

#[test]
fn loom_readers_never_refuse_each_other() {
    loom::model(|| {
        let tensor = shared_tensor();
        let other = {
            let tensor = tensor.clone();
            spawn(move || read(&tensor))
        };
        assert_eq!(read(&tensor), Some(0));
        assert_eq!(other.join().unwrap(), Some(0));
        assert!(tensor.usage.try_write(), "someone did not give back");
    });
}

#[test]
fn loom_writers_exclude_each_other() {
    loom::model(|| {
        let tensor = shared_tensor();
        let other = {
            let tensor = tensor.clone();
            spawn(move || add_one(&tensor).is_some())
        };
        let wrote = u32::from(add_one(&tensor).is_some());
        let wrote = wrote + u32::from(other.join().unwrap());
        assert!(wrote >= 1);
        assert_eq!(read(&tensor), Some(wrote));
    });
}

/// Two runs over the same two tensors, each reading what the other writes: neither hangs, both give back.
#[test]
fn loom_crossed_runs_end() {
    loom::model(|| {
        let (one, two) = (tensor(), tensor());
        let other = {
            let (one, two) = (one.clone(), two.clone());
            spawn(move || run(&two, &one))
        };
        let mine = run(&one, &two);
        let theirs = other.join().unwrap();
        let sum = read(&one).unwrap() + read(&two).unwrap();
        let wanted = match (mine, theirs) {
            (Ok(()), Ok(())) => 3,
            (Err(_), Err(_)) => 0,
            _ => 1,
        };
        assert_eq!(sum, wanted);
        assert!(one.usage.try_write() && two.usage.try_write());
    });
}

/// As a run finds it out.
fn is_alone(stop: &Stop, tensor: &Tensor, token: Token) -> bool {
    if token == Token::NONE || !stop.is_disturbed() {
        return token != Token::NONE;
    }
    stop.calm();
    tensor.usage.is_sole(token)
}

/// A context that runs on a tensor that it was the only user of, as a run does it. `None`: somebody else has it.
fn run_alone(stop: &std::sync::Arc<Stop>, tensor: &Tensor, token: &mut Token) -> Option<()> {
    let _running = stop.begin();
    if *token == Token::NONE {
        *token = tensor.usage.claim(stop, Write);
    }
    if is_alone(stop, tensor, *token) {
        // SAFETY: nobody else may use it while this run is in progress.
        unsafe { *tensor.bytes.get_mut().deref() += 1 };
        return Some(());
    }
    tensor.usage.give_up_sole(stop);
    *token = Token::NONE;
    add_one(tensor)
}

fn a_tensor_becomes_shared(most_preemptions: Option<usize>) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = most_preemptions;
    model.check(|| {
        let tensor = tensor();
        let stop = std::sync::Arc::new(Stop::new(None));
        let is_over = Arc::new(AtomicU32::new(0));
        let mut token = Token::NONE;
        let owner = {
            let (tensor, stop, is_over) = (tensor.clone(), stop.clone(), is_over.clone());
            spawn(move || {
                let count = (0..2).filter(|_| run_alone(&stop, &tensor, &mut token).is_some()).count();
                serve_until(|| is_over.load(Ordering::Acquire) == 1);
                count
            })
        };
        let wrote = usize::from(add_one(&tensor).is_some());
        is_over.store(1, Ordering::Release);
        let count = owner.join().unwrap() + wrote;
        assert_eq!(read(&tensor), Some(u32::try_from(count).unwrap()));
    });
}

#[test]
fn loom_a_tensor_that_becomes_shared_during_a_run() {
    a_tensor_becomes_shared(None);
}

/// The same with the barrier that one side need not do anything for.
#[test]
fn loom_a_tensor_that_becomes_shared_with_the_asymmetric_barrier() {
    use_asymmetric_barrier(true);
    a_tensor_becomes_shared(Some(3));
}

/// The control of that.
#[test]
#[should_panic(expected = "Causality violation")]
fn loom_finds_that_the_asymmetric_barrier_is_missing() {
    use_asymmetric_barrier(false);
    a_tensor_becomes_shared(Some(3));
}

#[test]
fn loom_two_contexts_want_to_be_the_only_user() {
    loom::model(|| {
        let tensor = tensor();
        // kept until the end: loom does not see what the standard library's counters order
        let stops = [(); 2].map(|()| std::sync::Arc::new(Stop::new(None)));
        let contexts = stops.clone().map(|stop| {
            let tensor = tensor.clone();
            spawn(move || usize::from(run_alone(&stop, &tensor, &mut { Token::NONE }).is_some()))
        });
        let count: usize = contexts.into_iter().map(|context| context.join().unwrap()).sum();
        assert_eq!(read(&tensor), Some(u32::try_from(count).unwrap()));
    });
}

#[test]
fn loom_readers_beside_the_only_user() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let tensor = tensor();
        let stop = std::sync::Arc::new(Stop::new(None));
        let running = stop.begin();
        let token = tensor.usage.claim(&stop, Read);
        drop(running);
        let reader = {
            let tensor = tensor.clone();
            spawn(move || read(&tensor))
        };
        let writer = {
            let tensor = tensor.clone();
            spawn(move || add_one(&tensor))
        };
        let running = stop.begin();
        if is_alone(&stop, &tensor, token) {
            // SAFETY: others may read too.
            let _seen = unsafe { *tensor.bytes.get().deref() };
        }
        drop(running);
        reader.join().unwrap();
        writer.join().unwrap();
        assert!(tensor.usage.try_write(), "someone did not give back");
    });
}
