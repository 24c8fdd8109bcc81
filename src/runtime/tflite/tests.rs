//! What cannot be reached, or not be seen, from C. Needs the engine and the test models: `make test` sets them up.

mod empty;
mod file;
#[cfg(unix)]
mod state;
mod types;
pub(super) mod writer;
pub(super) mod written;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::symbols::Symbols;
use super::{load, model};
use crate::base::{Dims, Result, Slot, Status};
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
    open_bytes(symbols, &bytes).expect(name)
}

fn open_bytes(symbols: &'static Symbols, bytes: &[u8]) -> Result<model::Model> {
    struct Aligned(Buffer);
    impl AsRef<[u8]> for Aligned {
        fn as_ref(&self) -> &[u8] {
            self.0.as_slice()
        }
    }
    let bytes = Aligned(Buffer::copy_of(bytes, 64).unwrap());
    model::Model::open(symbols, Arc::new(ModelSource { bytes: Box::new(bytes), path: None }), u64::MAX)
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

/// Memory that can be attached.
trait Memory {
    fn memory(&self) -> HostRange;
}

impl Memory for Floats {
    fn memory(&self) -> HostRange {
        self.range()
    }
}

impl Memory for Buffer {
    fn memory(&self) -> HostRange {
        self.range()
    }
}

fn bytes(values: &[u8]) -> Buffer {
    Buffer::copy_of(values, 64).unwrap()
}

fn attach(context: &mut dyn EngineContext, plan: &Plan, slot: Slot, memory: &impl Memory) {
    let side = if slot == Slot::input(slot.index) { &plan.inputs } else { &plan.outputs };
    context.attach(slot, memory.memory(), &side[slot.index].desc, Stay::Sticky).unwrap();
    assert_eq!(context.engine_address(slot), memory.memory().data().cast_const());
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

#[test]
fn a_slot_without_memory_survives_planning_running_and_the_end() {
    for xnnpack in [false, true] {
        let model = open("two_out.tflite");
        let mut context = context(&model, xnnpack);
        let plan = context.plan(&[dims(&[8])]).unwrap();
        let (x, a, b) = (Floats::new(&[1.0; 8]), Floats::new(&[0.0; 8]), Floats::new(&[0.0; 8]));
        attach(&mut *context, &plan, Slot::input(0), &x);
        attach(&mut *context, &plan, Slot::output(0), &a);
        attach(&mut *context, &plan, Slot::output(1), &b);
        context.run().unwrap();
        context.detach(Slot::output(0));
        context.run().unwrap();
        assert_eq!((viewed(&mut *context, 0), b.values()), (vec![2.0; 8], vec![2.0; 8]));
        context.detach(Slot::input(0));
        context.detach(Slot::output(1));
        // the end, with the sentinel in two places and memory of ours in one
        drop(context);
    }
}

#[test]
fn shapes_that_fail_leave_the_last_plan_in_force() {
    for xnnpack in [false, true] {
        let model = open("conv_dyn.tflite");
        let mut context = context(&model, xnnpack);
        let good = dims(&[1, 4, 4, 1]);
        let plan = context.plan(&[good]).unwrap();
        assert_eq!(plan.outputs[0].desc.dims, dims(&[1, 2, 2, 1]));
        let (x, y) = (Floats::new(&[1.0; 16]), Floats::new(&[0.0; 4]));
        attach(&mut *context, &plan, Slot::output(0), &y);
        context.detach(Slot::output(0));
        let bad = [
            ([1, 2, 2, 1], Status::ShapeMismatch),
            ([1, 1, 1, 1], Status::Runtime),
            ([2, 4, 4, 1], Status::ShapeMismatch),
            ([1, 1 << 31, 4, 1], Status::Unsupported),
            ([1, 1 << 30, 1 << 30, 1], Status::Runtime),
        ];
        for (shape, status) in bad {
            let error = context.plan(&[dims(&shape)]).unwrap_err();
            assert_eq!(error.status, status, "{shape:?}: {error}");
            attach(&mut *context, &plan, Slot::input(0), &x);
            context.run().unwrap();
            assert_eq!(viewed(&mut *context, 0), [45.0; 4], "after {shape:?}");
            context.detach(Slot::input(0));
        }
        assert_eq!(context.plan(&[good]).unwrap().outputs[0].desc, plan.outputs[0].desc);
    }
}

#[test]
fn state_inside_the_engine_survives_new_memory_and_failed_shapes() {
    for xnnpack in [false, true] {
        let model = open("accumulator.tflite");
        let mut context = context(&model, xnnpack);
        let plan = context.plan(&[dims(&[8])]).unwrap();
        for round in 1..=5 {
            let (x, y) = (Floats::new(&[1.0; 8]), Floats::new(&[0.0; 8]));
            attach(&mut *context, &plan, Slot::input(0), &x);
            attach(&mut *context, &plan, Slot::output(0), &y);
            context.run().unwrap();
            assert_eq!(y.values(), [round as f32; 8]);
            context.detach(Slot::input(0));
            context.detach(Slot::output(0));
            context.plan(&[dims(&[9])]).unwrap_err();
        }
    }
}

/// An engine that follows a new address only when it plans again, as its header says.
fn forgetful() -> &'static Symbols {
    use super::symbols::{CustomAllocation, RawInterpreter, RawStatus};
    use std::cell::RefCell;
    type Change = (std::ffi::c_int, *mut std::ffi::c_void, usize);
    thread_local!(static CHANGES: RefCell<Vec<Change>> = const { RefCell::new(Vec::new()) });

    unsafe extern "C" fn remember(
        _: *mut RawInterpreter,
        index: std::ffi::c_int,
        memory: *const CustomAllocation,
        _: i64,
    ) -> RawStatus {
        // SAFETY: the caller passes a struct that lives during the call.
        let memory = unsafe { &*memory };
        CHANGES.with_borrow_mut(|changes| changes.push((index, memory.data, memory.bytes)));
        0
    }
    unsafe extern "C" fn allocate(interpreter: *mut RawInterpreter) -> RawStatus {
        for (index, data, bytes) in CHANGES.take() {
            // SAFETY: what the real function was to be called with.
            let status =
                unsafe { (symbols().set_custom_allocation)(interpreter, index, &CustomAllocation { data, bytes }, 0) };
            assert_eq!(status, 0);
        }
        // SAFETY: as the caller promises.
        unsafe { (symbols().allocate_tensors)(interpreter) }
    }
    static TABLE: OnceLock<Symbols> = OnceLock::new();
    TABLE.get_or_init(|| Symbols { set_custom_allocation: remember, allocate_tensors: allocate, ..*symbols() })
}

#[test]
fn an_engine_that_does_not_follow_new_addresses_plans_again() {
    let model = open_with(forgetful(), "add4.tflite");
    let mut context = context(&model, true);
    let plan = context.plan(&[dims(&[4]), dims(&[4])]).unwrap();
    assert_eq!(context.facts().rebind, Rebind::Replan);
    let y = Floats::new(&[10.0; 4]);
    attach(&mut *context, &plan, Slot::input(1), &y);
    for round in 0..3 {
        let (x, z) = (Floats::new(&[round as f32; 4]), Floats::new(&[0.0; 4]));
        attach(&mut *context, &plan, Slot::input(0), &x);
        attach(&mut *context, &plan, Slot::output(0), &z);
        context.run().unwrap();
        assert_eq!(z.values(), [10.0 + round as f32; 4]);
        context.detach(Slot::input(0));
        context.detach(Slot::output(0));
        assert!(context.engine_address(Slot::output(0)).is_null());
    }
}

#[test]
fn options_of_the_delegate_are_the_engines_own() {
    let defaults = symbols().xnnpack_defaults.expect("this build has XNNPACK");
    // SAFETY: see XnnpackOptions.
    let options = unsafe { defaults() };
    // no thread pool: without setting the number, every model would run on one thread
    assert_eq!(options.threads, 0);
}

#[test]
fn a_number_that_no_tensor_has_is_refused_by_the_engine() {
    use super::interpreter::{Interpreter, ParsedModel};
    use super::settings::Settings;
    let bytes = std::fs::read(variable("ZB_TEST_MODELS").join("add4.tflite")).unwrap();
    let source = Arc::new(ModelSource { bytes: Box::new(bytes), path: None });
    let parsed = Arc::new(ParsedModel::parse(symbols(), source).unwrap());
    let interpreter = Interpreter::create(symbols(), parsed, Settings::plain(), false).unwrap();
    assert!(interpreter.tensor(0).is_some());
    for index in [-1, 100_000, i32::MAX, i32::MIN] {
        assert!(interpreter.tensor(index).is_none(), "{index}");
    }
}

#[test]
fn one_copy_of_the_engine_for_the_whole_process() {
    symbols();
    let path = variable("ZEROBIND_TFLITE_LIB");
    assert!(load::engine(Some(&path)).is_ok(), "the copy that is loaded");
    let error = load::engine(Some(Path::new("/elsewhere/libtensorflowlite_c.so"))).err().expect("another copy");
    assert_eq!(error.status, Status::InvalidArgument);
    let loaded = load::info().path.unwrap().to_str().unwrap();
    assert!(error.text().contains("/elsewhere/") && error.text().contains(loaded), "{error}");
}

#[test]
fn a_damaged_model_is_refused_with_the_parsers_own_words() {
    let bytes = std::fs::read(variable("ZB_TEST_MODELS").join("add4.tflite")).unwrap();
    for (name, damaged, word) in [("cut", &bytes[..bytes.len() / 2], "Flatbuffer"), ("empty", &bytes[..0], "")] {
        let source = ModelSource { bytes: Box::new(damaged.to_vec()), path: None };
        let error = model::Model::open(symbols(), Arc::new(source), u64::MAX).err().expect(name);
        assert_eq!(error.status, Status::ModelInvalid);
        assert!(error.text().contains(word), "{name}: {error}");
    }
}
