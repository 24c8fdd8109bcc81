//! Outputs with open dimensions, also those that are not asked for themselves.

use super::*;
use crate::base::{Dtype, Status};
use crate::runtime::onnxruntime::writer::{self as w, Graph};

fn desc(dims: &[i64]) -> Desc {
    Desc { dtype: Dtype::F32, dims: Dims::new(dims).unwrap() }
}

/// x itself, y = x + 1 twice, and the elements of y that are not 0, in a row.
fn outputs_of_all_sorts(input: &str, output: &str) -> OnnxModel {
    let (x, y) = (w::value("x", w::F32, input), w::value("y", w::F32, output));
    let graph = Graph {
        nodes: vec![w::node("Add", "x one", "y", &[]), w::node("Compress", "y keep", "row", &[])],
        constants: vec![w::floats("one", &[], &[1.0]), w::tensor("keep", w::BOOL, &[3], [1, 0, 1])],
        inputs: vec![x.clone()],
        outputs: vec![y.clone(), x, y, w::value("row", w::F32, "?")],
    };
    written(graph.model())
}

#[test]
fn open_dimensions_of_twins() {
    for (input, output, planned) in [("n 2", "n 2", 3), ("? ?", "? ?", -1), ("n m", "other m", -1)] {
        let model = outputs_of_all_sorts(input, output);
        let (mut context, _) = context(&model, 2);
        let plan = context.plan(&[desc(&[3, 2]).dims]).unwrap();
        let twins: Vec<_> = plan.outputs.iter().map(|slot| slot.twin).collect();
        assert_eq!(twins, [None, Some(Slot::input(0)), Some(Slot::output(0)), None], "{input}");
        assert_eq!(plan.outputs[0].desc.dims.as_slice()[0], planned, "{input}");
        assert_eq!(plan.outputs[0].desc, plan.outputs[2].desc, "{input}");
        assert_eq!(plan.outputs[1].desc, desc(&[3, 2]), "{input}");
        assert_eq!(plan.outputs[3].desc, desc(&[-1]), "{input}");
        assert_eq!(plan.outputs[0].flags.dynamic, !plan.outputs[0].desc.dims.is_known(), "{input}");
        assert!(!plan.outputs[1].flags.dynamic && plan.outputs[3].flags.dynamic, "{input}");

        let (x, y) = (floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), floats(&[0.0; 6]));
        let seen = |context: &mut OnnxContext| {
            let view = |slot| context.output(Slot::output(slot)).unwrap();
            let all: Vec<_> = (0..4).map(view).collect();
            assert_eq!(all[0].desc, desc(&[3, 2]));
            assert_eq!(all[1].desc, desc(&[3, 2]));
            assert_eq!(all[2].desc, desc(&[3, 2]));
            assert_eq!(read(all[0].memory), [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
            assert_eq!(all[0].memory.data(), all[2].memory.data());
            assert_eq!(all[1].memory.data(), x.range().data());
            assert_eq!(read(all[3].memory), [2.0, 4.0]);
        };
        attach(&mut context, Slot::input(0), &x, &desc(&[3, 2]), Stay::Sticky);
        context.run().unwrap();
        seen(&mut context);
        attach(&mut context, Slot::output(0), &y, &desc(&[3, 2]), Stay::Sticky);
        for _ in 0..3 {
            context.run().unwrap();
            seen(&mut context);
            assert_eq!(context.engine_address(Slot::output(2)), y.range().data().cast_const());
        }
        for _ in 0..3 {
            y.range().copy_from(&floats(&[0.0; 6]).range());
            attach(&mut context, Slot::input(0), &x, &desc(&[3, 2]), Stay::OneRun);
            attach(&mut context, Slot::output(0), &y, &desc(&[3, 2]), Stay::OneRun);
            context.run().unwrap();
            assert_eq!(read(y.range()), [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
            for lent in [0, 1, 2] {
                assert!(context.output(Slot::output(lent)).is_err(), "{lent} was in memory that was lent");
            }
            assert_eq!(read(context.output(Slot::output(3)).unwrap().memory), [2.0, 4.0]);
            assert_eq!(context.engine_address(Slot::output(2)), y.range().data().cast_const());
        }
    }
}

/// The name of a dimension may say what the model does not do.
#[test]
fn a_name_that_does_not_hold() {
    let graph = Graph {
        nodes: vec![w::node("Compress", "x keep", "y", &[])],
        constants: vec![w::tensor("keep", w::BOOL, &[3], [1, 0, 1])],
        inputs: vec![w::value("x", w::F32, "n")],
        outputs: vec![w::value("y", w::F32, "n")],
    };
    let model = written(graph.model());
    let (mut context, plan) = context(&model, 3);
    assert_eq!(plan.outputs[0].desc, desc(&[3]));
    let (x, y) = (floats(&[1.0, 2.0, 3.0]), floats(&[0.0; 3]));
    attach(&mut context, Slot::input(0), &x, &desc(&[3]), Stay::Sticky);
    context.run().unwrap();
    let view = context.output(Slot::output(0)).unwrap();
    assert_eq!((view.desc, read(view.memory)), (desc(&[2]), vec![1.0, 3.0]));
    attach(&mut context, Slot::output(0), &y, &desc(&[3]), Stay::Sticky);
    let error = context.run().unwrap_err();
    assert_eq!(error.status, Status::ShapeMismatch);
    assert!(error.text().contains("f32[2]"), "{}", error.text());
}
