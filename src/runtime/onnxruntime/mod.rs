//! Placeholder until the adapter lands.

use std::path::Path;
use std::sync::Arc;

use super::{EngineModel, ModelSource, Runtime, RuntimeInfo};
use crate::base::{Result, fail};

pub struct OnnxRuntime;

impl Runtime for OnnxRuntime {
    fn id(&self) -> i32 {
        2
    }

    fn name(&self) -> &'static str {
        "ONNX_Runtime"
    }

    fn recognises(&self, _model: &[u8]) -> bool {
        false
    }

    fn load(&self, _path: Option<&Path>) -> Result<()> {
        fail!(RuntimeUnavailable, "not built yet")
    }

    fn info(&self) -> RuntimeInfo {
        RuntimeInfo::default()
    }

    fn has_option(&self, _key: &str) -> bool {
        false
    }

    fn open(&self, _source: Arc<ModelSource>) -> Result<Box<dyn EngineModel>> {
        fail!(RuntimeUnavailable, "not built yet")
    }
}
