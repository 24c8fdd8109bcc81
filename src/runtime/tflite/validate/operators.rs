//! What each operator has to look like: how many inputs and outputs, which of them may be left out, and further rules.
//!
//! Of an operator that is not in the table, as a custom one, only its tensors are checked.

use std::sync::OnceLock;

use super::graph::{Graph, Model};
use super::names::NAMES;
use super::node::{Node, expect_tensor};
use super::rules::{control, dense, elementwise, images, joins, reduce, shapes, slices, windows};
use super::schema::field;
use crate::base::{Result, text};

pub type Rule = fn(&Node) -> Result<()>;

pub struct Kind {
    name: &'static str,
    inputs: (usize, usize),
    outputs: (usize, usize),
    /// Inputs from this one on may be left out.
    optional_from: usize,
    /// The number of the kind of options.
    pub options: Option<u8>,
    /// Without its options the operator would have a step or a size of 0.
    needs_options: bool,
    rules: &'static [Rule],
}

const MANY: usize = usize::MAX;

impl Kind {
    const fn new(name: &'static str, inputs: usize, outputs: usize) -> Kind {
        Kind {
            name,
            inputs: (inputs, inputs),
            outputs: (outputs, outputs),
            optional_from: MANY,
            options: None,
            needs_options: false,
            rules: &[],
        }
    }

    const fn inputs(self, least: usize, most: usize) -> Kind {
        Kind { inputs: (least, most), ..self }
    }

    const fn outputs(self, least: usize, most: usize) -> Kind {
        Kind { outputs: (least, most), ..self }
    }

    const fn optional_from(self, first: usize) -> Kind {
        Kind { optional_from: first, ..self }
    }

    const fn options(self, options: u8) -> Kind {
        Kind { options: Some(options), ..self }
    }

    const fn needs_options(self, options: u8) -> Kind {
        Kind { options: Some(options), needs_options: true, ..self }
    }

    const fn rules(self, rules: &'static [Rule]) -> Kind {
        Kind { rules, ..self }
    }
}

const fn unary(name: &'static str) -> Kind {
    Kind::new(name, 1, 1).rules(&[elementwise::same_kind, elementwise::same_shape])
}

const fn converting(name: &'static str) -> Kind {
    Kind::new(name, 1, 1).rules(&[elementwise::same_shape])
}

const fn binary(name: &'static str) -> Kind {
    Kind::new(name, 2, 1).rules(&[elementwise::same_kinds, elementwise::same_kind, elementwise::broadcast])
}

const fn comparison(name: &'static str) -> Kind {
    Kind::new(name, 2, 1).rules(&[elementwise::same_kinds, elementwise::broadcast])
}

const fn reduction(name: &'static str) -> Kind {
    Kind::new(name, 2, 1).options(27).rules(&[elementwise::same_kind, reduce::reduction])
}

/// What nothing is known of.
static ANY: Kind = Kind::new("", 0, 0).inputs(0, MANY).outputs(0, MANY).optional_from(0);

