//! What a model tells of its tensors by name: shapes, types, and the numbers in small constants.

use std::collections::{HashMap, HashSet};

use super::super::graph::{Node, last_bytes};
use super::super::limits;
use super::super::tensor::Tensor;
use super::super::walk::{self, Found, MAIN, Part};
use crate::base::Result;
use crate::base::room::Shortage;
use crate::runtime::format::wire::{Fields, Value};

/// The most bytes of a constant that is a shape, or the like, with all that is said of it. Weights are not looked into, and no
/// node can have much read for it, however many nodes name the same constant.
const MOST_BYTES: usize = 1024;
/// The most dimensions of a tensor that anything is known of.
const MOST_DIMS: usize = 64;

/// A name counts in its graph, and in the graphs inside it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place<'a> {
    pub graph: usize,
    pub name: &'a [u8],
}

/// Dimensions of a tensor, and its type.
pub struct Shape {
    /// 1 for one that is not known.
    pub dims: Vec<i128>,
    /// Whether none of them is unknown.
    pub is_exact: bool,
    /// As the format counts types.
    pub kind: Option<u64>,
}

pub struct Fact<'a> {
    pub shape: Shape,
    /// What is in it, where it is a small constant.
    pub elements: Option<Tensor<'a>>,
}

/// What is known of the tensors that somebody asks for.
#[derive(Default)]
pub struct Known<'a> {
    wanted: HashSet<&'a [u8]>,
    /// Nothing for a name that is there, and hides the same one further out, but can be anything.
    facts: HashMap<Place<'a>, Option<Fact<'a>>>,
    /// For each graph the one around it.
    graphs: &'a [usize],
}

impl<'a> Known<'a> {
    pub fn new(names: impl Iterator<Item = &'a [u8]>, graphs: &'a [usize], shortage: &Shortage) -> Option<Known<'a>> {
        let mut wanted = HashSet::new();
        for name in names.filter(|name| !name.is_empty()) {
            shortage.insert(&mut wanted, name)?;
        }
        Some(Known { wanted, facts: HashMap::new(), graphs })
    }

    /// Goes through a model for the names that are asked for.
    pub fn read(&mut self, model: &'a [u8], shortage: &'a Shortage) -> Result<()> {
        walk::visit(model, &mut |found| {
            let _ = self.take(&found, shortage);
            shortage.check(())
        })?;
        Ok(())
    }

    fn take(&mut self, found: &Found<'a>, shortage: &'a Shortage) -> Option<()> {
        let Found { part, message, graph } = *found;
        let wanted = |field| last_bytes(message, field).filter(|name| self.wanted.contains(name));
        let (name, fact) = match part {
            Part::Constant => (wanted(8)?, of_constant(message, shortage)),
            // the engine does not hold what is handed to a loop's body to the shape that the body declares
            Part::Input => (wanted(1)?, if graph == MAIN { of_value(message, shortage) } else { None }),
            Part::Node if last_bytes(message, 4)? == b"Constant" => (wanted(2)?, of_node(message, shortage)),
            _ => return None,
        };
        let place = Place { graph, name };
        // old models list their constants as inputs too
        if part == Part::Input && self.facts.contains_key(&place) {
            return None;
        }
        shortage.put(&mut self.facts, place, fact)
    }

    /// Takes the shape of what a node makes. Beside a dimension of 0 others can have any size; none is reckoned with that a file
    /// could not say.
    pub fn add(&mut self, place: Place<'a>, shape: Shape, shortage: &Shortage) -> Option<()> {
        let is_sound = shape.dims.len() <= MOST_DIMS && shape.dims.iter().all(|dim| *dim <= i64::MAX.into());
        if !is_sound || !self.wanted.contains(place.name) {
            return None;
        }
        shortage.put(&mut self.facts, place, Some(Fact { shape, elements: None }))
    }

    /// What is known of a name in this graph.
    pub fn find(&self, mut place: Place<'a>) -> Option<&Fact<'a>> {
        loop {
            if let Some(fact) = self.facts.get(&place) {
                return fact.as_ref();
            }
            let around = *self.graphs.get(place.graph)?;
            if around == place.graph {
                return None;
            }
            place.graph = around;
        }
    }
}

/// Of a constant of a graph.
fn of_constant<'a>(message: &'a [u8], shortage: &'a Shortage) -> Option<Fact<'a>> {
    if message.len() <= MOST_BYTES
        && let Some(tensor) = Tensor::read(message, shortage)
    {
        return of_tensor(tensor, shortage);
    }
    let mut shape = Shape { dims: Vec::new(), is_exact: true, kind: limits::kind_of(message) };
    let mut fits = Some(());
    limits::Shape { message, dims: 1 }
        .each(|dim| fits = fits.and_then(|()| push(&mut shape.dims, dim.into(), shortage)));
    fits?;
    Some(Fact { shape, elements: None })
}

/// Of a node `Constant`. One of another domain is the same to the engine.
fn of_node<'a>(message: &'a [u8], shortage: &'a Shortage) -> Option<Fact<'a>> {
    let node = Node::read(message, shortage)?;
    if message.len() <= MOST_BYTES {
        of_tensor(node.constant()?, shortage)
    } else {
        of_constant(node.attribute(b"value")?.tensor?, shortage)
    }
}

fn of_tensor<'a>(tensor: Tensor<'a>, shortage: &Shortage) -> Option<Fact<'a>> {
    if tensor.rank() > MOST_DIMS {
        return None;
    }
    let dims = tensor.dims().iter().map(|dim| i128::from(*dim));
    let shape = Shape { dims: shortage.gather(dims)?, is_exact: true, kind: Some(tensor.dtype()) };
    Some(Fact { shape, elements: Some(tensor) })
}

/// Of a `ValueInfoProto`, where it is a tensor's.
fn of_value<'a>(message: &[u8], shortage: &Shortage) -> Option<Fact<'a>> {
    let tensor = last_bytes(last_bytes(message, 2)?, 1)?;
    let mut shape = Shape { dims: Vec::new(), is_exact: true, kind: None };
    let mut has_shape = false;
    Fields::new(tensor).each(|number, value| {
        match (number, value) {
            (1, Value::Varint(kind)) => shape.kind = Some(kind),
            (2, Value::Bytes(dims)) => {
                has_shape = true;
                read_dims(dims, &mut shape, shortage)?;
            }
            _ => {}
        }
        Some(())
    })?;
    has_shape.then_some(Fact { shape, elements: None })
}

fn read_dims(dims: &[u8], shape: &mut Shape, shortage: &Shortage) -> Option<()> {
    Fields::new(dims).each(|number, value| {
        let (1, Value::Bytes(dim)) = (number, value) else { return Some(()) };
        let mut size = None;
        Fields::new(dim).each(|number, value| {
            if let (1, Value::Varint(dim)) = (number, value) {
                size = Some(dim as i64);
            }
            Some(())
        })?;
        let size = size.filter(|size| *size >= 0);
        shape.is_exact &= size.is_some();
        push(&mut shape.dims, size.unwrap_or(1).into(), shortage)
    })
}

fn push(dims: &mut Vec<i128>, dim: i128, shortage: &Shortage) -> Option<()> {
    if dims.len() < MOST_DIMS { shortage.push(dims, dim) } else { None }
}
