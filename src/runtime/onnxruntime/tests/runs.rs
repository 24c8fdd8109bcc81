//! Runs: which way is taken, what is kept, what is left after a failure.

use super::*;
use crate::base::{Result, Status};
use crate::runtime::Loan;

fn assert_close(given: &[f32], wanted: &[f32], slot: Slot) {
    assert_eq!(given.len(), wanted.len());
    let furthest = given.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(furthest < 1e-5, "{slot}: off by {furthest}");
}

#[test]
fn memory_that_stays_is_bound_at_its_second_run() {
    let model = open("add4.onnx");
    let (mut context, plan) = context(&model, 1);
    let desc = &plan.inputs[0].desc;
    let (x, y, z, other) = (floats(&[1.0, 2.0, 3.0, 4.0]), floats(&[10.0; 4]), floats(&[0.0; 4]), floats(&[0.0; 4]));
    attach(&mut context, Slot::input(0), &x, desc, Stay::Sticky);
    attach(&mut context, Slot::input(1), &y, desc, Stay::Sticky);
    attach(&mut context, Slot::output(0), &z, desc, Stay::Sticky);
    for (turn, is_bound) in [false, true, true].into_iter().enumerate() {
        z.range().copy_from(&floats(&[0.0; 4]).range());
        context.run().unwrap();
        assert_eq!(context.is_bound(), is_bound, "run {turn}");
        assert_eq!(read(z.range()), [11.0, 12.0, 13.0, 14.0], "run {turn}");
    }
    attach(&mut context, Slot::output(0), &other, desc, Stay::Sticky);
    z.range().copy_from(&floats(&[0.0; 4]).range());
    for _ in 0..3 {
        context.run().unwrap();
        assert_eq!(read(other.range()), [11.0, 12.0, 13.0, 14.0]);
        assert_eq!(read(z.range()), [0.0; 4], "the binding forgot the memory that was taken away");
    }
    assert!(context.is_bound());
}

#[test]
fn lent_memory_is_never_bound_and_its_values_are_used_again() {
    let model = open("add4.onnx");
    let (mut context, plan) = context(&model, 1);
    let desc = &plan.inputs[0].desc;
    let sets: Vec<[Buffer; 3]> =
        (0..3).map(|set| [floats(&[set as f32; 4]), floats(&[1.0; 4]), floats(&[0.0; 4])]).collect();
    let slots = [Slot::input(0), Slot::input(1), Slot::output(0)];
    let mut values: Vec<Vec<_>> = Vec::new();
    for turn in 0..9 {
        let set = &sets[turn % 3];
        slots.iter().zip(set).for_each(|(slot, buffer)| attach(&mut context, *slot, buffer, desc, Stay::OneRun));
        values.push(slots.iter().map(|slot| context.value(*slot)).collect());
        context.run().unwrap();
        assert!(!context.is_bound());
        assert_eq!(read(set[2].range()), [(turn % 3) as f32 + 1.0; 4]);
        for (slot, buffer) in slots.iter().zip(set) {
            assert_eq!(context.engine_address(*slot), buffer.range().data().cast_const(), "where it was");
            assert!(context.value(*slot).is_null());
        }
        assert!(context.output(slots[2]).is_err());
        assert_eq!(context.run().unwrap_err().status, Status::Unbound);
    }
    assert_eq!(values[..3], values[3..6]);
    assert_eq!(values[..3], values[6..]);
    assert_ne!(values[0], values[1]);
}

