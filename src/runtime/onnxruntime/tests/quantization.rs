//! Quantization of slots, from graphs without an engine.

use proptest::prelude::*;

use crate::base::room::Shortage;
use crate::base::{Desc, Dims, Dtype, Quantization};
use crate::runtime::onnxruntime::quantization::{axis_of, read};
use crate::runtime::onnxruntime::tensor::Tensor;
use crate::runtime::onnxruntime::writer::{self as w, Graph};

fn desc(dtype: Dtype, dims: &[i64]) -> Desc {
    Desc { dtype, dims: Dims::new(dims).unwrap() }
}

const SHAPE: &[i64] = &[-1, 2, 3];

/// What is found of an input "x" and an output "y", both bytes.
fn found(model: &[u8]) -> Option<(Quantization, Quantization)> {
    let desc = desc(Dtype::U8, SHAPE);
    let (mut inputs, mut outputs) = read(model, &[(b"x", desc)], &[(b"y", desc)]).unwrap()?;
    Some((inputs.remove(0), outputs.remove(0)))
}

fn of_input(nodes: &[Vec<u8>]) -> Quantization {
    found(&with(nodes).model()).unwrap().0
}

fn of_output(nodes: &[Vec<u8>]) -> Quantization {
    found(&with(nodes).model()).unwrap().1
}

/// A graph with these nodes and constants of every sort.
fn with(nodes: &[Vec<u8>]) -> Graph {
    let constants = vec![
        w::floats("half", &[], &[0.5]),
        w::floats("half1", &[1], &[0.5]),
        w::floats("quarter", &[], &[0.25]),
        w::floats("two", &[2], &[0.5, 0.25]),
        w::floats("three", &[3], &[0.5, 0.25, 2.0]),
        w::floats("blocks", &[1, 2], &[0.5, 0.25]),
        w::tensor("zero8", w::U8, &[], [8]),
        w::tensor("zero8again", w::U8, &[1], [8]),
        w::tensor("zero9", w::U8, &[], [9]),
        w::tensor("zeros", w::U8, &[2], [8, 9]),
        w::tensor("float8", 17, &[], [0]),
        w::floats("twice", &[], &[0.5]),
        w::floats("twice", &[], &[0.5]),
        [w::tensor_head("outside", w::F32, &[]), w::bytes(13, w::bytes(1, "location")), w::number(14, 1)].concat(),
    ];
    Graph { nodes: nodes.to_vec(), constants, ..Graph::default() }
}

fn dequantize(inputs: &str, attributes: &[Vec<u8>]) -> Vec<u8> {
    w::node("DequantizeLinear", inputs, "f", attributes)
}

fn quantize(inputs: &str, attributes: &[Vec<u8>]) -> Vec<u8> {
    w::node("QuantizeLinear", inputs, "y", attributes)
}

fn axis(axis: i64) -> Vec<Vec<u8>> {
    vec![w::int_attribute("axis", axis)]
}

fn one(scale: f32, zero_point: i32) -> Quantization {
    Quantization::PerTensor { scale, zero_point }
}

fn two(axis: i32, zero_points: [i32; 2]) -> Quantization {
    Quantization::PerAxis { axis, scales: vec![0.5, 0.25], zero_points: zero_points.to_vec() }
}

#[test]
fn one_scale() {
    assert_eq!(of_input(&[dequantize("x half zero8", &[])]), one(0.5, 8));
    assert_eq!(of_input(&[dequantize("x half1 zero8", &[])]), one(0.5, 8));
    assert_eq!(of_input(&[dequantize("x half", &[])]), one(0.5, 0));
    assert_eq!(of_input(&[dequantize("x half -", &axis(7))]), one(0.5, 0), "an axis says nothing to one scale");
    assert_eq!(of_output(&[quantize("f half zero8", &[])]), one(0.5, 8));
    assert_eq!(of_output(&[quantize("f half", &[])]), one(0.5, 0));
    let foreign = w::node("com.microsoft:DequantizeLinear", "x half zero8", "f", &[]);
    assert_eq!(of_input(&[foreign]), one(0.5, 8));
    let spelled = w::node("ai.onnx:DequantizeLinear", "x half zero8", "f", &[]);
    assert_eq!(of_input(&[spelled]), one(0.5, 8));
}

#[test]
fn a_scale_for_each_index() {
    assert_eq!(of_input(&[dequantize("x two zeros", &[])]), two(1, [8, 9]));
    assert_eq!(of_input(&[dequantize("x two", &axis(-2))]), two(1, [0, 0]));
    assert_eq!(of_output(&[quantize("f two zeros", &axis(1))]), two(1, [8, 9]));
    assert_eq!(of_output(&[quantize("f two zeros", &axis(0))]), two(0, [8, 9]), "that dimension is open");
    let unclear = [axis(2), axis(3), axis(-4), axis(i64::MAX), axis(i64::MIN), vec![w::tensor_attribute("axis", b"")]];
    for attributes in unclear {
        assert_eq!(of_input(&[dequantize("x two zeros", &attributes)]), Quantization::None);
    }
    assert_eq!(of_input(&[dequantize("x two zero8", &[])]), Quantization::None, "one zero point for two scales");
    assert_eq!(of_input(&[dequantize("x three", &[])]), Quantization::None, "the axis has 2");
    let unranked = desc(Dtype::U8, &[]);
    assert_eq!((axis_of(&unranked, 3, 2), axis_of(&unranked, -1, 2)), (Some(3), None));
}

