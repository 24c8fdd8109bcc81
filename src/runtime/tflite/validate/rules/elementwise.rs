//! Operators that compute each element by itself.

use super::super::node::Node;
use super::super::schema::kind_name;
use crate::base::{Result, text};

/// The output has the type of the first input.
pub fn same_kind(node: &Node) -> Result<()> {
    match (node.input(0), node.output(0)) {
        (Some(input), Some(output)) if input.kind != output.kind => {
            let wanted = kind_name(input.kind);
            Err(node.fault(text!("{}: it has to be {wanted}, as input 0 is", node.label_output(0))))
        }
        _ => Ok(()),
    }
}

/// All inputs have one type.
pub fn same_kinds(node: &Node) -> Result<()> {
    let Some(first) = node.input(0) else { return Ok(()) };
    for position in 1..node.operator.inputs.len() {
        if node.input(position).is_some_and(|tensor| tensor.kind != first.kind) {
            let wanted = kind_name(first.kind);
            return Err(node.fault(text!("{}: it has to be {wanted}, as input 0 is", node.label_input(position))));
        }
    }
    Ok(())
}

/// The output has the shape of the first input.
pub fn same_shape(node: &Node) -> Result<()> {
    node.dims(0).map_or(Ok(()), |dims| node.expect_output(0, dims))
}

/// The output has the shape that both inputs together have.
pub fn broadcast(node: &Node) -> Result<()> {
    let (Some(first), Some(second)) = (node.dims(0), node.dims(1)) else { return Ok(()) };
    let rank = first.len().max(second.len());
    let from_end = |dims: &[i64], at: usize| dims.len().checked_sub(at).map_or(1, |at| dims[at]);
    let mut together = vec![0; rank];
    for at in 1..=rank {
        together[rank - at] = match (from_end(first, at), from_end(second, at)) {
            (1, dim) | (dim, 1) => dim,
            (one, other) if one < 0 || other < 0 => one.max(other),
            (one, other) if one == other => one,
            (one, other) => {
                let text = text!("{} and {} do not go together", node.label_input(0), node.label_input(1));
                return Err(node.fault(text!("{text}: {one} and {other}")));
            }
        };
    }
    node.expect_output(0, &together)
}
