//! Giving memory back to the host, exactly once.

/// What to do when the last use of host memory ends; done when this is dropped.
///
/// Whoever drops one holds no lock: the host's code runs there, and it may call anything.
pub struct Release(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Release {
    /// Nobody wants to be told.
    pub const NONE: Release = Release(None);

    pub fn new(callback: impl FnOnce() + Send + Sync + 'static) -> Release {
        Release(Some(Box::new(callback)))
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        if let Some(callback) = self.0.take() {
            callback();
        }
    }
}
