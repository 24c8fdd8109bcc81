//! Shapes without elements, and the way back from them.

use super::written::{Operator, Written, constant, kind, tensor};
use super::*;

/// Two inputs behind each other, as a cache that grows.
fn joined(first: &[i32], second: &[i32], axis: u32) -> Vec<u8> {
    let mut sum = first.to_vec();
    sum[axis as usize] = -1;
    Written {
        tensors: vec![tensor("past", kind::F32, first), tensor("new", kind::F32, second), tensor("y", kind::F32, &sum)],
        inputs: vec![0, 1],
        outputs: vec![2],
        operators: vec![Operator::concatenation(&[0, 1], &[2], axis)],
        ..Written::default()
    }
    .bytes()
}

/// The input added to itself.
fn doubled(shape: &[i32]) -> Vec<u8> {
    Written {
        tensors: vec![tensor("x", kind::F32, shape), tensor("y", kind::F32, shape)],
        inputs: vec![0],
        outputs: vec![1],
        operators: vec![Operator::add(&[0, 0], &[1])],
        ..Written::default()
    }
    .bytes()
}

/// A filter of 3x3 over images; "past" goes its own way.
fn filtered(image: &[i32]) -> Vec<u8> {
    let ones = |count| [1.0f32].repeat(count).iter().flat_map(|value| value.to_le_bytes()).collect();
    Written {
        tensors: vec![
            tensor("image", kind::F32, image),
            constant("filter", kind::F32, &[1, 3, 3, 1], 1),
            constant("bias", kind::F32, &[1], 2),
            tensor("y", kind::F32, &[-1, -1, -1, 1]),
            tensor("past", kind::F32, &[-1]),
            tensor("z", kind::F32, &[-1]),
        ],
        inputs: vec![0, 4],
        outputs: vec![3, 5],
        operators: vec![Operator::conv_2d(&[0, 1, 2], &[3]), Operator::add(&[4, 4], &[5])],
        buffers: vec![ones(9), ones(1)],
    }
    .bytes()
}

fn nothing() -> HostRange {
    // SAFETY: no bytes are promised.
    unsafe { HostRange::new(std::ptr::null_mut(), 0, 0, crate::memory::Access::ReadWrite) }
}

/// Plans the shapes, runs on ones, and gives the shape and the values of the first output.
fn step(context: &mut dyn EngineContext, shapes: &[&[i64]]) -> (Dims, Vec<f32>) {
    let shapes: Vec<Dims> = shapes.iter().map(|shape| dims(shape)).collect();
    let plan = context.plan(&shapes).unwrap_or_else(|error| panic!("{shapes:?}: {error}"));
    let size = |dims: &Dims| dims.elements().unwrap() as usize;
    let inputs: Vec<Floats> = shapes.iter().map(|shape| Floats::new(&vec![1.0; size(shape)])).collect();
    for (position, memory) in inputs.iter().enumerate() {
        let range = if memory.range().size() == 0 { nothing() } else { memory.range() };
        context.attach(Slot::input(position), range, &plan.inputs[position].desc, Stay::OneRun).unwrap();
    }
    let shape = plan.outputs[0].desc.dims;
    let output = Floats::new(&vec![0.0; size(&shape)]);
    let range = if size(&shape) == 0 { nothing() } else { output.range() };
    context.attach(Slot::output(0), range, &plan.outputs[0].desc, Stay::OneRun).unwrap();
    context.run().unwrap_or_else(|error| panic!("{shapes:?}: {error}"));
    (shape, output.values())
}

#[test]
fn a_cache_begins_with_nothing_and_grows() {
    for xnnpack in [false, true] {
        let model = open_bytes(symbols(), &joined(&[1, 8, -1, 128], &[1, 8, 1, 128], 2)).unwrap();
        let mut context = context(&model, xnnpack);
        for past in [0, 1, 5, 0, 0, 2] {
            let (shape, values) = step(&mut *context, &[&[1, 8, past, 128], &[1, 8, 1, 128]]);
            assert_eq!(shape, dims(&[1, 8, past + 1, 128]));
            assert!(values.iter().all(|value| *value == 1.0));
        }
    }
}

#[test]
fn both_parts_can_be_empty() {
    for xnnpack in [false, true] {
        let model = open_bytes(symbols(), &joined(&[1, -1, 128], &[1, -1, 128], 1)).unwrap();
        let mut context = context(&model, xnnpack);
        for (past, new) in [(0, 4), (4, 0), (0, 0), (4, 4), (0, 0)] {
            let (shape, values) = step(&mut *context, &[&[1, past, 128], &[1, new, 128]]);
            assert_eq!(shape, dims(&[1, past + new, 128]));
            assert!(values.iter().all(|value| *value == 1.0));
        }
    }
}

#[test]
fn from_empty_to_full_and_back() {
    for xnnpack in [false, true] {
        for (shape, sizes) in [(vec![1, 4, -1], [0, 128, 0, 7]), (vec![-1, 16], [0, 3, 0, 1])] {
            let model = open_bytes(symbols(), &doubled(&shape)).unwrap();
            let mut context = context(&model, xnnpack);
            for size in sizes {
                let wanted: Vec<i64> = shape.iter().map(|dim| if *dim < 0 { size } else { i64::from(*dim) }).collect();
                let (shape, values) = step(&mut *context, &[&wanted]);
                assert_eq!(shape, dims(&wanted));
                assert!(values.iter().all(|value| *value == 2.0));
            }
        }
    }
}

#[test]
fn a_batch_of_no_images_is_for_plain_kernels() {
    let model = open_bytes(symbols(), &filtered(&[-1, 4, 4, 1])).unwrap();
    let mut plain = context(&model, false);
    for batch in [0, 2, 0] {
        let (shape, values) = step(&mut *plain, &[&[batch, 4, 4, 1], &[0]]);
        assert_eq!(shape, dims(&[batch, 2, 2, 1]));
        assert!(values.iter().all(|value| *value == 10.0));
    }
    // XNNPACK leaves the shape of the output to chance
    let mut delegated = context(&model, true);
    for _ in 0..3 {
        let error = delegated.plan(&[dims(&[0, 4, 4, 1]), dims(&[1])]).unwrap_err();
        assert!(matches!(error.status, Status::ShapeMismatch | Status::Runtime), "{error}");
        assert!(error.text().contains("tflite.xnnpack"), "{error}");
        assert_eq!(step(&mut *delegated, &[&[2, 4, 4, 1], &[1]]).1, [10.0; 8]);
    }
}

#[test]
fn an_image_that_is_too_small_is_refused_beside_something_empty() {
    let model = open_bytes(symbols(), &filtered(&[1, -1, -1, 1])).unwrap();
    let mut context = context(&model, true);
    for past in [0, 1] {
        let error = context.plan(&[dims(&[1, 2, 2, 1]), dims(&[past])]).unwrap_err();
        assert_eq!(error.status, Status::ShapeMismatch, "{error}");
        assert_eq!(step(&mut *context, &[&[1, 4, 4, 1], &[past]]).1, [10.0; 4]);
    }
}
