//! An operator with its tensors, as rules look at it.

use std::fmt::Display;

use super::graph::{Graph, Model, Operator, Tensor, shown_dims};
use super::operators::{Kind, name_of};
use super::schema;
use crate::base::room::joined;
use crate::base::{Error, Gather, Result, Status, fail, text};

#[derive(Clone, Copy)]
pub struct Node<'m, 'a> {
    pub model: &'m Model<'a>,
    pub graph: &'m Graph<'a>,
    pub number: usize,
    pub operator: &'m Operator<'a>,
    pub kind: &'static Kind,
}

impl<'m, 'a> Node<'m, 'a> {
    /// An input; `None` for one that is left out, or is not given.
    pub fn input(&self, position: usize) -> Option<&'m Tensor<'a>> {
        self.graph.tensor(*self.operator.inputs.get(position)?)
    }

    pub fn output(&self, position: usize) -> Option<&'m Tensor<'a>> {
        self.graph.tensor(*self.operator.outputs.get(position)?)
    }

    /// The shape of an input; `None` where it is not known.
    pub fn dims(&self, position: usize) -> Option<&'m [i64]> {
        self.input(position)?.dims.as_deref()
    }

    /// The values of an input that is a constant of whole numbers.
    pub fn integers(&self, position: usize) -> Option<Vec<i64>> {
        self.input(position)?.integers()
    }

    /// An option that is a number.
    pub fn option(&self, id: usize, default: i32) -> i32 {
        self.options().and_then(|options| options.i32(id, default)).unwrap_or(default)
    }

    /// An option of eight bits.
    pub fn small_option(&self, id: usize) -> u8 {
        self.options().and_then(|options| options.u8(id, 0)).unwrap_or(0)
    }

    /// An option that is a list.
    pub fn list_option(&self, id: usize) -> Vec<i64> {
        self.options().map(|options| options.ints(id).map(i64::from).gather().unwrap_or_default()).unwrap_or_default()
    }

    /// Options of another operator count as none, as they do for the engine.
    fn options(&self) -> Option<crate::runtime::tflite::flatbuffer::Table<'a>> {
        self.operator.options.filter(|_| Some(self.operator.options_type) == self.kind.options)
    }

    pub fn fault(&self, text: impl Display) -> Error {
        let name = name_of(self.operator.code);
        let place = self.operator.table.position();
        let operator = text!("operator {} {name} (at byte {place})", self.number);
        Error::new(Status::ModelInvalid, text!("{text}")).at(operator).at(self.graph.place())
    }

    /// "input 0, tensor 7 'x' (at byte 1234) of f32 [1, 8]", made when it is shown.
    pub fn label_input(&self, position: usize) -> Label<'m, 'a> {
        Label { graph: self.graph, side: "input", position, index: self.operator.inputs.get(position).copied() }
    }

    pub fn label_output(&self, position: usize) -> Label<'m, 'a> {
        Label { graph: self.graph, side: "output", position, index: self.operator.outputs.get(position).copied() }
    }

    /// A number in a range.
    pub fn expect_within(&self, what: impl Display, value: i64, least: i64, most: i64) -> Result<()> {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        let wanted = if most == i64::MAX { text!("{least} or more") } else { text!("{least} to {most}") };
        Err(self.fault(text!("{what} is {value}, and has to be {wanted}")))
    }

    pub fn expect_rank(&self, position: usize, rank: usize) -> Result<()> {
        self.expect_ranks(position, rank, rank)
    }

    pub fn expect_ranks(&self, position: usize, least: usize, most: usize) -> Result<()> {
        match self.dims(position) {
            Some(dims) if !(least..=most).contains(&dims.len()) => {
                let wanted = if least == most { text!("{least}") } else { text!("{least} to {most}") };
                Err(self.fault(text!("{} has to have {wanted} dimensions", self.label_input(position))))
            }
            _ => Ok(()),
        }
    }

    /// The shape that the operator computes, against the one that the file gives its output; -1 is not known.
    pub fn expect_output(&self, position: usize, wanted: &[i64]) -> Result<()> {
        let Some(given) = self.output(position).and_then(|tensor| tensor.dims.as_deref()) else { return Ok(()) };
        let fits = |(given, wanted): (&i64, &i64)| *given < 0 || *wanted < 0 || given == wanted;
        if given.len() == wanted.len() && given.iter().zip(wanted).all(fits) {
            return Ok(());
        }
        Err(self.fault(text!("{}: it computes {}", self.label_output(position), shown_dims(wanted))))
    }

    /// Two numbers that have to be the same; -1 is not known.
    pub fn expect_same(&self, what: impl Display, given: i64, wanted: i64) -> Result<()> {
        if given < 0 || wanted < 0 || given == wanted {
            return Ok(());
        }
        Err(self.fault(text!("{what} is {given}, and has to be {wanted}")))
    }

    pub fn expect_kind(&self, position: usize, kinds: &[u8]) -> Result<()> {
        match self.input(position) {
            Some(tensor) if !kinds.contains(&tensor.kind) => {
                let wanted = joined(kinds.iter().map(|kind| schema::kind_name(*kind)), " or ");
                Err(self.fault(text!("{} has to be {}", self.label_input(position), wanted)))
            }
            _ => Ok(()),
        }
    }

    /// An axis, counted from the end where it is negative.
    pub fn expect_axis(&self, what: impl Display, axis: i64, rank: usize) -> Result<usize> {
        let rank = rank as i64;
        self.expect_within(what, axis, -rank, rank - 1)?;
        Ok((if axis < 0 { axis + rank } else { axis }) as usize)
    }
}

/// Which tensor of an operator is meant.
pub struct Label<'m, 'a> {
    graph: &'m Graph<'a>,
    side: &'static str,
    position: usize,
    index: Option<i32>,
}

impl Display for Label<'_, '_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} {}", self.side, self.position)?;
        let Some(index) = self.index else { return Ok(()) };
        write!(out, ", {}", self.graph.label(index))?;
        self.graph.tensor(index).map_or(Ok(()), |tensor| write!(out, " of {}", tensor.shown()))
    }
}

/// Refuses an index that no tensor has.
pub fn expect_tensor(graph: &Graph, what: impl Display, index: i32) -> Result<()> {
    if graph.tensor(index).is_some() {
        return Ok(());
    }
    fail!(ModelInvalid, "{}: {what} is tensor {index}, and there are {}", graph.place(), graph.tensors.len())
}

/// How many elements a shape has; `None` where a dimension is open, or they are too many.
pub fn elements(dims: &[i64]) -> Option<i64> {
    dims.iter().try_fold(1i64, |product, dim| (*dim >= 0).then(|| product.checked_mul(*dim)).flatten())
}
