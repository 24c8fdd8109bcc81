//! Slots as a script declares them, and what their shapes become.

use std::collections::HashMap;
use std::ffi::CStr;

use crate::base::{Desc, Dims, Dtype, Quantization, Result, Side, Slot, SlotFlags, SlotInfo, fail};
use crate::runtime::{Plan, PlannedSlot};

const FIXED: &CStr = c"the mock keeps the value in its own memory";

#[derive(Clone, Debug)]
pub enum Dim {
    Fixed(i64),
    /// `start` is what a new context begins with; -1 when it is not known.
    Open {
        name: String,
        start: i64,
    },
}

/// A line about a slot.
#[derive(Clone, Debug)]
pub struct SlotSpec {
    pub name: String,
    pub dtype: Dtype,
    pub dims: Vec<Dim>,
    pub twin: Option<Slot>,
    pub fixed: bool,
    pub constant: bool,
}

/// Sizes of the named dimensions.
type Sizes<'a> = HashMap<&'a str, i64>;

impl SlotSpec {
    pub fn info(&self) -> Result<SlotInfo> {
        let declared = self.dims_by(|dim| if let Dim::Fixed(size) = dim { *size } else { -1 })?;
        let initial = self.dims_by(|dim| match dim {
            Dim::Fixed(size) => *size,
            Dim::Open { start, .. } => *start,
        })?;
        let dim_names = self.dims.iter().map(|dim| match dim {
            Dim::Fixed(_) => String::new(),
            Dim::Open { name, .. } => name.clone(),
        });
        Ok(SlotInfo {
            name: self.name.clone(),
            desc: Desc { dtype: self.dtype, dims: declared },
            initial,
            flags: self.flags(&declared),
            dim_names: dim_names.collect(),
            quantization: Quantization::None,
        })
    }

    fn dims_by(&self, size: impl Fn(&Dim) -> i64) -> Result<Dims> {
        let sizes: Vec<_> = self.dims.iter().map(size).collect();
        Dims::new(&sizes)
    }

    fn flags(&self, dims: &Dims) -> SlotFlags {
        SlotFlags {
            constant: self.constant,
            pass_through: self.twin.is_some_and(|twin| twin.side == Side::Input),
            dynamic: !dims.is_known(),
            duplicate: self.twin.is_some_and(|twin| twin.side == Side::Output),
        }
    }

    fn planned(&self, dims: Dims) -> PlannedSlot {
        PlannedSlot {
            desc: Desc { dtype: self.dtype, dims },
            flags: self.flags(&dims),
            twin: self.twin,
            fixed: (self.fixed || self.constant).then_some(FIXED),
        }
    }
}

/// A plan for these input shapes.
pub fn plan(inputs: &[SlotSpec], outputs: &[SlotSpec], dims: &[Dims]) -> Result<Plan> {
    let mut sizes = Sizes::new();
    for (spec, dims) in inputs.iter().zip(dims) {
        learn(spec, dims, &mut sizes)?;
    }
    let planned_inputs = inputs.iter().zip(dims).map(|(spec, dims)| spec.planned(*dims)).collect();
    let mut planned_outputs = Vec::with_capacity(outputs.len());
    for spec in outputs {
        let dims = spec.dims_by(|dim| match dim {
            Dim::Fixed(size) => *size,
            Dim::Open { name, .. } => sizes.get(name.as_str()).copied().unwrap_or(-1),
        })?;
        planned_outputs.push(spec.planned(dims));
    }
    Ok(Plan { inputs: planned_inputs, outputs: planned_outputs })
}

fn learn<'a>(spec: &'a SlotSpec, dims: &Dims, sizes: &mut Sizes<'a>) -> Result<()> {
    for (dim, size) in spec.dims.iter().zip(dims.as_slice()) {
        let Dim::Open { name, .. } = dim else { continue };
        if name.is_empty() {
            continue;
        }
        let known = *sizes.entry(name).or_insert(*size);
        if known != *size {
            return fail!(ShapeMismatch, "dimension '{name}' is {known}, and {size} in '{}'", spec.name);
        }
    }
    Ok(())
}
