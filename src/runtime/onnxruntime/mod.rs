//! ONNX Runtime, through its C API.
//!
//! `load` finds the library and keeps the one environment of the process, `symbols` and `owned` make its API safe to hold,
//! `model` shares sessions between contexts, `context` runs one. Only the CPU is asked to compute.

mod allocated;
mod binding;
mod cache;
mod computed;
mod constants;
mod context;
mod describe;
mod dtype;
#[cfg(not(feature = "linked"))]
mod dynamic;
mod external;
mod failure;
mod graph;
mod limits;
#[cfg(feature = "linked")]
mod linked;
mod load;
mod logger;
mod metadata;
mod model;
mod names;
mod operators;
mod options;
mod owned;
mod ports;
mod quantization;
mod run;
mod run_failure;
mod session;
mod shapes;
mod symbols;
mod tensor;
mod terminate;
mod uses;
mod value;
mod walk;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod writer;

use std::path::Path;
use std::sync::Arc;

use super::{EngineModel, ModelSource, Runtime, RuntimeInfo, format};
use crate::base::Result;

pub struct OnnxRuntime;

impl Runtime for OnnxRuntime {
    fn id(&self) -> i32 {
        format::ONNXRUNTIME.id
    }

    fn name(&self) -> &'static str {
        format::ONNXRUNTIME.name
    }

    fn recognises(&self, model: &[u8]) -> bool {
        (format::ONNXRUNTIME.recognises)(model)
    }

    fn load(&self, path: Option<&Path>) -> Result<()> {
        load::engine(path).map(|_| ())
    }

    fn info(&self) -> RuntimeInfo {
        load::info()
    }

    fn has_option(&self, key: &str) -> bool {
        options::is_known(key)
    }

    fn open(&self, source: Arc<ModelSource>, most: u64) -> Result<Box<dyn EngineModel>> {
        let engine = load::engine(None)?;
        Ok(Box::new(model::OnnxModel::open(engine, source, most)?))
    }
}
