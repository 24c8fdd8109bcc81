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

    fn open(&self, _source: Arc<ModelSource>) -> Result<Box<dyn EngineModel>> {
        Err(self.unavailable())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::by_id;

    fn check(absent: &Absent, id: i32, feature: &str, model: &[u8]) {
        let told = |text: &str| text.contains(feature) && text.contains("not part of this build");
        let engine = by_id(id).expect("its number is known");
        assert!(engine.recognises(model) && engine.has_option(&format!("{}x", absent.options)));
        assert!(!engine.info().available && told(engine.info().reason.unwrap().to_str().unwrap()));
        let source = ModelSource { bytes: Box::new(model.to_vec()), path: None };
        for error in [engine.load(None).unwrap_err(), engine.open(Arc::new(source)).err().unwrap()] {
            assert_eq!(error.status, Status::RuntimeUnavailable);
            assert!(told(&error.text), "{error}");
        }
    }

    #[test]
    #[cfg(not(feature = "tflite"))]
    fn tflite_is_told_to_be_missing() {
        check(&TFLITE, 1, "`tflite`", b"\x1c\0\0\0TFL3");
    }

    #[test]
    #[cfg(not(feature = "onnxruntime"))]
    fn onnx_runtime_is_told_to_be_missing() {
        check(&ONNXRUNTIME, 2, "`onnxruntime`", b"\x18\0\0\0ORTM");
    }
}