/// After a run that was lent every slot, values of it still stand where the next one looks; no other call must see them.
#[test]
fn nothing_is_left_of_a_run_that_was_lent_every_slot() {
    let model = open("add4.onnx");
    let (mut context, plan) = context(&model, 1);
    let desc = &plan.inputs[0].desc;
    let (x, y, z) = (floats(&[1.0, 2.0, 3.0, 4.0]), floats(&[10.0; 4]), floats(&[0.0; 4]));
    let slots = [Slot::input(0), Slot::input(1), Slot::output(0)];
    let loans = [&x, &y, &z].map(|buffer| buffer.range());
    let loans = [0, 1, 2].map(|slot| Loan { slot: slots[slot], memory: loans[slot] });
    let sums = [11.0, 12.0, 13.0, 14.0];
    type Call<'a> = &'a dyn Fn(&mut OnnxContext) -> Result<()>;
    let after: [(&str, Call<'_>, Option<Status>); 8] = [
        ("a run without anything", &|context| context.run(), Some(Status::Unbound)),
        ("a run with the inputs lent", &|context| context.run_lent(&loans[..2]), None),
        ("a run with the output lent", &|context| context.run_lent(&loans[2..]), Some(Status::Unbound)),
        (
            "too little memory",
            &|context| context.run_lent(&[loans[0], loans[1], short(&loans[2])]),
            Some(Status::BufferTooSmall),
        ),
        (
            "a run that is stopped",
            &|context| {
                let canceller = context.canceller().unwrap();
                canceller.cancel();
                let stopped = context.run_lent(&loans);
                canceller.clear();
                assert_eq!(context.run().unwrap_err().status, Status::Unbound);
                stopped
            },
            Some(Status::Cancelled),
        ),
        (
            "a plan",
            &|context| {
                context.plan(&[desc.dims, desc.dims])?;
                slots.iter().for_each(|slot| assert!(context.engine_address(*slot).is_null(), "{slot}"));
                context.run()
            },
            Some(Status::Unbound),
        ),
        (
            "inputs that stay",
            &|context| {
                attach(context, slots[0], &x, desc, Stay::Sticky);
                attach(context, slots[1], &y, desc, Stay::Sticky);
                context.run()
            },
            None,
        ),
        (
            "an output that comes and goes",
            &|context| {
                attach(context, slots[2], &x, desc, Stay::Sticky);
                context.detach(slots[2]);
                context.run_lent(&loans[..2])
            },
            None,
        ),
    ];
    for (what, call, refused) in after {
        // each at addresses of its own, so that its values are not kept
        let gone: Vec<[Buffer; 3]> = (0..4).map(|_| [0, 1, 2].map(|_| floats(&[1.0; 4]))).collect();
        for (turn, buffers) in gone.iter().enumerate() {
            let lend = |slot: usize| Loan { slot: slots[slot], memory: buffers[slot].range() };
            context.run_lent(&[lend(0), lend(1), lend(2)]).unwrap();
            assert_eq!(read(buffers[2].range()), [2.0; 4], "before {what}");
            buffers[2].range().copy_from(&floats(&[0.0; 4]).range());
            // not after the last one: it looks at values
            assert!(turn == 3 || context.output(slots[2]).is_err(), "before {what}");
        }
        assert_eq!(call(&mut context).err().map(|error| error.status), refused, "{what}");
        match context.output(slots[2]) {
            Ok(view) => {
                assert_eq!(read(view.memory), sums, "{what}");
                assert_ne!(view.memory.data(), z.range().data(), "{what}");
            }
            Err(_) => assert!(refused.is_some(), "{what}"),
        }
        for memory in gone.iter().map(|buffers| &buffers[2]).chain([&z]) {
            assert_eq!(read(memory.range()), [0.0; 4], "{what}: memory of no run");
        }
        slots.iter().for_each(|slot| context.detach(*slot));
    }
}

/// The same where the values that are left go with the shape that they were made for.
#[test]
fn nothing_is_left_of_a_run_of_another_shape() {
    let model = open("batch.onnx");
    let (mut context, _) = context(&model, 1);
    let slots = [Slot::input(0), Slot::output(0)];
    for rows in [1, 2, 3] {
        let dims = Dims::new(&[rows as i64, 4]).unwrap();
        let plan = context.plan(&[dims]).unwrap();
        let gone: Vec<[Buffer; 2]> = (0..4).map(|_| [0, 1].map(|_| floats(&vec![1.0; 4 * rows]))).collect();
        for buffers in &gone {
            context.run_lent(&[0, 1].map(|slot| Loan { slot: slots[slot], memory: buffers[slot].range() })).unwrap();
            assert_eq!(read(buffers[1].range()), vec![2.0; 4 * rows]);
        }
        let dims = Dims::new(&[rows as i64 + 1, 4]).unwrap();
        let plan = Plan { inputs: context.plan(&[dims]).unwrap().inputs, ..plan };
        let x = floats(&vec![3.0; 4 * (rows + 1)]);
        attach(&mut context, slots[0], &x, &plan.inputs[0].desc, Stay::Sticky);
        drop(gone);
        for _ in 0..3 {
            context.run().unwrap();
            assert_eq!(read(context.output(slots[1]).unwrap().memory), vec![6.0; 4 * (rows + 1)]);
        }
        context.detach(slots[0]);
    }
    let [x, y] = [0, 1].map(|_| floats(&[1.0; 16]));
    context
        .run_lent(&[(slots[0], &x), (slots[1], &y)].map(|(slot, buffer)| Loan { slot, memory: buffer.range() }))
        .unwrap();
    drop(context);
}

fn short(loan: &Loan) -> Loan {
    Loan { memory: loan.memory.prefix(8), ..*loan }
}

#[test]
fn a_broken_promise_leaves_nothing_to_see() {
    let model = open("nonzero.onnx");
    let (mut context, plan) = context(&model, 1);
    let mut values = [0.0; 16];
    values[3] = 1.0;
    values[5] = 1.0;
    let x = floats(&values);
    attach(&mut context, Slot::input(0), &x, &plan.inputs[0].desc, Stay::Sticky);
    let promise = Desc { dims: Dims::new(&[3, 1]).unwrap(), ..plan.outputs[0].desc };
    let y = buffer(&promise);
    context.attach(Slot::output(0), y.range().without_slack(), &promise, Stay::Sticky).unwrap();
    for _ in 0..3 {
        let error = context.run().unwrap_err();
        assert_eq!(error.status, Status::ShapeMismatch);
        for word in ["output 0 'y'", "the 24 bytes", "i64[3,1]", "i64[2,1]", "16 bytes"] {
            assert!(error.text().contains(word), "{word}: {}", error.text());
        }
        assert!(context.output(Slot::output(0)).is_err());
    }
    context.detach(Slot::output(0));
    context.run().unwrap();
    assert_eq!(context.output(Slot::output(0)).unwrap().desc.dims, Dims::new(&[2, 1]).unwrap());
    let promise = Desc { dims: Dims::new(&[2, 1]).unwrap(), ..promise };
    context.attach(Slot::output(0), y.range().without_slack(), &promise, Stay::Sticky).unwrap();
    assert!(context.output(Slot::output(0)).is_err(), "nothing was computed there yet");
    context.run().unwrap();
    context.run().unwrap();
    assert_eq!(context.output(Slot::output(0)).unwrap().memory.size(), 16);
}

#[test]
fn a_promise_that_takes_more_room_than_there_is() {
    let model = open("nonzero.onnx");
    let (mut context, plan) = context(&model, 1);
    let x = floats(&[1.0; 16]);
    attach(&mut context, Slot::input(0), &x, &plan.inputs[0].desc, Stay::Sticky);
    let promise = Desc { dims: Dims::new(&[3, 1]).unwrap(), ..plan.outputs[0].desc };
    for (bytes, status) in [(24, Status::BufferTooSmall), (127, Status::BufferTooSmall), (128, Status::ShapeMismatch)] {
        let y = Buffer::zeroed(bytes, 64).unwrap();
        context.attach(Slot::output(0), y.range().without_slack(), &promise, Stay::Sticky).unwrap();
        for _ in 0..3 {
            let error = context.run().unwrap_err();
            assert_eq!(error.status, status, "{bytes}: {}", error.text());
            for word in ["output 0 'y'", &format!("the {bytes} bytes"), "i64[3,1]", "i64[16,1]", "takes 128 bytes"] {
                assert!(error.text().contains(word), "{word}: {}", error.text());
            }
        }
    }
}

#[test]
fn each_tensor_is_attached_once() {
    let cases = [("passthrough.onnx", 0, Slot::input(0)), ("duplicate.onnx", 1, Slot::output(0))];
    for (name, twin, origin) in cases {
        let model = open(name);
        let (mut context, plan) = context(&model, 1);
        assert_eq!(plan.outputs[twin].twin, Some(origin), "{name}");
        let desc = &plan.inputs[0].desc;
        let (x, y) = (floats(&[7.0; 8]), floats(&[0.0; 8]));
        attach(&mut context, Slot::input(0), &x, desc, Stay::Sticky);
        assert!(context.attach(Slot::output(twin), y.range(), desc, Stay::Sticky).is_err(), "{name}");
        attach(&mut context, Slot::output(1 - twin), &y, desc, Stay::Sticky);
        context.run().unwrap();
        context.run().unwrap();
        let view = context.output(Slot::output(twin)).unwrap();
        let wanted = if origin == Slot::input(0) { 7.0 } else { 8.0 };
        assert_eq!(read(view.memory), [wanted; 8], "{name}");
        assert_eq!(context.engine_address(Slot::output(twin)), context.engine_address(origin), "{name}");
    }
}

#[test]
fn no_bytes_need_no_address() {
    let model = open("empty.onnx");
    let (mut context, plan) = context(&model, 1);
    let desc = &plan.inputs[0].desc;
    context.attach(Slot::input(0), nothing(), desc, Stay::Sticky).unwrap();
    context.run().unwrap();
    assert_eq!(context.output(Slot::output(0)).unwrap().memory.size(), 0);
    context.attach(Slot::output(0), nothing(), desc, Stay::Sticky).unwrap();
    for _ in 0..3 {
        context.run().unwrap();
    }
    assert!(context.engine_address(Slot::input(0)).is_null());
    let add = open("add4.onnx");
    let (mut context, plan) = super::context(&add, 1);
    let error = context.attach(Slot::input(0), nothing(), &plan.inputs[0].desc, Stay::Sticky).unwrap_err();
    assert_eq!(error.status, Status::NullArgument);
}

#[test]
fn what_does_not_fit_is_refused_before_the_engine_sees_it() {
    let model = open("add4.onnx");
    let (mut context, plan) = context(&model, 1);
    let desc = plan.inputs[0].desc;
    let (x, short) = (floats(&[0.0; 4]), floats(&[0.0; 3]));
    let mut refuse = |slot, memory, desc: Desc, status| {
        let error = context.attach(slot, memory, &desc, Stay::OneRun).unwrap_err();
        assert_eq!(error.status, status, "{}", error.text());
    };
    let other_type = Desc { dtype: crate::base::Dtype::I32, ..desc };
    let other_shape = Desc { dims: Dims::new(&[2, 2]).unwrap(), ..desc };
    let open_shape = Desc { dims: Dims::new(&[-1]).unwrap(), ..desc };
    // SAFETY: a promise for less than the buffer allows.
    let read_only = unsafe { HostRange::new(x.range().data(), 16, 16, Access::ReadOnly) };
    refuse(Slot::input(0), x.range(), other_type, Status::DtypeMismatch);
    refuse(Slot::input(0), x.range(), other_shape, Status::ShapeMismatch);
    refuse(Slot::input(0), x.range(), open_shape, Status::ShapeMismatch);
    refuse(Slot::input(0), short.range(), desc, Status::BufferTooSmall);
    refuse(Slot::output(0), read_only, desc, Status::ReadOnly);
    refuse(Slot::input(2), x.range(), desc, Status::InvalidArgument);
    refuse(Slot::output(1), x.range(), desc, Status::InvalidArgument);
    // a value over all of it is no excuse for a second one over less
    context.attach(Slot::input(0), x.range(), &desc, Stay::OneRun).unwrap();
    let less = x.range().prefix(12);
    assert_eq!(context.attach(Slot::input(0), less, &desc, Stay::OneRun).unwrap_err().status, Status::BufferTooSmall);
    assert_eq!(context.engine_address(Slot::input(0)), x.range().data().cast_const(), "what was attached still is");
}

#[test]
fn a_real_model_computes_the_same_bound_and_viewed() {
    let model = open("basic_pitch.onnx");
    let (mut context, plan) = context(&model, 1);
    let samples: Vec<f32> = (0..43844).map(|index| (index as f32 * 0.05).sin() * 0.5).collect();
    let samples = floats(&samples);
    attach(&mut context, Slot::input(0), &samples, &plan.inputs[0].desc, Stay::Sticky);
    context.run().unwrap();
    let mut attached = Vec::new();
    for index in 0..model.outputs().len() {
        let slot = Slot::output(index);
        let view = context.output(slot).unwrap();
        let viewed = read(view.memory);
        assert!(viewed.iter().any(|value| *value > 0.01), "{slot}");
        let bound = buffer(&view.desc);
        attach(&mut context, slot, &bound, &view.desc, Stay::Sticky);
        context.run().unwrap();
        context.run().unwrap();
        assert_close(&read(bound.range()), &viewed, slot);
        attached.push(bound);
    }
}