#[test]
fn operators_on_quantized_tensors() {
    let matmul = w::node("QLinearMatMul", "x half zero8 b quarter zero9 quarter zero9", "y", &[]);
    assert_eq!(of_input(std::slice::from_ref(&matmul)), one(0.5, 8));
    assert_eq!(of_output(&[matmul]), one(0.25, 9));
    let weights = w::node("QLinearConv", "b half zero8 x two zeros quarter zero9", "y", &[]);
    assert_eq!(of_input(std::slice::from_ref(&weights)), two(0, [8, 9]));
    assert_eq!(of_output(&[weights]), one(0.25, 9));
    let rows = w::node("QLinearMatMul", "x two zeros b quarter zero9 quarter zero9", "y", &[]);
    assert_eq!(of_input(&[rows]), Quantization::None, "the axis of rows is not one that can be said");
    let add = w::node("com.microsoft:QLinearAdd", "b half zero8 x quarter - half zero8", "y", &[]);
    assert_eq!(of_input(std::slice::from_ref(&add)), one(0.25, 0));
    assert_eq!(of_output(&[add]), one(0.5, 8));
    let not_standard = w::node("QLinearAdd", "b half zero8 x quarter - half zero8", "y", &[]);
    assert_eq!(of_input(&[not_standard]), Quantization::None);
}

#[test]
fn all_uses_must_agree() {
    let first = dequantize("x half zero8", &[]);
    assert_eq!(of_input(&[first.clone(), dequantize("x half1 zero8again", &[])]), one(0.5, 8));
    for other in [
        dequantize("x half zero9", &[]),
        dequantize("x quarter zero8", &[]),
        dequantize("x two zeros", &[]),
        dequantize("x f zero8", &[]),
        w::node("Identity", "x", "z", &[]),
        w::node("my:DequantizeLinear", "x half zero8", "z", &[]),
        w::node("DequantizeLinear", "b half x", "z", &[]),
        w::node("QLinearConv", "x half zero8 x quarter zero8 half zero8", "z", &[]),
    ] {
        assert_eq!(of_input(&[first.clone(), other.clone()]), Quantization::None);
        assert_eq!(of_input(&[other, first.clone()]), Quantization::None);
    }
    assert_eq!(of_input(&[]), Quantization::None, "no use at all");
    assert_eq!(of_output(&[quantize("f half", &[]), quantize("f half", &[])]), Quantization::None);
    assert_eq!(of_output(&[w::node("MaxPool", "x", "y", &[])]), Quantization::None);
    assert_eq!(of_output(&[w::node("DynamicQuantizeLinear", "f", "y s z", &[])]), Quantization::None);
    assert_eq!(of_output(&[w::node("QuantizeLinear", "f half zero8", "a y", &[])]), Quantization::None);
}

#[test]
fn uses_in_graphs_inside_say_nothing() {
    let captured = with(&[w::node("Add", "x x", "z", &[])]);
    let passed_on = Graph { outputs: vec![w::value("x", w::U8, "")], ..Graph::default() };
    for inner in [captured, passed_on] {
        let node = w::node("If", "c", "z", &[w::graph_attribute("then_branch", &inner.bytes())]);
        let outer = Graph { nodes: vec![node.clone()], ..Graph::default() };
        let nested = w::node("If", "c", "z", &[w::graph_attribute("then_branch", &outer.bytes())]);
        for node in [node, nested] {
            assert_eq!(of_input(&[dequantize("x half zero8", &[]), node]), Quantization::None);
        }
    }
}

#[test]
fn graphs_inside_each_other_without_end() {
    let nested = |depth: usize| {
        (0..depth).fold(w::node("Relu", "a", "z", &[]), |node, _| {
            let inner = Graph { nodes: vec![node], ..Graph::default() };
            w::node("If", "c", "z", &[w::graph_attribute("then_branch", &inner.bytes())])
        })
    };
    let model = |depth| with(&[dequantize("x half zero8", &[]), nested(depth)]).model();
    assert_eq!(found(&model(80)).unwrap().0, one(0.5, 8));
    assert!(found(&model(400)).is_none());
}

