//! Element types at the boundary.

use super::written::{Operator, Written, constant, kind, tensor};
use super::*;
use crate::base::Dtype;

/// A model that only gives its elements another shape, from [7] to [7,1].
fn reshaped(kind: u8) -> Vec<u8> {
    let shape: Vec<u8> = [7i32, 1].iter().flat_map(|dim| dim.to_le_bytes()).collect();
    Written {
        tensors: vec![tensor("x", kind, &[7]), constant("shape", kind::I32, &[2], 1), tensor("y", kind, &[7, 1])],
        inputs: vec![0],
        outputs: vec![2],
        operators: vec![Operator::reshape(&[0, 1], &[2])],
        buffers: vec![shape],
    }
    .bytes()
}

#[test]
fn elements_of_every_type_pass_in_place() {
    // the schema's numbers, which are the engine's less one but for the first two
    let types = [
        (0, Dtype::F32),
        (1, Dtype::F16),
        (2, Dtype::I32),
        (3, Dtype::U8),
        (4, Dtype::I64),
        (6, Dtype::Bool),
        (7, Dtype::I16),
        (8, Dtype::C64),
        (9, Dtype::I8),
        (10, Dtype::F64),
        (11, Dtype::C128),
        (12, Dtype::U64),
        (15, Dtype::U32),
        (16, Dtype::U16),
        (kind::I4, Dtype::I4),
        (18, Dtype::BF16),
    ];
    for ((kind, dtype), xnnpack) in types.into_iter().flat_map(|one| [(one, false), (one, true)]) {
        let model = open_bytes(symbols(), &reshaped(kind)).unwrap();
        assert_eq!((model.inputs()[0].desc.dtype, model.outputs()[0].desc.dtype), (dtype, dtype));
        let mut context = context(&model, xnnpack);
        let plan = context.plan(&[dims(&[7])]).unwrap();
        let size = plan.inputs[0].desc.byte_size().unwrap() as usize;
        assert_eq!(size, (7 * dtype.bits() as usize).div_ceil(8), "{dtype}");
        let values: Vec<u8> = (1..=size as u8).collect();
        let (x, y) = (bytes(&values), bytes(&vec![0; size]));
        attach(&mut *context, &plan, Slot::input(0), &x);
        attach(&mut *context, &plan, Slot::output(0), &y);
        context.run().unwrap();
        assert_eq!(y.as_slice(), values, "{dtype}, XNNPACK {xnnpack}");
    }
}

#[test]
fn half_bytes_are_packed_with_the_first_one_low() {
    let model = Written {
        tensors: vec![tensor("x", kind::I4, &[5]), tensor("y", kind::F32, &[5])],
        inputs: vec![0],
        outputs: vec![1],
        operators: vec![Operator::cast(&[0], &[1])],
        ..Written::default()
    };
    for xnnpack in [false, true] {
        let model = open_bytes(symbols(), &model.bytes()).unwrap();
        let mut context = context(&model, xnnpack);
        let plan = context.plan(&[dims(&[5])]).unwrap();
        let x = bytes(&[0x21, 0x83, 0x0f]);
        attach(&mut *context, &plan, Slot::input(0), &x);
        context.run().unwrap();
        assert_eq!(viewed(&mut *context, 0), [1.0, 2.0, 3.0, -8.0, -1.0]);
        let short = context.attach(Slot::input(0), bytes(&[0; 2]).range(), &plan.inputs[0].desc, Stay::Sticky);
        assert_eq!(short.unwrap_err().status, Status::BufferTooSmall);
    }
}

#[test]
fn handles_have_no_counterpart() {
    let error = open_bytes(symbols(), &reshaped(13)).err().unwrap();
    assert_eq!(error.status, Status::Unsupported);
    assert!(error.text().contains("x") && error.text().contains("RESOURCE"), "{error}");
}

#[test]
fn strings_are_described_and_cannot_be_given() {
    for xnnpack in [false, true] {
        let model = open_bytes(symbols(), &reshaped(kind::STRING)).unwrap();
        assert_eq!(model.inputs()[0].desc.dtype, Dtype::String);
        assert_eq!(model.inputs()[0].name, "x");
        let mut context = context(&model, xnnpack);
        let plan = context.plan(&[dims(&[7])]).unwrap();
        assert!(plan.inputs[0].fixed.is_some() && plan.outputs[0].fixed.is_some());
        let memory = bytes(&[0; 64]);
        for (slot, planned) in [(Slot::input(0), &plan.inputs[0]), (Slot::output(0), &plan.outputs[0])] {
            let error = context.attach(slot, memory.range(), &planned.desc, Stay::Sticky).unwrap_err();
            assert_eq!(error.status, Status::Unsupported);
            assert!(error.text().contains("strings"), "{error}");
        }
        let error = context.run().unwrap_err();
        assert_eq!(error.status, Status::Unsupported);
        assert!(error.text().contains("input 0 'x'") && error.text().contains("strings"), "{error}");
    }
}

/// y = x + x, and a text that is always the same; which of them first is left to the caller.
fn texts_beside_numbers(is_text_first: bool) -> Vec<u8> {
    // two strings in the engine's form: their number, where each begins, where the last one ends, and the letters
    let words = [2i32, 16, 19, 22].iter().flat_map(|number| number.to_le_bytes()).chain(*b"onetwo").collect();
    let shape = [2i32, 1].iter().flat_map(|dim| dim.to_le_bytes()).collect();
    let mut operators = vec![Operator::add(&[0, 0], &[4]), Operator::reshape(&[1, 2], &[3])];
    if is_text_first {
        operators.reverse();
    }
    Written {
        tensors: vec![
            tensor("x", kind::F32, &[4]),
            constant("words", kind::STRING, &[2], 1),
            constant("shape", kind::I32, &[2], 2),
            tensor("text", kind::STRING, &[2, 1]),
            tensor("y", kind::F32, &[4]),
        ],
        inputs: vec![0],
        outputs: vec![3, 4],
        operators,
        buffers: vec![words, shape],
    }
    .bytes()
}

#[test]
fn strings_as_an_output_leave_the_others_usable() {
    for (is_text_first, xnnpack) in [(false, false), (false, true), (true, false), (true, true)] {
        let model = open_bytes(symbols(), &texts_beside_numbers(is_text_first)).unwrap();
        let mut context = context(&model, xnnpack);
        let plan = context.plan(&[dims(&[4])]).unwrap();
        let (x, y) = (Floats::new(&[1.0, 2.0, 3.0, 4.0]), Floats::new(&[0.0; 4]));
        attach(&mut *context, &plan, Slot::input(0), &x);
        // what comes after strings is planned in the run, like all that comes after a tensor of unknown size
        assert_eq!(plan.outputs[1].fixed.is_some(), is_text_first);
        if !is_text_first {
            attach(&mut *context, &plan, Slot::output(1), &y);
        }
        context.run().unwrap();
        assert_eq!(viewed(&mut *context, 1), [2.0, 4.0, 6.0, 8.0]);
        let error = context.output(Slot::output(0)).unwrap_err();
        assert_eq!(error.status, Status::Unsupported);
        assert!(error.text().contains("output 0 'text'"), "{error}");
    }
}
