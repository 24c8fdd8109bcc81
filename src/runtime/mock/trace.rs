//! What the core asked of an engine, kept for tests under the name that the model gives.

use std::collections::HashMap;
use std::sync::Mutex;

static TRACES: Mutex<Option<HashMap<String, Vec<String>>>> = Mutex::new(None);

/// Where a model's trace goes; nowhere without a name.
#[derive(Clone, Debug, Default)]
pub struct Trace(pub Option<String>);

impl Trace {
    pub fn note(&self, event: impl FnOnce() -> String) {
        if let Some(name) = &self.0 {
            let mut traces = TRACES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            traces.get_or_insert_default().entry(name.clone()).or_default().push(event());
        }
    }
}

/// Everything noted under a name since the last time.
pub fn take(name: &str) -> Vec<String> {
    let mut traces = TRACES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    traces.get_or_insert_default().remove(name).unwrap_or_default()
}
