//! The same elements in another shape.

use super::super::graph::shown_dims;
use super::super::node::{Node, elements};
use super::super::schema::kind;
use crate::base::{Result, text};

/// The shape that a reshape is asked for. The second input counts where it is a list of 32-bit numbers, else the option.
fn target(node: &Node) -> Option<Vec<i64>> {
    match node.input(1) {
        Some(tensor) if tensor.kind == kind::I32 && tensor.shape.len() == 1 => tensor.integers(),
        _ => {
            let option = node.list_option(0);
            // how old files write a scalar
            Some(if option == [0] { Vec::new() } else { option }).filter(|_| node.operator.options.is_some())
        }
    }
}

pub fn reshape(node: &Node) -> Result<()> {
    let input = node.dims(0).and_then(elements);
    let output = node.output(0).and_then(|tensor| elements(tensor.dims.as_deref()?));
    if let (Some(input), Some(output)) = (input, output) {
        node.expect_same(format_args!("the number of elements of {}", node.label_output(0)), output, input)?;
    }
    let Some(wanted) = target(node) else { return Ok(()) };
    let is_bad = |dim: &&i64| **dim < -1;
    if wanted.iter().any(|dim| is_bad(&dim)) || wanted.iter().filter(|dim| **dim == -1).count() > 1 {
        return Err(
            node.fault(text!("the shape that it is to make is {wanted:?}: at most one dimension can be left open"))
        );
    }
    let known = wanted.iter().filter(|dim| **dim >= 0).try_fold(1i64, |product, dim| product.checked_mul(*dim));
    let Some(known) = known else {
        return Err(node.fault(text!("the shape that it is to make, {wanted:?}, has too many elements")));
    };
    if let Some(input) = input {
        let fits = if wanted.contains(&-1) { known > 0 && input % known == 0 || input == 0 } else { known == input };
        if !fits {
            let text = text!("the shape that it is to make is {}, and {}", shown_dims(&wanted), node.label_input(0));
            return Err(node.fault(text!("{text} has {input} elements")));
        }
    }
    node.expect_output(0, &wanted)
}

pub fn transpose(node: &Node) -> Result<()> {
    let (Some(dims), Some(order)) = (node.dims(0), node.integers(1)) else { return Ok(()) };
    node.expect_same("the length of its order", order.len() as i64, dims.len() as i64)?;
    let mut turned = Vec::new();
    let mut seen = vec![false; dims.len()];
    for axis in &order {
        let axis = node.expect_axis("a dimension of its order", *axis, dims.len())?;
        if seen[axis] {
            return Err(node.fault(text!("its order {order:?} names dimension {axis} twice")));
        }
        seen[axis] = true;
        turned.push(dims[axis]);
    }
    node.expect_output(0, &turned)
}

pub fn squeeze(node: &Node) -> Result<()> {
    let Some(dims) = node.dims(0) else { return Ok(()) };
    let named = node.list_option(0);
    let mut goes = vec![false; dims.len()];
    for axis in &named {
        let axis = node.expect_axis("a dimension that it is to take away", *axis, dims.len())?;
        node.expect_same(format_args!("dimension {axis}, which it is to take away,"), dims[axis], 1)?;
        goes[axis] = true;
    }
    if named.is_empty() && dims.iter().any(|dim| *dim < 0) {
        return Ok(());
    }
    let stays = |(axis, dim): &(usize, &i64)| if named.is_empty() { **dim != 1 } else { !goes[*axis] };
    let left: Vec<i64> = dims.iter().enumerate().filter(stays).map(|(_, dim)| *dim).collect();
    node.expect_output(0, &left)
}

pub fn expand_dims(node: &Node) -> Result<()> {
    let (Some(dims), Some(axis)) = (node.dims(0), node.integers(1)) else { return Ok(()) };
    node.expect_same("the number of axes", axis.len() as i64, 1)?;
    let axis = node.expect_axis("its axis", axis[0], dims.len() + 1)?;
    let mut wanted = dims.to_vec();
    wanted.insert(axis, 1);
    node.expect_output(0, &wanted)
}

pub fn shape_of(node: &Node) -> Result<()> {
    node.dims(0).map_or(Ok(()), |dims| node.expect_output(0, &[dims.len() as i64]))
}

pub fn tile(node: &Node) -> Result<()> {
    let (Some(dims), Some(times)) = (node.dims(0), node.integers(1)) else { return Ok(()) };
    node.expect_same("the number of its multiples", times.len() as i64, dims.len() as i64)?;
    for times in &times {
        node.expect_within("a multiple", *times, 0, i64::MAX)?;
    }
    let multiply = |(dim, times): (&i64, &i64)| if *dim < 0 { -1 } else { dim.saturating_mul(*times) };
    node.expect_output(0, &dims.iter().zip(&times).map(multiply).collect::<Vec<_>>())
}
