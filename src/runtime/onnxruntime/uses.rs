//! What a graph does with its inputs, and what its outputs come from.

use std::collections::{HashMap, HashSet};

use super::graph::Node;
use super::operators::{Axis, Operand, Operator};
use crate::base::room::Shortage;

/// Names of the tensors that an operator quantizes with. No zero point has an empty name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Parameters<'a> {
    pub scale: &'a [u8],
    pub zero_point: &'a [u8],
    /// `None` where there can be one scale only.
    pub axis: Option<i64>,
}

/// What is known of the uses of an input, or of the origin of an output.
pub enum Use<'a> {
    Quantized(HashSet<Parameters<'a>>),
    /// Used in a way that says nothing.
    Other,
}

impl<'a> Use<'a> {
    fn add(&mut self, parameters: Option<Parameters<'a>>, shortage: &Shortage) -> Option<()> {
        match (&mut *self, parameters) {
            (Use::Quantized(all), Some(parameters)) => shortage.insert(all, parameters)?,
            _ => *self = Use::Other,
        }
        Some(())
    }

    fn parameters(&self) -> impl Iterator<Item = &Parameters<'a>> {
        match self {
            Use::Quantized(all) => Some(all.iter()).into_iter().flatten(),
            Use::Other => None.into_iter().flatten(),
        }
    }

    fn is_empty(&self) -> bool {
        matches!(self, Use::Quantized(all) if all.is_empty())
    }
}

/// The uses of every input and the origins of every output.
pub struct Uses<'n, 'a> {
    pub inputs: HashMap<&'n [u8], Use<'a>>,
    pub outputs: HashMap<&'n [u8], Use<'a>>,
}

impl<'n, 'a> Uses<'n, 'a> {
    pub fn of(
        inputs: impl ExactSizeIterator<Item = &'n [u8]>,
        outputs: impl ExactSizeIterator<Item = &'n [u8]>,
        shortage: &Shortage,
    ) -> Option<Uses<'n, 'a>> {
        let unused = |name| (name, Use::Quantized(HashSet::new()));
        let mut uses = Uses { inputs: shortage.map(inputs.len())?, outputs: shortage.map(outputs.len())? };
        uses.inputs.extend(inputs.map(unused));
        uses.outputs.extend(outputs.map(unused));
        Some(uses)
    }

    pub fn note(&mut self, node: &Node<'a>, shortage: &Shortage) -> Option<()> {
        let operator = Operator::find(node.domain, node.operator);
        for (position, name) in node.inputs.iter().enumerate() {
            if let Some(used) = self.inputs.get_mut(*name) {
                used.add(operator.and_then(|operator| parameters(node, operator.reads(position)?)), shortage)?;
            }
        }
        for (position, name) in node.outputs.iter().enumerate() {
            if let Some(origin) = self.outputs.get_mut(*name) {
                // a second origin makes no sense
                let is_first = position == 0 && origin.is_empty();
                let operand = operator.and_then(|operator| operator.writes.as_ref()).filter(|_| is_first);
                origin.add(operand.and_then(|operand| parameters(node, operand)), shortage)?;
            }
        }
        node.names_inside(&mut |name| {
            if let Some(used) = self.inputs.get_mut(name) {
                *used = Use::Other;
            }
        })
    }

    pub fn parameters(&self) -> impl Iterator<Item = &Parameters<'a>> {
        self.inputs.values().chain(self.outputs.values()).flat_map(Use::parameters)
    }
}

fn parameters<'a>(node: &Node<'a>, operand: &Operand) -> Option<Parameters<'a>> {
    let is_blocked = node.int(b"block_size").ok()?.unwrap_or(0) != 0;
    let axis = match operand.axis {
        Axis::None => None,
        Axis::Fixed(axis) => Some(axis),
        Axis::Attribute => Some(node.int(b"axis").ok()?.unwrap_or(1)),
    };
    let scale = node.inputs.get(operand.scale).copied().filter(|name| !name.is_empty())?;
    let zero_point = node.inputs.get(operand.zero_point).copied().unwrap_or_default();
    (!is_blocked).then_some(Parameters { scale, zero_point, axis })
}
