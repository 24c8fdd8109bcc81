//! TensorFlow Lite, through its C library.
//!
//! TFLite checks almost nothing on the way that binds memory, so each call here is preceded by a check of ours; what
//! depends on the host's memory (type, size, alignment, slack, overlap) is checked by the core.

mod cancel;
mod context;
mod dry_run;
#[cfg(not(feature = "linked"))]
mod dynamic;
mod file;
mod flatbuffer;
mod hold;
mod interpreter;
#[cfg(feature = "linked")]
mod linked;
mod load;
mod model;
mod place;
mod planning;
mod report;
mod sentinel;
mod settings;
mod symbols;
mod tensor;
mod validate;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use super::{EngineModel, ModelSource, Runtime, RuntimeInfo, format};
use crate::base::Result;

pub struct Tflite;

impl Runtime for Tflite {
    fn id(&self) -> i32 {
        format::TFLITE.id
    }

    fn name(&self) -> &'static str {
        format::TFLITE.name
    }

    fn recognises(&self, model: &[u8]) -> bool {
        (format::TFLITE.recognises)(model)
    }

    fn load(&self, path: Option<&Path>) -> Result<()> {
        load::engine(path).map(|_| ())
    }

    fn info(&self) -> RuntimeInfo {
        load::info()
    }

    fn has_option(&self, key: &str) -> bool {
        [settings::XNNPACK, settings::OPTIMIZATION].contains(&key)
    }

    fn open(&self, source: Arc<ModelSource>, most: u64) -> Result<Box<dyn EngineModel>> {
        let engine = load::engine(None)?;
        Ok(Box::new(model::Model::open(&engine.symbols, source, most)?))
    }
}
