//! Element types through the real engine.

use super::*;
use crate::base::{Dtype, Status};
use crate::runtime::onnxruntime::writer::{self as w, Graph};

fn bytes(memory: HostRange) -> Vec<u8> {
    // SAFETY: the tests keep the memory of every range that they read, and nothing runs meanwhile.
    unsafe { std::slice::from_raw_parts(memory.data().cast::<u8>(), memory.size()).to_vec() }
}

fn unary(operator: &str, from: u64, to: u64, attributes: &[Vec<u8>]) -> Graph {
    Graph {
        nodes: vec![w::node(operator, "x", "y", attributes)],
        inputs: vec![w::value("x", from, "3 3")],
        outputs: vec![w::value("y", to, "3 3")],
        ..Graph::default()
    }
}

#[test]
fn small_types_are_passed_as_they_are() {
    for (code, dtype) in [
        (w::F16, Dtype::F16),
        (w::BF16, Dtype::BF16),
        (w::BOOL, Dtype::Bool),
        (w::U8, Dtype::U8),
        (w::F8E4M3FN, Dtype::F8E4M3FN),
        (w::F8E5M2, Dtype::F8E5M2),
    ] {
        let model = written(unary("Identity", code, code, &[]).model());
        let (mut context, plan) = context(&model, 1);
        let desc = &plan.inputs[0].desc;
        assert_eq!(desc.dtype, dtype);
        let size = desc.memory_size().unwrap();
        assert_eq!(size, 9 * dtype.bits() as usize / 8);
        let given: Vec<u8> = (0..size).map(|index| index as u8 % 2).collect();
        let (x, y) = (Buffer::copy_of(&given, 64).unwrap(), Buffer::zeroed(size, 64).unwrap());
        attach(&mut context, Slot::input(0), &x, desc, Stay::Sticky);
        attach(&mut context, Slot::output(0), &y, desc, Stay::Sticky);
        for _ in 0..3 {
            context.run().unwrap();
            assert_eq!(bytes(y.range()), given, "{dtype}");
            assert_eq!(context.engine_address(Slot::input(0)), x.range().data().cast_const());
            assert_eq!(context.engine_address(Slot::output(0)), y.range().data().cast_const());
        }
        context.detach(Slot::output(0));
        context.run().unwrap();
        assert_eq!(bytes(context.output(Slot::output(0)).unwrap().memory), given, "{dtype}");
    }
}

#[test]
fn nine_nibbles_are_five_bytes() {
    for (code, dtype, wanted) in [
        (w::I4, Dtype::I4, [1.0, 2.0, -8.0, -1.0, 0.0, 7.0, 3.0, -2.0, 5.0]),
        (w::U4, Dtype::U4, [1.0, 2.0, 8.0, 15.0, 0.0, 7.0, 3.0, 14.0, 5.0]),
    ] {
        let mut graph = unary("DequantizeLinear", code, w::F32, &[]);
        graph.nodes = vec![w::node("DequantizeLinear", "x scale", "y", &[])];
        graph.constants = vec![w::floats("scale", &[], &[1.0])];
        let model = written(graph.model());
        let (mut context, plan) = context(&model, 1);
        let desc = &plan.inputs[0].desc;
        assert_eq!((desc.dtype, desc.memory_size().unwrap()), (dtype, 5));
        let (x, y) = (Buffer::copy_of(&[0x21, 0xf8, 0x70, 0xe3, 0x05], 64).unwrap(), floats(&[0.0; 9]));
        attach(&mut context, Slot::input(0), &x, desc, Stay::Sticky);
        attach(&mut context, Slot::output(0), &y, &plan.outputs[0].desc, Stay::Sticky);
        for _ in 0..3 {
            context.run().unwrap();
            assert_eq!(read(y.range()), wanted, "{dtype}");
        }
        let short = x.range().prefix(4);
        let error = context.attach(Slot::input(0), short, desc, Stay::Sticky).unwrap_err();
        assert_eq!(error.status, Status::BufferTooSmall);
        assert!(error.text().contains("5 bytes and 4 were given"), "{}", error.text());
    }
}

/// Nibbles that the engine quantizes, in memory of ours and in its own.
#[test]
fn nibbles_come_out_packed() {
    let mut graph = unary("QuantizeLinear", w::F32, w::I4, &[]);
    graph.nodes = vec![w::node("QuantizeLinear", "x scale zero", "y", &[])];
    graph.constants = vec![w::floats("scale", &[], &[1.0]), w::tensor("zero", w::I4, &[], [0])];
    let model = written(graph.model());
    let (mut context, plan) = context(&model, 1);
    let x = floats(&[1.0, 2.0, -8.0, -1.0, 0.0, 7.0, 3.0, -2.0, 5.0]);
    let y = Buffer::zeroed(5, 64).unwrap();
    attach(&mut context, Slot::input(0), &x, &plan.inputs[0].desc, Stay::Sticky);
    context.run().unwrap();
    let view = context.output(Slot::output(0)).unwrap();
    assert_eq!(bytes(view.memory)[..4], [0x21, 0xf8, 0x70, 0xe3]);
    assert_eq!((view.memory.size(), bytes(view.memory)[4] & 15), (5, 5));
    attach(&mut context, Slot::output(0), &y, &plan.outputs[0].desc, Stay::Sticky);
    context.run().unwrap();
    assert_eq!(bytes(y.range())[..4], [0x21, 0xf8, 0x70, 0xe3]);
}

/// Not every operator knows nibbles: even one that only passes them on does not.
#[test]
fn nibbles_are_for_operators_that_know_them() {
    for code in [w::I4, w::U4] {
        let error = unopened(unary("Identity", code, code, &[]).model());
        assert_eq!(error.status, Status::Unsupported);
        assert!(error.text().contains("Identity"), "{}", error.text());
    }
}

#[test]
fn complex_numbers_are_not_for_this_engine() {
    for (code, name) in [(w::C64, "complex64"), (w::C128, "complex128")] {
        let error = unopened(unary("Identity", code, code, &[]).model());
        assert_eq!(error.status, Status::Unsupported);
        assert!(error.text().contains(name), "{}", error.text());
    }
}

#[test]
fn strings_stay_with_the_engine() {
    // 1 is the engine's number for floats, 8 that for strings
    let to_text = unary("Cast", w::F32, w::STRING, &[w::int_attribute("to", 8)]);
    let model = written(to_text.model());
    assert_eq!(model.outputs()[0].desc.dtype, Dtype::String);
    let (mut context, plan) = context(&model, 1);
    assert!(plan.outputs[0].fixed.is_some() && plan.inputs[0].fixed.is_none());
    let x = floats(&[1.0; 9]);
    attach(&mut context, Slot::input(0), &x, &plan.inputs[0].desc, Stay::Sticky);
    let error = context.attach(Slot::output(0), x.range(), &plan.outputs[0].desc, Stay::Sticky).unwrap_err();
    assert_eq!(error.status, Status::Unsupported);
    assert!(error.text().contains("output 0 'y'") && error.text().contains("string"), "{}", error.text());
    for _ in 0..3 {
        context.run().unwrap();
        let error = context.output(Slot::output(0)).unwrap_err();
        assert_eq!(error.status, Status::Unsupported);
        assert!(error.text().contains("output 0 'y'") && error.text().contains("string"), "{}", error.text());
        assert!(context.engine_address(Slot::output(0)).is_null());
    }
}
