//! Back to the beginning.

use super::*;
use crate::runtime::tflite::symbols::{RawInterpreter, RawStatus};

/// Pages of its own, which can be taken out of reach.
struct Pages(HostRange);

impl Pages {
    const SIZE: usize = 1 << 16;

    fn new() -> Pages {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: an anonymous map at an address of the kernel's choice.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), Pages::SIZE, protection, flags, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        // SAFETY: the map has so many bytes, and is there until the drop.
        Pages(unsafe { HostRange::new(start, Pages::SIZE, Pages::SIZE, crate::memory::Access::ReadWrite) })
    }

    fn fill(&self, value: u8) {
        // SAFETY: so many bytes of ours, which nobody else uses now.
        unsafe { self.0.data().cast::<u8>().write_bytes(value, Pages::SIZE) };
    }

    fn start(&self, size: usize) -> Vec<u8> {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(self.0.data().cast::<u8>(), size) }.to_vec()
    }

    /// Whoever touches them from now on ends the process.
    fn forbid(&self) {
        // SAFETY: pages of ours.
        assert_eq!(unsafe { libc::mprotect(self.0.data(), Pages::SIZE, libc::PROT_NONE) }, 0);
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`.
        unsafe { libc::munmap(self.0.data(), Pages::SIZE) };
    }
}

fn declared(model: &model::Model) -> Vec<Dims> {
    model.inputs().iter().map(|input| input.initial).collect()
}

/// Attaches pages to the first input and the first output, and runs on inputs of one byte repeated.
fn outputs(
    context: &mut dyn EngineContext,
    plan: &Plan,
    (input, output): (&Pages, &Pages),
    bytes: &[u8],
) -> Vec<Vec<u8>> {
    context.attach(Slot::input(0), input.0, &plan.inputs[0].desc, Stay::Sticky).unwrap();
    context.attach(Slot::output(0), output.0, &plan.outputs[0].desc, Stay::Sticky).unwrap();
    let size = plan.outputs[0].desc.byte_size().unwrap() as usize;
    let run = |byte: &u8| {
        input.fill(*byte);
        context.run().unwrap();
        output.start(size)
    };
    bytes.iter().map(run).collect()
}

#[test]
fn state_is_gone_and_the_rest_is_as_before() {
    let bytes = [7, 250, 3, 99, 180, 64, 30, 201];
    for (name, xnnpack) in
        [("okay_nabu_features.tflite", false), ("okay_nabu_features.tflite", true), ("accumulator.tflite", true)]
    {
        let model = open(name);
        let shapes = declared(&model);
        let mut context = context(&model, xnnpack);
        let plan = context.plan(&shapes).unwrap();
        let (input, output) = (Pages::new(), Pages::new());
        let fresh = outputs(&mut *context, &plan, (&input, &output), &bytes);
        let further = outputs(&mut *context, &plan, (&input, &output), &bytes);
        assert_ne!(fresh, further, "{name} has no state");
        for _ in 0..3 {
            let again = context.reset(&shapes).unwrap().unwrap();
            assert_eq!(format!("{again:?}"), format!("{plan:?}"));
            assert_eq!(context.run().unwrap_err().status, Status::Unbound, "nothing is attached");
            assert_eq!(outputs(&mut *context, &again, (&input, &output), &bytes), fresh, "{name}");
        }
    }
}

#[test]
fn what_was_attached_is_not_touched() {
    for name in ["add4.tflite", "two_out.tflite", "okay_nabu.tflite", "embedding.tflite", "accumulator.tflite"] {
        for xnnpack in [false, true] {
            let model = open(name);
            let shapes = declared(&model);
            let mut context = context(&model, xnnpack);
            let plan = context.plan(&shapes).unwrap();
            let inputs: Vec<Pages> = shapes.iter().map(|_| Pages::new()).collect();
            for (position, pages) in inputs.iter().enumerate() {
                context.attach(Slot::input(position), pages.0, &plan.inputs[position].desc, Stay::Sticky).unwrap();
            }
            let output = Pages::new();
            context.attach(Slot::output(0), output.0, &plan.outputs[0].desc, Stay::Sticky).unwrap();
            context.run().unwrap();
            inputs.iter().chain([&output]).for_each(Pages::forbid);
            context.reset(&shapes).unwrap();
            assert_ne!(context.engine_address(Slot::output(0)), output.0.data().cast_const());
        }
    }
}

#[test]
fn a_failure_changes_nothing() {
    for xnnpack in [false, true] {
        let model = open("conv_dyn.tflite");
        let mut context = context(&model, xnnpack);
        let shape = dims(&[1, 4, 4, 1]);
        let plan = context.plan(&[shape]).unwrap();
        let (x, y) = (Floats::new(&[1.0; 16]), Floats::new(&[0.0; 4]));
        attach(&mut *context, &plan, Slot::input(0), &x);
        attach(&mut *context, &plan, Slot::output(0), &y);
        context.reset(&[dims(&[1, 1, 1, 1])]).unwrap_err();
        context.reset(&[]).unwrap_err();
        context.run().unwrap();
        assert_eq!(y.values(), [45.0; 4]);
        // other shapes than those of the last plan are tried as any others
        let larger = context.reset(&[dims(&[1, 5, 5, 1])]).unwrap().unwrap();
        assert_eq!(larger.outputs[0].desc.dims, dims(&[1, 3, 3, 1]));
    }
}

/// An engine that cannot plan while `OUT_OF_ORDER` says so.
fn moody() -> &'static Symbols {
    unsafe extern "C" fn allocate(interpreter: *mut RawInterpreter) -> RawStatus {
        // SAFETY: as the caller promises.
        if OUT_OF_ORDER.get() { 1 } else { unsafe { (symbols().allocate_tensors)(interpreter) } }
    }
    static TABLE: OnceLock<Symbols> = OnceLock::new();
    TABLE.get_or_init(|| Symbols { allocate_tensors: allocate, ..*symbols() })
}

thread_local!(static OUT_OF_ORDER: std::cell::Cell<bool> = const { std::cell::Cell::new(false) });

#[test]
fn state_survives_a_reset_that_fails() {
    let model = open_with(moody(), "accumulator.tflite");
    let mut context = context(&model, true);
    let plan = context.plan(&[dims(&[8])]).unwrap();
    let (x, y) = (Floats::new(&[1.0; 8]), Floats::new(&[0.0; 8]));
    attach(&mut *context, &plan, Slot::input(0), &x);
    attach(&mut *context, &plan, Slot::output(0), &y);
    for round in 1..=3 {
        context.run().unwrap();
        assert_eq!(y.values(), [round as f32; 8]);
        OUT_OF_ORDER.set(true);
        context.reset(&[dims(&[8])]).unwrap_err();
        OUT_OF_ORDER.set(false);
    }
    let plan = context.reset(&[dims(&[8])]).unwrap().unwrap();
    attach(&mut *context, &plan, Slot::input(0), &x);
    context.run().unwrap();
    assert_eq!(viewed(&mut *context, 0), [1.0; 8]);
}

#[test]
fn outputs_are_classified_anew() {
    for xnnpack in [false, true] {
        for name in
            ["nonzero.tflite", "constant.tflite", "passthrough.tflite", "duplicate.tflite", "basic_pitch.tflite"]
        {
            let model = open(name);
            let shapes = declared(&model);
            let mut context = context(&model, xnnpack);
            let plan = context.plan(&shapes).unwrap();
            let sizes: Vec<usize> = plan.inputs.iter().map(|slot| slot.desc.byte_size().unwrap() as usize).collect();
            let inputs: Vec<Buffer> = sizes.iter().map(|size| super::bytes(&vec![0; size + 64])).collect();
            let run = |context: &mut dyn EngineContext| {
                for (position, memory) in inputs.iter().enumerate() {
                    let desc = &plan.inputs[position].desc;
                    context.attach(Slot::input(position), memory.range(), desc, Stay::Sticky).unwrap();
                }
                context.run().unwrap();
                let view = |output| context.output(Slot::output(output)).unwrap().desc;
                (0..plan.outputs.len()).map(view).collect::<Vec<_>>()
            };
            let seen = run(&mut *context);
            let again = context.reset(&shapes).unwrap().unwrap();
            assert_eq!(format!("{again:?}"), format!("{plan:?}"), "{name}");
            assert_eq!(run(&mut *context), seen, "{name}");
        }
    }
}
