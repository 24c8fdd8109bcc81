//! Tensors by themselves.

use super::*;
use crate::runtime::tflite::tests::writer::{Field, Fields};
use crate::runtime::tflite::tests::written::{Operator, constant, kind, tensor};

/// y = x + a, with tensors 0, 1 and 2.
fn model(tensors: [Fields; 3]) -> Written {
    Written {
        tensors: tensors.to_vec(),
        inputs: vec![0],
        outputs: vec![2],
        operators: vec![Operator::add(&[0, 1], &[2])],
        buffers: vec![vec![0; 16]],
    }
}

fn floats(name: &str) -> Fields {
    tensor(name, kind::F32, &[4])
}

fn value() -> Fields {
    constant("a", kind::F32, &[4], 1)
}

/// The tensor with the fields of a quantization: scales, zero points, dimension.
fn quantized(mut of: Fields, scales: usize, zero_points: &[i64], dimension: u32) -> Fields {
    let zero_points = zero_points.iter().flat_map(|number| number.to_le_bytes()).collect();
    let table =
        vec![(2, Field::Ints(vec![0x3F80_0000; scales])), (3, Field::Longs(zero_points)), (6, Field::U32(dimension))];
    of.push((4, Field::Table(table)));
    of
}

#[test]
fn buffers() {
    passes(&model([floats("x"), value(), floats("y")]));
    let mut short = model([floats("x"), value(), floats("y")]);
    short.buffers[0].pop();
    is_refused(&short, &["subgraph 0", "tensor 1 'a' (at byte", "its buffer has 15 bytes", "needs 16"]);
    // the engine takes what it needs
    let mut long = model([floats("x"), value(), floats("y")]);
    long.buffers[0].push(0);
    passes(&long);
    is_refused(&model([floats("x"), constant("a", kind::F32, &[4], 9), floats("y")]), &["its buffer is 9", "has 2"]);
}

#[test]
fn shapes() {
    let mut negative = floats("x");
    negative[0] = (0, Field::Ints(vec![-4]));
    is_refused(&model([negative, value(), floats("y")]), &["'x'", "below 0", "[-4]"]);
    let mut absurd = floats("x");
    absurd[0] = (0, Field::Ints(vec![i32::MAX; 3]));
    is_refused(&model([absurd, value(), floats("y")]), &["'x'", "more elements than fit in 64 bits"]);
    is_refused(&model([tensor("x", kind::F32, &[1; 17]), value(), floats("y")]), &["tensor 0", "17 dimensions"]);
}

#[test]
fn sizes_over_the_limit_are_another_status_for_any_tensor() {
    // x, z and y; z is inside
    let chain = |elements: i32| Written {
        tensors: vec![
            tensor("x", kind::F32, &[1]),
            tensor("z", kind::F32, &[elements, 1]),
            constant("times", kind::I32, &[2], 1),
            constant("axis", kind::I32, &[1], 2),
            tensor("y", kind::F32, &[1]),
        ],
        inputs: vec![0],
        outputs: vec![4],
        operators: vec![Operator::new(69, &[0, 2], &[1]), Operator::new(74, &[1, 3], &[4])],
        buffers: vec![words(&[elements, 1]), words(&[0])],
    };
    let most = MOST as i32 / 4;
    let mut within = chain(most);
    within.tensors[0] = tensor("x", kind::F32, &[1, 1]);
    passes(&within);
    let mut beyond = chain(most + 1);
    beyond.tensors[0] = tensor("x", kind::F32, &[1, 1]);
    let error = check(&beyond.bytes(), MOST).unwrap_err();
    assert_eq!(error.status, Status::Unsupported);
    for word in ["tensor 1 'z'", "needs 1048580 bytes, over the limit of 1048576", "max_tensor_bytes"] {
        assert!(error.text().contains(word), "{error}");
    }
    assert!(check(&beyond.bytes(), MOST + 4).is_ok());
}

