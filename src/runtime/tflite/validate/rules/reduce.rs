//! Operators along axes.

use super::super::node::Node;
use crate::base::{Gather, Result};

/// The axes that the second input names, counted from the start; `None` where they are not known.
fn axes<'m>(node: &Node<'m, '_>) -> Result<Option<(Vec<usize>, &'m [i64])>> {
    let (Some(dims), Some(axes)) = (node.dims(0), node.integers(1)) else { return Ok(None) };
    let axes = axes.iter().map(|axis| match dims.len() {
        // a scalar has no axis, and the engine lets any pass that would be good for one dimension
        0 => node.expect_axis("an axis", *axis, 1),
        rank => node.expect_axis("an axis", *axis, rank),
    });
    Ok(Some((axes.gather_all()?, dims)))
}

pub fn axes_within(node: &Node) -> Result<()> {
    axes(node).map(|_| ())
}

pub fn reduction(node: &Node) -> Result<()> {
    let Some((axes, dims)) = axes(node)? else { return Ok(()) };
    let keeps = node.small_option(0) != 0;
    let goes = |axis: &usize| axes.contains(axis);
    let wanted: Vec<i64> = match keeps {
        true => dims.iter().enumerate().map(|(axis, dim)| if goes(&axis) { 1 } else { *dim }).collect(),
        false => dims.iter().enumerate().filter(|(axis, _)| !goes(axis)).map(|(_, dim)| *dim).collect(),
    };
    node.expect_output(0, &wanted)
}

pub fn top_k(node: &Node) -> Result<()> {
    let (Some(dims), Some(count)) = (node.dims(0), node.integers(1)) else { return Ok(()) };
    node.expect_same("the number of elements of input 1", count.len() as i64, 1)?;
    let Some(last) = dims.last() else { return Err(node.fault("its input is a scalar")) };
    node.expect_within("the number of elements to find", count[0], 0, if *last < 0 { i64::MAX } else { *last })
}
