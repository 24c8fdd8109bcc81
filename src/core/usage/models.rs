//! Every order of steps that the memory model allows. The cell stands for the tensor's bytes: loom reports any
//! access that is not ordered after the last write, and any write that is not ordered after the last access.

use super::Access::{Read, Write};
use super::{Usage, hold};
use crate::sync::UnsafeCell;
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

#[test]
fn loom_readers_and_a_writer() {
    loom::model(|| {
        let tensor = tensor();
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
    });
}

#[test]
fn loom_readers_never_refuse_each_other() {
    loom::model(|| {
        let tensor = tensor();
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
        let tensor = tensor();
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