#[test]
fn quantization() {
    let with = |scales, zero_points: &[i64], dimension| {
        let int8 = |name| quantized(tensor(name, 9, &[2, 3]), scales, zero_points, dimension);
        let mut model = model([int8("x"), int8("a"), int8("y")]);
        model.inputs = vec![0, 1];
        model
    };
    passes(&with(1, &[-128], 0));
    passes(&with(3, &[1, 2, 3], 1));
    passes(&with(0, &[], 0));
    is_refused(&with(3, &[1, 2], 1), &["3 scales and 2 zero points"]);
    is_refused(&with(3, &[1, 2, 3], 0), &["3 scales for a dimension of 2"]);
    is_refused(&with(3, &[1, 2, 3], 2), &["along dimension 2, and has 2"]);
    is_refused(&with(1, &[128], 0), &["zero point is 128, which i8 cannot hold"]);
    is_refused(&with(1, &[1 << 40], 0), &["zero point is 1099511627776"]);
}

#[test]
fn strings() {
    let with = |bytes: Vec<u8>, dims: &[i32]| Written {
        tensors: vec![constant("words", kind::STRING, dims, 1)],
        outputs: vec![0],
        buffers: vec![bytes],
        ..Written::default()
    };
    // the first one begins inside the list of offsets
    let two = [words(&[2, 12, 17, 19]), b"abc".to_vec()].concat();
    is_refused(&with(two, &[2]), &["offset of string 0"]);
    let two = [words(&[2, 16, 17, 20]), b"abc".to_vec()].concat();
    is_refused(&with(two, &[2]), &["offset of string 2"]);
    let two = [words(&[2, 16, 17, 19]), b"abc".to_vec()].concat();
    passes(&with(two.clone(), &[2]));
    is_refused(&with(two.clone(), &[3]), &["has 2 strings, and its shape 3"]);
    is_refused(&with([words(&[2, 16, 99, 19]), b"abc".to_vec()].concat(), &[2]), &["offset of string 1"]);
    is_refused(&with(words(&[i32::MAX, 16]), &[i32::MAX]), &["offset of string"]);
}

#[test]
fn graphs() {
    let mut wrong = model([floats("x"), value(), floats("y")]);
    wrong.inputs = vec![-1];
    is_refused(&wrong, &["an input of the graph is tensor -1, and there are 3"]);
    let mut wrong = model([floats("x"), value(), floats("y")]);
    wrong.outputs = vec![3];
    is_refused(&wrong, &["an output of the graph is tensor 3"]);
    let mut wrong = model([floats("x"), value(), floats("y")]);
    wrong.inputs = vec![0, 1];
    is_refused(&wrong, &["'a'", "an input of the graph, and has a value in the file"]);
}

/// A sparse matrix [2, 4] of bytes: rows dense, columns compressed.
fn sparse(order: Vec<i32>, segments: Vec<i32>, indices: Vec<i32>, stored: usize) -> Written {
    let list = |numbers| Field::Table(vec![(0, Field::Ints(numbers))]);
    let dense = vec![(0, Field::U8(0)), (1, Field::U32(2))];
    let compressed =
        vec![(0, Field::U8(1)), (2, Field::U8(1)), (3, list(segments)), (4, Field::U8(1)), (5, list(indices))];
    let mut matrix = constant("matrix", 9, &[2, 4], 1);
    matrix.push((6, Field::Table(vec![(0, Field::Ints(order)), (2, Field::Tables(vec![dense, compressed]))])));
    Written {
        tensors: vec![matrix, tensor("y", 9, &[2, 4])],
        outputs: vec![1],
        operators: vec![Operator::new(124, &[0], &[1])],
        buffers: vec![vec![7; stored]],
        ..Written::default()
    }
}

#[test]
fn sparse_constants() {
    passes(&sparse(vec![0, 1], vec![0, 1, 3], vec![3, 0, 2], 3));
    is_refused(&sparse(vec![0, 0], vec![0, 1, 3], vec![3, 0, 2], 3), &["[0, 0]", "each dimension once"]);
    is_refused(&sparse(vec![0, 1], vec![0, 1], vec![3], 3), &["2 segments for 2 positions"]);
    is_refused(&sparse(vec![0, 1], vec![0, 4, 3], vec![3, 0, 2], 3), &["do not divide its 3 indices"]);
    is_refused(&sparse(vec![0, 1], vec![0, 1, 3], vec![4, 0, 2], 3), &["the index 4, and the dimension is 4"]);
    is_refused(&sparse(vec![0, 1], vec![0, 1, 3], vec![3, 0, -2], 3), &["has the index"]);
    is_refused(&sparse(vec![0, 1], vec![0, 1, 3], vec![3, 0, 2], 2), &["2 bytes", "3 elements"]);
}