#[test]
fn what_is_not_constant_or_unclear_says_nothing() {
    for scale in ["blocks", "twice", "outside", "computed", "zero8", "-"] {
        assert_eq!(of_input(&[dequantize(&format!("x {scale}"), &[])]), Quantization::None, "{scale}");
    }
    for zero_point in ["float8", "half", "zeros", "computed"] {
        assert_eq!(of_input(&[dequantize(&format!("x half {zero_point}"), &[])]), Quantization::None);
    }
    let block = w::int_attribute("block_size", 2);
    assert_eq!(of_input(&[dequantize("x half zero8", &[block])]), Quantization::None);
    let good = with(&[dequantize("x half zero8", &[])]);
    let function = w::bytes(25, w::bytes(1, "DequantizeLinear"));
    assert!(found(&good.model_with(&function)).is_none(), "the model's own operator of that name");
    assert_eq!(found(&good.model_with(&w::bytes(25, w::bytes(1, "My")))).unwrap().0, one(0.5, 8));
}

#[test]
fn constants_are_nodes_too() {
    let value = w::tensor_attribute("value", &w::tensor("", w::U8, &[], [8]));
    let float = [w::bytes(1, "value_float"), w::fixed32(2, 0.125)].concat();
    let floats = [w::bytes(1, "value_floats"), w::fixed32(7, 0.5), w::fixed32(7, 0.25)].concat();
    let constant = |name: &str, attribute: &[u8]| w::node("Constant", "", name, &[attribute.to_vec()]);
    let nodes = [constant("c", &value), constant("s", &float), constant("t", &floats)];
    let with_nodes = |node: Vec<u8>| of_input(&[&nodes[..], &[node]].concat());
    assert_eq!(with_nodes(dequantize("x s c", &[])), one(0.125, 8));
    assert_eq!(with_nodes(dequantize("x t zeros", &[])), two(1, [8, 9]));
    assert_eq!(with_nodes(dequantize("x c c", &[])), Quantization::None);
}

#[test]
fn an_output_that_is_an_input_is_quantized_as_that_is() {
    let model = with(&[dequantize("x half zero8", &[])]).model();
    let desc = desc(Dtype::U8, SHAPE);
    let (inputs, outputs) = read(&model, &[(b"x", desc)], &[(b"x", desc), (b"half", desc)]).unwrap().unwrap();
    assert_eq!((&inputs[0], &outputs[0], &outputs[1]), (&one(0.5, 8), &one(0.5, 8), &Quantization::None));
}

#[test]
fn only_whole_numbers_are_quantized() {
    let model = with(&[dequantize("x half", &[])]).model();
    for dtype in [Dtype::F32, Dtype::F8E4M3FN, Dtype::Bool, Dtype::I64, Dtype::String] {
        let (inputs, _) = read(&model, &[(b"x", desc(dtype, &[2]))], &[]).unwrap().unwrap();
        assert_eq!(inputs[0], Quantization::None, "{dtype}");
    }
    let (inputs, _) = read(&model, &[(b"x", desc(Dtype::I4, &[2]))], &[]).unwrap().unwrap();
    assert_eq!(inputs[0], one(0.5, 0));
}

#[test]
fn scales_named_over_and_over_cost_no_more_than_the_model() {
    let count = 50_000;
    let names: Vec<_> = (0..20_000).map(|index| format!("x{index}")).collect();
    let nodes = names.iter().map(|name| dequantize(&format!("{name} many"), &axis(0))).collect();
    let constants = vec![w::floats("many", &[count], &vec![0.5; count as usize])];
    let model = Graph { nodes, constants, ..Graph::default() }.model();
    let desc = desc(Dtype::U8, &[count]);
    let inputs: Vec<_> = names.iter().map(|name| (name.as_bytes(), desc)).collect();
    let (found, _) = read(&model, &inputs, &[]).unwrap().unwrap();
    let made = found.iter().filter(|found| **found != Quantization::None).count();
    assert!((1..=model.len() / count as usize).contains(&made), "{made}");
}

fn elaborate() -> Vec<u8> {
    let inner = with(&[w::node("Add", "a b", "z", &[])]).bytes();
    let value = w::tensor_attribute("value", &w::tensor("", w::U8, &[2], [8, 9]));
    let nodes = [
        w::node("Constant", "", "c", &[value]),
        dequantize("x two c", &axis(-2)),
        w::node("If", "f", "g", &[w::graph_attribute("then_branch", &inner)]),
        quantize("g half zero8", &[]),
    ];
    with(&nodes).model_with(&w::bytes(25, w::bytes(1, "My")))
}

#[test]
fn an_elaborate_model() {
    assert_eq!(found(&elaborate()), Some((two(1, [8, 9]), one(0.5, 8))));
    let model = elaborate();
    (0..model.len()).for_each(|length| _ = found(&model[..length]));
}

proptest! {
    #[test]
    fn damage_is_survived(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut model = elaborate();
        for (place, byte) in changes {
            let place = place.index(model.len());
            model[place] = byte;
        }
        let _ = found(&model);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = found(&bytes);
        let _ = found(&w::bytes(7, &bytes));
        let _ = found(&w::bytes(7, w::bytes(1, &bytes)));
        let _ = Tensor::read(&bytes, &Shortage::default()).map(|tensor| (tensor.scales(), tensor.zero_points()));
    }
}
