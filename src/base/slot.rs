//! Slots: the numbered inputs and outputs of a model.

use std::fmt;

use super::desc::Desc;
use super::dims::Dims;

/// Which side of a model a slot is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Input,
    Output,
}

/// One input or output of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub side: Side,
    pub index: usize,
}

impl Slot {
    pub const fn input(index: usize) -> Slot {
        Slot { side: Side::Input, index }
    }

    pub const fn output(index: usize) -> Slot {
        Slot { side: Side::Output, index }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            Side::Input => "input",
            Side::Output => "output",
        };
        write!(out, "{side} {}", self.index)
    }
}

/// Facts about a slot that decide how it can be bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotFlags {
    /// The value is part of the model; it can be viewed or copied, not bound.
    pub constant: bool,
    /// An output that is one of the inputs.
    pub pass_through: bool,
    /// A dimension is not known before the resize or the run.
    pub dynamic: bool,
    /// An output that is the same engine tensor as an earlier output.
    pub duplicate: bool,
}

/// How the numbers of a slot stand for real ones: `real = scale * (value - zero_point)`.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Quantization {
    #[default]
    None,
    PerTensor {
        scale: f32,
        zero_point: i32,
    },
    PerAxis {
        axis: i32,
        scales: Vec<f32>,
        zero_points: Vec<i32>,
    },
}

/// The symbolic name of each dimension; empty where there is none.
pub type DimNames = Vec<String>;

/// A slot as the model declares it.
#[derive(Clone, Debug)]
pub struct SlotInfo {
    pub name: String,
    /// -1 where the model leaves a dimension open.
    pub desc: Desc,
    /// The shape that a new context starts with; -1 where the model gives none.
    pub initial: Dims,
    pub flags: SlotFlags,
    pub dim_names: DimNames,
    pub quantization: Quantization,
}
