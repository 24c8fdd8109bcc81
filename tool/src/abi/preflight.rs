//! Trying a model in a process of its own.

use std::path::Path;
use std::time::Duration;

use zerobind::ffi::api::*;

use super::context::{ContextOptions, GivenOptions};
use super::{Result, RuntimeKind, c_string, check, zeroed_struct};

pub struct Trial<'a> {
    pub model: &'a Path,
    pub runtime: Option<RuntimeKind>,
    /// 0 is the library's own limit, as for `max_memory_bytes`.
    pub max_tensor_bytes: u64,
    pub max_memory_bytes: u64,
    pub timeout: Duration,
    pub context: ContextOptions,
    /// Inputs by number, with their shapes.
    pub shapes: Vec<(u32, &'a [i64])>,
}

impl Trial<'_> {
    pub fn run(&self) -> Result<()> {
        let path = c_string(self.model.as_os_str(), "path")?;
        let mut model = zeroed_struct!(zb_model_options);
        model.runtime = self.runtime.map_or(ZB_RUNTIME_AUTO, RuntimeKind::number);
        model.max_tensor_bytes = self.max_tensor_bytes;
        let shapes: Vec<_> = (self.shapes.iter())
            .map(|(input, dims)| zb_slot_shape { slot: *input, rank: dims.len() as u32, dims: dims.as_ptr() })
            .collect();
        let context = GivenOptions::new(&self.context)?;
        let context = context.get();
        let mut preflight = zeroed_struct!(zb_preflight_options);
        preflight.timeout_ns = u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX);
        preflight.max_memory_bytes = self.max_memory_bytes;
        preflight.context = &context;
        preflight.shapes = shapes.as_ptr();
        preflight.shape_count = shapes.len();
        // SAFETY: a NUL-terminated path, and options with their size set, which live until the call returns.
        check(unsafe { zb_model_preflight(path.as_ptr(), &model, &preflight) })
    }
}
