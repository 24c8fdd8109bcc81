//! Sizes that nodes ask for, in models written for it; what each comes to is worked out by hand.

use super::*;
use crate::base::{Error, Status};
use crate::runtime::onnxruntime::walk;
use crate::runtime::onnxruntime::writer as w;
use proptest::prelude::*;

fn check(model: &[u8], most: u64) -> std::result::Result<(), Error> {
    let mut computed = Computed::default();
    let graphs = walk::visit(model, &mut |found| computed.see(&found))?;
    computed.check(model, &graphs, most)
}

fn longs(name: &str, values: &[i64]) -> Vec<u8> {
    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    w::tensor(name, w::I64, &[values.len() as i64], raw)
}

/// An attribute that is a list; each number with a tag of its own.
fn ints(name: &str, values: &[i64]) -> Vec<u8> {
    let values = values.iter().flat_map(|value| w::number(8, *value));
    w::bytes(1, name).into_iter().chain(values).chain(w::number(20, 7)).collect()
}

/// A graph whose input `x` is 2 x 3 bytes, and `open` of bytes of any shape.
fn graph(nodes: &[Vec<u8>], constants: &[Vec<u8>]) -> w::Graph {
    let inputs = vec![w::value("x", w::U8, "2 3"), w::value("open", w::U8, "? 3"), w::value("open4", w::U8, "? ? ? ?")];
    w::Graph { nodes: nodes.to_vec(), constants: constants.to_vec(), inputs, outputs: Vec::new() }
}

/// The node takes as many bytes as said, and not one less is enough.
fn makes(bytes: u64, node: Vec<u8>, constants: &[Vec<u8>]) -> String {
    let model = graph(&[node], constants).model();
    assert!(check(&model, bytes).is_ok(), "{}", check(&model, bytes).unwrap_err());
    let error = check(&model, bytes - 1).expect_err("it is over the limit");
    assert_eq!(error.status, Status::Unsupported, "{error}");
    assert!(error.text().contains(&format!("{bytes} bytes, over the limit of {}", bytes - 1)), "{error}");
    error.into_text()
}

fn is_left_to_the_engine(node: Vec<u8>, constants: &[Vec<u8>]) {
    let result = check(&graph(&[node], constants).model(), 1);
    assert!(result.is_ok(), "{}", result.unwrap_err());
}

#[test]
fn shapes_as_they_are_given() {
    let shape = &[longs("s", &[40, 50])];
    let text = makes(8000, w::node("ConstantOfShape", "s", "y", &[]), shape);
    assert!(
        text.starts_with("a node ConstantOfShape makes the tensor 'y' of shape [40, 50], which needs 8000"),
        "{text}"
    );
    assert!(text.contains("raise max_tensor_bytes"), "{text}");
    let byte = w::tensor_attribute("value", &w::tensor("", w::U8, &[1], [7]));
    makes(2000, w::node("ai.onnx:ConstantOfShape", "s", "y", &[byte]), shape);
    let named = [w::node("ConstantOfShape", "s", "y", &[]), w::bytes(3, "n1")].concat();
    assert!(makes(8000, named, shape).starts_with("the node 'n1' (ConstantOfShape) makes"));
    let double = w::int_attribute("dtype", 11);
    makes(800, w::node("RandomNormal", "", "y", &[ints("shape", &[10, 10]), double.clone()]), &[]);
    makes(400, w::node("RandomUniform", "", "y", &[ints("shape", &[10, 10])]), &[]);
    makes(48, w::node("EyeLike", "x", "y", &[double]), &[]);
    makes(44, w::node("HannWindow", "n", "y", &[]), &[longs("n", &[11])]);
    makes(2000, w::node("MaxUnpool", "x i s", "y", &[]), shape);
}

