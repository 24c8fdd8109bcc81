//! What the C tests cannot see, against the real library.

mod about;
mod empty;
mod models;
mod quantization;
mod runs;
mod shapes;
mod types;

use std::path::PathBuf;
use std::sync::Arc;

use super::context::OnnxContext;
use super::load;
use super::model::OnnxModel;
use super::options::Settings;
use crate::base::{Desc, Dims, Error, Slot};
use crate::memory::{Access, Buffer, HostRange};
use crate::runtime::{EngineContext, EngineModel, ModelSource, Plan, Stay};

const HOW: &str = "run `make test`, which fetches the engines, makes the models and sets what these tests need";

/// Fails rather than skips: a test that did not run must not look like one that passed.
fn models() -> PathBuf {
    assert!(std::env::var_os("ZEROBIND_ONNXRUNTIME_LIB").is_some(), "ZEROBIND_ONNXRUNTIME_LIB is not set; {HOW}");
    PathBuf::from(std::env::var_os("ZB_TEST_MODELS").unwrap_or_else(|| panic!("ZB_TEST_MODELS is not set; {HOW}")))
}

fn bytes_of(name: &str) -> Vec<u8> {
    let path = models().join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; {HOW}", path.display()))
}

fn from_file(name: &str) -> Arc<ModelSource> {
    Arc::new(ModelSource { bytes: Box::new(bytes_of(name)), path: Some(models().join(name)) })
}

fn from_bytes(bytes: Vec<u8>) -> Arc<ModelSource> {
    Arc::new(ModelSource { bytes: Box::new(bytes), path: None })
}

fn open(name: &str) -> OnnxModel {
    let source = from_file(name);
    OnnxModel::open(load::engine(None).unwrap(), source, u64::MAX).unwrap()
}

/// A model that a test wrote.
fn written(model: Vec<u8>) -> OnnxModel {
    models();
    OnnxModel::open(load::engine(None).unwrap(), from_bytes(model), u64::MAX).unwrap()
}

/// Why a model that a test wrote cannot be opened.
fn unopened(model: Vec<u8>) -> Error {
    models();
    OnnxModel::open(load::engine(None).unwrap(), from_bytes(model), u64::MAX).err().unwrap()
}

/// A context with default options at the declared shapes, every open dimension being `open`.
fn context(model: &OnnxModel, open: i64) -> (OnnxContext, Plan) {
    let session = model.session(Settings::default()).unwrap();
    let mut context = OnnxContext::new(session, model.slots()).unwrap();
    let fill = |dims: &Dims| {
        let dims: Vec<_> = dims.as_slice().iter().map(|dim| if *dim < 0 { open } else { *dim }).collect();
        Dims::new(&dims).unwrap()
    };
    let given: Vec<_> = model.inputs().iter().map(|slot| fill(&slot.desc.dims)).collect();
    let plan = context.plan(&given).unwrap();
    (context, plan)
}

fn buffer(desc: &Desc) -> Buffer {
    Buffer::zeroed(desc.memory_size().unwrap(), 64).unwrap()
}

fn floats(values: &[f32]) -> Buffer {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Buffer::copy_of(&bytes, 64).unwrap()
}

fn read(memory: HostRange) -> Vec<f32> {
    // SAFETY: the tests keep the memory of every range that they read, and nothing runs meanwhile.
    let bytes = unsafe { std::slice::from_raw_parts(memory.data().cast::<u8>(), memory.size()) };
    bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

fn nothing() -> HostRange {
    // SAFETY: no bytes at all are promised.
    unsafe { HostRange::new(std::ptr::null_mut(), 0, 0, Access::ReadWrite) }
}

fn attach(context: &mut OnnxContext, slot: Slot, buffer: &Buffer, desc: &Desc, stay: Stay) {
    context.attach(slot, buffer.range(), desc, stay).unwrap();
}
