//! What the C tests cannot see, against the real library.

use std::path::PathBuf;
use std::sync::Arc;

use super::OnnxRuntime;
use crate::base::{Desc, Dims, Slot};
use crate::memory::{Buffer, HostRange};
use crate::runtime::{EngineContext, EngineModel, EngineOptions, ModelSource, Plan, Runtime, Stay};

/// Fails rather than skips: a test that did not run must not look like one that passed.
fn models() -> PathBuf {
    assert!(std::env::var_os("ZEROBIND_ONNXRUNTIME_LIB").is_some(), "ZEROBIND_ONNXRUNTIME_LIB is not set; {HOW}");
    PathBuf::from(std::env::var_os("ZB_TEST_MODELS").unwrap_or_else(|| panic!("ZB_TEST_MODELS is not set; {HOW}")))
}

const HOW: &str = "run `make test`, which fetches the engines, makes the models and sets what these tests need";

fn from_file(name: &str) -> Arc<ModelSource> {
    let path = models().join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; {HOW}", path.display()));
    Arc::new(ModelSource { bytes: Box::new(bytes), path: Some(path) })
}

fn open(name: &str) -> Box<dyn EngineModel> {
    OnnxRuntime.open(from_file(name)).unwrap()
}

fn options(threads: u32) -> EngineOptions {
    EngineOptions { threads, ..EngineOptions::default() }
}

/// A context at the declared shapes, open dimensions being `open`.
fn context(model: &dyn EngineModel, open: i64) -> (Box<dyn EngineContext>, Plan) {
    let mut context = model.new_context(&options(1)).unwrap();
    let fill = |dims: &Dims| {
        let dims: Vec<_> = dims.as_slice().iter().map(|dim| if *dim < 0 { open } else { *dim }).collect();
        Dims::new(&dims).unwrap()
    };
    let given: Vec<_> = model.inputs().iter().map(|slot| fill(&slot.desc.dims)).collect();
    let plan = context.plan(&given).unwrap();
    (context, plan)
}

fn buffer(desc: &Desc) -> Buffer {
    Buffer::zeroed(desc.byte_size().unwrap() as usize, 64).unwrap()
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

fn assert_close(given: &[f32], wanted: &[f32], slot: Slot) {
    assert_eq!(given.len(), wanted.len());
    let furthest = given.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(furthest < 1e-5, "{slot}: off by {furthest}");
}

#[test]
fn adds_in_place() {
    let model = open("add4.onnx");
    let (mut context, plan) = context(&*model, 1);
    let (x, y, z) = (floats(&[1.0, 2.0, 3.0, 4.0]), floats(&[10.0; 4]), floats(&[0.0; 4]));
    context.attach(Slot::input(0), x.range(), &plan.inputs[0].desc, Stay::Sticky).unwrap();
    context.attach(Slot::input(1), y.range(), &plan.inputs[1].desc, Stay::Sticky).unwrap();
    context.attach(Slot::output(0), z.range(), &plan.outputs[0].desc, Stay::Sticky).unwrap();
    for _ in 0..3 {
        z.range().copy_from(&floats(&[0.0; 4]).range());
        context.run().unwrap();
        assert_eq!(read(z.range()), [11.0, 12.0, 13.0, 14.0]);
    }
    assert_eq!(context.engine_address(Slot::input(0)), x.range().data().cast_const());
}

#[test]
fn a_real_model_computes_the_same_bound_and_viewed() {
    let model = open("basic_pitch.onnx");
    let (mut context, plan) = context(&*model, 1);
    let input = &plan.inputs[0].desc;
    let samples: Vec<f32> = (0..43844).map(|index| (index as f32 * 0.05).sin() * 0.5).collect();
    let samples = floats(&samples);
    context.attach(Slot::input(0), samples.range(), input, Stay::Sticky).unwrap();
    context.run().unwrap();
    let mut attached = Vec::new();
    for index in 0..model.outputs().len() {
        let slot = Slot::output(index);
        let view = context.output(slot).unwrap();
        let viewed = read(view.memory);
        assert!(viewed.iter().any(|value| *value > 0.01), "{slot}");
        let bound = buffer(&view.desc);
        context.attach(slot, bound.range(), &view.desc, Stay::Sticky).unwrap();
        context.run().unwrap();
        context.run().unwrap();
        assert_close(&read(bound.range()), &viewed, slot);
        attached.push(bound);
    }
}