#[test]
fn shapes_that_are_changed() {
    makes(2 * 4 * 3 * 5, w::node("Tile", "x s", "y", &[]), &[longs("s", &[4, 5])]);
    makes(7 * 2 * 3, w::node("Expand", "x s", "y", &[]), &[longs("s", &[7, 1, 3])]);
    makes(6, w::node("Expand", "x s", "y", &[]), &[longs("s", &[1])]);
    makes(9 * 4, w::node("Pad", "x s", "y", &[]), &[longs("s", &[3, 0, 4, 1])]);
    makes(9 * 4, w::node("Pad", "x", "y", &[ints("pads", &[3, 0, 4, 1])]), &[]);
    makes(2 * 10, w::node("Pad", "x s - a", "y", &[]), &[longs("s", &[3, 4]), longs("a", &[-1])]);
    makes(99 * 98, w::node("Resize", "x - - s", "y", &[]), &[longs("s", &[99, 98])]);
    makes(2 * 98, w::node("Resize", "x - - s", "y", &[ints("axes", &[1])]), &[longs("s", &[98])]);
    makes(3 * 7, w::node("Resize", "x - s", "y", &[]), &[w::floats("s", &[2], &[1.5, 2.5])]);
    makes(3 * 7, w::node("Upsample", "x s", "y", &[]), &[w::floats("s", &[2], &[1.5, 2.5])]);
    makes(2 * 12, w::node("CenterCropPad", "x s", "y", &[ints("axes", &[1])]), &[longs("s", &[12])]);
    makes(2 * 4 * 5 * 6 * 3, w::node("AffineGrid", "x s", "y", &[]), &[longs("s", &[2, 9, 4, 5, 6])]);
    let values = w::tensor("v", 4, &[2], [0; 4]);
    makes(6 * 9 * 2, w::node("OneHot", "x d v", "y", &[]), &[longs("d", &[9]), values]);
}

/// Images of 1 x 2 x 5 x 6 bytes.
#[test]
fn windows_over_an_image() {
    let image = || w::tensor("i", w::U8, &[1, 2, 5, 6], [0; 60]);
    let weights = || w::tensor("w", w::U8, &[4, 3, 3, 2], [0; 72]);
    let pads = ints("pads", &[10, 20, 30, 40]);
    let both = &[image(), weights()];
    // (5 + 40 - 3) + 1, (6 + 60 - 2) + 1
    makes(4 * 43 * 65, w::node("Conv", "i w", "y", std::slice::from_ref(&pads)), both);
    // (45 - 5) / 4 + 1, (66 - 3) / 7 + 1
    let steps = [pads.clone(), ints("strides", &[4, 7]), ints("dilations", &[2, 2])];
    makes(4 * 11 * 10, w::node("Conv", "i w", "y", &steps), both);
    for pool in ["MaxPool", "AveragePool", "LpPool"] {
        makes(2 * 43 * 65, w::node(pool, "i", "y", &[pads.clone(), ints("kernel_shape", &[3, 2])]), both);
    }
    // 4 * 100 + 3, 5 * 1000 + 2, of 3 channels in each of 2 groups
    let apart = [ints("strides", &[100, 1000]), w::int_attribute("group", 2)];
    makes(6 * 403 * 5002, w::node("ConvTranspose", "i w", "y", &apart), both);
    let apart = [&apart[..], &[ints("output_padding", &[7, 8]), ints("pads", &[1, 2, 3, 4])]].concat();
    makes(6 * 406 * 5004, w::node("ConvTranspose", "i w", "y", &apart), both);
    let automatic = [pads, [w::bytes(1, "auto_pad"), w::bytes(4, "SAME_UPPER")].concat()];
    is_left_to_the_engine(w::node("Conv", "i w", "y", &automatic), both);
    is_left_to_the_engine(w::node("Conv", "i w", "y", &[]), both);
    is_left_to_the_engine(w::node("Conv", "i elsewhere", "y", &[ints("pads", &[1, 1, 1, 1])]), both);
    is_left_to_the_engine(w::node("Conv", "i w", "y", &[ints("pads", &[9, 9])]), both);
    // a window that is not known can be as large as the image and its padding
    let pads = [ints("pads", &[1, 1, 1, 1])];
    is_left_to_the_engine(w::node("Conv", "i open4", "y", &pads), both);
    let sized = [&pads[..], &[ints("kernel_shape", &[3, 2])]].concat();
    makes(5 * 7, w::node("Conv", "i open4", "y", &sized), both);
}

