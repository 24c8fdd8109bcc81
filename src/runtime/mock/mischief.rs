//! What damaged and hostile models make an engine do, for the trials that have to survive it.

use std::io::Write;
use std::time::Duration;

/// What is done to the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mischief {
    /// Raises a signal that ends it.
    Signal(i32),
    /// Reads where nothing is.
    BadAccess,
    /// `exit`, with whatever is registered for it.
    Exit(i32),
    /// Never comes back.
    Spin,
    /// Words on standard output and standard error, MiB of them.
    Chatter(usize),
    /// Allocates and touches as many MiB.
    Hog(usize),
    /// A thread that never ends, and the call comes back.
    SpinningThread,
    /// A process that leaves the group, holds every descriptor and never ends.
    Daemon,
    /// Nonsense into each descriptor that is open.
    Scribble,
    /// Ends the process that watches this one.
    EndParent,
}

impl Mischief {
    pub fn parse(words: &[&str]) -> Option<Mischief> {
        Some(match words {
            ["abort"] => Mischief::Signal(libc::SIGABRT),
            ["divide-by-zero"] => Mischief::Signal(libc::SIGFPE),
            ["bad-access"] => Mischief::BadAccess,
            ["exit", code] => Mischief::Exit(code.parse().ok()?),
            ["spin"] => Mischief::Spin,
            ["chatter", size] => Mischief::Chatter(size.parse().ok()?),
            ["hog", size] => Mischief::Hog(size.parse().ok()?),
            ["spinning-thread"] => Mischief::SpinningThread,
            ["daemon"] => Mischief::Daemon,
            ["scribble"] => Mischief::Scribble,
            ["end-parent"] => Mischief::EndParent,
            _ => return None,
        })
    }

    pub fn act(&self) {
        match self {
            Mischief::Signal(number) => raise(*number),
            Mischief::BadAccess => bad_access(),
            Mischief::Exit(code) => std::process::exit(*code),
            Mischief::Spin => spin(),
            Mischief::Chatter(size) => chatter(*size),
            Mischief::Hog(size) => hog(*size),
            Mischief::SpinningThread => drop(std::thread::spawn(|| spin())),
            Mischief::Daemon => daemon(),
            Mischief::Scribble => scribble(),
            Mischief::EndParent => end_parent(),
        }
    }
}

fn spin() -> ! {
    loop {
        std::hint::spin_loop();
    }
}

fn chatter(size: usize) {
    let line = "the engine has a lot to say, and says it again and again\n".repeat(1 << 10);
    for _ in 0..(size << 20).div_ceil(line.len()) {
        let _ = std::io::stdout().write_all(line.as_bytes());
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}

fn hog(size: usize) {
    let mut blocks = Vec::new();
    for _ in 0..size {
        blocks.push(std::hint::black_box(vec![1u8; 1 << 20]));
    }
}

fn raise(number: i32) {
    // SAFETY: sends a signal to this very thread.
    unsafe { libc::raise(number) };
}

fn bad_access() {
    // SAFETY: none; this is what it is for.
    unsafe { std::hint::black_box(8 as *const u8).read_volatile() };
}

#[cfg(unix)]
fn daemon() {
    // SAFETY: the new process does nothing but to lead a session of its own and to stay.
    unsafe {
        if libc::fork() == 0 {
            libc::setsid();
            if libc::fork() != 0 {
                libc::_exit(0);
            }
            loop {
                libc::pause();
            }
        }
    }
    // until it is an orphan and on its own
    std::thread::sleep(Duration::from_millis(20));
}

#[cfg(unix)]
fn scribble() {
    for fd in 0..64 {
        let words = b"\n\xff nonsense\nended exit 0 by no means\nstage nowhere\nrefused 99 x\n";
        // SAFETY: descriptors that are not open, or not for writing, refuse.
        unsafe { libc::write(fd, words.as_ptr().cast(), words.len()) };
    }
}

#[cfg(unix)]
fn end_parent() {
    // SAFETY: sends a signal to the process that started this one.
    unsafe { libc::kill(libc::getppid(), libc::SIGKILL) };
    std::thread::sleep(Duration::from_secs(5));
}

#[cfg(not(unix))]
fn daemon() {}
#[cfg(not(unix))]
fn scribble() {}
#[cfg(not(unix))]
fn end_parent() {}
