//! Somebody else's static library that is made in Rust: it has its own copy of Rust's library, panics and catches them.
//! Written so that old toolchains compile it too.

use std::panic::catch_unwind;

/// The tenfold of the n-th of four numbers; -1 when that is a panic, which is caught here.
#[no_mangle]
pub extern "C" fn other_rust(n: usize) -> i32 {
    catch_unwind(|| [1, 2, 3, 4].iter().map(|x| x * 10).collect::<Vec<i32>>()[n]).unwrap_or(-1)
}

/// The same on a thread of its own, so that the other library's thread locals are in use as well.
#[no_mangle]
pub extern "C" fn other_rust_thread(n: usize) -> i32 {
    std::thread::spawn(move || other_rust(n)).join().unwrap_or(-2)
}