#[test]
fn numbers_that_are_counts() {
    let scalars = |values: [i64; 3]| [longs("a", &values[..1]), longs("b", &values[1..2]), longs("c", &values[2..])];
    makes(4 * 8, w::node("Range", "a b c", "y", &[]), &scalars([1, 11, 3]));
    makes(4 * 8, w::node("Range", "a b c", "y", &[]), &scalars([11, 1, -3]));
    is_left_to_the_engine(w::node("Range", "a b c", "y", &[]), &scalars([1, 11, -3]));
    is_left_to_the_engine(w::node("Range", "a b c", "y", &[]), &scalars([1, 11, 0]));
    let floats = [("a", 1.0), ("b", 2.0), ("c", 0.3)].map(|(name, value)| w::floats(name, &[], &[value]));
    makes(4 * 4, w::node("Range", "a b c", "y", &[]), &floats);
    makes(5 * 17 * 4, w::node("MelWeightMatrix", "a b c", "y", &[]), &scalars([5, 32, 0]));
    assert!(
        makes(36, w::node("Multinomial", "x", "y", &[w::int_attribute("sample_size", 9)]), &[]).contains("at least")
    );
    let size = [w::int_attribute("output_height", 7), w::int_attribute("output_width", 8)];
    makes(56, w::node("RoiAlign", "x r i", "y", &size), &[]);
    makes(56, w::node("MaxRoiPool", "x r", "y", &[ints("pooled_shape", &[7, 8])]), &[]);
    makes(40, w::node("TfIdfVectorizer", "x", "y", &[ints("ngram_indexes", &[3, 9, 1])]), &[]);
}

#[test]
fn what_is_not_known_counts_once() {
    let constants = &[longs("s", &[4, 5]), longs("crop", &[-9, 0, 0, 0])];
    for input in ["elsewhere", "open"] {
        let least = if input == "open" { 4 * 15 } else { 20 };
        let text = makes(least, w::node("Tile", &format!("{input} s"), "y", &[]), constants);
        assert!(text.contains("at least"), "{text}");
        is_left_to_the_engine(w::node("Pad", &format!("{input} crop"), "y", &[]), constants);
    }
    let policy = [w::bytes(1, "keep_aspect_ratio_policy"), w::bytes(4, "not_larger")].concat();
    for node in [
        w::node("ConstantOfShape", "elsewhere", "y", &[]),
        w::node("ConstantOfShape", "", "y", &[]),
        w::node("other:ConstantOfShape", "s", "y", &[]),
        w::node("Resize", "x - - s", "y", &[policy]),
        w::node("ConstantOfShape", "s", "", &[]),
    ] {
        is_left_to_the_engine(node, constants);
    }
}

/// What the caller of a function gives is not in the node.
#[test]
fn attributes_of_a_caller() {
    let shape = longs("s", &[4, 5]);
    let of_caller = |name: &str| [w::bytes(1, name), w::bytes(21, "a"), w::number(20, 2)].concat();
    for name in ["value", "any"] {
        is_left_to_the_engine(w::node("ConstantOfShape", "s", "y", &[of_caller(name)]), std::slice::from_ref(&shape));
    }
    let list = [ints("shape", &[10, 10]), of_caller("dtype")];
    is_left_to_the_engine(w::node("RandomNormal", "", "y", &list), &[]);
    let constant = w::node("Constant", "", "s", &[of_caller("value_ints")]);
    let nodes = [constant, w::node("Expand", "x s", "y", &[])];
    assert!(check(&graph(&nodes, &[]).model(), 1).is_ok());
}

/// The engine runs models in which these are wrong, and makes tensors of the true shape.
#[test]
fn shapes_that_are_only_declared() {
    let tile = || w::node("Tile", "a s", "y", &[]);
    let relu = w::node("Relu", "x", "a", &[]);
    let declared = w::bytes(13, w::value("a", w::U8, "1000 3"));
    let model = graph(&[relu, tile()], &[longs("s", &[1, 10])]);
    assert!(check(&model.model_with(&w::bytes(7, declared)), 10).is_ok());
    let body = w::Graph { nodes: vec![tile()], inputs: vec![w::value("a", w::U8, "1000 3")], ..Default::default() };
    let node = w::node("Loop", "n c x", "z", &[w::graph_attribute("body", &body.bytes())]);
    assert!(check(&graph(&[node], &[longs("s", &[1, 10])]).model(), 10).is_ok());
}

