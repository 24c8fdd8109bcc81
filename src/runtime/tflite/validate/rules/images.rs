//! Images that change their size.

use super::super::node::Node;
use crate::base::{Result, text};

pub fn resize(node: &Node) -> Result<()> {
    node.expect_rank(0, 4)?;
    let Some(size) = node.integers(1) else { return Ok(()) };
    node.expect_same("the number of sizes", size.len() as i64, 2)?;
    for size in &size {
        node.expect_within("a size", *size, 0, i64::from(i32::MAX))?;
    }
    node.dims(0).map_or(Ok(()), |dims| node.expect_output(0, &[dims[0], size[0], size[1], dims[3]]))
}

/// The size of the blocks, which is also a divisor.
fn block(node: &Node) -> Result<i64> {
    node.expect_rank(0, 4)?;
    let block = i64::from(node.option(0, 0));
    node.expect_within("its block size", block, 1, 1 << 15)?;
    Ok(block)
}

fn divide(node: &Node, dim: i64, by: i64) -> Result<i64> {
    match dim {
        dim if dim < 0 => Ok(-1),
        dim if dim % by == 0 => Ok(dim / by),
        dim => Err(node.fault(text!("a dimension of {dim} of {} is no multiple of {by}", node.label_input(0)))),
    }
}

fn multiply(dim: i64, by: i64) -> i64 {
    if dim < 0 { -1 } else { dim.saturating_mul(by) }
}

pub fn depth_to_space(node: &Node) -> Result<()> {
    let block = block(node)?;
    let Some(dims) = node.dims(0) else { return Ok(()) };
    let depth = divide(node, dims[3], block * block)?;
    node.expect_output(0, &[dims[0], multiply(dims[1], block), multiply(dims[2], block), depth])
}

pub fn space_to_depth(node: &Node) -> Result<()> {
    let block = block(node)?;
    let Some(dims) = node.dims(0) else { return Ok(()) };
    let (height, width) = (divide(node, dims[1], block)?, divide(node, dims[2], block)?);
    node.expect_output(0, &[dims[0], height, width, multiply(dims[3], block * block)])
}

/// Blocks between the batch and the image, of which the second input has the sizes.
pub fn blocks(node: &Node) -> Result<()> {
    for size in node.integers(1).into_iter().flatten() {
        node.expect_within("a block size", size, 1, i64::from(i32::MAX))?;
    }
    for count in node.integers(2).into_iter().flatten() {
        node.expect_within("a padding or a crop", count, 0, i64::from(i32::MAX))?;
    }
    let (Some(dims), Some(sizes)) = (node.dims(0), node.dims(1)) else { return Ok(()) };
    node.expect_ranks(0, 3, 4)?;
    node.expect_rank(1, 1)?;
    node.expect_same("the number of block sizes", sizes[0], dims.len() as i64 - 2)?;
    node.expect_rank(2, 2)?;
    match node.dims(2) {
        Some([rows, columns]) => {
            node.expect_same("the number of paddings or crops", *rows, dims.len() as i64 - 2)?;
            node.expect_same("the columns of its paddings or crops", *columns, 2)
        }
        _ => Ok(()),
    }
}