static KINDS: &[Kind] = &[
    binary("ADD"),
    binary("SUB"),
    binary("MUL"),
    binary("DIV"),
    binary("MAXIMUM"),
    binary("MINIMUM"),
    binary("FLOOR_DIV"),
    binary("FLOOR_MOD"),
    binary("SQUARED_DIFFERENCE"),
    binary("POW"),
    binary("ATAN2"),
    binary("LOGICAL_OR"),
    binary("LOGICAL_AND"),
    binary("BITWISE_XOR"),
    binary("RIGHT_SHIFT"),
    Kind::new("PRELU", 2, 1).rules(&[elementwise::same_kinds, elementwise::same_kind, elementwise::broadcast]),
    comparison("LESS"),
    comparison("LESS_EQUAL"),
    comparison("GREATER"),
    comparison("GREATER_EQUAL"),
    comparison("EQUAL"),
    comparison("NOT_EQUAL"),
    Kind::new("SELECT", 3, 1),
    Kind::new("SELECT_V2", 3, 1),
    unary("RELU"),
    unary("RELU6"),
    unary("RELU_N1_TO_1"),
    unary("RELU_0_TO_1"),
    unary("LEAKY_RELU"),
    unary("ELU"),
    unary("GELU"),
    unary("HARD_SWISH"),
    unary("LOGISTIC"),
    unary("TANH"),
    unary("SOFTMAX"),
    unary("LOG_SOFTMAX"),
    unary("L2_NORMALIZATION"),
    unary("LOCAL_RESPONSE_NORMALIZATION"),
    unary("FLOOR"),
    unary("CEIL"),
    unary("ROUND"),
    unary("EXP"),
    unary("LOG"),
    unary("SIN"),
    unary("COS"),
    unary("SQRT"),
    unary("RSQRT"),
    unary("SQUARE"),
    unary("ABS"),
    unary("NEG"),
    unary("SIGN"),
    unary("LOGICAL_NOT"),
    unary("ZEROS_LIKE"),
    converting("CAST"),
    converting("QUANTIZE"),
    converting("DEQUANTIZE"),
    converting("FAKE_QUANT"),
    converting("DENSIFY"),
    Kind::new("ADD_N", 1, 1).inputs(1, MANY).rules(&[elementwise::same_kinds, elementwise::same_shape]),
    Kind::new("CUMSUM", 2, 1).rules(&[elementwise::same_shape, reduce::axes_within]),
    Kind::new("REVERSE_V2", 2, 1).rules(&[elementwise::same_shape, reduce::axes_within]),
    Kind::new("REVERSE_SEQUENCE", 2, 1).rules(&[elementwise::same_shape]),
    Kind::new("CONV_2D", 2, 1).inputs(2, 3).optional_from(2).needs_options(1).rules(&[windows::convolution]),
    Kind::new("DEPTHWISE_CONV_2D", 2, 1).inputs(2, 3).optional_from(2).needs_options(2).rules(&[windows::depthwise]),
    Kind::new("TRANSPOSE_CONV", 3, 1).inputs(3, 4).optional_from(3).needs_options(49).rules(&[windows::transposed]),
    Kind::new("AVERAGE_POOL_2D", 1, 1).needs_options(5).rules(&[elementwise::same_kind, windows::pool]),
    Kind::new("MAX_POOL_2D", 1, 1).needs_options(5).rules(&[elementwise::same_kind, windows::pool]),
    Kind::new("L2_POOL_2D", 1, 1).needs_options(5).rules(&[elementwise::same_kind, windows::pool]),
    Kind::new("CONV_3D", 2, 1).inputs(2, 3).optional_from(2).needs_options(106).rules(&[windows::volume]),
    Kind::new("CONV_3D_TRANSPOSE", 3, 1).inputs(3, 4).optional_from(3).needs_options(106).rules(&[windows::volume]),
    Kind::new("FULLY_CONNECTED", 2, 1)
        .inputs(2, 3)
        .outputs(1, 2)
        .optional_from(2)
        .options(8)
        .rules(&[dense::fully_connected]),
    Kind::new("BATCH_MATMUL", 2, 1).options(101).rules(&[dense::batch_matmul]),
    Kind::new("EMBEDDING_LOOKUP", 2, 1),
    Kind::new("SVDF", 5, 1).inputs(4, 5).optional_from(2).needs_options(6).rules(&[dense::svdf]),
    Kind::new("RNN", 5, 1).optional_from(3),
    Kind::new("UNIDIRECTIONAL_SEQUENCE_RNN", 5, 1).optional_from(3),
    Kind::new("LSTM", 5, 1).inputs(5, 24).outputs(1, 4).optional_from(1),
    Kind::new("UNIDIRECTIONAL_SEQUENCE_LSTM", 20, 1).inputs(20, 24).optional_from(1),
    Kind::new("BIDIRECTIONAL_SEQUENCE_LSTM", 48, 1).outputs(1, 2).optional_from(1),
    Kind::new("BIDIRECTIONAL_SEQUENCE_RNN", 12, 1).outputs(1, 2).optional_from(1),
    Kind::new("RESHAPE", 1, 1).inputs(1, 2).options(17).rules(&[elementwise::same_kind, shapes::reshape]),
    Kind::new("TRANSPOSE", 2, 1).rules(&[elementwise::same_kind, shapes::transpose]),
    Kind::new("SQUEEZE", 1, 1).options(30).rules(&[elementwise::same_kind, shapes::squeeze]),
    Kind::new("EXPAND_DIMS", 2, 1).rules(&[elementwise::same_kind, shapes::expand_dims]),
    Kind::new("SHAPE", 1, 1).rules(&[shapes::shape_of]),
    Kind::new("RANK", 1, 1),
    Kind::new("TILE", 2, 1).rules(&[elementwise::same_kind, shapes::tile]),
    Kind::new("BROADCAST_TO", 2, 1).rules(&[elementwise::same_kind]),
    Kind::new("BROADCAST_ARGS", 2, 1),
    Kind::new("FILL", 2, 1),
    Kind::new("RANGE", 3, 1),
    Kind::new("CONCATENATION", 1, 1).inputs(1, MANY).options(10).rules(&[joins::concatenation]),
    Kind::new("PACK", 1, 1).inputs(1, MANY).options(59).rules(&[joins::pack]),
    Kind::new("UNPACK", 1, 1).outputs(1, MANY).options(64).rules(&[joins::unpack]),
    Kind::new("SPLIT", 2, 1).outputs(1, MANY).needs_options(35).rules(&[joins::split]),
    Kind::new("SPLIT_V", 3, 1).outputs(1, MANY).needs_options(79).rules(&[joins::split_v]),
    Kind::new("PAD", 2, 1).rules(&[elementwise::same_kind, slices::pad]),
    Kind::new("PADV2", 3, 1).rules(&[elementwise::same_kind, slices::pad]),
    Kind::new("MIRROR_PAD", 2, 1).options(77).rules(&[elementwise::same_kind, slices::pad, slices::mirror]),
    Kind::new("SLICE", 3, 1).rules(&[elementwise::same_kind, slices::slice]),
    Kind::new("STRIDED_SLICE", 4, 1).options(32).rules(&[elementwise::same_kind, slices::strided_slice]),
    Kind::new("GATHER", 2, 1).options(23).rules(&[elementwise::same_kind, slices::gather]),
    Kind::new("GATHER_ND", 2, 1).rules(&[elementwise::same_kind, slices::gather_nd]),
    Kind::new("SCATTER_ND", 3, 1),
    Kind::new("DYNAMIC_UPDATE_SLICE", 3, 1),
    reduction("MEAN"),
    reduction("SUM"),
    reduction("REDUCE_PROD"),
    reduction("REDUCE_MAX"),
    reduction("REDUCE_MIN"),
    reduction("REDUCE_ANY"),
    reduction("REDUCE_ALL"),
    Kind::new("ARG_MAX", 2, 1).rules(&[reduce::axes_within]),
    Kind::new("ARG_MIN", 2, 1).rules(&[reduce::axes_within]),
    Kind::new("TOPK_V2", 2, 2).rules(&[reduce::top_k]),
    Kind::new("ONE_HOT", 4, 1),
    Kind::new("WHERE", 1, 1),
    Kind::new("UNIQUE", 1, 2),
    Kind::new("SPARSE_TO_DENSE", 4, 1),
    Kind::new("MATRIX_DIAG", 1, 1),
    Kind::new("MATRIX_SET_DIAG", 2, 1),
    Kind::new("SEGMENT_SUM", 2, 1),
    Kind::new("UNSORTED_SEGMENT_PROD", 3, 1),
    Kind::new("UNSORTED_SEGMENT_MAX", 3, 1),
    Kind::new("UNSORTED_SEGMENT_MIN", 3, 1),
    Kind::new("UNSORTED_SEGMENT_SUM", 3, 1),
    Kind::new("BUCKETIZE", 1, 1),
    Kind::new("NON_MAX_SUPPRESSION_V4", 5, 2),
    Kind::new("NON_MAX_SUPPRESSION_V5", 6, 3),
    Kind::new("RESIZE_BILINEAR", 2, 1).rules(&[elementwise::same_kind, images::resize]),
    Kind::new("RESIZE_NEAREST_NEIGHBOR", 2, 1).rules(&[elementwise::same_kind, images::resize]),
    Kind::new("DEPTH_TO_SPACE", 1, 1).needs_options(94).rules(&[elementwise::same_kind, images::depth_to_space]),
    Kind::new("SPACE_TO_DEPTH", 1, 1).needs_options(19).rules(&[elementwise::same_kind, images::space_to_depth]),
    Kind::new("SPACE_TO_BATCH_ND", 3, 1).rules(&[elementwise::same_kind, images::blocks]),
    Kind::new("BATCH_TO_SPACE_ND", 3, 1).rules(&[elementwise::same_kind, images::blocks]),
    Kind::new("RFFT2D", 2, 1),
    Kind::new("REAL", 1, 1).rules(&[elementwise::same_shape]),
    Kind::new("IMAG", 1, 1).rules(&[elementwise::same_shape]),
    Kind::new("COMPLEX_ABS", 1, 1).rules(&[elementwise::same_shape]),
    Kind::new("BITCAST", 1, 1),
    Kind::new("MULTINOMIAL", 2, 1),
    Kind::new("RANDOM_UNIFORM", 1, 1),
    Kind::new("RANDOM_STANDARD_NORMAL", 1, 1),
    Kind::new("HASHTABLE", 0, 1),
    Kind::new("HASHTABLE_FIND", 3, 1),
    Kind::new("HASHTABLE_IMPORT", 3, 0),
    Kind::new("HASHTABLE_SIZE", 1, 1),
    Kind::new("HASHTABLE_LOOKUP", 3, 2),
    Kind::new("VAR_HANDLE", 0, 1).rules(&[control::gives_handle]),
    Kind::new("READ_VARIABLE", 1, 1).rules(&[control::takes_handle]),
    Kind::new("ASSIGN_VARIABLE", 2, 0).rules(&[control::takes_handle]),
    Kind::new("IF", 1, 0).inputs(1, MANY).outputs(0, MANY).needs_options(92).rules(&[control::branches]),
    Kind::new("WHILE", 0, 0).inputs(0, MANY).outputs(0, MANY).needs_options(93).rules(&[control::repeats]),
    Kind::new("CALL_ONCE", 0, 0).needs_options(103).rules(&[control::calls_once]),
];