#[test]
fn what_a_body_is_given_hides_what_is_around_it() {
    let body = |inputs: Vec<Vec<u8>>, constants: Vec<Vec<u8>>| {
        let nodes = vec![w::node("ConstantOfShape", "s", "y", &[])];
        let body = w::Graph { nodes, inputs, constants, ..Default::default() };
        let node = w::node("Loop", "n c s0", "z", &[w::graph_attribute("body", &body.bytes())]);
        check(&graph(&[node], &[longs("s", &[1000])]).model(), 39).map_err(|error| error.status)
    };
    assert_eq!(body(vec![], vec![]), Err(Status::Unsupported));
    for shape in ["", "1", "?"] {
        assert_eq!(body(vec![w::value("s", w::I64, shape)], vec![]), Ok(()));
    }
    assert_eq!(body(vec![w::bytes(1, "s")], vec![]), Ok(()), "with nothing said of it");
    let of_another_file = [longs("s", &[1]), w::number(14, 1)].concat();
    assert_eq!(body(vec![], vec![of_another_file]), Ok(()));
    assert_eq!(body(vec![], vec![longs("s", &[10])]), Err(Status::Unsupported));
}

/// What a constant says is read once for each node that names it.
#[test]
fn constants_that_are_large_are_not_read() {
    let many = longs("s", &[1; 1000]);
    let node = || w::node("ConstantOfShape", "s", "y", &[]);
    is_left_to_the_engine(node(), std::slice::from_ref(&many));
    let constant = w::node("Constant", "", "s", &[w::tensor_attribute("value", &many)]);
    assert!(check(&graph(&[constant.clone(), node()], &[]).model(), 1).is_ok());
    // but their dimensions are
    let model = graph(&[constant, w::node("Tile", "s two", "y", &[])], &[longs("two", &[2])]).model();
    assert!(check(&model, 16_000).is_ok() && check(&model, 15_999).is_err());
}

#[test]
fn absurd_and_empty_ones() {
    let made = |values: &[i64]| {
        let model = graph(&[w::node("ConstantOfShape", "s", "y", &[])], &[longs("s", values)]).model();
        check(&model, 1 << 32).err().map(|error| (error.status, error.into_text()))
    };
    assert_eq!(made(&[1 << 40, 0]), None);
    assert_eq!(made(&[0]), None);
    for (values, why) in [
        (&[-1][..], "below 0"),
        (&[3, i64::MIN], "below 0"),
        (&[1 << 40, 1 << 40], "too many elements"),
        (&[i64::MAX], "too many elements"),
    ] {
        let (status, text) = made(values).expect("absurd");
        assert!(status == Status::ModelInvalid && text.contains(why), "{values:?}: {text}");
    }
    assert_eq!(made(&[1 << 34]).unwrap().0, Status::Unsupported);
}

/// They have no elements, but dimensions of any size, with which nothing may overflow.
#[test]
fn empty_ones_that_grow() {
    let scales = w::floats("f", &[4], &[1.0, 1.0, f32::MAX, 1.0]);
    let most = longs("s", &[1, 1, i64::MAX, i64::MAX]);
    let pads = longs("p", &[0, 0, i64::MAX - 2, i64::MAX - 2, 0, 0, 0, 0]);
    let empty = w::tensor("e", w::U8, &[0, 1, 2, 2], []);
    let steps = [ints("strides", &[i64::MAX; 2]), ints("pads", &[i64::MIN; 4])];
    let windows = [ints("dilations", &[i64::MIN; 2]), ints("kernel_shape", &[i64::MIN; 2])];
    let attributes = [steps, windows].concat();
    let growing = [
        w::node("Resize", "e - f", "a", &[]),
        w::node("Tile", "e s", "a", &[]),
        w::node("Pad", "e p", "a", &[]),
        w::node("ConvTranspose", "e e", "a", &attributes),
    ];
    for first in &growing {
        for second in [
            w::node("Resize", "a - f", "b", &[]),
            w::node("Tile", "a s", "b", &[]),
            w::node("Pad", "a p", "b", &[]),
            w::node("ConvTranspose", "a a", "b", &attributes),
            w::node("Conv", "a a", "b", &attributes),
        ] {
            let constants = [scales.clone(), most.clone(), pads.clone(), empty.clone()];
            let nodes = [first.clone(), second, w::node("Pad", "b p", "c", &[])];
            let result = check(&graph(&nodes, &constants).model(), 1 << 20);
            assert!(result.is_ok() || result.unwrap_err().status == Status::ModelInvalid);
        }
    }
}

