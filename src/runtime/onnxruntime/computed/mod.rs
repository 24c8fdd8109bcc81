//! The sizes of tensors that the engine computes from numbers in the file, before it makes room for them.
//!
//! A node that makes a shape from constants can ask for any amount of memory in a few bytes, and the engine asks for it while
//! it opens the model, where all of a node's inputs are constants. What depends on other computations is not known here.

mod known;
mod makers;
#[cfg(test)]
mod tests;
mod windows;

use std::fmt;

use known::{Known, Place, Shape};
use makers::{Maker, Operands};

use super::graph::Node;
use super::limits::{self, RAISE, Size, Verdict};
use super::walk::{Found, Part};
use crate::base::room::{Lossy, Shortage, push};
use crate::base::{Result, fail};

/// The nodes of a model that are looked at.
#[derive(Default)]
pub struct Computed<'a>(Vec<Met<'a>>);

struct Met<'a> {
    maker: &'static Maker,
    message: &'a [u8],
    graph: usize,
}

impl<'a> Computed<'a> {
    /// Keeps a node that is to be looked at, once all names are known.
    pub fn see(&mut self, found: &Found<'a>) -> Result<()> {
        let Found { part: Part::Node, message, graph } = *found else { return Ok(()) };
        match Maker::of(message) {
            Some(maker) => push(&mut self.0, Met { maker, message, graph }),
            None => Ok(()),
        }
    }

    /// Refuses a model in which one of them makes a tensor of more than `most` bytes.
    pub fn check(&self, model: &[u8], graphs: &[usize], most: u64) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let shortage = Shortage::default();
        let read = |met: &Met<'a>| Node::read(met.message, &shortage).map(|node| (node, met.maker, met.graph));
        let nodes = shortage.check(shortage.gather(self.0.iter().filter_map(read)))?.unwrap_or_default();
        let names = nodes.iter().flat_map(|(node, ..)| node.inputs.iter().copied());
        let mut known = shortage.check(Known::new(names, graphs, &shortage))?.unwrap_or_default();
        known.read(model, &shortage)?;
        for (node, maker, graph) in &nodes {
            let made = maker.output(&Operands::new(node, &known, *graph, &shortage));
            let (Some(shape), Some(name)) = (shortage.check(made)?, node.outputs.first()) else { continue };
            check_one(node, name, &shape, most)?;
            let _ = known.add(Place { graph: *graph, name }, shape, &shortage);
        }
        shortage.check(())
    }
}

fn check_one(node: &Node<'_>, name: &[u8], shape: &Shape, most: u64) -> Result<()> {
    let mut size = Size::of_one(limits::bits(shape.kind));
    shape.dims.iter().for_each(|dim| size.times(*dim));
    let (what, name) = (Label(node), Lossy(short(name)));
    let least = if shape.is_exact && shape.kind.is_some() { "" } else { "at least " };
    match size.verdict(most) {
        Verdict::Fits => Ok(()),
        Verdict::TooLarge(bytes) => fail!(
            Unsupported,
            "{what} makes the tensor '{name}' of shape {shape}, which needs {least}{bytes} bytes, over the limit of {most}: \
             {RAISE}"
        ),
        Verdict::Absurd(why) => fail!(ModelInvalid, "{what} makes the tensor '{name}' of shape {shape}: {why}"),
    }
}

/// A node for texts.
struct Label<'a>(&'a Node<'a>);

impl fmt::Display for Label<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = Lossy(short(self.0.operator));
        match self.0.name {
            b"" => write!(out, "a node {operator}"),
            name => write!(out, "the node '{}' ({operator})", Lossy(short(name))),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims = self.dims.iter().enumerate();
        write!(out, "[")?;
        dims.clone().take(16).try_for_each(|(i, dim)| write!(out, "{}{dim}", if i == 0 { "" } else { ", " }))?;
        write!(out, "{}", if dims.len() > 16 { ", ...]" } else { "]" })
    }
}

fn short(name: &[u8]) -> &[u8] {
    &name[..name.len().min(80)]
}
