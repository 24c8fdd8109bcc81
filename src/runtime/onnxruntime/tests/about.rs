//! What is known of a model beside its slots.

use super::*;
use crate::base::{Metadata, MetadataValue, Quantization};
use crate::runtime::onnxruntime::writer::{self as w, Graph};

fn identity() -> Graph {
    Graph {
        nodes: vec![w::node("Identity", "x", "y", &[])],
        inputs: vec![w::value("x", w::F32, "4")],
        outputs: vec![w::value("y", w::F32, "4")],
        ..Graph::default()
    }
}

fn property(key: &str, value: impl AsRef<[u8]>) -> Vec<u8> {
    w::bytes(14, [w::bytes(1, key), w::bytes(2, value)].concat())
}

fn text(key: &str, value: &str) -> Metadata {
    Metadata { key: key.to_owned(), value: MetadataValue::Text(value.to_owned()) }
}

#[test]
fn what_a_model_says_about_itself() {
    let fields = [w::bytes(2, "maker"), w::bytes(4, "org.example"), w::number(5, 7), w::bytes(6, "for tests")].concat();
    let own =
        [property("license", "MIT"), property("bytes", [0xff, 0xfe]), property("empty", ""), property("a ü", "ö")];
    let model = written(identity().model_with(&[fields, own.concat()].concat()));
    let wanted = [
        text("onnx.producer_name", "maker"),
        text("onnx.graph_name", "main"),
        text("onnx.domain", "org.example"),
        text("onnx.description", "for tests"),
        text("onnx.version", "7"),
        text("a ü", "ö"),
        Metadata { key: "bytes".to_owned(), value: MetadataValue::Binary(2) },
        text("empty", ""),
        text("license", "MIT"),
    ];
    assert_eq!(model.metadata(), wanted);
}

#[test]
fn a_model_that_says_nothing() {
    assert_eq!(written(identity().model()).metadata(), [text("onnx.graph_name", "main")]);
    let zero = written(identity().model_with(&w::number(5, 0)));
    assert_eq!(zero.metadata()[1..], [text("onnx.version", "0")], "it does say that");
}

#[test]
fn quantization_is_in_the_slots_that_have_it() {
    let graph = Graph {
        nodes: vec![
            w::node("DequantizeLinear", "x scale zero", "f", &[]),
            w::node("QuantizeLinear", "f scales", "y", &[w::int_attribute("axis", -1)]),
        ],
        constants: vec![
            w::floats("scale", &[], &[0.5]),
            w::floats("scales", &[2], &[0.5, 0.25]),
            w::tensor("zero", w::U8, &[], [8]),
        ],
        inputs: vec![w::value("x", w::U8, "n 2")],
        outputs: vec![w::value("y", w::U8, "n 2"), w::value("f", w::F32, "n 2")],
    };
    let model = written(graph.model());
    assert_eq!(model.inputs()[0].quantization, Quantization::PerTensor { scale: 0.5, zero_point: 8 });
    let per_axis = Quantization::PerAxis { axis: 1, scales: vec![0.5, 0.25], zero_points: vec![0, 0] };
    assert_eq!(model.outputs()[0].quantization, per_axis);
    assert_eq!(model.outputs()[1].quantization, Quantization::None);
}
