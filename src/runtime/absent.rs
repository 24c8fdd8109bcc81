//! An engine that this build was made without: its models are known, and what is missing is told.

use std::ffi::CStr;
use std::path::Path;
use std::sync::Arc;

use super::format::Identity;
use super::{EngineModel, ModelSource, Runtime, RuntimeInfo};
use crate::base::{Error, Result, Status};

pub struct Absent {
    engine: Identity,
    /// What the keys of its options begin with.
    options: &'static str,
    reason: &'static CStr,
}

#[cfg(not(feature = "tflite"))]
pub static TFLITE: Absent = Absent {
    engine: super::format::TFLITE,
    options: "tflite.",
    reason: c"TFLite is not part of this build of zerobind, which was made without the cargo feature `tflite`",
};

#[cfg(not(feature = "onnxruntime"))]
pub static ONNXRUNTIME: Absent = Absent {
    engine: super::format::ONNXRUNTIME,
    options: "ort.",
    reason:
        c"ONNX Runtime is not part of this build of zerobind, which was made without the cargo feature `onnxruntime`",
};

impl Absent {
    fn unavailable(&self) -> Error {
        Error::new(Status::RuntimeUnavailable, self.reason.to_string_lossy())
    }
}

impl Runtime for Absent {
    fn id(&self) -> i32 {
        self.engine.id
    }

    fn name(&self) -> &'static str {
        self.engine.name
    }

    fn recognises(&self, model: &[u8]) -> bool {
        (self.engine.recognises)(model)
    }

    fn load(&self, _path: Option<&Path>) -> Result<()> {
        Err(self.unavailable())
    }

    fn info(&self) -> RuntimeInfo {
        RuntimeInfo { reason: Some(self.reason), ..RuntimeInfo::default() }
    }

    /// A host gives one list of options to models of every engine, so those of this one are not unknown.
    fn has_option(&self, key: &str) -> bool {
        key.starts_with(self.options)
    }

    fn open(&self, _source: Arc<ModelSource>, _most: u64) -> Result<Box<dyn EngineModel>> {
        Err(self.unavailable())
    }
}
