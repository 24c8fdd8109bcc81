//! Engines: where they are.

use std::ptr::null;

use zerobind::ffi::api::*;

use super::{Result, check, text_at, zeroed_struct};

/// An engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeKind {
    Tflite,
    OnnxRuntime,
}

impl RuntimeKind {
    pub const ALL: [RuntimeKind; 2] = [RuntimeKind::Tflite, RuntimeKind::OnnxRuntime];

    pub(super) fn number(self) -> i32 {
        match self {
            RuntimeKind::Tflite => ZB_RUNTIME_TFLITE,
            RuntimeKind::OnnxRuntime => ZB_RUNTIME_ONNXRUNTIME,
        }
    }

    pub(super) fn from_number(number: i32) -> RuntimeKind {
        if number == ZB_RUNTIME_TFLITE { RuntimeKind::Tflite } else { RuntimeKind::OnnxRuntime }
    }

    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            RuntimeKind::Tflite => "TensorFlow Lite",
            RuntimeKind::OnnxRuntime => "ONNX Runtime",
        }
    }

    /// As in options and in JSON.
    pub fn key(self) -> &'static str {
        match self {
            RuntimeKind::Tflite => "tflite",
            RuntimeKind::OnnxRuntime => "onnxruntime",
        }
    }

    /// The environment variable that names the engine's file.
    pub fn variable(self) -> &'static str {
        match self {
            RuntimeKind::Tflite => "ZEROBIND_TFLITE_LIB",
            RuntimeKind::OnnxRuntime => "ZEROBIND_ONNXRUNTIME_LIB",
        }
    }
}

pub struct RuntimeInfo {
    pub version: Option<String>,
    pub path: Option<String>,
}

/// Loads an engine by the search order.
pub fn load_runtime(kind: RuntimeKind) -> Result<()> {
    // SAFETY: NULL stands for the search order.
    check(unsafe { zb_runtime_load(kind.number(), null()) })
}

pub fn runtime_info(kind: RuntimeKind) -> Result<RuntimeInfo> {
    let mut info = zeroed_struct!(zb_runtime_info);
    // SAFETY: a struct with its size set.
    check(unsafe { zb_runtime_get_info(kind.number(), &mut info) })?;
    // SAFETY: NULL, or strings that live as long as the process.
    let (version, path) = unsafe { (text_at(info.version), text_at(info.path)) };
    Ok(RuntimeInfo { version, path })
}
