//! Tensors without elements, and those that only sometimes have some.

use super::*;
use crate::base::Dtype;
use crate::runtime::onnxruntime::writer::{self as w, Graph};

/// present = past and new, one after the other along axis 2.
fn concat() -> OnnxModel {
    let graph = Graph {
        nodes: vec![w::node("Concat", "past new", "present", &[w::int_attribute("axis", 2)])],
        inputs: vec![w::value("past", w::F32, "1 2 past 3"), w::value("new", w::F32, "1 2 1 3")],
        outputs: vec![w::value("present", w::F32, "1 2 total 3")],
        ..Graph::default()
    };
    written(graph.model())
}

fn desc(dims: &[i64]) -> Desc {
    Desc { dtype: Dtype::F32, dims: Dims::new(dims).unwrap() }
}

/// Memory for no bytes at an address that is real.
fn no_bytes_at(buffer: &Buffer) -> HostRange {
    buffer.range().prefix(0).without_slack()
}

#[test]
fn a_cache_that_starts_empty() {
    let model = concat();
    let (mut context, plan) = context(&model, 0);
    assert_eq!(plan.outputs[0].desc.dims.as_slice(), [1, 2, -1, 3]);
    let new = floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let (room, present) = (floats(&[9.0; 12]), floats(&[0.0; 18]));
    for stay in [Stay::Sticky, Stay::OneRun] {
        for past in [0, 1, 2, 0, 2, 0, 0] {
            context.plan(&[desc(&[1, 2, past, 3]).dims, desc(&[1, 2, 1, 3]).dims]).unwrap();
            let memory = if past == 0 { nothing() } else { room.range().prefix(24 * past as usize) };
            let total = desc(&[1, 2, past + 1, 3]);
            let give_inputs = |context: &mut OnnxContext| {
                context.attach(Slot::input(0), memory, &desc(&[1, 2, past, 3]), stay).unwrap();
                attach(context, Slot::input(1), &new, &desc(&[1, 2, 1, 3]), stay);
            };
            for turn in 0..3 {
                if turn == 0 || stay == Stay::OneRun {
                    give_inputs(&mut context);
                    context.attach(Slot::output(0), present.range(), &total, stay).unwrap();
                }
                present.range().copy_from(&floats(&[0.0; 18]).range());
                context.run().unwrap();
                if stay == Stay::Sticky {
                    assert_eq!(context.output(Slot::output(0)).unwrap().desc, total);
                }
                let old = vec![9.0; 3 * past as usize];
                let joined = [&old[..], &[1.0, 2.0, 3.0], &old, &[4.0, 5.0, 6.0]].concat();
                assert_eq!(read(present.range())[..joined.len()], joined);
            }
            context.detach(Slot::output(0));
            give_inputs(&mut context);
            context.run().unwrap();
            assert_eq!(context.output(Slot::output(0)).unwrap().desc, total);
        }
    }
}

#[test]
fn no_bytes_at_one_address_in_many_shapes() {
    let graph = Graph {
        nodes: vec![w::node("Shape", "x", "s", &[]), w::node("Relu", "x", "y", &[])],
        inputs: vec![w::value("x", w::F32, "a b")],
        outputs: vec![w::value("s", w::I64, "2"), w::value("y", w::F32, "a b")],
        ..Graph::default()
    };
    let model = written(graph.model());
    let (mut context, _) = context(&model, 1);
    let place = floats(&[-1.0, 2.0]);
    for (shape, memory) in [
        ([0, 16], no_bytes_at(&place)),
        ([16, 0], no_bytes_at(&place)),
        ([0, 0], nothing()),
        ([1, 2], place.range()),
        ([0, 16], no_bytes_at(&place)),
        ([0, 5], nothing()),
        ([2, 1], place.range()),
        ([16, 0], no_bytes_at(&place)),
        ([0, 0], nothing()),
    ] {
        context.plan(&[Dims::new(&shape).unwrap()]).unwrap();
        for stay in [Stay::Sticky, Stay::OneRun] {
            for _ in 0..3 {
                context.attach(Slot::input(0), memory, &desc(&shape), stay).unwrap();
                context.run().unwrap();
                let computed = context.output(Slot::output(0)).unwrap().memory;
                // SAFETY: two numbers of the engine's, good until the next run.
                let computed = unsafe { std::slice::from_raw_parts(computed.data().cast::<i64>(), 2) };
                assert_eq!(computed, shape);
                assert_eq!(context.output(Slot::output(1)).unwrap().desc, desc(&shape));
            }
        }
    }
}

#[test]
fn empty_outputs_are_bound_and_promised() {
    let graph = Graph {
        nodes: vec![w::node("NonZero", "x", "y", &[])],
        inputs: vec![w::value("x", w::F32, "n")],
        outputs: vec![w::value("y", w::I64, "1 hits")],
        ..Graph::default()
    };
    let (mut context, _) = context(&written(graph.model()), 3);
    let x = floats(&[0.0; 3]);
    attach(&mut context, Slot::input(0), &x, &desc(&[3]), Stay::Sticky);
    let none = Desc { dtype: Dtype::I64, ..desc(&[1, 0]) };
    for memory in [nothing(), no_bytes_at(&x)] {
        x.range().copy_from(&floats(&[0.0; 3]).range());
        context.attach(Slot::output(0), memory, &none, Stay::Sticky).unwrap();
        for _ in 0..3 {
            context.run().unwrap();
            let view = context.output(Slot::output(0)).unwrap();
            assert_eq!((view.desc, view.memory.size()), (none, 0));
        }
        x.range().copy_from(&floats(&[0.0, 1.0, 0.0]).range());
        let error = context.run().unwrap_err();
        assert_eq!(error.status, crate::base::Status::BufferTooSmall, "{}", error.text());
        context.detach(Slot::output(0));
        context.run().unwrap();
        assert_eq!(context.output(Slot::output(0)).unwrap().desc.dims.as_slice(), [1, 1]);
    }
}

#[test]
fn scalars_have_one_element() {
    let graph = Graph {
        nodes: vec![w::node("Add", "x x", "y", &[])],
        inputs: vec![w::value("x", w::F32, "")],
        outputs: vec![w::value("y", w::F32, "")],
        ..Graph::default()
    };
    let model = written(graph.model());
    let (mut context, plan) = context(&model, 1);
    assert_eq!(plan.outputs[0].desc, desc(&[]));
    let (x, y) = (floats(&[21.0]), floats(&[0.0]));
    attach(&mut context, Slot::input(0), &x, &desc(&[]), Stay::Sticky);
    attach(&mut context, Slot::output(0), &y, &desc(&[]), Stay::Sticky);
    for _ in 0..3 {
        context.run().unwrap();
        assert_eq!(read(y.range()), [42.0]);
    }
    assert!(context.attach(Slot::input(0), nothing(), &desc(&[]), Stay::Sticky).is_err());
}
