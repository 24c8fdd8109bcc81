//! Graphs that call graphs.

use super::*;
use crate::runtime::tflite::tests::writer::{Field, Fields, finish};
use crate::runtime::tflite::tests::written::{kind, tensor};

const BOOL: u8 = 6;
const IF: u32 = 118;
const CALL_ONCE: u32 = 129;

fn graph(tensors: Vec<Fields>, inputs: &[i32], outputs: &[i32], operators: Vec<Fields>) -> Fields {
    vec![
        (0, Field::Tables(tensors)),
        (1, Field::Ints(inputs.to_vec())),
        (2, Field::Ints(outputs.to_vec())),
        (3, Field::Tables(operators)),
    ]
}

/// An operator by its place among IF and CALL_ONCE.
fn operator(code: u32, inputs: &[i32], outputs: &[i32], kind: u8, graphs: &[u32]) -> Fields {
    let named = graphs.iter().enumerate().map(|(id, graph)| (id, Field::U32(*graph))).collect();
    vec![
        (0, Field::U32(code)),
        (1, Field::Ints(inputs.to_vec())),
        (2, Field::Ints(outputs.to_vec())),
        (3, Field::U8(kind)),
        (4, Field::Table(named)),
    ]
}

fn branch(inputs: &[i32], outputs: &[i32], calls: Vec<Fields>) -> Fields {
    graph(vec![tensor("in", kind::F32, &[4]), tensor("other", kind::F32, &[4])], inputs, outputs, calls)
}

/// y = one of two graphs of x, by a condition.
fn model(graphs: &[u32], branches: Vec<Fields>) -> Vec<u8> {
    let tensors = vec![tensor("c", BOOL, &[1]), tensor("x", kind::F32, &[4]), tensor("y", kind::F32, &[4])];
    let main = graph(tensors, &[0, 1], &[2], vec![operator(0, &[0, 1], &[2], 92, graphs)]);
    let code = |code: u32| vec![(0, Field::U8(code.min(127) as u8)), (3, Field::U32(code))];
    finish(&vec![
        (1, Field::Tables(vec![code(IF), code(CALL_ONCE)])),
        (2, Field::Tables([vec![main], branches].concat())),
        (4, Field::Tables(vec![vec![]])),
    ])
}

#[track_caller]
fn refused(model: &[u8], words: &[&str]) {
    let error = check(model, MOST).expect_err("it is damaged");
    assert_eq!(error.status, Status::ModelInvalid);
    for word in words {
        assert!(error.text().contains(word), "no {word:?} in: {error}");
    }
}

fn through() -> Fields {
    branch(&[0], &[0], vec![])
}

#[test]
fn branches_are_graphs_of_the_same_slots() {
    check(&model(&[1, 2], vec![through(), through()]), MOST).unwrap();
    refused(&model(&[1, 3], vec![through(), through()]), &["operator 0 IF", "branch for false is subgraph 3", "has 3"]);
    refused(&model(&[u32::MAX, 2], vec![through(), through()]), &["branch for true is subgraph -1"]);
    refused(
        &model(&[1, 2], vec![through(), branch(&[0, 1], &[0], vec![])]),
        &["1 tensors for the 2 inputs of subgraph 2"],
    );
    refused(&model(&[1, 2], vec![through(), branch(&[0], &[0, 0], vec![])]), &["1 tensors for the 2 outputs"]);
    let numbers = graph(vec![tensor("in", kind::I32, &[4])], &[0], &[0], vec![]);
    refused(&model(&[1, 2], vec![through(), numbers]), &["f32 for input 0 of subgraph 2", "which is i32"]);
}

#[test]
fn no_graph_calls_itself() {
    refused(&model(&[0, 0], vec![]), &["IF"]);
    // by way of another
    let once = |graph| branch(&[0], &[0], vec![operator(1, &[], &[], 103, &[graph])]);
    refused(&model(&[1, 1], vec![once(1)]), &["1 tensors", "CALL_ONCE"].map(|_| "CALL_ONCE"));
    let empty = |calls: u32| graph(vec![], &[], &[], vec![operator(1, &[], &[], 103, &[calls])]);
    check(&model(&[1, 1], vec![once(2), graph(vec![], &[], &[], vec![])]), MOST).unwrap();
    refused(&model(&[1, 1], vec![once(2), empty(3), empty(2)]), &["calls itself"]);
}

#[test]
fn a_condition_is_a_bool() {
    let bytes = model(&[1, 1], vec![through()]);
    let twice = model(&[1, 1], vec![branch(&[0, 0], &[0], vec![])]);
    refused(&twice, &["as an input twice"]);
    assert!(check(&bytes, MOST).is_ok());
}
