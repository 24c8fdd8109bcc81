//! Several tensors into one, and one into several.

use super::super::node::Node;
use super::elementwise::{same_kind, same_kinds};
use crate::base::{Result, text};

pub fn concatenation(node: &Node) -> Result<()> {
    same_kinds(node)?;
    same_kind(node)?;
    let Some(first) = node.dims(0) else { return Ok(()) };
    let axis = node.expect_axis("its axis", i64::from(node.option(0, 0)), first.len())?;
    let mut joined = first.to_vec();
    for position in 1..node.operator.inputs.len() {
        let Some(dims) = node.dims(position) else { return Ok(()) };
        node.expect_rank(position, first.len())?;
        for (at, dim) in dims.iter().enumerate() {
            if at == axis {
                joined[at] = if joined[at] < 0 || *dim < 0 { -1 } else { joined[at].saturating_add(*dim) };
            } else {
                node.expect_same(format_args!("dimension {at} of {}", node.label_input(position)), *dim, joined[at])?;
                joined[at] = joined[at].max(*dim);
            }
        }
    }
    node.expect_output(0, &joined)
}

pub fn pack(node: &Node) -> Result<()> {
    same_kinds(node)?;
    same_kind(node)?;
    let count = node.operator.inputs.len() as i64;
    node.expect_same("the number of values in its options", i64::from(node.option(0, 0)), count)?;
    let Some(first) = node.dims(0) else { return Ok(()) };
    let axis = node.expect_axis("its axis", i64::from(node.option(1, 0)), first.len() + 1)?;
    for position in 1..node.operator.inputs.len() {
        node.expect_rank(position, first.len())?;
        for (at, dim) in node.dims(position).unwrap_or_default().iter().enumerate() {
            node.expect_same(format_args!("dimension {at} of {}", node.label_input(position)), *dim, first[at])?;
        }
    }
    let mut wanted = first.to_vec();
    wanted.insert(axis, count);
    node.expect_output(0, &wanted)
}

pub fn unpack(node: &Node) -> Result<()> {
    same_kind(node)?;
    let count = node.operator.outputs.len() as i64;
    node.expect_same("the number of outputs in its options", i64::from(node.option(0, 0)), count)?;
    let Some(dims) = node.dims(0) else { return Ok(()) };
    let axis = node.expect_axis("its axis", i64::from(node.option(1, 0)), dims.len())?;
    node.expect_same(format_args!("dimension {axis} of {}", node.label_input(0)), dims[axis], count)?;
    let mut wanted = dims.to_vec();
    wanted.remove(axis);
    (0..node.operator.outputs.len()).try_for_each(|position| node.expect_output(position, &wanted))
}

/// The axis is the first input, the tensor the second.
pub fn split(node: &Node) -> Result<()> {
    let count = node.operator.outputs.len() as i64;
    node.expect_same("the number of splits in its options", i64::from(node.option(0, 0)), count)?;
    let (Some(axis), Some(dims)) = (node.integers(0), node.dims(1)) else { return Ok(()) };
    node.expect_same("the number of axes", axis.len() as i64, 1)?;
    let axis = node.expect_axis("its axis", axis[0], dims.len())?;
    if dims[axis] >= 0 && dims[axis] % count != 0 {
        return Err(node.fault(text!("{} cannot be split into {count} along {axis}", node.label_input(1))));
    }
    let mut wanted = dims.to_vec();
    wanted[axis] = if dims[axis] < 0 { -1 } else { dims[axis] / count };
    (0..node.operator.outputs.len()).try_for_each(|position| node.expect_output(position, &wanted))
}

pub fn split_v(node: &Node) -> Result<()> {
    let count = node.operator.outputs.len() as i64;
    node.expect_same("the number of splits in its options", i64::from(node.option(0, 0)), count)?;
    let (Some(dims), Some(sizes), Some(axis)) = (node.dims(0), node.integers(1), node.integers(2)) else {
        return Ok(());
    };
    node.expect_same("the number of sizes", sizes.len() as i64, count)?;
    node.expect_same("the number of axes", axis.len() as i64, 1)?;
    let axis = node.expect_axis("its axis", axis[0], dims.len())?;
    for size in &sizes {
        node.expect_within("a size of a split", *size, -1, i64::from(i32::MAX))?;
    }
    let is_open = |size: &&i64| **size == -1;
    let open = sizes.iter().filter(is_open).count();
    let rest = dims[axis] - sizes.iter().filter(|size| **size >= 0).sum::<i64>();
    if open > 1 || dims[axis] >= 0 && (rest < 0 || open == 0 && rest != 0) {
        return Err(node.fault(text!("the sizes of its splits are {sizes:?}, for a dimension of {}", dims[axis])));
    }
    for (position, size) in sizes.iter().enumerate() {
        let mut wanted = dims.to_vec();
        wanted[axis] = if *size >= 0 { *size } else { rest.max(-1) };
        node.expect_output(position, &wanted)?;
    }
    Ok(())
}
