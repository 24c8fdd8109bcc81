//! What cannot be reached, or not be seen, from C. Needs the engine and the test models: `make test` sets them up.

use std::path::PathBuf;
use std::sync::Arc;

use super::symbols::Symbols;
use super::{load, model};
use crate::base::{Dims, Slot, Status};
use crate::memory::{Buffer, HostRange};
use crate::runtime::{EngineContext, EngineModel, EngineOptions, ModelSource, Plan, Rebind, Stay};

fn variable(name: &str) -> PathBuf {
    match std::env::var_os(name) {
        Some(value) => value.into(),
        None => panic!("{name} is not set: run these tests with `make test`, which has an engine and models for them"),
    }
}

fn symbols() -> &'static Symbols {
    variable("ZEROBIND_TFLITE_LIB");
    &load::engine(None).expect("the engine loads").symbols
}

fn open_with(symbols: &'static Symbols, name: &str) -> model::Model {
    let path = variable("ZB_TEST_MODELS").join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let bytes = Buffer::copy_of(&bytes, 64).unwrap();
    struct Bytes(Buffer);
    impl AsRef<[u8]> for Bytes {
        fn as_ref(&self) -> &[u8] {
            self.0.as_slice()
        }
    }
    let source = ModelSource { bytes: Box::new(Bytes(bytes)), path: None };
    model::Model::open(symbols, Arc::new(source)).expect(name)
}

fn open(name: &str) -> model::Model {
    open_with(symbols(), name)
}

fn context(model: &model::Model, xnnpack: bool) -> Box<dyn EngineContext> {
    let settings = vec![("tflite.xnnpack".to_owned(), xnnpack.to_string())];
    model.new_context(&EngineOptions { threads: 1, settings }).unwrap()
}

fn dims(values: &[i64]) -> Dims {
    Dims::new(values).unwrap()
}

/// A tensor's worth of memory with values in it.
struct Floats(Buffer);

impl Floats {
    fn new(values: &[f32]) -> Floats {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Floats(Buffer::copy_of(&bytes, 64).unwrap())
    }

    fn range(&self) -> HostRange {
        self.0.range()
    }

    fn values(&self) -> Vec<f32> {
        self.0.as_slice().chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
    }
}

fn attach(context: &mut dyn EngineContext, plan: &Plan, slot: Slot, memory: &Floats) {
    let side = if slot == Slot::input(slot.index) { &plan.inputs } else { &plan.outputs };
    context.attach(slot, memory.range(), &side[slot.index].desc, Stay::Sticky).unwrap();
    assert_eq!(context.engine_address(slot), memory.range().data().cast_const());
}

fn viewed(context: &mut dyn EngineContext, output: usize) -> Vec<f32> {
    let view = context.output(Slot::output(output)).unwrap();
    // SAFETY: a view of floats that is good until the next call.
    unsafe { std::slice::from_raw_parts(view.memory.data().cast::<f32>(), view.memory.size() / 4) }.to_vec()
}

#[test]
fn memory_comes_and_goes_while_the_engine_stays() {
    for xnnpack in [false, true] {
        let model = open("add4.tflite");
        let mut context = context(&model, xnnpack);
        let plan = context.plan(&[dims(&[4]), dims(&[4])]).unwrap();
        let (x, y, z) = (Floats::new(&[1.0, 2.0, 3.0, 4.0]), Floats::new(&[10.0; 4]), Floats::new(&[0.0; 4]));
        assert_eq!(context.run().unwrap_err().status, Status::Unbound);
        attach(&mut *context, &plan, Slot::input(0), &x);
        attach(&mut *context, &plan, Slot::input(1), &y);
        context.run().unwrap();
        assert_eq!(viewed(&mut *context, 0), [11.0, 12.0, 13.0, 14.0]);
        attach(&mut *context, &plan, Slot::output(0), &z);
        context.run().unwrap();
        assert_eq!(z.values(), [11.0, 12.0, 13.0, 14.0]);
        // the engine's own memory does not come back, so something of ours has to take its place
        context.detach(Slot::output(0));
        assert!(context.engine_address(Slot::output(0)).is_null());
        let other = Floats::new(&[5.0; 4]);
        attach(&mut *context, &plan, Slot::input(1), &other);
        context.run().unwrap();
        assert_eq!(z.values(), [11.0, 12.0, 13.0, 14.0]);
        assert_eq!(viewed(&mut *context, 0), [6.0, 7.0, 8.0, 9.0]);
        context.detach(Slot::input(0));
        assert_eq!(context.run().unwrap_err().status, Status::Unbound);
        let short = Floats::new(&[0.0; 3]);
        let error = context.attach(Slot::output(0), short.range(), &plan.outputs[0].desc, Stay::OneRun).unwrap_err();
        assert_eq!(error.status, Status::BufferTooSmall);
        assert_eq!(context.facts().rebind, Rebind::Free);
    }
}
