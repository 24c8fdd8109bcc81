//! Products of matrices.

use super::super::node::{Node, elements};
use crate::base::{Result, text};

pub fn fully_connected(node: &Node) -> Result<()> {
    node.expect_rank(1, 2)?;
    node.expect_within("the format of its weights", i64::from(node.small_option(1)), 0, 1)?;
    let (Some(input), Some(weights)) = (node.dims(0), node.dims(1)) else { return Ok(()) };
    let (made, depth) = (weights[0], weights[1]);
    if let Some(bias) = node.input(2).and_then(|bias| bias.elements()) {
        node.expect_same(format_args!("the number of elements of {}", node.label_input(2)), bias as i64, made)?;
    }
    let Some(count) = elements(input).filter(|_| depth >= 0 && made >= 0) else { return Ok(()) };
    if (depth == 0) != (count == 0) || (depth > 0 && count % depth != 0) {
        let text = text!("its weights are for rows of {depth}, and {} has {count} elements", node.label_input(0));
        return Err(node.fault(text));
    }
    let Some(given) = node.output(0).and_then(|tensor| elements(tensor.dims.as_deref()?)) else { return Ok(()) };
    let wanted = if depth == 0 { given } else { (count / depth).saturating_mul(made) };
    node.expect_same(format_args!("the number of elements of {}", node.label_output(0)), given, wanted)
}

pub fn batch_matmul(node: &Node) -> Result<()> {
    node.expect_ranks(0, 2, 5)?;
    node.expect_ranks(1, 2, 5)?;
    let (Some(first), Some(second)) = (node.dims(0), node.dims(1)) else { return Ok(()) };
    // rows and columns, after what the options turn round
    let of = |dims: &[i64], is_turned: bool| {
        let [.., rows, columns] = *dims else { return (-1, -1) };
        if is_turned { (columns, rows) } else { (rows, columns) }
    };
    let (rows, depth) = of(first, node.small_option(0) != 0);
    let (other_depth, columns) = of(second, node.small_option(1) != 0);
    node.expect_same(format_args!("the depth of {}", node.label_input(1)), other_depth, depth)?;
    let Some([.., given_rows, given_columns]) = node.output(0).and_then(|tensor| tensor.dims.as_deref()) else {
        return Ok(());
    };
    node.expect_same("the number of rows of its output", *given_rows, rows)?;
    node.expect_same("the number of columns of its output", *given_columns, columns)
}

pub fn svdf(node: &Node) -> Result<()> {
    let rank = i64::from(node.option(0, 0));
    node.expect_within("its rank", rank, 1, i64::MAX)?;
    node.expect_rank(0, 2)?;
    node.expect_rank(1, 2)?;
    node.expect_rank(2, 2)?;
    let (Some(input), Some(features), Some(times)) = (node.dims(0), node.dims(1), node.dims(2)) else { return Ok(()) };
    node.expect_same("the depth of its feature weights", features[1], input[1])?;
    node.expect_same("the number of rows of its time weights", times[0], features[0])?;
    if features[0] >= 0 && features[0] % rank != 0 {
        return Err(node.fault(text!("it has {} filters, which is no multiple of its rank {rank}", features[0])));
    }
    Ok(())
}
