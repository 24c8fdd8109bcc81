//! Lines for the host's log, from any layer.
//!
//! The sink is installed by whoever talks to the host; without one a line is dropped.

use std::sync::RwLock;

/// How much a line matters. The numbers are part of the ABI; smaller is graver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum Level {
    Error = 1,
    Warn = 2,
    Info = 3,
    Debug = 4,
}

type Sink = Box<dyn Fn(Level, &str) + Send + Sync>;

static SINK: RwLock<Option<Sink>> = RwLock::new(None);

/// Replaces the sink; returns when no other thread is inside the old one.
pub fn set_sink(sink: Option<Sink>) {
    let mut place = SINK.write().unwrap_or_else(|poisoned| poisoned.into_inner());
    let old = std::mem::replace(&mut *place, sink);
    drop(place);
    drop(old);
}

/// Gives a line to the sink.
pub fn emit(level: Level, text: &str) {
    let sink = SINK.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(sink) = sink.as_ref() {
        sink(level, text);
    }
}
