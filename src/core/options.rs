//! Key/value options, sorted out among the engines.

use crate::base::room::{owned, push};
use crate::base::{Result, fail};
use crate::runtime::{self, Runtime};

/// A key with its value, as the host gave them.
pub type Setting = (String, String);

/// The options that `engine` knows, in the order given. Those of another engine of this build are passed over, so that a
/// host can give one list to models of either; one that no engine knows is `NOT_FOUND`.
pub fn for_engine(engine: &dyn Runtime, settings: &[Setting]) -> Result<Vec<Setting>> {
    let mut own = Vec::new();
    for (key, value) in settings {
        if engine.has_option(key) {
            push(&mut own, (owned(key)?, owned(value)?))?;
        } else if !runtime::ALL.iter().any(|other| other.has_option(key)) {
            return fail!(NotFound, "option '{key}' is not known: zb_context_options in zerobind.h lists the keys");
        }
    }
    Ok(own)
}