pub fn name_of(code: i32) -> &'static str {
    usize::try_from(code).ok().and_then(|code| NAMES.get(code)).copied().unwrap_or("of an unknown kind")
}

fn kind_of(code: i32) -> &'static Kind {
    static BY_CODE: OnceLock<Vec<&Kind>> = OnceLock::new();
    let find = |name: &&str| KINDS.iter().find(|kind| kind.name == *name).unwrap_or(&ANY);
    let by_code = BY_CODE.get_or_init(|| NAMES.iter().map(find).collect());
    usize::try_from(code).ok().and_then(|code| by_code.get(code)).copied().unwrap_or(&ANY)
}

pub fn check(model: &Model, graph: &Graph) -> Result<()> {
    for (number, operator) in graph.operators.iter().enumerate() {
        let node = Node { model, graph, number, operator, kind: kind_of(operator.code) };
        check_tensors(&node)?;
        check_counts(&node)?;
        check_options(&node)?;
        node.kind.rules.iter().try_for_each(|rule| rule(&node))?;
    }
    Ok(())
}

fn check_tensors(node: &Node) -> Result<()> {
    let (graph, operator) = (node.graph, node.operator);
    for (position, index) in operator.inputs.iter().enumerate() {
        if *index == -1 && position >= node.kind.optional_from {
            continue;
        }
        if *index == -1 {
            return Err(node.fault(text!("input {position} is left out, and it cannot do without")));
        }
        expect_tensor(graph, format_args!("input {position}"), *index).map_err(|error| node.fault(error.text()))?;
    }
    for (position, index) in operator.outputs.iter().enumerate() {
        expect_tensor(graph, format_args!("output {position}"), *index).map_err(|error| node.fault(error.text()))?;
    }
    for index in operator.table.ints(field::operator::INTERMEDIATES).filter(|index| *index != -1) {
        expect_tensor(graph, "an intermediate", index).map_err(|error| node.fault(error.text()))?;
    }
    Ok(())
}

fn check_counts(node: &Node) -> Result<()> {
    let sides = [
        ("inputs", node.operator.inputs.len(), node.kind.inputs),
        ("outputs", node.operator.outputs.len(), node.kind.outputs),
    ];
    for (side, given, (least, most)) in sides {
        if given < least || given > most {
            let wanted = match (least, most) {
                (least, MANY) => text!("{least} or more"),
                (least, most) if least == most => text!("{least}"),
                _ => text!("{least} to {most}"),
            };
            return Err(node.fault(text!("it has {given} {side}, and has to have {wanted}")));
        }
    }
    Ok(())
}

fn check_options(node: &Node) -> Result<()> {
    let has_options = node.operator.options.is_some() && Some(node.operator.options_type) == node.kind.options;
    if node.kind.needs_options && !has_options {
        return Err(node.fault(text!(
            "it has no options of its kind, which is {}; the file says kind {}",
            node.kind.options.unwrap_or_default(),
            node.operator.options_type
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_an_operator_and_comes_once() {
        for (at, kind) in KINDS.iter().enumerate() {
            assert!(NAMES.contains(&kind.name), "{}", kind.name);
            assert!(KINDS[..at].iter().all(|other| other.name != kind.name), "{}", kind.name);
        }
    }
}