/// Each makes what the next one repeats; the node before last is too large only by what is before it.
#[test]
fn what_one_makes_the_next_one_takes() {
    let tile = |from: &str, to: &str| w::node("Tile", &format!("{from} s"), to, &[]);
    let model = graph(&[tile("x", "a"), tile("a", "b"), tile("b", "c")], &[longs("s", &[1, 100])]).model();
    assert!(check(&model, 6_000_000).is_ok());
    assert!(check(&model, 5_999_999).unwrap_err().text().contains("'c'"));
    assert!(check(&model, 59_999).unwrap_err().text().contains("'b'"));
}

#[test]
fn constants_in_every_form_and_place() {
    let node = || w::node("ConstantOfShape", "s", "y", &[]);
    let constant = |attribute: Vec<u8>| w::node("Constant", "", "s", &[attribute]);
    let value = w::tensor_attribute("value", &longs("", &[10]));
    let number = w::int_attribute("value_int", 10);
    for attribute in [value.clone(), number, ints("value_ints", &[10])] {
        assert!(check(&graph(&[constant(attribute.clone()), node()], &[]).model(), 40).is_ok());
        assert!(check(&graph(&[constant(attribute), node()], &[]).model(), 39).is_err());
    }
    let unpacked = [w::tensor_head("s", w::I64, &[1]), w::number(7, 10)].concat();
    let packed = [w::tensor_head("s", w::I64, &[1]), w::bytes(7, [10])].concat();
    for tensor in [unpacked, packed] {
        makes(40, node(), &[tensor]);
    }
    // in a graph inside, with the constant there or outside; in a function; in a second part of the graph
    let inside = |graph: &w::Graph| w::node("If", "c", "y", &[w::graph_attribute("then_branch", &graph.bytes())]);
    let only = |nodes: &[Vec<u8>]| w::Graph { nodes: nodes.to_vec(), ..Default::default() };
    let both = [constant(value.clone()), node()];
    let function = both.iter().flat_map(|node| w::bytes(7, node)).collect::<Vec<_>>();
    for model in [
        graph(&[inside(&only(&both))], &[]).model(),
        graph(&[inside(&only(&[inside(&only(&[node()]))]))], &[longs("s", &[10])]).model(),
        graph(&[], &[]).model_with(&w::bytes(25, function)),
        graph(&[node()], &[]).model_with(&w::bytes(7, w::bytes(5, longs("s", &[10])))),
    ] {
        assert!(check(&model, 40).is_ok());
        assert_eq!(check(&model, 39).unwrap_err().status, Status::Unsupported);
    }
    // of two branches each has its own
    let branch = |size| only(&[constant(w::tensor_attribute("value", &longs("", &[size]))), node()]);
    let model = graph(&[inside(&branch(10)), inside(&branch(20))], &[]).model();
    assert!(check(&model, 80).is_ok() && check(&model, 79).is_err());
    // and none sees what is in the other
    let model = graph(&[inside(&only(&[constant(value)])), inside(&only(&[node()]))], &[]).model();
    assert!(check(&model, 1).is_ok());
}

proptest! {
    #[test]
    fn any_numbers_end(
        operator in prop::sample::select(vec![
            "ConstantOfShape", "Expand", "Tile", "Pad", "CenterCropPad", "Resize", "Upsample", "MaxUnpool", "AffineGrid",
            "OneHot", "Range", "HannWindow", "MelWeightMatrix",
        ]),
        inputs in "(x|open|s|t|f|-)( (x|open|s|t|f|-)){0,4}",
        s in prop::collection::vec(any::<i64>(), 0..5),
        t in prop::collection::vec(-3i64..4, 0..5),
        f in prop::collection::vec(any::<f32>(), 0..5),
        axes in prop::collection::vec(-3i64..4, 0..3),
    ) {
        let count = f.len() as i64;
        let constants = [longs("s", &s), longs("t", &t), w::floats("f", &[count], &f)];
        let names = ["axes", "pads", "strides", "kernel_shape", "dilations"];
        let attributes = names.map(|name| ints(name, if name == "axes" { &axes } else { &s }));
        let attributes = &attributes[usize::from(axes.is_empty())..];
        let _ = check(&graph(&[w::node(operator, &inputs, "y", attributes)], &constants).model(), 1 << 20);
    }
}
